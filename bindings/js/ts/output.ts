/** Encrypts and decrypts from file to file, where there is a file system. */
import { describe, toBytes, typeName, type Bytes, type BytesLike } from './bytes.js';
import { PalladionError } from './errors.js';
import {
    DECRYPT_OPTIONS,
    ENCRYPT_OPTIONS,
    fileOptions,
    Opener,
    Sealer,
    type Abortable,
    type DecryptOptions,
    type EncryptOptions,
    type Secret,
} from './file.js';
import type { AnyFile, FilePath } from './types.js';
import { checkSignal, until } from './waiting.js';

/** The options for a file that is written. */
export interface OutputOptions extends Abortable {
    /** Replaces the target if it exists. Otherwise that is an error, `FILE_EXISTS`. */
    overwrite?: boolean;
    /** Is called with the number of bytes of the source that were read so far. What it returns is
     * ignored: in an async function, catch errors.
     */
    onProgress?: (bytes: number) => void;
}

/** A file that is read. */
export interface Input {
    /** The same for all names of a file. */
    readonly identity?: string;
    /** Of a file with a name. */
    readonly permissions?: { readonly mode: number; readonly gid: number };
    next(): Promise<{ done?: boolean; value?: BytesLike }>;
    close(): unknown;
}

/** A file that is written under another name, until it is complete. */
export interface Output {
    write(bytes: Uint8Array): Promise<void>;
    /** Writes what the system still keeps in memory, and closes the file. */
    finish(): Promise<void>;
    /** Gives the file its name. */
    commit(): Promise<void>;
    /** Removes the file. */
    discard(): Promise<void>;
}

interface FileSystem {
    /** The absolute name of a file. */
    nameOf(path: FilePath): string;
    openInput(name: string): Promise<Input>;
    /** Checks the target, which must not be the input, and creates a file. */
    createOutput(name: string, overwrite: boolean, input: Input): Promise<Output>;
}

let files: FileSystem | undefined;

/** Called by the entries for Node, Deno and Bun. */
export function useFileSystem(those: FileSystem): void {
    files = those;
}

const OUTPUT_OPTIONS = ['overwrite', 'onProgress', 'signal'];

const isPath = (value: unknown): value is FilePath =>
    typeof value === 'string' || typeName(value) === 'URL';

/** Streams of Node and iterators that were passed here. They can be read only once. */
const used = new WeakSet<object>();

/** Refuses a stream that was read: what is left of it is not the whole file. */
function checkUnused(used: unknown): void {
    if (!used) return;
    throw new PalladionError(
        'WRONG_STATE',
        'the source was read already, or is in use',
        'pass a new stream; for the rest of a stream of Node, source.pipe(new PassThrough())',
    );
}

/** A Blob or a stream as an input, or nothing if it is neither. */
function fromStream(source: unknown): Input | undefined {
    const kind = typeName(source);
    const from = kind === 'Blob' || kind === 'File' ? (source as Blob).stream() : source;
    const { getReader, destroy } = (from ?? {}) as { getReader?: unknown; destroy?(): void };
    if (typeof getReader === 'function') {
        checkUnused((from as ReadableStream).locked);
        const reader = (from as ReadableStream<BytesLike>).getReader();
        return { next: () => reader.read(), close: () => reader.cancel() };
    }
    const pieces = (from as AsyncIterable<BytesLike> | null)?.[Symbol.asyncIterator]?.();
    if (pieces === undefined) return undefined;
    if (destroy !== undefined || pieces === from) {
        const stream = from as { [name in 'readableDidRead' | 'destroyed' | 'errored']?: unknown };
        // One that failed says why when it is read.
        const read = !stream.errored && (stream.readableDidRead || stream.destroyed);
        checkUnused(read || used.has(stream));
        used.add(stream);
    }
    // An iterator of a stream that waits would return only once it gets something.
    const close = () => (destroy === undefined ? pieces.return?.() : destroy.call(from));
    return { next: () => pieces.next(), close };
}

/** Waits for what is being opened. After an abort, disposes of it once it is there. */
function opening<Result>(
    promise: Promise<Result>,
    signal: AbortSignal | undefined,
    dispose: (late: Result) => unknown,
): Promise<Result> {
    return until(promise, signal).catch((error) => {
        void promise.then(dispose).catch(() => {});
        throw error;
    });
}

async function convert<Options extends Secret & OutputOptions>(
    source: AnyFile,
    target: FilePath,
    options: Options,
    names: string[],
    make: (given: Options) => Sealer | Opener,
): Promise<void> {
    if (files === undefined) {
        throw new PalladionError(
            'UNSUPPORTED',
            'there is no file system here: this is for Node, Deno and Bun',
            'use the streams of encryptStream and decryptStream',
        );
    }
    const given = fileOptions(options, [...names, ...OUTPUT_OPTIONS]);
    const { overwrite = false, onProgress } = given;
    const signal = checkSignal(given.signal);
    const check = (right: boolean, what: string, value: unknown, hint?: string) => {
        if (right) return;
        throw new PalladionError('WRONG_TYPE', `the ${what}, not ${describe(value)}`, hint);
    };
    check(isPath(target), 'target must be a path or a file: URL', target);
    check(typeof overwrite === 'boolean', 'option "overwrite" must be a boolean', overwrite);
    const callable = onProgress === undefined || typeof onProgress === 'function';
    check(callable, 'option "onProgress" must be a function', onProgress);
    // A relative path is one of the working directory of this moment.
    const from = isPath(source) ? files.nameOf(source) : undefined;
    const name = files.nameOf(target);
    const file = make(given); // copies the secret
    let input: Input | undefined;
    let output: Output | undefined;
    try {
        input =
            from === undefined
                ? fromStream(source)
                : await opening(files.openInput(from), signal, (late) => late.close());
        if (input === undefined) {
            const kinds = 'source must be a path, a file: URL, a Blob or a stream';
            const hint = 'for bytes, pass new Blob([bytes]); for a FileHandle, its name';
            return check(false, kinds, source, hint);
        }
        const created = files.createOutput(name, overwrite, input);
        const to = (output = await opening(created, signal, (late) => late.discard()));
        await until(file.ready, signal);
        const pieces: Bytes[] = [];
        const write = async () => {
            for (const piece of pieces.splice(0)) await until(to.write(piece), signal);
        };
        for (let read = 0; ; ) {
            const { done, value } = await until(input.next(), signal);
            if (done) break;
            const bytes = () => toBytes(value!, 'piece of the source');
            const { length } = bytes();
            let at = await until(file.begin(bytes()), signal);
            while (at < length) {
                at += file.take(bytes().subarray(at, length), (piece) => pieces.push(piece));
                await write();
            }
            onProgress?.((read += length));
        }
        file.end((piece) => pieces.push(piece));
        await write();
        await until(input.close(), signal);
        await until(output.finish(), signal);
        if (signal?.aborted) throw signal.reason;
        await output.commit();
    } catch (error) {
        // It may wait for something that never comes.
        void Promise.resolve(input?.close()).catch(() => {});
        await output?.discard();
        throw error;
    } finally {
        file.free();
    }
}

/**
 * Encrypts a file to a file. In browsers, where there is no file system, it throws `UNSUPPORTED`.
 *
 * The source is a path, a `file:` URL, a `Blob` or a stream of bytes. The target is a path or a
 * `file:` URL, and not the source. **It appears, and replaces an older file, only once all of it
 * was written:** until then it has another name in the same directory (`.palladion-….tmp`), and
 * nobody else may read it. If anything fails, or the signal is aborted, that file is removed and
 * the older one stays. It is left behind only if a program or worker is killed, or if the directory
 * gets another name.
 *
 * A new file gets the permissions of a source that is a file with a name, as far as the umask
 * allows. A file that replaces another gets that one's permissions and, where possible, its owner
 * and group, but no access control list. A symbolic link stays, and its target is replaced.
 */
export async function encryptFileTo(
    source: AnyFile,
    target: FilePath,
    options: EncryptOptions & OutputOptions,
): Promise<void> {
    return convert(source, target, options, ENCRYPT_OPTIONS, (given) => new Sealer(given, true));
}

/**
 * Decrypts a file to a file, as {@link encryptFileTo} encrypts it. The target has all of the
 * plaintext, or stays as it was.
 */
export async function decryptFileTo(
    source: AnyFile,
    target: FilePath,
    options: DecryptOptions & OutputOptions,
): Promise<void> {
    return convert(source, target, options, DECRYPT_OPTIONS, (given) => new Opener(given));
}
