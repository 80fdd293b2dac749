import { algorithmId, DEFAULT_ALGORITHM, type Algorithm } from './algorithm.js';
import {
    checkInteger,
    checkOptions,
    copyOf,
    describe,
    exactly,
    newOutput,
    toBytes,
    type Bytes,
    type BytesLike,
} from './bytes.js';
import { engine } from './builds.js';
import { Handle, LONG, type Begun, type Engine } from './engine.js';
import { PalladionError } from './errors.js';
import { randomBytes } from './random.js';
import type { FileTransform, Signal } from './types.js';
import { checkSignal, until } from './waiting.js';

/** The place that a file is bound to. */
export interface Binding {
    /**
     * Says which file is meant, such as its path, a version or a customer: a string, which is used
     * as UTF-8, or bytes, at least one of them. The file does not contain it: readers must pass the
     * same. Without this option, or with `undefined`, a new file is not bound. The command's
     * `--bind-to-path` binds to paths such as `2026/january.txt.pld`.
     *
     * The errors of readers are `WRONG_PLACE` if the file was moved or swapped, `BOUND` if it is
     * bound and the option is missing, and `NOT_BOUND` if it is not bound and the option is there.
     */
    bind?: BytesLike | string;
}

/**
 * The secret of a new file: a master key, as 32 bytes or the text of a key file, or a passphrase,
 * as a string or bytes. With it goes the place of the file, if it is bound to one.
 */
export type Secret = Binding &
    (
        | { key: BytesLike | string; passphrase?: undefined }
        | { passphrase: BytesLike | string; key?: undefined }
    );

/** One of these, or a list of them. */
type Several = BytesLike | string | readonly (BytesLike | string)[];

/**
 * The secrets that may open a file: one or more keys, one or more passphrases, or both. To change
 * keys, encrypt with the new one, and decrypt with `key: [newKey, oldKey]`. With them goes the
 * place that the file must be bound to, if any.
 */
export type Secrets = Binding &
    (
        | { key: Several; passphrase?: Several | undefined }
        | { passphrase: Several; key?: undefined }
    );

/** The cost of Argon2id for a passphrase. The lower it is, the faster others can guess passphrases:
 * stay with the default unless tests or a small machine need less.
 */
export interface KdfCosts {
    /** Memory in KiB: 65536 by default, which is 64 MiB. */
    memoryKiB?: number;
    /** Passes over the memory: 3 by default. */
    passes?: number;
    /** Lanes: 4 by default. */
    lanes?: number;
}

/** The highest cost of Argon2id that a file may have: by default 1 GiB, 16 passes, 16 lanes, and
 * 4 GiB for memory times passes.
 */
export interface KdfLimits extends KdfCosts {
    /** Memory in KiB times passes. */
    workKiB?: number;
}

/** The options for encrypting a file. */
export type EncryptOptions = Secret & {
    /** By default `AEGIS-256X2`. */
    algorithm?: Algorithm;
    /** Bytes of plaintext in a chunk: a power of two from 1024 to 16777216, by default 1048576. */
    chunkSize?: number;
    /** The cost of Argon2id for a passphrase. With a key, it is checked but has no effect. */
    kdf?: KdfCosts;
    /** The highest cost that will be allowed for decryption; `KDF_TOO_COSTLY` if `kdf` is more. */
    limits?: KdfLimits;
};

/** The options for decrypting a file. */
export type DecryptOptions = Secrets & {
    /** The highest cost that a file may ask for; `KDF_TOO_COSTLY` if it asks for more. */
    limits?: KdfLimits;
};

/** An option of functions that take long. */
export interface Abortable {
    /** Ends the work: the promise is rejected at once, with the signal's reason. */
    signal?: Signal;
}

/** Receives the pieces of a result. */
type Emit = (bytes: Bytes) => void;

const COSTS = ['memoryKiB', 'passes', 'lanes'];
export const ENCRYPT_OPTIONS = ['algorithm', 'chunkSize', 'kdf', 'limits'];
export const DECRYPT_OPTIONS = ['limits'];
export const HEADER = 128;
export const FRAME = 4;
export const TAG = 32;
const MAX_U32 = 2 ** 32 - 1;
/** The longest passphrase, in bytes. */
const MAX_TEXT = 65536;
/** The most bytes of several secrets. */
const MAX_SECRETS = 3 * MAX_TEXT;
/** Says among the secrets that there is a place. */
const PLACE = 2 ** 31;

/** The bytes of a caller's key. */
function masterKey(key: BytesLike | string): Uint8Array {
    return typeof key === 'string' ? parseKey(key) : exactly(key, 32, 'master key');
}

/** Checks the options of a file: a secret, a place and `others`. */
export function fileOptions<Options extends Secrets>(options: Options, others: string[]): Options {
    const given = options ?? {};
    checkOptions(given, ['key', 'passphrase', 'bind', ...others]);
    return given;
}

/** Says of a wrong passphrase that it, or one of several, ends with a line break. */
function withLineBreak(error: unknown): unknown {
    if (!(error instanceof PalladionError) || error.code !== 'WRONG_PASSPHRASE') return error;
    const hint = 'it ends with a line break: of the text of a file, pass the first line alone';
    return new PalladionError(error.code, error.message, hint);
}

type Use = 'encrypt' | 'decrypt';

/** Secrets and a place as the module takes them. Whoever has them wipes the secrets. */
export interface SecretBytes {
    readonly bytes: Bytes;
    readonly place: Uint8Array;
    /** Whether there is a passphrase among them. */
    readonly passphrase: boolean;
    /** Explains errors of them. */
    explain(error: unknown): unknown;
}

/**
 * Copies the secrets and the place of a file. Read the other options first: they may be getters,
 * which may take the bytes away.
 */
export function secretBytes(secrets: Secrets, use: Use): SecretBytes {
    const { key, passphrase, bind } = secrets as { key?: Several; passphrase?: Several } & Binding;
    const both = key !== undefined && passphrase !== undefined;
    if ((key === undefined && passphrase === undefined) || (both && use === 'encrypt')) {
        throw new PalladionError(
            'WRONG_TYPE',
            'pass either { key } or { passphrase }, ' +
                (both ? 'not both' : 'which are both undefined'),
        );
    }
    const keys = each('key', key, use, masterKey);
    const passphrases = each('passphrase', passphrase, use, (one) => passphraseBytes(one, use));
    const place = bind === undefined ? new Uint8Array(0) : copyOf(placeBytes(bind));
    // Before each comes its length, or `MAX_U32` for a key. `PLACE` stands for the place.
    const all = [
        ...keys.map((one) => [MAX_U32, one] as const),
        ...passphrases.map((one) => [one.length, one] as const),
        ...(place.length > 0 ? [[PLACE, new Uint8Array(0)] as const] : []),
    ];
    const length = all.reduce((sum, [, { length }]) => sum + 4 + length, 0);
    if (length > MAX_SECRETS) {
        throw new PalladionError(
            'WRONG_LENGTH',
            `keys and passphrases must have at most ${MAX_SECRETS} bytes together`,
        );
    }
    const bytes = newOutput(length);
    const numbers = new DataView(bytes.buffer, bytes.byteOffset, length);
    let at = 0;
    for (const [number, one] of all) {
        numbers.setUint32(at, number, true);
        bytes.set(one, at + 4);
        at += 4 + one.length;
    }
    const cut = passphrases.some((one) => [0x0a, 0x0d].includes(one[one.length - 1]!));
    const explain = cut ? withLineBreak : (error: unknown) => error;
    return { bytes, place, passphrase: passphrases.length > 0, explain };
}

/** The bytes of one secret or of each in a list, which a new file cannot have. */
function each(
    name: 'key' | 'passphrase',
    given: Several | undefined,
    use: Use,
    view: (secret: BytesLike | string) => Uint8Array,
): Uint8Array[] {
    if (given === undefined) return [];
    // An array of numbers is meant to be bytes, and its error says so.
    if (!Array.isArray(given) || typeof given[0] === 'number')
        return [view(given as BytesLike | string)];
    if (use === 'encrypt') {
        throw new PalladionError(
            'WRONG_TYPE',
            `a new file has one ${name}, not a list`,
            `pass the new ${name} alone; for decryption, a list may have older ones too`,
        );
    }
    if (given.length === 0) {
        throw new PalladionError(
            'WRONG_LENGTH',
            `the list of ${name}s is empty`,
            `pass at least one, or leave the option "${name}" out`,
        );
    }
    return [...given].map((secret, i) => {
        try {
            return view(secret);
        } catch (error) {
            if (!(error instanceof PalladionError)) throw error;
            throw new PalladionError(error.code, `${name}[${i}]: ${error.message}`, error.hint);
        }
    });
}

/** The bytes of a caller's text, or of bytes in place of it. */
function textBytes(given: BytesLike | string, what: string, most: number): Uint8Array {
    if (typeof given === 'string' && /\p{Surrogate}/u.test(given)) {
        throw new PalladionError(
            'WRONG_VALUE',
            `the ${what} has half of a character: a surrogate without its other half`,
            'it was cut within a character, or is not text: bytes are passed as a Uint8Array',
        );
    }
    const bytes =
        typeof given === 'string'
            ? // One character more is enough to see that it is too long.
              new TextEncoder().encode(given.slice(0, most + 1))
            : toBytes(given, what, 'a string or ');
    if (bytes.length > most) {
        throw new PalladionError('WRONG_LENGTH', `a ${what} must have at most ${most} bytes`);
    }
    return bytes;
}

/** The bytes of a caller's place. */
function placeBytes(bind: BytesLike | string): Uint8Array {
    const bytes = textBytes(bind, 'place in the option "bind"', Infinity);
    if (bytes.length > 0) return bytes;
    throw new PalladionError(
        'WRONG_LENGTH',
        'the place in the option "bind" must not be empty',
        'it is often a variable that is not set',
    );
}

/** How keys and recipients begin, which a new file cannot have as its passphrase: as in Rust. */
const MISTAKEN = [
    ...['palladion-key-1:', 'AGE-SECRET-KEY-', 'AGE-PLUGIN-', '# public key: age1', '# created: '],
    ...['age-encryption.org/v1', '-----BEGIN ', 'age1', 'ssh-ed25519 ', 'ssh-rsa ', 'ssh-dss '],
    ...['ecdsa-sha2-', 'sk-ssh-', 'sk-ecdsa-'],
];

/** The bytes of a caller's passphrase. */
function passphraseBytes(passphrase: BytesLike | string, use: Use): Uint8Array {
    const bytes = textBytes(passphrase, 'passphrase', MAX_TEXT);
    if (use === 'encrypt') {
        if (bytes.length === 0)
            throw new PalladionError('WRONG_LENGTH', 'the passphrase must not be empty');
        // The command takes the first line of what is typed or of a file, without the mark.
        const mark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
        if (mark || bytes.includes(0x0a) || bytes.includes(0x0d)) {
            throw new PalladionError(
                'WRONG_VALUE',
                'the passphrase must be one line, but has a line break or a byte order mark',
                'nobody could type it: of the text of a file, pass the first line alone',
            );
        }
        const beginning = String.fromCharCode(...bytes.subarray(0, 24));
        if (MISTAKEN.some((start) => beginning.startsWith(start))) {
            throw new PalladionError(
                'WRONG_VALUE',
                'the passphrase is a key or a recipient',
                'pass the text of a key file as { key }; to encrypt for a recipient, use the ' +
                    'command palladion',
            );
        }
    }
    return bytes;
}

/** The costs that a caller allows. */
export function kdfLimits(limits: KdfLimits = {}): [number, number, number, number] {
    checkOptions(limits, [...COSTS, 'workKiB']);
    const { memoryKiB = 1 << 20, passes = 16, lanes = 16, workKiB = 1 << 22 } = limits;
    const all = [memoryKiB, passes, lanes, workKiB] as [number, number, number, number];
    for (const limit of all) checkInteger(limit, 0, MAX_U32, 'limit for a passphrase');
    return all;
}

/** Checks the cost of a new file. Nobody could open it with lower limits. */
function kdfCosts(kdf: KdfCosts = {}, limits: KdfLimits | undefined): [number, number, number] {
    checkOptions(kdf, COSTS);
    const { memoryKiB = 65536, passes = 3, lanes = 4 } = kdf;
    const costs = [memoryKiB, passes, lanes] as [number, number, number];
    const names = ['memory in KiB', 'passes', 'lanes', 'memory in KiB times passes'];
    costs.forEach((cost, i) => checkInteger(cost, 1, MAX_U32, `${names[i]} for a passphrase`));
    if (memoryKiB < 8 * lanes || lanes >= 2 ** 24) {
        throw new PalladionError(
            'WRONG_VALUE',
            'Argon2id needs 8 KiB of memory for each lane, and fewer than 2^24 lanes',
        );
    }
    const most = kdfLimits(limits);
    [...costs, memoryKiB * passes].forEach((cost, i) => {
        if (cost <= most[i]!) return;
        throw new PalladionError(
            'KDF_TOO_COSTLY',
            `the passphrase would cost too much: ${names[i]} ${cost}, at most ${most[i]} allowed`,
            'nobody could decrypt the file without raising `limits`; if you want that, ' +
                'pass the same `limits` here',
        );
    });
    return costs;
}

/** Checks the bytes of plaintext in a chunk. */
function checkChunkSize(size: number): number {
    checkInteger(size, 1 << 10, 1 << 24, 'size of chunks');
    if ((size & (size - 1)) !== 0) {
        throw new PalladionError(
            'WRONG_VALUE',
            `the size of chunks must be a power of two, not ${size}`,
        );
    }
    return size;
}

/**
 * The instance for a secret. Argon2id needs much memory, and WebAssembly never returns memory, so a
 * file with a passphrase gets its own instance.
 */
export function engineFor(passphrase: boolean): Engine {
    return passphrase ? engine().another() : engine();
}

/** Gives the module a place of any length, and then what is before the secrets in its memory, and
 * the secrets themselves, which it wipes here. Returns their length.
 */
export function writeSecrets(
    e: Engine,
    { bytes, place }: SecretBytes,
    before: Uint8Array = new Uint8Array(0),
): number {
    try {
        for (let at = 0; at < place.length; at += e.room) {
            const piece = place.subarray(at, at + e.room);
            e.memory().set(piece, e.data);
            e.check(e.call.pld_bind(piece.length, at));
        }
        e.memory().set(before, e.data);
        e.memory().set(bytes, e.data + before.length);
    } finally {
        bytes.fill(0);
    }
    return bytes.length;
}

const FINISHED = 'this file failed or is finished';

/** A file that is encrypted or decrypted in pieces. An error is final. */
export class Coder {
    /** With `later`, wait for this first. */
    readonly ready: Begun;
    /** Of a file that is encrypted. */
    readonly #salt: Bytes | undefined;
    readonly #arguments: number[];
    readonly #passphrase: boolean;
    readonly #explain: (error: unknown) => unknown;
    /** Until the file has it. */
    #secret: SecretBytes | undefined;
    #handle: Handle | undefined;
    /** Whether a passphrase is to be worked on once the header is there. */
    #waits: boolean;
    #freed = false;

    /** Takes the secrets. With a salt, this creates a new file at once. With `later`, a passphrase
     * may be worked on by another thread.
     */
    constructor(secret: SecretBytes, numbers: number[], salt?: Bytes, later = false) {
        const { passphrase, explain } = secret;
        this.#salt = salt;
        this.#arguments = numbers;
        this.#passphrase = passphrase;
        this.#explain = explain;
        this.#waits = passphrase && salt === undefined;
        this.#secret = secret;
        try {
            if (salt !== undefined) this.ready = this.#create(engineFor(passphrase), later);
        } catch (error) {
            this.free();
            throw error;
        }
        this.ready?.catch(() => {}); // whoever gave up before does not wait for it
    }

    #create(e: Engine, later = false): Begun {
        const write = () => {
            const secret = this.#secret;
            if (secret === undefined) throw finished();
            this.#secret = undefined;
            const length = writeSecrets(e, secret);
            if (this.#salt !== undefined) e.memory().set(this.#salt, e.nonce);
            return [length, ...this.#arguments];
        };
        const create = later && this.#passphrase ? 'createLater' : 'create';
        const how = this.#salt === undefined ? 'decoder_new' : 'encoder_new';
        return e[create](how, write, (file) => this.#keep(e, file));
    }

    #keep(e: Engine, file: number): void {
        this.#handle = new Handle(this, e, file, e.call.pld_coder_free, FINISHED);
        if (this.#freed) this.#handle.free();
    }

    /**
     * Takes the header, or the next part of it, from the start of the bytes, if it is one of a
     * passphrase, on which another thread may work. Returns how many bytes it took; `take` has the
     * others.
     */
    begin(bytes: Uint8Array): number | Promise<number> {
        if (!this.#waits) return 0;
        return this.#guarded((e, file) => {
            const [taken, ready] = e.push(file, bytes);
            const begun = ready === LONG ? this.#goOn(e, 'createLater') : undefined;
            const wrong = (error: unknown) => {
                throw this.#explain(error);
            };
            return begun === undefined ? taken : begun.then(() => taken, wrong);
        });
    }

    #goOn(e: Engine, create: 'create' | 'createLater'): Begun {
        this.#waits = false;
        const write = () => [this.#handle!.take()];
        return e[create]('coder_go_on', write, (file) => this.#keep(e, file));
    }

    /** Takes some of the bytes, and passes on what is ready. Returns how many it took. */
    take(bytes: Uint8Array, emit: Emit): number {
        return this.#guarded((e, file) => {
            const [taken, ready] = e.push(file, bytes);
            if (ready === LONG) this.#goOn(e, 'create');
            else if (ready > 0) emit(e.take(file, ready));
            return taken;
        });
    }

    end(emit: Emit): void {
        this.#guarded((e, file) => {
            e.check(e.call.pld_coder_end(file));
            for (let ready; (ready = e.check(e.call.pld_coder_ready(file))) > 0; )
                emit(e.take(file, ready));
            this.free();
        });
    }

    /** Runs a step. After a failure, no other step can run. */
    #guarded<Result>(run: (e: Engine, file: number) => Result): Result {
        if (this.#freed) throw finished();
        try {
            if (this.#handle === undefined) this.#create(engineFor(this.#passphrase));
            const { engine, number } = this.#handle!;
            return run(engine, number);
        } catch (error) {
            this.free();
            throw this.#explain(error);
        }
    }

    free(): void {
        this.#freed = true;
        this.#secret?.bytes.fill(0);
        this.#secret = undefined;
        this.#handle?.free();
    }
}

const finished = () => new PalladionError('WRONG_STATE', FINISHED);

/** Begins to encrypt a file. Takes options that were checked. */
export function encoder(given: EncryptOptions, later = false): Coder {
    const id = algorithmId(given.algorithm ?? DEFAULT_ALGORITHM);
    const size = checkChunkSize(given.chunkSize ?? 1 << 20);
    const costs = kdfCosts(given.kdf, given.limits);
    const salt = randomBytes(32);
    return new Coder(secretBytes(given, 'encrypt'), [id, size, ...costs], salt, later);
}

/** Begins to decrypt a file. Takes options that were checked. */
export function decoder(given: DecryptOptions): Coder {
    const limits = kdfLimits(given.limits);
    return new Coder(secretBytes(given, 'decrypt'), limits);
}

/** What a file takes and gives as a stream. An error of a TransformStream discards what waits for
 * its reader, so this goes on to the next chunk once the reader has taken the last.
 */
function transform(file: Coder): FileTransform {
    let finished = false;
    /** Whether a chunk waits for the reader, and what to do when it asks for more. */
    let full = false;
    let resume = () => {};
    const emptied = () => {
        full = false;
        resume();
    };
    const finish = () => {
        finished = true;
        emptied();
    };
    const reading = async () => {
        if (full) await new Promise<void>((resolve) => (resume = resolve));
    };
    const emit = (controller: TransformStreamDefaultController<Bytes>) => (bytes: Bytes) => {
        controller.enqueue(bytes);
        full = readable !== undefined;
    };
    // Older declarations lack `cancel`. Older engines do not call it if the writer aborts; then
    // garbage collection frees the file.
    const transformer: Transformer<BytesLike, Bytes> & { cancel(): void } = {
        start: () => file.ready,
        transform: async (piece, controller) => {
            const bytes = () => toBytes(piece, 'piece of a stream');
            const { length } = bytes();
            const begun = file.begin(bytes());
            let at = typeof begun === 'number' ? begun : await begun;
            while (at < length) {
                await reading();
                if (finished) return;
                at += file.take(bytes().subarray(at, length), emit(controller));
            }
        },
        flush: async (controller) => {
            await reading();
            if (finished) return;
            finished = true;
            file.end(emit(controller));
        },
        cancel: () => {
            finish();
            file.free();
        },
    };
    const stream = new TransformStream(transformer);
    const { readable: inner, writable } = stream;
    let readable: ReadableStream<Bytes> | undefined;
    let [read, taken] = [false, false];
    const make = (): ReadableStream<Bytes> => {
        const reader = inner.getReader();
        return new ReadableStream<Bytes>(
            {
                pull: async (controller) => {
                    const next = reader.read();
                    emptied();
                    const { done, value } = await next;
                    if (!done) return controller.enqueue(value);
                    read = true;
                    controller.close();
                },
                cancel: (reason) => {
                    read = true;
                    finish();
                    return reader.cancel(reason);
                },
            },
            { highWaterMark: 0 },
        );
    };
    // For another file they would be closed: an empty result without an error.
    const start = (controller: { error(reason: unknown): void }) =>
        controller.error(
            new PalladionError(
                'WRONG_STATE',
                'this stream was used for a file, and is finished',
                'make a new stream for each file',
            ),
        );
    // These hide the sides of the prototype. What is transferred to another thread is the stream
    // itself.
    return Object.defineProperties(stream, {
        readable: { get: () => (read ? new ReadableStream({ start }) : (readable ??= make())) },
        writable: {
            get() {
                if (finished && taken) return new WritableStream({ start });
                taken = true;
                return writable;
            },
        },
    }) as FileTransform;
}

/** Encrypts a stream to a file for `palladion decrypt`, {@link decryptStream} or {@link
 * decryptFile}.
 * It keeps one chunk in memory.
 *
 * With a passphrase, Argon2id takes a few tenths of a second and 64 MiB, unless `kdf` sets another
 * cost. The native addon runs it on another thread; with WebAssembly, this call does.
 *
 * A stream is for one file. A stream that fails or is aborted leaves its target without an end.
 */
export function encryptStream(options: EncryptOptions): FileTransform {
    return transform(encoder(fileOptions(options, ENCRYPT_OPTIONS), true));
}

/**
 * Decrypts a file from `palladion encrypt`, {@link encryptStream} or {@link encryptFile}. It keeps
 * one chunk in memory and passes it on once it is verified. **The file is complete only if the
 * stream ends without an error.** Before an error comes all that was verified. A stream is for one
 * file.
 */
export function decryptStream(options: DecryptOptions): FileTransform {
    return transform(decoder(fileOptions(options, DECRYPT_OPTIONS)));
}

function concatenate(pieces: Bytes[]): Bytes {
    const whole = newOutput(pieces.reduce((length, piece) => length + piece.length, 0));
    let at = 0;
    for (const piece of pieces) {
        whole.set(piece, at);
        at += piece.length;
    }
    return whole;
}

function whole(file: Coder, input: BytesLike, what: string): Bytes {
    const pieces: Bytes[] = [];
    try {
        // Look again: what read the options may have taken the bytes away.
        const bytes = toBytes(input, what);
        for (let at = 0; at < bytes.length; )
            at += file.take(bytes.subarray(at), (piece) => pieces.push(piece));
        file.end((piece) => pieces.push(piece));
    } finally {
        file.free();
    }
    return concatenate(pieces);
}

async function wholeLater(
    file: Coder,
    input: BytesLike,
    what: string,
    signal: AbortSignal | undefined,
): Promise<Bytes> {
    try {
        await until(file.ready, signal);
        const taken = await until(file.begin(toBytes(input, what)), signal);
        return whole(file, toBytes(input, what).subarray(taken), what);
    } finally {
        file.free();
    }
}

/** Encrypts a whole file in memory. With a passphrase, it takes as long as Argon2id. */
export function encryptFile(plaintext: BytesLike, options: EncryptOptions): Bytes {
    toBytes(plaintext, 'plaintext'); // before Argon2id runs
    const given = fileOptions(options, ENCRYPT_OPTIONS);
    return whole(encoder(given), plaintext, 'plaintext');
}

/** Decrypts a whole file in memory. With a passphrase, it takes as long as Argon2id. */
export function decryptFile(file: BytesLike, options: DecryptOptions): Bytes {
    return whole(decoder(fileOptions(options, DECRYPT_OPTIONS)), file, 'file');
}

/**
 * Encrypts a whole file in memory. The native addon runs Argon2id for a passphrase on another
 * thread; with WebAssembly, this one does. **Leave the plaintext as it is until the promise is
 * fulfilled:** it is not copied. An abort while the other thread runs lets that end, and discards
 * its result.
 */
export async function encryptFileAsync(
    plaintext: BytesLike,
    options: EncryptOptions & Abortable,
): Promise<Bytes> {
    toBytes(plaintext, 'plaintext');
    const given = fileOptions(options, [...ENCRYPT_OPTIONS, 'signal']);
    const signal = checkSignal(given.signal);
    return wholeLater(encoder(given, true), plaintext, 'plaintext', signal);
}

/** Decrypts a whole file in memory, as {@link encryptFileAsync} encrypts it. */
export async function decryptFileAsync(
    file: BytesLike,
    options: DecryptOptions & Abortable,
): Promise<Bytes> {
    const given = fileOptions(options, [...DECRYPT_OPTIONS, 'signal']);
    const signal = checkSignal(given.signal);
    return wholeLater(decoder(given), file, 'file', signal);
}

/**
 * Whether a file needs a passphrase rather than a key. Pass its first 128 bytes, or all if it is
 * shorter. Throws if they are not a valid header.
 */
export function needsPassphrase(beginning: BytesLike): boolean {
    const bytes = toBytes(beginning, 'beginning of a file').subarray(0, HEADER);
    const e = engine();
    e.memory().set(bytes, e.data);
    return e.check(e.call.pld_needs_passphrase(bytes.length)) === 1;
}

/** The length of an encrypted file with `length` bytes of plaintext. */
export function encryptedLength(length: number, chunkSize = 1 << 20): number {
    checkInteger(length, 0, Number.MAX_SAFE_INTEGER, 'length');
    checkChunkSize(chunkSize);
    const encrypted =
        HEADER + length + (FRAME + TAG) * Math.max(1, Math.ceil(length / chunkSize));
    return checkInteger(encrypted, 0, Number.MAX_SAFE_INTEGER, 'length of the encrypted file');
}

/** A new random master key for files. */
export function generateMasterKey(): Bytes {
    return randomBytes(32);
}

/** Returns the text of a key file with a master key. `palladion keygen` writes such files. */
export function formatKey(key: BytesLike): string {
    const bytes = exactly(key, 32, 'master key');
    const e = engine();
    e.memory().set(bytes, e.key);
    const length = e.check(e.call.pld_key_format());
    const text = e.ascii(e.data, e.data + length);
    e.memory().fill(0, e.data, e.data + length);
    return text;
}

function keyHint(code: string, text: string): string | undefined {
    if (code !== 'NO_KEY') return undefined;
    return text.includes('\0')
        ? 'the file is in UTF-16: save it in UTF-8, or read it as such'
        : 'pass the text of a key file, not its name; bytes of a key are a Uint8Array, ' +
              'and a passphrase is the option "passphrase"';
}

/** Returns the master key in the text of a key file. */
export function parseKey(text: string): Bytes {
    if (typeof text !== 'string')
        throw new PalladionError(
            'WRONG_TYPE',
            `the text of a key file must be a string, not ${describe(text)}`,
            "read the file as text, such as with readFile(name, 'utf8')",
        );
    const e = engine();
    // A character has at most three bytes.
    if (text.length > e.room / 3)
        throw new PalladionError('NO_KEY', 'the text is too long for a key file');
    const bytes = new TextEncoder().encode(text);
    e.memory().set(bytes, e.data);
    if (e.call.pld_key_parse(bytes.length) === -1) {
        const { code, message, hint } = e.failure();
        throw new PalladionError(code, message, hint ?? keyHint(code, text));
    }
    const key = e.memory().slice(e.key, e.key + 32) as Bytes;
    e.memory().fill(0, e.key, e.key + 32);
    return key;
}
