/** The page: its form, its messages and its progress. */
import type { Secret } from '@palladion/aegis';
import type { Core, Failure, FromWorker, Inspection, Job, Step } from './core.js';
import { isEasy } from './easy.js';
import { type Chosen, fromDrop, fromList, isSealed } from './files.js';
import { deleteLeftovers, FolderFile, type Output, room, save, Sink } from './sink.js';
import {
    command, count, EACH_BOUND, resultName, savedName, sentence, shown, size, spoken, timeLeft,
} from './words.js';

const core = (globalThis as unknown as { core: Core }).core;

function element<T extends HTMLElement = HTMLElement>(id: string): T {
    return document.getElementById(id) as T;
}

const form = element<HTMLFormElement>('form');
const controls = element<HTMLFieldSetElement>('controls');
const drop = element('drop');
const fileInput = element<HTMLInputElement>('file');
const folderInput = element<HTMLInputElement>('folder');
const passphrase = element<HTMLInputElement>('passphrase');
const again = element<HTMLInputElement>('again');
const show = element<HTMLButtonElement>('show');
const keyInput = element<HTMLInputElement>('key');
const place = element<HTMLInputElement>('place');
const keyLink = element<HTMLAnchorElement>('key-link');
const problem = element('problem');
const working = element('working');
const progress = element<HTMLProgressElement>('progress');
const done = element('done');
const saveLink = element<HTMLAnchorElement>('save');
const go = element<HTMLButtonElement>('go');

/** The fewest characters of a passphrase for a new file. */
const SHORTEST = 8;

let files: Chosen[] = [];
let found: Inspection | undefined;
/** Whether the browser has no room for the results. */
let tight = false;
let key: { text: string; name: string } | undefined;

// The form

const radio = (name: string) => form.elements.namedItem(name) as RadioNodeList;
const opens = () => radio('mode').value === 'decrypt';
const withKey = () => radio('secret').value === 'key';
const intoFolder = () => !element('where').hidden && radio('to').value === 'folder';
const names = () => (files.length === 1 ? shown(files[0]!.file.name) : count(files.length));

/** The files to work on: of several to decrypt, those that are named like encrypted ones. */
function selected(): Chosen[] {
    const sealed = opens() && files.length > 1 ? files.filter(isSealed) : [];
    return sealed.length > 0 ? sealed : files;
}

/** Shows the parts of the form that belong to the choices. */
function update(): void {
    const open = opens();
    if (place.value !== '') showPlace();
    element('with-passphrase').hidden = withKey();
    element('with-key').hidden = !withKey();
    element('again-field').hidden = open;
    element('passphrase-note').hidden = open;
    element('new-key').hidden = open;
    passphrase.autocomplete = open ? 'current-password' : 'new-password';
    element('where').hidden =
        !('showDirectoryPicker' in globalThis) || (files.length < 2 && !tight);
    const sealed = files.filter(isSealed).length;
    go.textContent =
        (open ? 'Decrypt' : 'Encrypt') +
        (files.length > 1 ? ` ${count(selected().length)}` : '');
    element('place-of-all').textContent =
        selected().length > 1
            ? 'All of these files have this place, so they can still be swapped with each other.'
            : '';
    let said = '';
    if (files.length > 1) {
        if (!open && sealed > 0)
            said = 'Files named .pld are encrypted already. They will be encrypted once more.';
        else if (open && sealed === 0)
            said = 'None of these files is named .pld, as Palladion names encrypted files.';
        else if (open && sealed < files.length)
            said = `Only files named .pld will be decrypted: ${sealed} of ${files.length}.`;
    } else if (found !== undefined) {
        if (found.palladion && !open)
            said = 'This file is encrypted already. It will be encrypted once more.';
        else if (
            found.palladion &&
            found.passphrase !== undefined &&
            found.passphrase === withKey()
        ) {
            said = found.passphrase
                ? 'This file was encrypted with a passphrase, not with a key file.'
                : 'This file was encrypted with a key file, not with a passphrase.';
        } else if (found.raf) {
            said = open
                ? 'This is a RAF file, which the command “palladion raf export” decrypts.'
                : 'This is a RAF file, which is encrypted already. It will be encrypted once more.';
        } else if (!found.palladion && open)
            said = 'This does not look like a file that Palladion has encrypted.';
    }
    element('mode-said').textContent = said;
    element('mode-said').hidden = said === '';
}

const showPlace = () => void (element<HTMLDetailsElement>('with-place').open = true);

function announce(text: string): void {
    element('live').textContent = text;
}

async function choose(chosen: Chosen[]): Promise<void> {
    clearProblems();
    if (chosen.length === 0) {
        return fail({
            code: 'NO_FILE',
            message: 'there is no file in this folder',
            hint: 'choose another one',
        });
    }
    if (!done.hidden) forgetResult(); // and ask for the passphrase again
    files = chosen;
    found = undefined;
    tight = false;
    const length = chosen.reduce((sum, { file }) => sum + file.size, 0);
    element('file-said').textContent = `${names()}, ${size(length)}`;
    drop.classList.add('full');
    go.disabled = true; // until it is known what the button does
    try {
        // One stands for all: there may be thousands.
        const inspection = await core.inspect((chosen.find(isSealed) ?? chosen[0]!).file);
        if (files !== chosen) return;
        found = inspection;
        const open = chosen.every(isSealed) || (inspection.palladion && chosen.length === 1);
        radio('mode').value = open ? 'decrypt' : 'encrypt';
        if (inspection.passphrase !== undefined && (open || chosen.length === 1))
            radio('secret').value = inspection.passphrase ? 'passphrase' : 'key';
        update();
        const what =
            chosen.length > 1
                ? `to be ${open ? 'de' : 'en'}crypted`
                : open
                  ? 'an encrypted file, to be decrypted'
                  : 'to be encrypted';
        announce(`${names()}: ${what}. ${element('mode-said').textContent}`);
    } catch (error) {
        if (files === chosen) fail(core.toFailure(error));
    } finally {
        if (files === chosen || files.length === 0) go.disabled = false;
    }
}

function forgetFile(): void {
    files = [];
    found = undefined;
    tight = false;
    fileInput.value = folderInput.value = '';
    element('file-said').textContent = 'No file yet.';
    drop.classList.remove('full');
}

for (const [input, other] of [[fileInput, folderInput], [folderInput, fileInput]] as const) {
    input.addEventListener('change', () => {
        // Chromium empties the list if the dialogue is cancelled. Keep the chosen files.
        if (input.files === null || input.files.length === 0) return;
        other.value = '';
        void choose(fromList(input.files));
    });
}
element('folder-label').hidden = !('webkitdirectory' in folderInput);

// Accept a drop of files anywhere on the page. Otherwise the browser would leave the page to show
// the file, as it would for a link.
const carriesFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false;
let inside = 0;
const mark = () => document.body.classList.toggle('dragging', inside > 0 && !controls.disabled);
addEventListener('dragenter', (event) => {
    if (!carriesFiles(event)) return;
    inside++;
    mark();
});
addEventListener('dragleave', (event) => {
    if (!carriesFiles(event)) return;
    inside = Math.max(0, inside - 1);
    mark();
});
addEventListener('dragover', (event) => {
    if (event.target instanceof HTMLInputElement && !carriesFiles(event)) return;
    event.preventDefault();
    const taken = carriesFiles(event) && !controls.disabled;
    event.dataTransfer!.dropEffect = taken ? 'copy' : 'none';
});
addEventListener('drop', (event) => {
    if (event.target instanceof HTMLInputElement && !carriesFiles(event)) return;
    event.preventDefault();
    if (!carriesFiles(event)) return;
    inside = 0;
    mark();
    if (controls.disabled) return;
    fileInput.value = folderInput.value = '';
    fromDrop(event.dataTransfer!.items).then(choose, (error: Failure) => fail(error));
});

form.addEventListener('change', (event) => {
    if ((event.target as HTMLInputElement).type === 'radio') {
        clearProblems();
        update();
    }
});

// Five numbers of 16 bits. With Argon2id, nobody can try 2^80 passphrases.
element('draw').addEventListener('click', () => {
    passphrase.value = again.value = spoken(crypto.getRandomValues(new Uint16Array(5)));
    showDrawn(passphrase.value); // all of it, where the field is too narrow
    for (const input of [passphrase, again]) wrong(input, '');
    if (passphrase.type === 'password') show.click();
    announce('A passphrase of five words was drawn. Write it down before you encrypt.');
});
passphrase.addEventListener('input', () => {
    showDrawn('');
    // While it is being typed, it is too short at first.
    const text = passphrase.value.length < SHORTEST ? '' : weakness();
    if (text !== '' && element('passphrase-wrong').textContent !== text) announce(text);
    wrong(passphrase, text, false);
});

function showDrawn(words: string): void {
    element('words').textContent = words;
    element('drawn').hidden = words === '';
}

show.addEventListener('click', () => {
    const visible = passphrase.type === 'password';
    passphrase.type = again.type = visible ? 'text' : 'password';
    show.setAttribute('aria-pressed', String(visible));
});

// The key

const keySaid = element('key-said').textContent;
let keyChosen = 0;

/** Says which key is in use, and nothing else. */
function showKey(made = ''): void {
    element('key-said').textContent =
        made || (key === undefined ? keySaid : `${shown(key.name)} is ready.`);
}

keyInput.addEventListener('change', async () => {
    // Chromium empties the list if the dialogue is cancelled. Keep the key.
    const chosen = keyInput.files?.[0];
    if (chosen === undefined) return;
    keyInput.value = ''; // so that choosing the same file again is an event
    const turn = ++keyChosen;
    key = undefined;
    wrong(keyInput, '');
    showKey();
    try {
        const text = await core.readKey(chosen);
        if (turn !== keyChosen) return;
        key = { text, name: chosen.name };
        keyLink.hidden = true;
        showKey();
    } catch (error) {
        if (turn !== keyChosen) return;
        const { code, message } = core.toFailure(error);
        const hint = code === 'READ' ? '' : ' Key files are made by “palladion keygen” or here.';
        wrong(keyInput, `${sentence(message)}${hint}`);
    }
});

// The page cannot know whether the browser saves a file. So it uses a new key only once the user
// has chosen the file: a key that was never saved would lose what it encrypts.
element('new-key').addEventListener('click', async () => {
    const turn = ++keyChosen;
    key = undefined;
    wrong(keyInput, '');
    const text = await core.newKey();
    if (turn !== keyChosen) return;
    save(keyLink, new Blob([text], { type: 'application/octet-stream' }), 'my.key');
    keyLink.hidden = false;
    const said =
        'Your browser saves a new key as my.key. Choose that file here, to be sure that you have ' +
        'it. Keep a copy somewhere safe: without it, what was encrypted with it is lost.';
    showKey(said);
    announce(said);
});

// Errors

/** Shows the error of a field, or removes it. */
function wrong(input: HTMLInputElement, text: string, focus = true): void {
    const shows = element(`${input.id}-wrong`);
    shows.textContent = text;
    shows.hidden = text === '';
    const described = input === keyInput || input === place ? [`${input.id}-said`] : [];
    if (text === '') input.removeAttribute('aria-invalid');
    else {
        described.push(shows.id);
        input.setAttribute('aria-invalid', 'true');
        if (focus) input.focus();
    }
    if (described.length === 0) input.removeAttribute('aria-describedby');
    else input.setAttribute('aria-describedby', described.join(' '));
}

function clearProblems(): void {
    problem.hidden = true;
    element('cancelled').hidden = true;
    for (const input of [passphrase, again, keyInput, place]) wrong(input, '');
}

function fail({ code, message, hint }: Failure): void {
    problem.dataset.code = code;
    element('problem-message').textContent = sentence(message);
    element('problem-hint').textContent = hint === undefined ? '' : sentence(hint);
    element('problem-hint').hidden = hint === undefined;
    problem.hidden = false;
    announce('');
    if (['BOUND', 'NOT_BOUND', 'WRONG_PLACE'].includes(code)) showPlace();
    // So that choosing the same file again is an event.
    if (code === 'READ') forgetFile();
    problem.focus();
    problem.scrollIntoView({ block: 'nearest' });
}

/** Says what is wrong with a passphrase for a new file. */
function weakness(): string {
    const text = passphrase.value;
    if (opens() || text === '') return '';
    if (text.length < SHORTEST) {
        return (
            `Use at least ${SHORTEST} characters: whoever gets the file tries all shorter ` +
            'passphrases first. The button below draws a good one.'
        );
    }
    if (!isEasy(text)) return '';
    return (
        'This is easy to guess: programs try common words, rows of keys, dates and repetitions ' +
        'first. The button below draws a good one.'
    );
}

/** Returns the secret. If a field is invalid, shows the error and returns nothing. */
function secret(): Secret | undefined {
    if (withKey()) {
        if (key !== undefined) return { key: key.text };
        wrong(
            keyInput,
            opens()
                ? 'Choose the key file that the file was encrypted with.'
                : keyLink.hidden
                  ? 'Choose a key file, or make a new one.'
                  : 'Choose the new key file, to be sure that your browser saved it.',
        );
        return undefined;
    }
    if (passphrase.value === '') {
        wrong(
            passphrase,
            opens()
                ? 'Type the passphrase that the file was encrypted with.'
                : 'Type a passphrase.',
        );
        return undefined;
    }
    if (weakness() !== '') {
        wrong(passphrase, weakness());
        return undefined;
    }
    if (!opens() && again.value !== passphrase.value) {
        wrong(
            again,
            again.value === ''
                ? 'Type the passphrase here as well: a slip would lock the file for good.'
                : 'The two are not the same.',
        );
        return undefined;
    }
    return { passphrase: passphrase.value };
}

// The work

/** Runs a job in a worker. */
async function* inWorker(job: Job, stopped: AbortSignal): AsyncGenerator<Step, void, void> {
    // A page opened from the disk may not load a worker, so create it from the page's own script.
    const source = URL.createObjectURL(
        new Blob([element('core').textContent], { type: 'text/javascript' }),
    );
    let worker: Worker;
    try {
        worker = new Worker(source);
    } catch {
        throw new NoWorker(); // a policy forbids it
    }
    try {
        const messages: FromWorker[] = [];
        let wake: (() => void) | undefined;
        let broken: Failure | undefined;
        const add = (message?: FromWorker) => {
            if (message !== undefined) messages.push(message);
            wake?.();
        };
        worker.onmessage = ({ data }: MessageEvent<FromWorker>) => add(data);
        worker.onerror = (event) => {
            event.preventDefault();
            broken = {
                code: 'WORKER',
                message: `the browser stopped the work: ${event.message || 'it does not say why'}`,
                hint: 'it may be out of memory: close other tabs and try again',
            };
            add();
        };
        stopped.addEventListener('abort', () => add());
        let ready = false;
        for (;;) {
            if (stopped.aborted) return;
            const message = messages.shift();
            if (message === undefined) {
                if (broken !== undefined) throw ready ? broken : new NoWorker();
                await new Promise<void>((resolve) => (wake = resolve));
            } else if ('ready' in message) {
                ready = true;
                worker.postMessage(job);
            } else if ('step' in message) {
                yield message.step;
                worker.postMessage('taken');
            } else if ('failure' in message) {
                throw message.failure;
            } else {
                return;
            }
        }
    } finally {
        // This also frees its memory.
        worker.terminate();
        URL.revokeObjectURL(source);
    }
}

class NoWorker extends Error {}

async function* steps(job: Job, stopped: AbortSignal): AsyncGenerator<Step, void, void> {
    try {
        yield* inWorker(job, stopped);
        return;
    } catch (error) {
        if (!(error instanceof NoWorker)) throw error;
    }
    // Let the browser draw the page before the passphrase blocks it.
    await new Promise((resolve) => setTimeout(resolve, 50));
    for await (const step of core.run(job)) {
        if (stopped.aborted) return;
        yield step;
    }
}

/** The progress of all files together. */
class Progress {
    /** The bytes of files that are done, and of those that failed. */
    passed = 0;
    /** The bytes of the results. */
    written = 0;
    /** Whether the passphrase of the current file is being prepared. */
    #preparing = true;
    /** The time for passphrases and their number, and the time for contents. */
    #prepared = 0;
    #files = 0;
    #worked = 0;
    #last = performance.now();
    #drawn = 0;
    #told = 0;

    constructor(
        readonly length: number,
        readonly files: number,
    ) {}

    /** Begins with another file. */
    begin(): void {
        this.#preparing = true;
        this.#last = performance.now();
    }

    show(read: number, last = false): void {
        const now = performance.now();
        if (this.#preparing) {
            this.#prepared += now - this.#last;
            this.#files++;
        } else this.#worked += now - this.#last;
        this.#preparing = false;
        this.#last = now;
        // There may be thousands of chunks; do not draw each.
        if (now - this.#drawn < 50 && !last) return;
        this.#drawn = now;
        const all = this.passed + read;
        const share = this.length === 0 ? 1 : Math.min(1, all / this.length);
        progress.value = 100 * share;
        element('percent').textContent = `${Math.floor(100 * share)} %`;
        const rate = this.#worked > 200 ? (1000 * all) / this.#worked : 0;
        const left = rate === 0 ? 0 : (this.length - all) / rate;
        const seconds =
            left + ((this.#prepared / this.#files) * (this.files - this.#files)) / 1000;
        // The first estimates are far off, and one passphrase says nothing of the contents.
        const known = this.#prepared + this.#worked > 2000 && (rate > 0 || this.#files > 1);
        const estimate = known && !last ? timeLeft(seconds) : '';
        const join = (...texts: string[]) => texts.filter(Boolean).join(', ');
        const speed = rate > 0 ? `${size(rate)} per second` : '';
        element('figures').textContent =
            join(`${size(all)} of ${size(this.length)}`, speed, estimate);
        const quarter = Math.floor(4 * share);
        if (quarter > this.#told && quarter < 4)
            announce(join(`${25 * quarter} percent`, estimate));
        this.#told = quarter;
    }
}

/** Shows a command, each word in an element, which the style keeps in one line. */
function showCommand(text: string): void {
    const words = text.split(' ').map((word) => {
        const span = document.createElement('span');
        span.textContent = word;
        return span;
    });
    element('command').replaceChildren(...words.flatMap((word, i) => (i > 0 ? [' ', word] : word)));
}

/** Runs a job. Returns the result, or nothing if it was cancelled or is in a folder. */
async function work(
    job: Job,
    output: Output,
    shows: Progress,
    stopped: AbortSignal,
): Promise<Blob | undefined> {
    try {
        for await (const { read, piece } of steps(job, stopped)) {
            const { length } = piece;
            await output.write(piece);
            shows.written += length;
            shows.show(read);
        }
        stopped.throwIfAborted();
        const result = await output.close();
        stopped.throwIfAborted();
        return result;
    } catch (error) {
        await output.abort();
        throw error;
    }
}

interface Failed {
    chosen: Chosen;
    failure: Failure;
}

/** Asks for a folder. Returns nothing if the user chooses none. */
async function askFolder(): Promise<FileSystemDirectoryHandle | undefined> {
    const { showDirectoryPicker } = globalThis as unknown as {
        showDirectoryPicker(options: object): Promise<FileSystemDirectoryHandle>;
    };
    try {
        return await showDirectoryPicker({ id: 'palladion', mode: 'readwrite' });
    } catch (error) {
        if ((error as Error).name === 'AbortError') return undefined;
        throw error;
    }
}

/** Throws if the browser has no room for results that become downloads. */
async function checkRoom(length: number): Promise<void> {
    const fits = await room(length);
    if (fits >= length) return;
    tight = true;
    update();
    throw {
        code: 'SPACE',
        message:
            `the browser has room for about ${size(fits)} here, ` +
            `and the result needs ${size(length)}`,
        hint:
            (element('where').hidden
                ? 'free some disk space, leave private browsing'
                : 'save it into a folder, which needs no such room') +
            ', or use the command “palladion”',
    } satisfies Failure;
}

let stop: AbortController | undefined;

async function start(): Promise<void> {
    clearProblems();
    done.hidden = true;
    const chosen = selected();
    if (chosen.length === 0) {
        return fail({
            code: 'NO_FILE',
            message: 'there is no file yet',
            hint: matchMedia('(hover: none)').matches
                ? 'choose one'
                : 'choose one, or drop it on this page',
        });
    }
    const open = opens();
    const given = secret();
    if (given === undefined) return;
    if (!open && place.value !== '' && place.value.trim() === '') {
        showPlace();
        return wrong(
            place,
            'These are only spaces. Type a text that can be seen, or leave this empty.',
        );
    }
    const using = { ...given, bind: place.value || undefined };
    const keyInUse = withKey() ? key : undefined;

    forgetSaved();
    controls.disabled = true;
    stop = new AbortController();
    const { signal } = stop;
    /** The names of the results. */
    const results: string[] = [];
    const failed: Failed[] = [];
    let folder: FileSystemDirectoryHandle | undefined;
    let failure: Failure | undefined;
    try {
        const length = chosen.reduce((sum, { file }) => sum + file.size, 0);
        if (intoFolder()) {
            folder = await askFolder(); // at once, or the browser forgets that a button was pressed
            if (folder === undefined) return stopped('No folder was chosen. Nothing was saved.');
        }
        form.hidden = true;
        showFile(open, chosen, 0, 0);
        progress.removeAttribute('value');
        for (const id of ['figures', 'percent']) element(id).textContent = '';
        working.hidden = false;
        element('cancel').focus();
        announce(`${open ? 'Decrypting' : 'Encrypting'}.`);
        if (folder === undefined) await checkRoom(length);
        if (using.passphrase !== undefined)
            element('figures').textContent =
                'Preparing the passphrase, which takes a moment on purpose';
        const begun = performance.now();
        const shows = new Progress(length, chosen.length);
        for (const [i, one] of chosen.entries()) {
            if (signal.aborted) break;
            showFile(open, chosen, i, failed.length);
            shows.begin();
            try {
                if (keyInUse !== undefined) await checkNotKey(open, one.file, keyInUse.text);
                const { name, blob } = await process(open, one, using, folder, shows, signal);
                if (blob !== undefined && chosen.length === 1) save(saveLink, blob, name);
                else if (blob !== undefined) {
                    save(link(name), blob, name);
                    // Chromium 156 drops some of many downloads that begin at once.
                    await new Promise((resolve) => setTimeout(resolve, 150));
                }
                results.push(name);
            } catch (error) {
                if (signal.aborted) break;
                // The worker has made its errors readable already.
                failed.push({
                    chosen: one,
                    failure: error instanceof Error ? core.toFailure(error) : (error as Failure),
                });
            }
            shows.passed += one.file.size;
        }
        if (signal.aborted) {
            return stopped(
                results.length === 0
                    ? 'Cancelled. Nothing was saved.'
                    : `Cancelled. ${results.length} of ${count(chosen.length)} ` +
                      `${results.length === 1 ? 'was' : 'were'} saved before.`,
            );
        }
        if (results.length > 0) {
            shows.show(0, true);
            const seconds = (performance.now() - begun) / 1000;
            const took = `It took ${seconds.toFixed(1)} seconds.`;
            const written = ` (${size(shows.written)})`;
            const by = { key: keyInUse?.name, place: place.value };
            return finish(open, chosen, results, failed, folder, by, written, took);
        }
        failure = failed[0]!.failure;
        if (failed.length > 1) {
            const first = shown(failed[0]!.chosen.path.join('/'));
            const message =
                `none of the ${count(failed.length)} could be ${open ? 'de' : 'en'}crypted. ` +
                `The first is ${first}: ${failure.message}`;
            failure = { ...failure, message };
        }
    } catch (error) {
        failure = error instanceof Error ? core.toFailure(error) : (error as Failure);
    } finally {
        stop = undefined;
        controls.disabled = false;
        working.hidden = true;
    }
    form.hidden = false;
    const hints = [failure.hint ?? '', eachBound(failed, chosen), 'Nothing was saved'];
    fail({ ...failure, hint: hints.filter(Boolean).map(sentence).join(' ') });
}

/** What to do if each of several files may be bound to another place. */
function eachBound(failed: Failed[], chosen: Chosen[]): string {
    const bound = failed.some(({ failure: { code } }) => ['BOUND', 'WRONG_PLACE'].includes(code));
    return chosen.length > 1 && bound ? EACH_BOUND : '';
}

/** Goes back to the form and says why. */
function stopped(said: string): void {
    working.hidden = true;
    controls.disabled = false;
    form.hidden = false;
    element('cancelled').textContent = said;
    element('cancelled').hidden = false;
    announce(said);
    go.focus();
}

function showFile(open: boolean, chosen: Chosen[], i: number, failed: number): void {
    const trouble = failed > 0 ? `, ${failed} failed` : '';
    element('working-title').textContent =
        `${open ? 'Decrypting' : 'Encrypting'} ${shown(chosen[i]!.file.name)}` +
        (chosen.length === 1 ? '' : ` (${i + 1} of ${chosen.length}${trouble})`);
}

async function checkNotKey(open: boolean, file: File, text: string): Promise<void> {
    if (open || !(await core.holdsKey(file, text))) return;
    throw {
        code: 'KEY_AS_INPUT',
        message: 'this file is the key file itself',
        hint: 'only a copy of it could decrypt the result: use a passphrase',
    } satisfies Failure;
}

/** Processes a file. Returns the name of the result, and the result unless it is in a folder. */
async function process(
    open: boolean,
    { file, path }: Chosen,
    secret: Secret,
    folder: FileSystemDirectoryHandle | undefined,
    shows: Progress,
    stopped: AbortSignal,
): Promise<{ name: string; blob: Blob | undefined }> {
    let name = resultName(file.name, open, folder !== undefined);
    let output: Output;
    if (folder === undefined) output = new Sink();
    else {
        const above = path.slice(0, -1).map(savedName);
        const created = await FolderFile.create(folder, [...above, name]);
        name = [...above, created.name].join('/');
        output = created;
    }
    return { name, blob: await work({ open, file, secret }, output, shows, stopped) };
}

/** Adds an item to a list. */
function add(list: string, ...content: (string | Node)[]): void {
    const item = document.createElement('li');
    item.append(...content);
    element(list).append(item);
}

/** Adds a link to one of several results. */
function link(name: string): HTMLAnchorElement {
    const made = document.createElement('a');
    made.textContent = name;
    add('saved', made);
    return made;
}

/** Shows what became of the files. */
function finish(
    open: boolean,
    chosen: Chosen[],
    results: string[],
    failed: Failed[],
    folder: FileSystemDirectoryHandle | undefined,
    by: { key: string | undefined; place: string },
    written: string,
    took: string,
): void {
    working.hidden = true;
    done.hidden = false;
    const one = chosen.length === 1;
    const it = results.length === 1 ? 'it' : 'them';
    const source = one ? shown(chosen[0]!.file.name) : count(results.length);
    element('done-title').textContent =
        (open ? 'Decrypted' : 'Encrypted') +
        (failed.length > 0 ? ` ${results.length} of ${count(chosen.length)}` : '');
    element('done-said').textContent =
        `${source} ${results.length === 1 ? 'was' : 'were'} ${open ? 'de' : 'en'}crypted` +
        (one ? '' : written) +
        (open
            ? `, and nothing in ${it} was changed since encryption. `
            : '. ') +
        (one ? `The result is ${results[0]}${written}. ` : '') +
        took;
    element('done-where').textContent =
        folder !== undefined
            ? `The folder “${shown(folder.name)}” has what was saved. No file in it was replaced.`
            : `Your browser saves ${it} among your downloads, and adds a number ` +
              'to the name if it is taken. ' +
              (one ? '' : 'It may ask whether this page may save several files: allow it. ') +
              'Check what is there before you delete anything or leave this page.';
    for (const { chosen: { path }, failure: { message } } of failed)
        add('failed', `${shown(path.join('/'))}: ${sentence(message)}`);
    element('done-failed').hidden = failed.length === 0;
    element('failed-hint').textContent = eachBound(failed, chosen);
    saveLink.hidden = !one || folder !== undefined;
    element('done-saved').hidden = one || folder !== undefined;
    element('another').textContent = one ? 'Another file' : 'More files';
    element('done-command').hidden = open;
    if (!open) {
        const plain = one ? source : undefined;
        element('command-of').textContent = it;
        const key = by.key && shown(by.key);
        showCommand(command(results, folder?.name, plain, key, by.place));
    }
    announce('');
    element('done-title').focus();
}


form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (stop === undefined) void start();
});

element('cancel').addEventListener('click', () => stop?.abort());
addEventListener('keydown', (event) => {
    if (event.key === 'Escape') stop?.abort();
});
addEventListener('beforeunload', (event) => {
    if (stop !== undefined) event.preventDefault();
});

/** Forgets the results. */
function forgetSaved(): void {
    for (const made of done.querySelectorAll<HTMLAnchorElement>('a[href^="blob:"]')) {
        URL.revokeObjectURL(made.href);
        made.removeAttribute('href');
    }
    for (const list of ['failed', 'saved']) element(list).replaceChildren();
}

/** Forgets the results and their passphrase, and shows the form. */
function forgetResult(): void {
    forgetSaved();
    passphrase.value = again.value = place.value = '';
    showDrawn('');
    if (show.getAttribute('aria-pressed') === 'true') show.click();
    done.hidden = true;
    form.hidden = false;
}

element('another').addEventListener('click', () => {
    forgetFile();
    forgetResult();
    radio('mode').value = 'encrypt';
    update();
    fileInput.focus();
});

if (!('WebAssembly' in globalThis && 'TransformStream' in globalThis)) {
    form.hidden = false;
    fail({
        code: 'UNSUPPORTED',
        message: 'this browser is too old for this page',
        hint: 'a release of Firefox, Chrome or Safari from 2023 or later will do',
    });
} else {
    form.hidden = false;
    // Browsers restore the form when a page is reloaded. Take the choices, but no files.
    fileInput.value = folderInput.value = keyInput.value = '';
    update();
    deleteLeftovers().catch(() => {}); // it has no IndexedDB
}
