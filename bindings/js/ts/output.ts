/** Encrypts and decrypts from file to file, where there is a file system. */
import { describe, toBytes, typeName, type Bytes, type BytesLike } from './bytes.js';
import { PalladionError } from './errors.js';
import {
    decoder,
    DECRYPT_OPTIONS,
    encoder,
    ENCRYPT_OPTIONS,
    fileOptions,
    type Coder,
    type DecryptOptions,
    type EncryptOptions,
    type Secrets,
} from './file.js';
import {
    checkUnused,
    files,
    isPath,
    type FileSystem,
    type Input,
    type Output,
} from './filesystem.js';
import type { AnyFile, FilePath, Signal } from './types.js';
import { checkSignal, opening, until } from './waiting.js';

/** The options for a file that is written. */
export interface OutputOptions {
    /** Replaces the target if it exists. Otherwise that is an error, `FILE_EXISTS`. */
    overwrite?: boolean;
    /** Is called with the number of bytes of the source that were read so far. What it returns is
     * ignored: in an async function, catch errors.
     */
    onProgress?: (bytes: number) => void;
    /** Ends the work: the promise is rejected with the signal's reason, once the unfinished file is
     * removed.
     */
    signal?: Signal;
}

const OUTPUT_OPTIONS = ['overwrite', 'onProgress', 'signal'];

/** Iterators that were passed here. They can be read only once. */
const used = new WeakSet<object>();

/** Whether a stream of the Web was never read in part, nor cancelled, and nobody reads it. */
function isWhole(stream: ReadableStream): boolean {
    try {
        // This refuses it otherwise, and nothing else says it in all of Node, Deno and Bun.
        return new Response(stream) !== undefined;
    } catch {
        return false;
    }
}

/** Takes a Blob or a stream as the input, at once: afterwards, nobody else can take bytes away. */
function takeInput(source: unknown, files: FileSystem): Input {
    const kind = typeName(source);
    const from = kind === 'Blob' || kind === 'File' ? (source as Blob).stream() : source;
    if (typeof (from as { getReader?: unknown } | null)?.getReader === 'function') {
        const stream = from as ReadableStream<BytesLike>;
        checkUnused(from === source && !isWhole(stream));
        const reader = stream.getReader();
        const close = (error: unknown) => {
            const cancelled = reader.cancel(error);
            reader.releaseLock();
            return cancelled;
        };
        return { next: () => reader.read(), close };
    }
    const input = files.takeStream(from);
    if (input !== undefined) return input;
    const pieces = (from as AsyncIterable<BytesLike> | null)?.[Symbol.asyncIterator]?.();
    if (pieces === undefined) {
        throw new PalladionError(
            'WRONG_TYPE',
            'the source must be a path, a file: URL, a Blob or a stream, not ' + describe(source),
            'for bytes, pass new Blob([bytes]); for a FileHandle, its name',
        );
    }
    if (pieces === from) {
        checkUnused(used.has(pieces));
        used.add(pieces);
    }
    return { next: () => pieces.next(), close: () => pieces.return?.() };
}

async function convert<Options extends Secrets & OutputOptions>(
    source: AnyFile,
    target: FilePath,
    options: Options,
    names: string[],
    make: (given: Options) => Coder,
): Promise<void> {
    if (files === undefined) {
        throw new PalladionError(
            'UNSUPPORTED',
            'there is no file system here: this is for Node, Deno and Bun',
            'use the streams of encryptStream and decryptStream',
        );
    }
    let input = isPath(source) ? undefined : takeInput(source, files);
    let created: Promise<Output> | undefined;
    let file: Coder | undefined;
    try {
        const given = fileOptions(options, [...names, ...OUTPUT_OPTIONS]);
        const { overwrite = false, onProgress } = given;
        const signal = checkSignal(given.signal);
        const check = (right: boolean, what: string, value: unknown) => {
            if (right) return;
            throw new PalladionError('WRONG_TYPE', `the ${what}, not ${describe(value)}`);
        };
        check(isPath(target), 'target must be a path or a file: URL', target);
        check(typeof overwrite === 'boolean', 'option "overwrite" must be a boolean', overwrite);
        const callable = onProgress === undefined || typeof onProgress === 'function';
        check(callable, 'option "onProgress" must be a function', onProgress);
        // A relative path is one of the working directory of this moment.
        const from = isPath(source) ? files.nameOf(source) : '';
        const name = files.nameOf(target);
        file = make(given); // copies the secret
        input ??= await opening(files.openInput(from), signal, (late) => late.close());
        created = files.createOutput(name, overwrite, input);
        const output = await until(created, signal);
        await until(file.ready, signal);
        const pieces: Bytes[] = [];
        const write = async () => {
            for (const piece of pieces.splice(0)) await until(output.write(piece), signal);
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
        // The source may wait for something that never comes.
        void (async () => input?.close(error))().catch(() => {});
        await created?.then((output) => output.discard()).catch(() => {});
        throw error;
    } finally {
        file?.free();
    }
}

/**
 * Encrypts a file to a file. In browsers, where there is no file system, it throws `UNSUPPORTED`.
 *
 * The source is a path, a `file:` URL, a `Blob`, a stream of bytes or an iterator of them. If the
 * promise is rejected, the stream is destroyed or cancelled with the error, unless it was refused
 * because it had been read already.
 *
 * The target is a path or a `file:` URL, and not the source. **It appears, and replaces an older
 * file, only once all of it was written:** until then it has another name in the same directory
 * (`.palladion-….tmp`), and nobody else may read it. If anything fails, or the signal is aborted,
 * that file is removed and the older one stays. It is left behind only if a program or worker is
 * killed, or if the directory gets another name.
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
    return convert(source, target, options, ENCRYPT_OPTIONS, (given) => encoder(given, true));
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
    return convert(source, target, options, DECRYPT_OPTIONS, decoder);
}
