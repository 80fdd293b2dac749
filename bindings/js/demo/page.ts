/** The page: its form, its messages and its progress. */
import type { Secret } from '@palladion/aegis';
import type { Core, Failure, FromWorker, Inspection, Job, Step } from './core.js';
import { openSink, save, type Sink } from './sink.js';
import { command, resultName, sentence, size } from './words.js';

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
    element('go').textContent = open ? 'Decrypt' : 'Encrypt';
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
    done.hidden = true;
    form.hidden = false;
    file = chosen;
    found = undefined;
    element('file-said').textContent =
        `${chosen.name}, ${size(chosen.size)}` +
        (others > 0 ? '. One at a time: the others were left out.' : '');
    drop.classList.add('full');
    try {
        const inspection = await core.inspect(chosen);
        if (file !== chosen) return;
        found = inspection;
        const open = inspection.palladion || /\.pld$/i.test(chosen.name);
        radio('mode').value = open ? 'decrypt' : 'encrypt';
        if (inspection.passphrase !== undefined)
            radio('secret').value = inspection.passphrase ? 'passphrase' : 'key';
        update();
        announce(
            `${chosen.name}: ${open ? 'an encrypted file, to be decrypted' : 'to be encrypted'}.`,
        );
    } catch (error) {
        if (file === chosen) fail(core.toFailure(error));
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

// Accept a drop anywhere on the page. Otherwise the browser would leave the page to show the file.
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
    if (!carriesFiles(event)) return;
    event.preventDefault();
    event.dataTransfer!.dropEffect = controls.disabled ? 'none' : 'copy';
});
addEventListener('drop', (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
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

show.addEventListener('click', () => {
    const visible = passphrase.type === 'password';
    passphrase.type = again.type = visible ? 'text' : 'password';
    show.setAttribute('aria-pressed', String(visible));
});

/** Uses the key in the text of a key file. */
async function takeKey(text: string, name: string): Promise<void> {
    wrong(keyInput, '');
    keyLink.hidden = true;
    key = undefined;
    try {
        await core.checkKey(text);
        key = { text, name };
    } catch (error) {
        const { message } = core.toFailure(error);
        keyInput.value = ''; // so that choosing the same file again is an event
        const hint = 'Key files are made by “palladion keygen” or here.';
        wrong(keyInput, `${sentence(message)} ${hint}`);
    }
}

keyInput.addEventListener('change', async () => {
    const chosen = keyInput.files?.[0];
    if (chosen === undefined) return;
    try {
        await takeKey(chosen.size > 1_000_000 ? '' : await chosen.text(), chosen.name);
    } catch (error) {
        wrong(keyInput, sentence(core.toFailure(error).message));
    }
    if (key !== undefined) element('key-said').textContent = `${key.name} is ready.`;
});

element('new-key').addEventListener('click', async () => {
    const text = await core.newKey();
    keyInput.value = '';
    await takeKey(text, 'my.key');
    save(keyLink, new Blob([text], { type: 'application/octet-stream' }), 'my.key');
    keyLink.hidden = false;
    const said =
        'A new key was made and saved as my.key. ' +
        'Keep a copy somewhere safe: without it, what was encrypted with it is lost.';
    element('key-said').textContent = said;
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
    for (const input of [passphrase, again]) wrong(input, '');
    if (key !== undefined) wrong(keyInput, '');
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
                : 'Choose a key file, or make a new one.',
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
    const worker = new Worker(source);
    try {
        const messages: FromWorker[] = [];
        let wake: (() => void) | undefined;
        let broken: Error | undefined;
        const add = (message?: FromWorker) => {
            if (message !== undefined) messages.push(message);
            wake?.();
        };
        worker.onmessage = ({ data }: MessageEvent<FromWorker>) => add(data);
        worker.onerror = (event) => {
            event.preventDefault();
            broken = new Error(event.message || 'the worker failed');
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
        // `new Worker` throws if a policy forbids it.
        if (!(error instanceof NoWorker || (error as Error).name === 'SecurityError')) throw error;
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

/** Runs the job. Returns false if it was cancelled. */
async function work(job: Job, length: number, sink: Sink, stopped: AbortSignal): Promise<boolean> {
    let started = performance.now();
    let shown = 0;
    let told = 0;
    let first = true;
    for await (const { read, piece } of steps(job, stopped)) {
        await sink.write(piece);
        if (first) started = performance.now(); // leave out the time for the passphrase
        first = false;
        // There may be thousands of chunks; do not draw each.
        if (performance.now() - shown > 50) {
            shown = performance.now();
            showProgress(read, length, started);
        }
        const quarter = Math.floor((4 * read) / length);
        if (quarter > told && quarter < 4) announce(`${25 * quarter} percent`);
        told = quarter;
    }
    if (stopped.aborted) return false;
    showProgress(length, length, started);
    return true;
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
    const name = resultName(chosen.name, open);
    const keyName = withKey() ? key!.name : undefined;

    controls.disabled = true;
    stop = new AbortController();
    let sink: Sink | undefined;
    let whole = false;
    let failure: Failure | undefined;
    try {
        sink = await openSink(chosen.size, name);
        if (sink === undefined) return announce('Nothing was done.'); // leave the form as it was
        form.hidden = true;
        element('working-title').textContent =
            `${open ? 'Decrypting' : 'Encrypting'} ${chosen.name}`;
        element('figures').textContent =
            using.passphrase === undefined
                ? ''
                : 'Preparing the passphrase, which takes a moment on purpose';
        element('percent').textContent = '';
        progress.removeAttribute('value');
        working.hidden = false;
        element('cancel').focus();
        announce(`${open ? 'Decrypting' : 'Encrypting'}.`);
        const begun = performance.now();
        whole = await work({ open, file: chosen, secret: using }, chosen.size, sink, stop.signal);
        if (!whole) {
            announce('Cancelled. Nothing was saved.');
        } else {
            const blob = await sink.close();
            finish(open, chosen, name, keyName, blob, (performance.now() - begun) / 1000);
        }
    } catch (error) {
        // The worker has made its errors readable already.
        failure = error instanceof Error ? core.toFailure(error) : (error as Failure);
    } finally {
        stop = undefined;
        controls.disabled = false;
        working.hidden = true;
    }
    if (whole && failure === undefined) return;
    await sink?.abort().catch(() => {});
    form.hidden = false;
    if (failure !== undefined) fail(failure);
    else element('go').focus();
}

/** Shows the result and saves it. */
function finish(
    open: boolean,
    chosen: File,
    name: string,
    keyName: string | undefined,
    blob: Blob | undefined,
    seconds: number,
): void {
    working.hidden = true;
    done.hidden = false;
    element('done-title').textContent = open ? 'Decrypted' : 'Encrypted';
    const length = blob === undefined ? '' : ` (${size(blob.size)})`;
    element('done-said').textContent =
        `${chosen.name} was ` +
        (open ? 'decrypted, and nothing in it was changed since it was encrypted' : 'encrypted') +
        `. The result is ${name}${length}, ` +
        (blob === undefined ? 'saved where you said' : 'among your downloads') +
        `. It took ${seconds.toFixed(1)} seconds.`;
    element('done-command').hidden = open;
    showCommand(open ? '' : command(name, chosen.name, keyName));
    saveLink.hidden = blob === undefined;
    if (blob !== undefined) save(saveLink, blob, name);
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

element('another').addEventListener('click', () => {
    URL.revokeObjectURL(saveLink.href);
    saveLink.removeAttribute('href');
    forgetFile();
    passphrase.value = again.value = '';
    if (show.getAttribute('aria-pressed') === 'true') show.click();
    radio('mode').value = 'encrypt';
    done.hidden = true;
    form.hidden = false;
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
    update(); // browsers restore the choices when a page is reloaded
}
