/** Encrypts and decrypts files for the page. The page and the worker both contain this code: the
 * page uses it for small tasks, and for everything if the browser allows no worker.
 */
import {
    decryptStream,
    encryptStream,
    formatKey,
    generateMasterKey,
    init,
    needsPassphrase,
    PalladionError,
    parseKey,
    type Secret,
} from '@palladion/aegis';

export interface Job {
    open: boolean;
    file: Blob;
    secret: Secret;
}

/** The progress of a job: the bytes read so far, and the next bytes of the result. */
export interface Step {
    read: number;
    piece: Uint8Array<ArrayBuffer>;
}

/** An error in a message from the worker to the page. */
export interface Failure {
    code: string;
    message: string;
    hint?: string | undefined;
}

/** The contents of a file's header. */
export interface Inspection {
    palladion: boolean;
    /** Whether it is a random-access file. */
    raf?: boolean;
    /** Whether it needs a passphrase, if its header is valid. */
    passphrase?: boolean;
}

const HEADER = 128;
/** The length up to which a file may be a key file. */
const KEY_FILE = 1_000_000;
const MAGIC = [0x89, 0x50, 0x4c, 0x44];
const RAF = [...'AEGISRAF'].map((letter) => letter.charCodeAt(0));

export function toFailure(error: unknown): Failure {
    if (error instanceof PalladionError)
        return { code: error.code, message: error.message, hint: error.hint };
    const { name, message } = error as { name?: string; message?: string };
    if (name === 'NotReadableError' || name === 'NotFoundError') {
        return {
            code: 'READ',
            message: 'the file cannot be read',
            hint:
                'it may have been changed, moved or removed since you chose it, ' +
                'or it is a folder: choose it again',
        };
    }
    if (name === 'QuotaExceededError')
        return {
            code: 'SPACE',
            message: 'the browser has no room for the result',
            hint:
                'it keeps the result until it is complete: free some disk space, leave private ' +
                'browsing, or use the command “palladion”, which needs no such room',
        };
    return { code: name ?? 'ERROR', message: message || String(error) };
}

export async function inspect(file: Blob): Promise<Inspection> {
    await init();
    const beginning = new Uint8Array(await file.slice(0, HEADER).arrayBuffer());
    const starts = (bytes: number[]) => bytes.every((byte, i) => beginning[i] === byte);
    if (!starts(MAGIC)) return { palladion: false, raf: starts(RAF) };
    try {
        return { palladion: true, passphrase: needsPassphrase(beginning) };
    } catch (error) {
        // Decryption will report the error.
        if (error instanceof PalladionError) return { palladion: true };
        throw error;
    }
}

export async function newKey(): Promise<string> {
    await init();
    return formatKey(generateMasterKey());
}

/** Returns the text of a key file. Throws if it is not one. */
export async function readKey(file: Blob): Promise<string> {
    await init();
    const text = file.size > KEY_FILE ? '' : await file.text();
    parseKey(text);
    return text;
}

/** Returns whether a file is a key file with the key in a text. */
export async function holdsKey(file: Blob, text: string): Promise<boolean> {
    try {
        const found = parseKey(await readKey(file));
        return parseKey(text).every((byte, i) => byte === found[i]);
    } catch (error) {
        if (error instanceof PalladionError) return false;
        throw error;
    }
}

const unreadable = () => new DOMException('the file cannot be read', 'NotReadableError');

/**
 * Throws if the file has changed since it was chosen. Browsers look for changes only when they
 * begin to read, so begin again. Decryption needs no such check.
 */
async function checkUnchanged(file: Blob, read: number): Promise<void> {
    if (read !== file.size) throw unreadable();
    await file.slice(0, 1).arrayBuffer();
}

/** Encrypts or decrypts; yields a step for each chunk. */
export async function* run({ open, file, secret }: Job): AsyncGenerator<Step, void, void> {
    await init();
    let read = 0;
    const bytes = file.stream().getReader();
    const source = new ReadableStream<Uint8Array>({
        async pull(controller) {
            const { done, value } = await bytes.read().catch(() => {
                throw unreadable(); // replaces the "network error" of browsers
            });
            if (done) return controller.close();
            read += value.length;
            controller.enqueue(value);
        },
        cancel: (reason) => bytes.cancel(reason),
    });
    const reader = source
        .pipeThrough(open ? decryptStream({ ...secret }) : encryptStream({ ...secret }))
        .getReader();
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) {
                if (!open) await checkUnchanged(file, read);
                return;
            }
            yield { read, piece: value };
        }
    } finally {
        reader.cancel().catch(() => {}); // if the page stopped the job
    }
}

export type Core = {
    inspect: typeof inspect;
    newKey: typeof newKey;
    readKey: typeof readKey;
    holdsKey: typeof holdsKey;
    run: typeof run;
    toFailure: typeof toFailure;
};

/** A message from the worker: the end, or a step, which the page must answer to get the next. */
export type FromWorker = { step: Step } | { failure: Failure } | { done: true } | { ready: true };

if (typeof document === 'undefined') {
    const page = globalThis as unknown as Worker;
    let next: (() => void) | undefined;
    const work = async (job: Job) => {
        const tell = (message: FromWorker, transfer: Transferable[] = []) =>
            page.postMessage(message, transfer);
        try {
            for await (const step of run(job)) {
                const taken = new Promise<void>((resolve) => (next = resolve));
                tell({ step }, [step.piece.buffer]);
                await taken;
            }
            tell({ done: true });
        } catch (error) {
            tell({ failure: toFailure(error) });
        }
    };
    page.onmessage = ({ data }: MessageEvent<Job | 'taken'>) =>
        data === 'taken' ? next?.() : void work(data);
    page.postMessage({ ready: true } satisfies FromWorker);
} else {
    (globalThis as unknown as { core: Core }).core = {
        inspect,
        newKey,
        readKey,
        holdsKey,
        run,
        toFailure,
    };
}
