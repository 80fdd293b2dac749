/** Sources of encrypted files, of which any part can be read. */
import { checkInteger, describe, toBytes, typeName, type BytesLike } from './bytes.js';
import { PalladionError } from './errors.js';
import { files, isPath, namesFile, type FileToRead } from './filesystem.js';
import type { FetchOptions, FileObject, Signal } from './types.js';
import { onAbort } from './waiting.js';

/** The bytes to begin with: the header and the first frame. */
export const BEGINNING = 132;

/** Your own source of an encrypted file. */
export interface FileSource {
    /** The length of the encrypted file in bytes. */
    readonly size: number;
    /**
     * Returns the bytes from `start` to before `end`, which is at most `size`; fewer only if the
     * file has become shorter. The array must stay as it is. At most eight calls overlap in time.
     * The signal is aborted once nobody waits for the bytes any more.
     */
    read(
        start: number,
        end: number,
        options: { signal: Signal },
    ): BytesLike | PromiseLike<BytesLike>;
}

/** Everything that `openFile` reads from. */
export type AnySource = FileObject | FileSource | BytesLike | string;

/** Bytes of a file; fewer than were asked for if the file has become shorter. */
export interface Part {
    readonly bytes: Uint8Array;
    /** Why they may belong to another file: the error if they cannot be verified. */
    readonly changed?: PalladionError | undefined;
}

/** A source whose length is known. */
export interface Source {
    readonly size: number;
    /** The first bytes, if they came with the length. */
    readonly beginning?: Part | undefined;
    /** Every error is a PalladionError, or the reason of an abort. */
    read(start: number, end: number, signal: Signal): Promise<Part>;
    /** The error if the file is not the one that was opened, where this can be told. */
    changed?(): Promise<PalladionError | undefined>;
    /** Closes what this opened. */
    close?(): void;
}

function has<Name extends string>(
    value: unknown,
    ...names: Name[]
): value is Record<Name, unknown> {
    return (
        typeof value === 'object' &&
        value !== null &&
        names.every((name) => (value as Record<string, unknown>)[name] !== undefined)
    );
}

/** Passes errors of a source on as ours, but not the reason of an abort. */
export async function guarded<Result>(
    what: string,
    run: () => Result | PromiseLike<Result>,
    ...signals: (Signal | null | undefined)[]
): Promise<Result> {
    try {
        return await run();
    } catch (cause) {
        for (const signal of signals) if (signal?.aborted) throw signal.reason;
        if (cause instanceof PalladionError) throw cause;
        const error = (cause ?? {}) as { message?: string; cause?: { code?: unknown } };
        // The error of `fetch` has the reason in its own cause. That one's message may be secret.
        const code = error.cause?.code;
        const why = [error.message ?? cause, ...(typeof code === 'string' ? [code] : [])];
        const message = `${what} cannot be read: ${why.join(': ')}`;
        throw new PalladionError('READ_FAILED', message, undefined, { cause });
    }
}

function source(size: number, read: FileSource['read']): Source {
    checkInteger(size, 0, Number.MAX_SAFE_INTEGER, 'size of the source');
    return {
        size,
        read: (start, end, signal) =>
            guarded(nameOf(start, end), async () => {
                const given = await read(start, end, { signal });
                const bytes = toBytes(given, 'part of the file from the source');
                if (bytes.length > end - start) {
                    throw new PalladionError(
                        'WRONG_LENGTH',
                        `the source returned ${bytes.length} bytes for ${start} to ${end}, ` +
                            `which are ${end - start}`,
                    );
                }
                return { bytes };
            }),
    };
}

const nameOf = (start: number, end: number, file = 'the file') =>
    `bytes ${start} to ${end} of ${file}`;

async function fromHandle(handle: FileToRead): Promise<Source> {
    const stat = await guarded('the file', () => handle.stat());
    if (stat.isDirectory())
        throw new PalladionError('WRONG_VALUE', 'the source is a directory, not a file');
    if (!stat.isFile()) {
        throw new PalladionError(
            'WRONG_VALUE',
            'the source is not a regular file, so only its start can be read',
            'use decryptStream for a pipe or a device',
        );
    }
    const changed = async () => {
        const now = await handle.stat().catch(() => stat);
        if (now.size === stat.size && now.mtimeMs === stat.mtimeMs) return undefined;
        const message = 'the file was written to while it was open';
        return new PalladionError('FILE_CHANGED', message, 'open it again');
    };
    const { size, read } = source(stat.size, async (start, end) => {
        const bytes = new Uint8Array(end - start);
        let have = 0;
        while (have < bytes.length) {
            const rest = bytes.length - have;
            const { bytesRead } = await handle.read(bytes, have, rest, start + have);
            if (bytesRead === 0) break;
            have += bytesRead;
        }
        return bytes.subarray(0, have);
    });
    return { size, read, changed };
}

async function fromName(name: string): Promise<Source> {
    const handle = await guarded(`"${name}"`, () => files!.openFile(name));
    const close = () => void handle.close().catch(() => {});
    try {
        return { ...(await fromHandle(handle)), close };
    } catch (error) {
        close();
        throw error;
    }
}

/** The `cause` of `READ_FAILED` if a server answered with something else than the bytes. */
export interface ServerError extends Error {
    /** The status of the answer, such as 404 or 503. */
    readonly status: number;
    /**
     * The header `Retry-After`, if there is one: a number of seconds or a date. A server of another
     * origin must allow a page to see it.
     */
    readonly retryAfter?: string;
}

function refusal({ status, headers }: Response): ServerError {
    const retryAfter = headers.get('retry-after');
    const error = new Error(`the server answers ${status}`);
    return Object.assign(error, { status }, retryAfter === null ? {} : { retryAfter });
}

/** Reads a body of a known length. A server could send more without end. */
async function body(response: Response, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    const reader = response.body!.getReader();
    let have = 0;
    for (;;) {
        const { done, value } = await reader.read();
        if (done && have === length) return bytes;
        if (done || value.length > length - have) {
            void reader.cancel().catch(() => {});
            throw new Error(`the server sends ${done ? 'fewer' : 'more'} bytes than it announces`);
        }
        bytes.set(value, have);
        have += value.length;
    }
}

/**
 * A file on a server. `If-Range` would need the permission of a server of another origin, and a
 * changed file would come as a whole; so this compares what each answer says about the file. Of an
 * unchanged file, the machines behind one address may say different things. Each chunk shows itself
 * whether it belongs to the file, so a difference only explains why one does not.
 */
async function fromServer(url: URL, options: RequestInit, signal: AbortSignal): Promise<Source> {
    // The query of an address may be a secret.
    const from = `${url.origin}${url.pathname}`;
    let file: { size: number; version: string | null } | undefined;

    async function get(start: number, end: number, signal: AbortSignal): Promise<Part> {
        const headers = new Headers(options.headers);
        headers.set('Range', `bytes=${start}-${end - 1}`);
        // It ends with either signal.
        const both = new AbortController();
        const stops = [signal, options.signal].map((one) => onAbort(one, (r) => both.abort(r)));
        let response: Response | undefined;
        try {
            response = await fetch(url, { ...options, headers, signal: both.signal });
            return await part(response, start, end);
        } catch (error) {
            if (!response?.bodyUsed) void response?.body?.cancel().catch(() => {});
            throw error;
        } finally {
            for (const stop of stops) stop();
        }
    }

    async function part(response: Response, start: number, end: number): Promise<Part> {
        const { status } = response;
        const range = response.headers.get('content-range') ?? '';
        if (status === 416) {
            if (file !== undefined) throw changed();
            if (/^bytes \*\/0$/i.test(range)) {
                file = { size: 0, version: null };
                return { bytes: new Uint8Array(0) };
            }
        }
        if (status === 200) {
            throw new PalladionError(
                'NO_RANGES',
                `the server does not send parts of files: ${from} came as a whole`,
                'fetch the whole file, and pipe its body through decryptStream',
            );
        }
        if (status !== 206) throw refusal(response);
        const [, first, last, size] = /^bytes (\d+)-(\d+)\/(\d+)$/i.exec(range) ?? [];
        if (size === undefined) {
            throw new PalladionError(
                'NO_RANGES',
                `the server does not say which part of ${from} it sent: ` +
                    (range === '' ? 'there is no Content-Range' : `Content-Range is "${range}"`),
                'a server of another origin must allow the page to see it: ' +
                    'Access-Control-Expose-Headers: Content-Range, ETag',
            );
        }
        const now = {
            size: Number(size),
            version:
                response.headers.get('etag')?.replace(/^W\//, '') ??
                response.headers.get('last-modified'),
        };
        file ??= now;
        if (file.size !== now.size) throw changed();
        const until = Math.min(end, file.size);
        if (Number(first) !== start || Number(last) !== until - 1) {
            throw new PalladionError(
                'NO_RANGES',
                `the server sent bytes ${first} to ${last} of ${from} instead of ` +
                    `${start} to ${until - 1}`,
            );
        }
        const differs = file.version !== now.version;
        return {
            bytes: await body(response, until - start),
            changed: differs ? changed() : undefined,
        };
    }

    const changed = () =>
        new PalladionError(
            'FILE_CHANGED',
            `the file changed on the server while it was open: ${from}`,
            'open it again',
        );

    const attempt = (what: string, start: number, end: number, signal: AbortSignal) =>
        guarded(what, () => get(start, end, signal), signal, options.signal);
    const beginning = await attempt(`the start of ${from}`, 0, BEGINNING, signal);
    return {
        size: checkInteger(file!.size, 0, Number.MAX_SAFE_INTEGER, 'size of the source'),
        beginning,
        read: (start, end, signal) => attempt(nameOf(start, end, from), start, end, signal),
    };
}

function wrongSource(value: unknown): PalladionError {
    const hint =
        typeof value === 'string' || typeName(value) === 'URL'
            ? files === undefined
                ? 'a path is for Node, Deno and Bun; for an address without a host in a page, ' +
                  '`new URL(address, location.href)`'
                : 'for the text of a file: URL, `new URL(text)`'
            : typeName(value) === 'FileSystemFileHandle'
              ? 'pass `await handle.getFile()`'
              : typeName(value) === 'ReadableStream'
                ? 'a stream has only one direction: use decryptStream'
                : typeName(value) === 'Response'
                  ? 'pass its address, or `await response.blob()`'
                  : typeName(value) === 'Promise'
                    ? '`await` it first'
                    : undefined;
    return new PalladionError(
        'WRONG_TYPE',
        'the source must be a Blob, a path, a FileHandle, an http(s) address, bytes, or an ' +
            `object with size and read, not ${describe(value)}` +
            (typeof value === 'string' ? ' without https://' : ''),
        hint,
    );
}

function address(text: string): URL {
    let url;
    try {
        url = new URL(text);
    } catch {
        throw new PalladionError('WRONG_VALUE', 'the source is not a valid http(s) address');
    }
    // `fetch` refuses them too, but its error shows them.
    if (url.username !== '' || url.password !== '') {
        throw new PalladionError(
            'WRONG_VALUE',
            'the address must not have a user name or a password',
            'pass a header instead: { fetch: { headers: { Authorization: … } } }',
        );
    }
    return url;
}

/** Checks the options for requests, which are all for a part of the file. */
function checkFetch(options: FetchOptions | undefined, isAddress: boolean): RequestInit {
    if (options === undefined) return {};
    if (typeof options !== 'object' || options === null) {
        throw new PalladionError(
            'WRONG_TYPE',
            `the option "fetch" must be an object with options, not ${describe(options)}`,
        );
    }
    const { method, body } = options as RequestInit;
    if (isAddress && method === undefined && body === undefined) return options as RequestInit;
    throw new PalladionError(
        'WRONG_VALUE',
        isAddress
            ? 'the option "fetch" must not have a method or a body: each request is a GET'
            : 'the option "fetch" is only for http(s) addresses, which this source is not',
    );
}

/** Finds out what a source is, and its length. */
export async function openSource(
    from: AnySource,
    options: FetchOptions | undefined,
    signal: Signal,
): Promise<Source> {
    const kind = typeName(from);
    const isAddress = isPath(from) && /^https?:\/\//i.test(String(from));
    const fetchOptions = checkFetch(options, isAddress);
    if (isAddress) return fromServer(address(String(from)), fetchOptions, signal);
    if (isPath(from)) {
        if (files === undefined || !namesFile(from)) throw wrongSource(from);
        return fromName(files.nameOf(from));
    }
    if (kind === 'Blob' || kind === 'File') {
        const blob = from as Blob;
        return source(blob.size, (start, end) => blob.slice(start, end).arrayBuffer());
    }
    if (ArrayBuffer.isView(from) || kind === 'ArrayBuffer' || kind === 'SharedArrayBuffer') {
        const bytes = () => toBytes(from as BytesLike, 'file');
        return source(bytes().length, (start, end) => bytes().subarray(start, end));
    }
    if (has(from, 'fd', 'stat', 'read')) return fromHandle(from as unknown as FileToRead);
    if (has(from, 'size', 'read') && typeof from.read === 'function') {
        const own = from as unknown as FileSource;
        return source(own.size, (...range) => own.read(...range));
    }
    throw wrongSource(from);
}
