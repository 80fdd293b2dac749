/** The native addon. `src/native.rs` is its other side. */
import { copyOf, isShared, newOutput, newZeros, type Bytes } from './bytes.js';
import {
    Chunk,
    Engine,
    type Call,
    type Calls,
    type Creation,
    type Message,
    type Places,
} from './engine.js';
import { Turns } from './waiting.js';

/** A function that calls its last argument with the result, once another thread has it. */
type LaterCall = (...values: (number | ((result: number) => void))[]) => number;

/** What the addon exports. */
export interface Addon extends Calls, Places {
    readonly version: string;
    readonly memory: ArrayBuffer;
    readonly pld_encrypt_arrays: Call;
    readonly pld_decrypt_arrays: Call;
    readonly pld_session_new_array: Call;
    readonly pld_session_encrypt_arrays: Call;
    readonly pld_mac_update_array: Call;
    readonly pld_coder_push: Call;
    readonly pld_coder_take: Call;
    readonly pld_encoder_new_later: LaterCall;
    readonly pld_coder_go_on_later: LaterCall;
    readonly pld_reader_new_later: LaterCall;
}

/**
 * The most bytes that are copied to the addon's memory and back. For longer data, passing arrays is
 * faster.
 */
const SHORT = 2048;

/** Argon2id takes long, and the file system and DNS use the same threads, of which libuv has four.
 */
const TURNS = new Turns(2);

/**
 * The addon's instance for this thread. It must not get memory that another thread may change at
 * the same time; the methods of `Engine` copy that.
 */
export class Native extends Engine {
    readonly build = 'native';
    declare readonly call: Addon;
    readonly #memory: Uint8Array;

    constructor(addon: Addon) {
        super(addon, addon, SHORT);
        this.#memory = new Uint8Array(addon.memory);
    }

    memory(): Uint8Array {
        return this.#memory;
    }

    another(): Native {
        return this;
    }

    override encrypt(message: Message): void {
        if (!this.#canPass(message)) return super.encrypt(message);
        const { tag } = message;
        this.check(this.#pass(this.call.pld_encrypt_arrays, message));
        tag.set(this.#memory.subarray(this.tag, this.tag + tag.length));
    }

    override decrypt(message: Message): boolean {
        if (!this.#canPass(message)) return super.decrypt(message);
        this.#memory.set(message.tag, this.tag);
        if (this.#pass(this.call.pld_decrypt_arrays, message) !== -1) return true;
        message.output.fill(0);
        if (this.wrongTag()) return false;
        throw this.failure();
    }

    #canPass({ ad, input, output }: Message): boolean {
        return (
            ad.length + input.length > SHORT &&
            !(isShared(ad) || isShared(input) || isShared(output))
        );
    }

    #pass(call: Call, { id, key, nonce, ad, input, output, tag }: Message): number {
        this.#memory.set(key, this.key);
        this.#memory.set(nonce, this.nonce);
        // The addon refuses associated data in the output.
        const apart = ad.buffer === output.buffer ? copyOf(ad) : ad;
        return call(id, tag.length, apart, input, output);
    }

    protected beginLong(id: number, ad: Uint8Array): number {
        return this.check(this.call.pld_session_new_array(id, isShared(ad) ? copyOf(ad) : ad));
    }

    override encryptNext(session: number, input: Uint8Array | undefined, output: Uint8Array): void {
        if (output.length <= SHORT || (input !== undefined && isShared(input)))
            return super.encryptNext(session, input, output);
        // A new output is all zeros.
        this.check(this.call.pld_session_encrypt_arrays(session, input ?? output, output));
    }

    override updateMac(mac: number, bytes: Uint8Array): void {
        if (bytes.length <= SHORT || isShared(bytes)) return super.updateMac(mac, bytes);
        this.check(this.call.pld_mac_update_array(mac, bytes));
    }

    override createLater(
        how: Exclude<Creation, 'decoder_new'>,
        write: () => number[],
        made: (file: number) => void,
    ): Promise<void> {
        return TURNS.run(
            () =>
                new Promise((resolve, reject) => {
                    const done = (result: number) => {
                        try {
                            resolve(made(this.check(result)));
                        } catch (error) {
                            reject(error);
                        }
                    };
                    this.check(this.call[`pld_${how}_later`](...write(), done));
                }),
        );
    }

    push(file: number, bytes: Uint8Array): [number, number] {
        const copy = isShared(bytes) ? copyOf(bytes.subarray(0, this.room)) : undefined;
        try {
            return [this.check(this.call.pld_coder_push(file, copy ?? bytes)), this.long];
        } finally {
            copy?.fill(0);
        }
    }

    take(file: number, length: number): Bytes {
        const output = newOutput(length);
        this.check(this.call.pld_coder_take(file, output));
        return output;
    }

    chunk(_file: number, length: number): Chunk {
        return new Chunk(this, 0, newZeros(length));
    }
}
