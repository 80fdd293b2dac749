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
    /** Whether it needs a passphrase, if its header is valid. */
    passphrase?: boolean;
}

const HEADER = 128;
const MAGIC = [0x89, 0x50, 0x4c, 0x44];

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
        return { code: 'SPACE', message: 'there is not enough space for the result' };
    return { code: name ?? 'ERROR', message: message || String(error) };
}

export async function inspect(file: Blob): Promise<Inspection> {
    await init();
    const beginning = new Uint8Array(await file.slice(0, HEADER).arrayBuffer());
    if (!MAGIC.every((byte, i) => beginning[i] === byte)) return { palladion: false };
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

/** Throws if the text is not a key file. */
export async function checkKey(text: string): Promise<void> {
    await init();
    parseKey(text);
}

/** Encrypts or decrypts; yields a step for each chunk. */
export async function* run({ open, file, secret }: Job): AsyncGenerator<Step, void, void> {
    await init();
    let read = 0;
    const bytes = file.stream().getReader();
    const source = new ReadableStream<Uint8Array>({
        async pull(controller) {
            const { done, value } = await bytes.read().catch(() => {
                // Replaces the "network error" of browsers.
                throw new DOMException('the file cannot be read', 'NotReadableError');
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
            if (done) return;
            yield { read, piece: value };
        }
    } finally {
        reader.cancel().catch(() => {}); // if the page stopped the job
    }
}

export type Core = {
    inspect: typeof inspect;
    newKey: typeof newKey;
    checkKey: typeof checkKey;
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
    (globalThis as unknown as { core: Core }).core = { inspect, newKey, checkKey, run, toFailure };
}
