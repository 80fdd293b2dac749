/** Encrypted files, any part of which can be read. */
import { ALGORITHMS, type Algorithm } from './algorithm.js';
import { checkInteger, copyOf, newOutput, type Bytes } from './bytes.js';
import { Handle, type Chunk, type Engine } from './engine.js';
import {
    engineFor,
    fileOptions,
    FRAME,
    HEADER,
    kdfLimits,
    secretBytes,
    TAG,
    writeSecret,
    type DecryptOptions,
} from './file.js';
import { openSource, type AnySource, type Source } from './source.js';
import type { ByteStream, FetchOptions } from './types.js';

/** The options for opening a file. */
export type OpenOptions = DecryptOptions & {
    /** For an address: options for each `fetch`, such as `headers` or `credentials`. */
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
     * size. Calls need not wait for each other. The last chunk that was decrypted is kept, so short
     * reads in one chunk fetch and decrypt it once.
     */
    read(start?: number, end?: number): Promise<Bytes>;
    /**
     * Returns a stream of the same bytes. It keeps a few MiB of the encrypted file, or one chunk if
     * that is more, and passes each piece on once it is verified. **What it returned before an
     * error is correct, but not complete.**
     */
    stream(start?: number, end?: number): ByteStream;
    /** Wipes the key and what was decrypted: every later read fails. The source stays open. */
    close(): void;
}

/** The most bytes that are read from the source at once, unless a single chunk is more. */
const GROUP = 4 << 20;
/** The least plaintext in a piece of a stream, if there is so much. */
const PIECE = 64 << 10;

/** Neighbouring chunks as they are in the file. */
interface Group {
    readonly first: number;
    readonly end: number;
    readonly bytes: Promise<Uint8Array>;
}

/** Chunks for later calls. */
interface Ahead {
    group?: Group;
}

class Reader implements OpenFile {
    readonly #source: Source;
    readonly #handle: Handle;
    readonly #chunk: Chunk;
    /** The chunk whose plaintext is in the buffer. */
    #current = -1;
    /** What is being read from the source. */
    readonly #fetching = new Set<Group>();
    readonly chunkSize: number;
    algorithm!: Algorithm;
    size!: number;

    constructor(source: Source, engine: Engine, file: number) {
        this.#source = source;
        this.#handle = new Handle(this, engine, file, engine.call.pld_reader_free);
        this.chunkSize = engine.check(engine.call.pld_reader_size(file));
        const text = Math.min(this.chunkSize, source.size);
        this.#chunk = engine.chunk(file, 'reader', FRAME + text + TAG);
    }

    /** Verifies that the file ends where it should. */
    async open(): Promise<void> {
        for (;;) {
            const { engine: e, number } = this.#handle;
            const length = e.check(e.call.pld_reader_wants(number));
            const at = e.long;
            if (length === 0) {
                this.size = at;
                this.algorithm = ALGORITHMS[e.check(e.call.pld_reader_algorithm(number)) - 1]!;
                // The last bytes that it wanted were the last chunk.
                this.#current = Math.max(Math.ceil(at / this.chunkSize), 1) - 1;
                return;
            }
            const bytes = await this.#source.read(at, at + length);
            this.#chunk.set(bytes, 0);
            e.check(e.call.pld_reader_give(number, bytes.length, this.#chunk.array));
        }
    }

    async read(start = 0, end?: number): Promise<Bytes> {
        const range = this.#range(start, end);
        return this.#text(range.start, range.end, range.end, {});
    }

    stream(start = 0, end?: number): ByteStream {
        const range = this.#range(start, end);
        let at = range.start;
        const ahead = {};
        const size = Math.max(this.chunkSize, PIECE);
        return new ReadableStream<Bytes>({
            pull: async (controller) => {
                // Pieces end where chunks do.
                const next = Math.min(range.end, (Math.floor(at / size) + 1) * size);
                if (at < next) {
                    controller.enqueue(await this.#text(at, next, range.end, ahead));
                    at = next;
                }
                if (at === range.end) controller.close();
            },
        }) as ByteStream;
    }

    close(): void {
        this.#handle.free();
        this.#chunk.wipe();
        this.#current = -1;
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
    async #text(start: number, end: number, until: number, ahead: Ahead): Promise<Bytes> {
        const text = newOutput(end - start);
        try {
            await this.#fill(text, start, until, ahead);
            return text;
        } catch (error) {
            text.fill(0);
            throw error;
        }
    }

    async #fill(text: Uint8Array, start: number, until: number, ahead: Ahead): Promise<void> {
        for (let done = 0; done < text.length; ) {
            const at = start + done;
            const chunk = Math.floor(at / this.chunkSize);
            if (chunk !== this.#current) {
                let group = ahead.group;
                if (group === undefined || chunk < group.first || group.end <= chunk)
                    group = ahead.group = this.#group(chunk, Math.ceil(until / this.chunkSize));
                const sealed = await group.bytes;
                // From here to the copy nothing waits, because other reads use the same buffer.
                if (chunk !== this.#current) this.#open(chunk, group.first, sealed);
            }
            const from = at - chunk * this.chunkSize;
            const part = text.subarray(done, done + this.chunkSize - from);
            this.#chunk.fill(part, FRAME + from);
            done += part.length;
        }
    }

    /** Reads chunks from the source, the first one and some that follow it before `end`. */
    #group(first: number, end: number): Group {
        for (const group of this.#fetching)
            if (group.first <= first && first < group.end) return group;
        const count = Math.max(1, Math.floor(GROUP / (this.chunkSize + FRAME + TAG)));
        const last = Math.min(end, first + count);
        const until = Math.min(this.#offset(last), this.#source.size);
        const bytes = this.#source
            .read(this.#offset(first), until)
            .finally(() => this.#fetching.delete(group));
        const group: Group = { first, end: last, bytes };
        this.#fetching.add(group);
        return group;
    }

    /** Where a chunk begins in the file. */
    #offset(chunk: number): number {
        return HEADER + chunk * (FRAME + this.chunkSize + TAG);
    }

    /** Decrypts a chunk into the buffer. `sealed` begins with the chunk `first`. */
    #open(chunk: number, first: number, sealed: Uint8Array): void {
        const { engine: e, number } = this.#handle;
        const from = this.#offset(chunk) - this.#offset(first);
        const bytes = sealed.subarray(from, from + FRAME + this.chunkSize + TAG);
        this.#current = -1;
        this.#chunk.set(bytes, 0);
        e.long = chunk;
        e.check(e.call.pld_reader_open(number, bytes.length, this.#chunk.array));
        this.#current = chunk;
    }
}

/**
 * Opens an encrypted file, to read any part of it without decrypting the rest: a `Blob` or `File`,
 * a `FileHandle` of Node, the address of a server that sends parts of files (ranges), bytes, or an
 * object with `size` and `read(start, end)`.
 *
 * It reads the header and the last chunk. So the size is authentic, and a file that was cut or
 * extended is an error at once. The native addon works on a passphrase on another thread; with
 * WebAssembly, this one does.
 */
export async function openFile(source: AnySource, options: OpenOptions): Promise<OpenFile> {
    const given = fileOptions(options, ['limits', 'fetch']);
    const limits = kdfLimits(given.limits);
    const fetchOptions = given.fetch;
    const [bytes, passphrase] = secretBytes(given, 'decrypt');
    const secret = copyOf(bytes);
    let reader: Reader | undefined;
    try {
        const from = await openSource(source, fetchOptions);
        const header = from.beginning ?? (await from.read(0, Math.min(HEADER, from.size)));
        const e = engineFor(passphrase);
        e.memory().set(header, e.data);
        const length = writeSecret(e, secret, passphrase, header.length);
        e.long = from.size;
        const create = passphrase ? 'createLater' : 'create';
        await e[create]('reader', [length, header.length, ...limits], (file) => {
            reader = new Reader(from, e, file);
        });
        await reader!.open();
        return reader!;
    } catch (error) {
        reader?.close();
        throw error;
    } finally {
        secret.fill(0);
    }
}
