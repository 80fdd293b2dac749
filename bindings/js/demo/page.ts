/** The page: its form, its messages and its progress. */
import type { Secret } from '@palladion/aegis';
import type { Core, Failure, FromWorker, Inspection, Job, Step } from './core.js';
import { deleteLeftovers, save, Sink } from './sink.js';
import { command, resultName, sentence, shown, size, spoken } from './words.js';

const core = (globalThis as unknown as { core: Core }).core;

function element<T extends HTMLElement = HTMLElement>(id: string): T {
    return document.getElementById(id) as T;
}

const form = element<HTMLFormElement>('form');
const controls = element<HTMLFieldSetElement>('controls');
const drop = element('drop');
const fileInput = element<HTMLInputElement>('file');
const passphrase = element<HTMLInputElement>('passphrase');
const again = element<HTMLInputElement>('again');
const show = element<HTMLButtonElement>('show');
const keyInput = element<HTMLInputElement>('key');
const keyLink = element<HTMLAnchorElement>('key-link');
const problem = element('problem');
const working = element('working');
const progress = element<HTMLProgressElement>('progress');
const done = element('done');
const saveLink = element<HTMLAnchorElement>('save');
const go = element<HTMLButtonElement>('go');

/** The fewest characters of a passphrase for a new file. */
const SHORTEST = 8;
/** The fewest different characters of such a passphrase: “aaaaaaaa” and “12121212” have fewer. */
const DIFFERENT = 4;

let file: File | undefined;
let found: Inspection | undefined;
let key: { text: string; name: string } | undefined;

// The form

const radio = (name: string) => form.elements.namedItem(name) as RadioNodeList;
const opens = () => radio('mode').value === 'decrypt';
const withKey = () => radio('secret').value === 'key';

/** Shows the parts of the form that belong to the choices. */
function update(): void {
    const open = opens();
    element('with-passphrase').hidden = withKey();
    element('with-key').hidden = !withKey();
    element('again-field').hidden = open;
    element('passphrase-note').hidden = open;
    element('new-key').hidden = open;
    passphrase.autocomplete = open ? 'current-password' : 'new-password';
    go.textContent = open ? 'Decrypt' : 'Encrypt';
    let said = '';
    if (file !== undefined && found !== undefined) {
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

function announce(text: string): void {
    element('live').textContent = text;
}

async function choose(chosen: File, others: number): Promise<void> {
    clearProblems();
    if (!done.hidden) forgetResult(); // and ask for the passphrase again
    file = chosen;
    found = undefined;
    element('file-said').textContent =
        `${shown(chosen.name)}, ${size(chosen.size)}` +
        (others > 0 ? '. One at a time: the others were left out.' : '');
    drop.classList.add('full');
    go.disabled = true; // until it is known what the button does
    try {
        const inspection = await core.inspect(chosen);
        if (file !== chosen) return;
        found = inspection;
        const open = inspection.palladion || /\.pld$/i.test(chosen.name);
        radio('mode').value = open ? 'decrypt' : 'encrypt';
        if (inspection.passphrase !== undefined)
            radio('secret').value = inspection.passphrase ? 'passphrase' : 'key';
        update();
        const what = open ? 'an encrypted file, to be decrypted' : 'to be encrypted';
        announce(`${shown(chosen.name)}: ${what}.`);
    } catch (error) {
        if (file === chosen) fail(core.toFailure(error));
    } finally {
        if (file === chosen || file === undefined) go.disabled = false;
    }
}

function forgetFile(): void {
    file = undefined;
    found = undefined;
    fileInput.value = '';
    element('file-said').textContent = 'No file yet.';
    drop.classList.remove('full');
}

fileInput.addEventListener('change', () => {
    // Chromium empties the list if the dialogue is cancelled. Keep the chosen file.
    const chosen = fileInput.files?.[0];
    if (chosen !== undefined) void choose(chosen, 0);
});

// Accept a drop of a file anywhere on the page. Otherwise the browser would leave the page to show
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
    const { files, items } = event.dataTransfer!;
    if (items[0]?.webkitGetAsEntry?.()?.isDirectory) {
        fail({
            code: 'FOLDER',
            message: 'this is a folder',
            hint: 'pack it first, with zip or tar, and choose the archive',
        });
    } else if (files[0] !== undefined) {
        fileInput.value = '';
        void choose(files[0], files.length - 1);
    }
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
passphrase.addEventListener('input', () => showDrawn(''));

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
function wrong(input: HTMLInputElement, text: string): void {
    const place = element(`${input.id}-wrong`);
    place.textContent = text;
    place.hidden = text === '';
    if (text === '') {
        input.removeAttribute('aria-invalid');
        if (input !== keyInput) input.removeAttribute('aria-describedby');
    } else {
        input.setAttribute('aria-invalid', 'true');
        input.setAttribute(
            'aria-describedby',
            input === keyInput ? `key-said ${place.id}` : place.id,
        );
        input.focus();
    }
}

function clearProblems(): void {
    problem.hidden = true;
    element('cancelled').hidden = true;
    for (const input of [passphrase, again]) wrong(input, '');
    wrong(keyInput, '');
}

function fail({ code, message, hint }: Failure): void {
    problem.dataset.code = code;
    element('problem-message').textContent = sentence(message);
    element('problem-hint').textContent = hint === undefined ? '' : sentence(hint);
    element('problem-hint').hidden = hint === undefined;
    problem.hidden = false;
    announce('');
    // So that choosing the same file again is an event.
    if (code === 'READ') forgetFile();
    problem.focus();
    problem.scrollIntoView({ block: 'nearest' });
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
    if (!opens() && passphrase.value.length < SHORTEST) {
        wrong(
            passphrase,
            `Use at least ${SHORTEST} characters: whoever gets the file tries all shorter ` +
                'passphrases first. The button below draws a good one.',
        );
        return undefined;
    }
    if (!opens() && new Set(passphrase.value).size < DIFFERENT) {
        wrong(
            passphrase,
            `Use at least ${DIFFERENT} different characters. The button below draws a good ` +
                'passphrase.',
        );
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

function showProgress(read: number, length: number, started: number): void {
    const share = length === 0 ? 1 : read / length;
    progress.value = 100 * share;
    element('percent').textContent = `${Math.floor(100 * share)} %`;
    const seconds = (performance.now() - started) / 1000;
    const rate = seconds > 0.2 ? `, ${size(read / seconds)} per second` : '';
    element('figures').textContent = `${size(read)} of ${size(length)}${rate}`;
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

/** Runs the job. Returns the result, or nothing if it was cancelled. */
async function work(job: Job, length: number, stopped: AbortSignal): Promise<Blob | undefined> {
    const sink = new Sink();
    let started = performance.now();
    let drawn = 0;
    let told = 0;
    let first = true;
    for await (const { read, piece } of steps(job, stopped)) {
        await sink.write(piece);
        if (first) started = performance.now(); // leave out the time for the passphrase
        first = false;
        // There may be thousands of chunks; do not draw each.
        if (performance.now() - drawn > 50) {
            drawn = performance.now();
            showProgress(read, length, started);
        }
        const quarter = Math.floor((4 * read) / length);
        if (quarter > told && quarter < 4) announce(`${25 * quarter} percent`);
        told = quarter;
    }
    if (stopped.aborted) return undefined;
    const result = await sink.close();
    if (stopped.aborted) return undefined;
    showProgress(length, length, started);
    return result;
}

let stop: AbortController | undefined;

async function start(): Promise<void> {
    clearProblems();
    done.hidden = true;
    const chosen = file;
    if (chosen === undefined) {
        return fail({
            code: 'NO_FILE',
            message: 'there is no file yet',
            hint: matchMedia('(hover: none)').matches
                ? 'choose one'
                : 'choose one, or drop it on this page',
        });
    }
    const open = opens();
    const using = secret();
    if (using === undefined) return;
    const keyInUse = withKey() ? key : undefined;

    controls.disabled = true;
    stop = new AbortController();
    let failure: Failure | undefined;
    try {
        form.hidden = true;
        element('working-title').textContent =
            `${open ? 'Decrypting' : 'Encrypting'} ${shown(chosen.name)}`;
        element('figures').textContent =
            using.passphrase === undefined
                ? ''
                : 'Preparing the passphrase, which takes a moment on purpose';
        element('percent').textContent = '';
        progress.removeAttribute('value');
        working.hidden = false;
        element('cancel').focus();
        announce(`${open ? 'Decrypting' : 'Encrypting'}.`);
        if (!open && keyInUse !== undefined && (await core.holdsKey(chosen, keyInUse.text))) {
            throw {
                code: 'KEY_AS_INPUT',
                message: 'this file is the key file itself',
                hint: 'only a copy of it could decrypt the result: use a passphrase',
            } satisfies Failure;
        }
        const begun = performance.now();
        const job = { open, file: chosen, secret: using };
        const result = await work(job, chosen.size, stop.signal);
        if (result !== undefined) {
            const seconds = (performance.now() - begun) / 1000;
            return finish(open, chosen.name, keyInUse?.name, result, seconds);
        }
        element('cancelled').hidden = false;
        announce('Cancelled. Nothing was saved.');
    } catch (error) {
        // The worker has made its errors readable already.
        failure = error instanceof Error ? core.toFailure(error) : (error as Failure);
    } finally {
        stop = undefined;
        controls.disabled = false;
        working.hidden = true;
    }
    form.hidden = false;
    if (failure === undefined) return go.focus();
    const hint = failure.hint === undefined ? '' : `${sentence(failure.hint)} `;
    fail({ ...failure, hint: `${hint}Nothing was saved.` });
}

/** Shows the result and saves it. */
function finish(
    open: boolean,
    source: string,
    keyName: string | undefined,
    result: Blob,
    seconds: number,
): void {
    const name = resultName(source, open);
    working.hidden = true;
    done.hidden = false;
    element('done-title').textContent = open ? 'Decrypted' : 'Encrypted';
    element('done-said').textContent =
        `${shown(source)} was ` +
        (open ? 'decrypted, and nothing in it was changed since it was encrypted' : 'encrypted') +
        `. The result is ${name} (${size(result.size)}). It took ${seconds.toFixed(1)} seconds.`;
    element('done-command').hidden = open;
    showCommand(
        open ? '' : command(name, shown(source), keyName === undefined ? keyName : shown(keyName)),
    );
    save(saveLink, result, name);
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

/** Forgets the result and its passphrase, and shows the form. */
function forgetResult(): void {
    URL.revokeObjectURL(saveLink.href);
    saveLink.removeAttribute('href');
    passphrase.value = again.value = '';
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
    fileInput.value = keyInput.value = '';
    update();
    deleteLeftovers().catch(() => {}); // it has no IndexedDB
}
