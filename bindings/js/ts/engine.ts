import { copyOf, isShared, newOutput, type Bytes } from './bytes.js';
import { PalladionError, type ErrorCode } from './errors.js';

/**
 * What runs the ciphers: a native addon, or one of three builds of a WebAssembly module. All give
 * the same bytes in constant time.
 */
export type Build = 'native' | 'relaxed-simd' | 'simd128' | 'scalar';

/** A function of the module. Results are numbers; -1 means that it failed. */
export type Call = (...values: (number | Uint8Array | undefined)[]) => number;

type Function =
    | 'encrypt'
    | 'decrypt'
    | 'mac'
    | 'mac_verify'
    | 'session_new'
    | 'session_encrypt'
    | 'session_decrypt'
    | 'session_finalize'
    | 'session_verify'
    | 'session_free'
    | 'mac_new'
    | 'mac_new_for_files'
    | 'mac_update'
    | 'mac_clone'
    | 'mac_finalize'
    | 'mac_compare'
    | 'mac_free'
    | 'bind'
    | 'encoder_new'
    | 'decoder_new'
    | 'coder_ready'
    | 'coder_go_on'
    | 'coder_end'
    | 'coder_free'
    | 'reader_new'
    | 'reader_size'
    | 'reader_wants'
    | 'reader_give'
    | 'reader_open'
    | 'reader_algorithm'
    | 'reader_free'
    | 'needs_passphrase'
    | 'key_parse'
    | 'key_format';

/** The functions that WebAssembly and the addon both have. */
export type Calls = { readonly [name in `pld_${Function}`]: Call };

/** Where arguments and results are in the memory, and how many bytes of data fit there. */
export interface Places {
    readonly key: number;
    readonly nonce: number;
    readonly tag: number;
    readonly text: number;
    readonly data: number;
    readonly room: number;
}

/** A message, with its key. The output is as long as the input. */
export interface Message {
    readonly id: number;
    readonly key: Uint8Array;
    readonly nonce: Uint8Array;
    readonly ad: Uint8Array;
    readonly input: Uint8Array;
    readonly output: Uint8Array;
    /** The place for the tag, or the tag to compare. */
    readonly tag: Uint8Array;
}

/** What creates a file, or goes on with it, and may take long. */
export type Creation = 'encoder_new' | 'decoder_new' | 'coder_go_on' | 'reader_new';

/** A file has what takes long to go on with. */
export const LONG = 2 ** 31;

/** Nothing, or a promise if it takes longer. */
export type Begun = Promise<void> | undefined;

/** An algorithm's number, the length of its keys, and what `isRight` expects. The core has the same
 * answers. */
const KNOWN_ANSWERS = [
    [3, 16, 0x84b808448b620829d05b31c24af032ccn],
    [6, 32, 0x067139908ba9dea98c33d8a66acff79cn],
] as const;
const KNOWN_HEADER = 0xe951f0fa55270c8d674bbb89ee3034f1n;

/** A number of bytes, the lowest first. */
const little = (bytes: Uint8Array) =>
    bytes.reduceRight((number, byte) => number * 256n + BigInt(byte), 0n);

/**
 * An instance of the WebAssembly module or of the addon. It holds all state, so an object keeps
 * using the instance it started with. The methods here copy data to and from its memory.
 */
export abstract class Engine {
    abstract readonly build: Build;
    readonly call: Calls;
    readonly key: number;
    readonly nonce: number;
    readonly tag: number;
    readonly data: number;
    /** The number of bytes that fit in one call. */
    readonly room: number;
    /** The most bytes for which one call with a copy is the fastest. */
    readonly short: number;
    readonly #text: number;

    constructor(call: Calls, places: Places, short = places.room) {
        this.call = call;
        this.key = places.key;
        this.nonce = places.nonce;
        this.tag = places.tag;
        this.#text = places.text;
        this.data = places.data;
        this.room = places.room;
        this.short = short;
    }

    /** Its memory. Get it again after each call that may allocate: it moves when it grows. */
    abstract memory(): Uint8Array;

    /** Returns the instance for a task that needs much memory. */
    abstract another(): Engine;

    /** Starts a message with associated data that is longer than the room. */
    protected abstract beginLong(id: number, ad: Uint8Array): number;

    /** Creates a file. `write` writes what it needs to the memory and returns the arguments. Calls
     * `made` with the file's number.
     */
    create(how: Creation, write: () => number[], made: (file: number) => void): undefined {
        made(this.check(this.call[`pld_${how}`](...write())));
    }

    /** Does the same on another thread and returns a promise, where there is one. Calls `write`
     * once the thread is free.
     */
    createLater(how: Creation, write: () => number[], made: (file: number) => void): Begun {
        return this.create(how, write, made);
    }

    /** Gives a file the next bytes. Returns how many it took, as many as it can before others must
     * be taken from it, and how many are ready to be taken, or `LONG`.
     */
    abstract push(file: number, bytes: Uint8Array): [taken: number, ready: number];

    /** Takes the bytes of a file that are ready. */
    abstract take(file: number, length: number): Bytes;

    /** Creates the buffer for the chunks of a file that is read in any order. */
    abstract chunk(file: number, length: number): Chunk;

    /** Returns the result of a call, or throws if the call failed. */
    check(result: number): number {
        if (result === -1) throw this.failure();
        return result >>> 0;
    }

    /** The error of the last call. */
    failure(): PalladionError {
        const end = this.memory().indexOf(0, this.#text);
        const [code, message, hint] = this.ascii(this.#text, end).split('\n');
        return new PalladionError(code as ErrorCode, message ?? '', hint || undefined);
    }

    /** A text in the memory. jsdom has no TextDecoder. */
    ascii(from: number, to: number): string {
        return String.fromCharCode(...this.memory().subarray(from, to));
    }

    /** Whether the last call failed because of a tag. */
    wrongTag(): boolean {
        return this.memory()[this.#text] === 0x56; // "V" of VERIFICATION_FAILED alone
    }

    /** A number of up to 53 bits where nonces are. */
    get long(): number {
        const memory = this.memory();
        let number = 0;
        for (let i = 7; i >= 0; i--) number = number * 256 + memory[this.nonce + i]!;
        return number;
    }

    set long(number: number) {
        const { buffer, byteOffset } = this.memory();
        new DataView(buffer, byteOffset + this.nonce, 8).setBigUint64(0, BigInt(number), true);
    }

    readTag(length: number): Bytes {
        return this.memory().slice(this.tag, this.tag + length) as Bytes;
    }

    /**
     * Writes a message or a ciphertext to the memory, for a call; a tag follows it. Returns where
     * it starts.
     */
    #write(key: Uint8Array, nonce: Uint8Array, ad: Uint8Array, input: Uint8Array): number {
        const memory = this.memory();
        const text = this.data + ad.length;
        memory.set(key, this.key);
        memory.set(nonce, this.nonce);
        if (ad.length > 0) memory.set(ad, this.data);
        memory.set(input, text);
        return text;
    }

    /**
     * Encrypts a message in the memory; with the associated data it has at most `short` bytes.
     * Returns where the ciphertext is. The tag follows it.
     */
    encryptShort(
        id: number,
        key: Uint8Array,
        nonce: Uint8Array,
        ad: Uint8Array,
        input: Uint8Array,
        tagLength: number,
    ): number {
        const text = this.#write(key, nonce, ad, input);
        this.check(this.call.pld_encrypt(id, tagLength, ad.length, input.length));
        // The memory holds ciphertext now; wipe the associated data only.
        if (ad.length > 0) this.memory().fill(0, this.data, text);
        return text;
    }

    /**
     * Decrypts `length` bytes in the memory; with the associated data they are at most `short`. The
     * tag follows them in `input`, or is `tag`. Returns where the message is, which the caller
     * wipes, or -1 if the tag is wrong.
     */
    decryptShort(
        id: number,
        key: Uint8Array,
        nonce: Uint8Array,
        ad: Uint8Array,
        input: Uint8Array,
        length: number,
        tag?: Uint8Array,
    ): number {
        const text = this.#write(key, nonce, ad, input);
        if (tag !== undefined) this.memory().set(tag, text + length);
        const tagLength = tag === undefined ? input.length - length : tag.length;
        const failed = this.call.pld_decrypt(id, tagLength, ad.length, length) === -1;
        if (ad.length > 0) this.memory().fill(0, this.data, text);
        if (!failed) return text;
        if (this.wrongTag()) return -1;
        throw this.failure();
    }

    /** Copies bytes of the memory to `into` or, without it, to a new array. */
    read(from: number, to: number, into?: Uint8Array): Uint8Array {
        const memory = this.memory();
        // Calls take long: this is one for short results, which are filled with zeros first.
        if (into === undefined && to - from < 4096) return memory.slice(from, to);
        const output = into ?? newOutput(to - from);
        output.set(memory.subarray(from, to));
        return output;
    }

    /**
     * Returns whether the engine computes known answers right: for AEGIS-128X4 and AEGIS-256X4, the
     * tag XOR all blocks of the ciphertext; and the checksum in the header of a file with a
     * passphrase, for which Argon2id and HKDF have to be right.
     */
    isRight(): boolean {
        const length = 300;
        const input = Uint8Array.from({ length: 385 }, (_, i) => (i * i + 7 * i + 3) ^ (i >> 4));
        const messages = KNOWN_ANSWERS.every(([id, keyLength, answer]) => {
            const [key, nonce, ad, text] = [keyLength, keyLength, 21, length].map(
                (length, i, lengths) => {
                    const start = lengths.slice(0, i).reduce((sum, length) => sum + length, 0);
                    return input.subarray(start, start + length);
                },
            ) as [Uint8Array, Uint8Array, Uint8Array, Uint8Array];
            const at = this.encryptShort(id, key, nonce, ad, text, 16);
            const sum = this.read(at + length, at + length + 16);
            this.read(at, at + length).forEach((byte, i) => (sum[i % 16]! ^= byte));
            return little(sum) === answer;
        });
        this.memory().set([32, 0, 0, 0, ...input.subarray(0, 32)], this.data);
        this.memory().set(input.subarray(32, 64), this.nonce);
        const file = this.call.pld_encoder_new(36, 5, 1024, 32, 2, 1);
        const header = this.take(file, this.call.pld_coder_ready(file));
        this.call.pld_coder_free(file);
        return messages && little(header.subarray(96, 112)) === KNOWN_HEADER;
    }

    /** Encrypts a message of any length and writes its tag. */
    encrypt(message: Message): void {
        this.#pieces(message, false);
    }

    /**
     * Decrypts a message of any length. Returns whether the tag was right; if not, the output is
     * zeroed.
     */
    decrypt(message: Message): boolean {
        return this.#pieces(message, true);
    }

    #pieces({ id, key, nonce, ad, input, output, tag }: Message, open: boolean): boolean {
        const { call, data, room } = this;
        const expected = open ? copyOf(tag) : tag; // a copy, because the tag may lie in the output
        // Two buffers of shared memory can be the same memory.
        if (input.buffer !== output.buffer && isShared(input) && isShared(output))
            input = copyOf(input);
        const session = this.beginSession(id, key, nonce, ad);
        const step = open ? call.pld_session_decrypt : call.pld_session_encrypt;
        let live = true;
        let good = false;
        try {
            for (let at = 0; at < input.length; at += room) {
                const memory = this.memory();
                const piece = input.subarray(at, at + room);
                memory.set(piece, data);
                this.check(step(session, piece.length));
                output.set(memory.subarray(data, data + piece.length), at);
            }
            live = false;
            if (open) {
                this.memory().set(expected, this.tag);
                if (call.pld_session_verify(session, tag.length) === -1) {
                    if (this.wrongTag()) return false;
                    throw this.failure();
                }
            } else {
                this.check(call.pld_session_finalize(session, tag.length));
                tag.set(this.memory().subarray(this.tag, this.tag + tag.length));
            }
            good = true;
            return true;
        } finally {
            if (live) call.pld_session_free(session);
            this.memory().fill(0, data, data + room);
            if (!good) output.fill(0);
        }
    }

    /** Starts a session with associated data of any length. */
    beginSession(id: number, key: Uint8Array, nonce: Uint8Array, ad: Uint8Array): number {
        const memory = this.memory();
        memory.set(key, this.key);
        memory.set(nonce, this.nonce);
        if (ad.length > this.room) return this.beginLong(id, ad);
        memory.set(ad, this.data);
        return this.check(this.call.pld_session_new(id, ad.length));
    }

    /** Encrypts the next piece of a session, or zeros. */
    encryptNext(session: number, input: Uint8Array | undefined, output: Uint8Array): void {
        const { data, room } = this;
        for (let at = 0; at < output.length; at += room) {
            const end = Math.min(at + room, output.length);
            const memory = this.memory();
            if (input === undefined) memory.fill(0, data, data + end - at);
            else memory.set(input.subarray(at, end), data);
            this.check(this.call.pld_session_encrypt(session, end - at));
            output.set(memory.subarray(data, data + end - at), at);
            // A key stream is as secret as a plaintext.
            if (input === undefined) memory.fill(0, data, data + end - at);
        }
    }

    /** Adds data to a MAC. */
    updateMac(mac: number, bytes: Uint8Array): void {
        for (let at = 0; at < bytes.length; at += this.room) {
            const piece = bytes.subarray(at, at + this.room);
            this.memory().set(piece, this.data);
            this.check(this.call.pld_mac_update(mac, piece.length));
        }
    }
}

/** The buffer for a chunk of a file: in the memory of an instance, or an array. */
export class Chunk {
    readonly #engine: Engine;
    readonly #start: number;
    /** The array, for the functions that work on it. */
    readonly array: Uint8Array | undefined;

    constructor(engine: Engine, start: number, array?: Uint8Array) {
        this.#engine = engine;
        this.#start = start;
        this.array = array;
    }

    set(bytes: Uint8Array, at: number): void {
        (this.array ?? this.#engine.memory()).set(bytes, this.#start + at);
    }

    slice(from: number, to: number): Bytes {
        return copyOf(this.#view(from, to));
    }

    /** Copies bytes from `from` on to an array, and fills it. */
    fill(array: Uint8Array, from: number): void {
        array.set(this.#view(from, from + array.length));
    }

    #view(from: number, to: number): Uint8Array {
        const memory = this.array ?? this.#engine.memory();
        return memory.subarray(this.#start + from, this.#start + to);
    }

    /** Wipes the array. The module wipes its memory. */
    wipe(): void {
        this.array?.fill(0);
    }
}

/** Frees the memory of objects that were garbage-collected. */
const forgotten = new FinalizationRegistry<() => void>((free) => free());

/** An object in an engine. It is freed once, by its owner or after its owner. */
export class Handle {
    readonly engine: Engine;
    #number: number;
    readonly #free: Call;
    readonly #finished: string;

    constructor(
        owner: object,
        engine: Engine,
        number: number,
        free: Call,
        finished = 'this object is already finished',
    ) {
        this.engine = engine;
        this.#number = number;
        this.#free = free;
        this.#finished = finished;
        forgotten.register(owner, () => this.free(), this);
    }

    /** The number. Throws if the object was freed. */
    get number(): number {
        if (this.#number === 0) throw new PalladionError('WRONG_STATE', this.#finished);
        return this.#number;
    }

    /** Returns the number. The caller must free the object. */
    take(): number {
        const number = this.number;
        this.#number = 0;
        forgotten.unregister(this);
        return number;
    }

    free(): void {
        if (this.#number !== 0) this.#free(this.take());
    }
}
