/** Encrypted files, any part of which can be read. */
import { ALGORITHMS, type Algorithm } from './algorithm.js';
import { checkInteger, checkOptions, newOutput, type Bytes } from './bytes.js';
import { Handle, type Chunk, type Engine } from './engine.js';
import { PalladionError } from './errors.js';
import {
    DECRYPT_OPTIONS,
    engineFor,
    fileOptions,
    FRAME,
    HEADER,
    kdfLimits,
    secretBytes,
    TAG,
    writeSecrets,
    type Abortable,
    type DecryptOptions,
} from './file.js';
import {
    BEGINNING,
    openSource,
    type AnySource,
    type FileSource,
    type Part,
    type Source,
} from './source.js';
import type { ByteStream, FetchOptions } from './types.js';
import { checkSignal, onAbort, opening, Turns, until } from './waiting.js';

/** The options for opening a file. The signal ends the opening, and not what is read later. */
export type OpenOptions = DecryptOptions &
    Abortable & {
        /**
         * For an address: options for each `fetch`, such as `headers` or `credentials`. A signal in
         * them ends the opening and everything later.
         */
        fetch?: FetchOptions;
    };

/**
 * An open file. Each of its chunks is verified when something in it is read: a damaged one spoils
 * the reads that touch it, and no others.
 */
export interface OpenFile {
    /** The length of the plaintext in bytes. The last chunk of the file proves it. */
    readonly size: number;
    /** The algorithm of the file. */
    readonly algorithm: Algorithm;
    /** The most bytes of plaintext in a chunk. */
    readonly chunkSize: number;
    /**
     * Returns the plaintext from `start`, by default 0, to before `end`, by default and at most the
     * size. Calls need not wait for each other; at most eight requests run at once. The last chunks
     * that were decrypted are kept, 4 MiB and one chunk of them, so short reads in a few places
     * fetch and decrypt their chunks once.
     */
    read(start?: number, end?: number, options?: Abortable): Promise<Bytes>;
    /**
     * Returns a stream of the same bytes. It keeps a few MiB of the encrypted file, or one chunk if
     * that is more, and passes each piece on once it is verified. **What it returned before an
     * error is correct, but not complete.** `cancel()` ends the request that it waits for. The call
     * itself throws if an argument is wrong, the file is closed, or the signal was aborted before.
     */
    stream(start?: number, end?: number, options?: Abortable): ByteStream;
    /**
     * Wipes the key and what was decrypted. Ends all requests: reads that wait, and every later
     * one, fail with `WRONG_STATE`. Closes a file that `openFile` opened by its name; other
     * sources stay open.
     */
    close(): void;
    /**
     * Calls `close`, for `using`. TypeScript needs `lib: esnext.disposable` or the types of Node.
     * @ts-ignore */
    [Symbol.dispose](): void;
}

// Where it is missing, nothing calls it.
const dispose: typeof Symbol.dispose = Symbol.dispose ?? Symbol();

/** The most bytes that are read from the source at once, unless a single chunk is more. */
const GROUP = 4 << 20;
/** The least plaintext in a piece of a stream, if there is so much. */
const PIECE = 64 << 10;

/** The most bytes of decrypted chunks that are kept, unless a single chunk is more. */
const KEPT = 4 << 20;
/** The most requests at the same time, each for a group of chunks. */
const REQUESTS = 8;

/** Neighbouring chunks as they are in the file. */
interface Group {
    readonly first: number;
    readonly end: number;
    readonly part: Promise<Part>;
    /** Ends the request. */
    readonly stop: AbortController;
    /** How many reads wait for it. */
    waiting: number;
}

/** Chunks for later calls. */
interface Ahead {
    group?: Group;
}

class Reader implements OpenFile {
    readonly #source: Source;
    readonly #handle: Handle;
    readonly #chunk: Chunk;
    /** The chunk whose plaintext is in the buffer, and whether a part of it may be read later. */
    #current = -1;
    #wanted = false;
    /** The plaintext of chunks that were in the buffer before, the latest last. */
    readonly #kept = new Map<number, Bytes>();
    /** What is being read from the source. */
    readonly #fetching = new Set<Group>();
    readonly #turns = new Turns(REQUESTS);
    readonly chunkSize: number;
    algorithm!: Algorithm;
    size!: number;

    constructor(source: Source, engine: Engine, file: number) {
        this.#source = source;
        this.#handle = new Handle(this, engine, file, engine.call.pld_reader_free, CLOSED);
        this.chunkSize = engine.check(engine.call.pld_reader_size(file));
        const text = Math.min(this.chunkSize, source.size);
        this.#chunk = engine.chunk(file, FRAME + text + TAG);
    }

    /** Verifies that the file ends where it should. */
    async open(beginning: Part, signal: AbortSignal): Promise<void> {
        for (;;) {
            const { engine: e, number } = this.#handle;
            const length = e.check(e.call.pld_reader_wants(number));
            const at = e.long;
            if (length === 0) {
                this.size = at;
                this.algorithm = ALGORITHMS[e.check(e.call.pld_reader_algorithm(number)) - 1]!;
                // The last bytes that it wanted were the last chunk.
                this.#current = Math.max(Math.ceil(at / this.chunkSize), 1) - 1;
                this.#wanted = true;
                return;
            }
            const part =
                at + length <= beginning.bytes.length
                    ? { bytes: beginning.bytes.subarray(at, at + length) }
                    : await until(this.#source.read(at, at + length, signal), signal);
            this.#chunk.set(part.bytes, 0);
            const given = e.call.pld_reader_give(number, part.bytes.length, this.#chunk.array);
            verify(e, given, part);
        }
    }

    async read(start = 0, end?: number, options?: Abortable): Promise<Bytes> {
        const range = this.#range(start, end);
        const signal = readSignal(options);
        return this.#text(range.start, range.end, range.end, {}, signal);
    }

    stream(start = 0, end?: number, options?: Abortable): ByteStream {
        const range = this.#range(start, end);
        const signal = readSignal(options);
        let at = range.start;
        const ahead = {};
        let size = Math.max(this.chunkSize, PIECE);
        const stop = new AbortController();
        let ended = () => {};
        /** Returns the next piece. Pieces end where chunks do. */
        const piece = () => {
            const next = Math.min(range.end, (Math.floor(at / size) + 1) * size);
            return this.#text(at, next, range.end, ahead, stop.signal);
        };
        return new ReadableStream<Bytes>({
            start: (controller) => {
                ended = onAbort(signal, (reason) => {
                    stop.abort(reason);
                    controller.error(reason);
                });
            },
            pull: async (controller) => {
                try {
                    if (at < range.end) {
                        const text = await piece().catch((error) => {
                            if (size === this.chunkSize || stop.signal.aborted) throw error;
                            // Pass on the chunks before the one that failed.
                            size = this.chunkSize;
                            return piece();
                        });
                        if (stop.signal.aborted) return;
                        controller.enqueue(text);
                        at += text.length;
                    }
                    if (at < range.end) return;
                    controller.close();
                } catch (error) {
                    ended();
                    throw error;
                }
                ended();
            },
            cancel: (reason) => {
                ended();
                stop.abort(reason);
            },
        }) as ByteStream;
    }

    close(): void {
        this.#handle.free();
        this.#chunk.wipe();
        for (const text of this.#kept.values()) text.fill(0);
        this.#kept.clear();
        this.#current = -1;
        for (const group of this.#fetching) group.stop.abort(closed());
        this.#source.close?.();
    }

    [dispose](): void {
        this.close();
    }

    #range(start: number, end?: number): { start: number; end: number } {
        void this.#handle.number; // throws if it is closed
        const from = checkInteger(start, 0, Number.MAX_SAFE_INTEGER, 'start');
        if (end !== undefined) checkInteger(end, from, Number.MAX_SAFE_INTEGER, 'end');
        return { start: Math.min(from, this.size), end: Math.min(end ?? this.size, this.size) };
    }

    /**
     * Returns the plaintext from `start` to before `end`. More will be read up to `until`, for
     * which `ahead` keeps chunks.
     */
    async #text(
        start: number,
        end: number,
        until: number,
        ahead: Ahead,
        signal: AbortSignal | undefined,
    ): Promise<Bytes> {
        const text = newOutput(end - start);
        try {
            await this.#fill(text, start, until, ahead, signal);
            return text;
        } catch (error) {
            text.fill(0);
            throw await this.#explained(error);
        }
    }

    /** Says of a damaged chunk that it may be one of another file. */
    async #explained(error: unknown): Promise<unknown> {
        if (!(error instanceof PalladionError) || error.code !== 'DAMAGED') return error;
        const hint = `${error.hint}; if the file was replaced while it was open, open it again`;
        return (
            (await this.#source.changed?.()) ?? new PalladionError('DAMAGED', error.message, hint)
        );
    }

    async #fill(
        text: Uint8Array,
        start: number,
        until: number,
        ahead: Ahead,
        signal: AbortSignal | undefined,
    ): Promise<void> {
        for (let done = 0; done < text.length; ) {
            const at = start + done;
            const chunk = Math.floor(at / this.chunkSize);
            const from = at - chunk * this.chunkSize;
            const part = text.subarray(done, done + this.chunkSize - from);
            done += part.length;
            const kept = chunk === this.#current ? undefined : this.#kept.get(chunk);
            if (kept !== undefined) {
                part.set(kept.subarray(from, from + part.length));
                this.#keep(chunk, kept); // as the latest
                continue;
            }
            if (chunk !== this.#current) {
                let group = ahead.group;
                if (group === undefined || chunk < group.first || group.end <= chunk)
                    group = ahead.group = this.#group(chunk, Math.ceil(until / this.chunkSize));
                const sealed = await this.#wait(group, signal);
                // From here to the copy nothing waits, because other reads use the same buffer.
                if (chunk !== this.#current) this.#open(chunk, group.first, sealed);
            }
            this.#chunk.fill(part, FRAME + from);
            if (part.length < this.#lengthOf(chunk)) this.#wanted = true;
        }
    }

    #lengthOf(chunk: number): number {
        return Math.min(this.chunkSize, this.size - chunk * this.chunkSize);
    }

    /** Keeps the plaintext of a chunk as the latest. */
    #keep(chunk: number, text: Bytes): void {
        this.#kept.delete(chunk);
        this.#kept.set(chunk, text);
        if (this.#kept.size <= Math.max(1, KEPT / this.chunkSize)) return;
        for (const [oldest, text] of this.#kept) {
            text.fill(0);
            this.#kept.delete(oldest);
            return;
        }
    }

    /** Reads chunks from the source, the first one and some that follow it before `end`. */
    #group(first: number, end: number): Group {
        void this.#handle.number; // a closed file makes no request
        for (const group of this.#fetching)
            if (group.first <= first && first < group.end) return group;
        const count = Math.max(1, Math.floor(GROUP / (this.chunkSize + FRAME + TAG)));
        const last = Math.min(end, first + count);
        const to = Math.min(this.#offset(last), this.#source.size);
        const stop = new AbortController();
        const read = this.#turns.run(() => {
            if (stop.signal.aborted) throw stop.signal.reason;
            return this.#source.read(this.#offset(first), to, stop.signal);
        });
        const part = until(read, stop.signal).finally(() => this.#fetching.delete(group));
        const group: Group = { first, end: last, part, stop, waiting: 0 };
        this.#fetching.add(group);
        return group;
    }

    /** Waits for chunks, which other reads may wait for too. The last to leave ends the request. */
    async #wait(group: Group, signal: AbortSignal | undefined): Promise<Part> {
        group.waiting++;
        try {
            return await until(group.part, signal);
        } finally {
            if (--group.waiting === 0 && this.#fetching.delete(group)) group.stop.abort();
        }
    }

    /** Where a chunk begins in the file. */
    #offset(chunk: number): number {
        return HEADER + chunk * (FRAME + this.chunkSize + TAG);
    }

    /** Decrypts a chunk into the buffer. `sealed` begins with the chunk `first`. */
    #open(chunk: number, first: number, sealed: Part): void {
        const { engine: e, number } = this.#handle;
        const from = this.#offset(chunk) - this.#offset(first);
        const bytes = sealed.bytes.subarray(from, from + FRAME + this.chunkSize + TAG);
        const before = this.#current;
        if (before !== -1 && this.#wanted)
            this.#keep(before, this.#chunk.slice(FRAME, FRAME + this.#lengthOf(before)));
        this.#current = -1;
        this.#wanted = false;
        this.#chunk.set(bytes, 0);
        e.long = chunk;
        verify(e, e.call.pld_reader_open(number, bytes.length, this.#chunk.array), sealed);
        this.#current = chunk;
    }
}

const CLOSED = 'this file is closed';
const closed = () => new PalladionError('WRONG_STATE', CLOSED);

/** Throws if a call that verifies a part failed. */
function verify(e: Engine, result: number, part: Part): void {
    if (result !== -1) return;
    const error = e.failure();
    throw error.code === 'DAMAGED' && part.changed !== undefined ? part.changed : error;
}

function readSignal(options: Abortable = {}): AbortSignal | undefined {
    checkOptions(options, ['signal']);
    return checkSignal(options.signal);
}

/**
 * Opens an encrypted file, to read any part of it without decrypting the rest: a `Blob` or `File`,
 * in Node, Deno and Bun a path, a `file:` URL or a `FileHandle`, the address of a server that sends
 * parts of files (ranges), bytes, or an object with `size` and `read(start, end)`.
 *
 * It reads the header and the last chunk. So the size is authentic, and a file that was cut or
 * extended is an error at once. The native addon works on a passphrase on another thread; with
 * WebAssembly, this one does.
 */
export function openFile(source: FileSource, options: OpenOptions): Promise<OpenFile>;
export function openFile(source: AnySource, options: OpenOptions): Promise<OpenFile>;
export async function openFile(source: AnySource, options: OpenOptions): Promise<OpenFile> {
    const given = fileOptions(options, [...DECRYPT_OPTIONS, 'fetch', 'signal']);
    const limits = kdfLimits(given.limits);
    const fetchOptions = given.fetch;
    const asked = checkSignal(given.signal);
    const secrets = secretBytes(given, 'decrypt');
    const { passphrase, explain } = secrets;
    let from: Source | undefined;
    let reader: Reader | undefined;
    const stop = new AbortController();
    const { signal } = stop;
    const ends = [asked, fetchOptions?.signal].map((one) => onAbort(one, (r) => stop.abort(r)));
    try {
        const opened = openSource(source, fetchOptions, signal);
        const file = (from = await opening(opened, signal, (late) => late.close?.()));
        const beginning =
            file.beginning ??
            (await until(file.read(0, Math.min(BEGINNING, file.size), signal), signal));
        const header = beginning.bytes.subarray(0, HEADER);
        const e = engineFor(passphrase);
        const write = () => {
            if (signal.aborted) throw signal.reason;
            const length = writeSecrets(e, secrets, header);
            e.long = file.size;
            return [length, header.length, ...limits];
        };
        const create = passphrase ? 'createLater' : 'create';
        const begun = e[create]('reader_new', write, (number) => {
            reader = new Reader(file, e, number);
            if (signal.aborted) reader.close();
        });
        await until(begun, signal);
        await reader!.open(beginning, signal);
        return reader!;
    } catch (error) {
        stop.abort();
        reader?.close();
        from?.close?.();
        throw explain(error);
    } finally {
        for (const end of ends) end();
        secrets.bytes.fill(0);
    }
}
