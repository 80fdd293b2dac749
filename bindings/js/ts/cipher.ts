import { algorithmId, DEFAULT_ALGORITHM, keyLength, type Algorithm } from './algorithm.js';
import {
    checkLength,
    checkOptions,
    checkOverlap,
    checkTagLength,
    exactly,
    newOutput,
    optionalBytes,
    toBytes,
    toOutput,
    type Bytes,
    type BytesLike,
    type TagLength,
} from './bytes.js';
import { engine } from './builds.js';
import { PalladionError } from './errors.js';
import { drawNonce, randomBytes } from './random.js';

/** The options of a cipher. */
export interface CipherOptions {
    /** By default `AEGIS-256X2`. */
    algorithm?: Algorithm;
    /** Bytes in a tag: 32 by default, or 16. */
    tagLength?: TagLength;
}

/** The options for a message. */
export interface MessageOptions {
    /**
     * Associated data, which is authenticated but not encrypted. Pass the same for decryption. By
     * default none.
     */
    ad?: BytesLike | null;
}

/** The options for a message, with a place for the result. */
export interface IntoOptions extends MessageOptions {
    /**
     * The array for the result, which must have exactly its length. By default a new array. It may
     * start where the input does.
     */
    into?: Uint8Array;
}

const CIPHER_OPTIONS = ['algorithm', 'tagLength'];
const MESSAGE_OPTIONS = ['ad'];
const INTO_OPTIONS = ['ad', 'into'];
const ALL_OPTIONS = [...MESSAGE_OPTIONS, ...CIPHER_OPTIONS];

/** A ciphertext and its tag. */
export interface Detached {
    ciphertext: Bytes;
    tag: Bytes;
}

const wrongTag = () =>
    new PalladionError(
        'VERIFICATION_FAILED',
        'verification failed: the key is wrong, ' +
            'or the ciphertext, tag, nonce or associated data was changed',
    );

/**
 * Checks the array for a result: it has the right length, and its first `text` bytes do not partly
 * overlap the input.
 */
function place(
    into: Uint8Array | undefined,
    length: number,
    input: Uint8Array,
    text: number,
): Uint8Array | undefined {
    if (into === undefined) return undefined;
    const output = toOutput(into, 'array to write into');
    checkLength(output, length, 'array to write into');
    checkOverlap(input, output, text);
    return output;
}

/**
 * A cipher with its key.
 * **Never use a nonce twice with one key.** `seal` draws a random nonce; the other methods take
 * yours.
 */
export class Cipher {
    readonly algorithm: Algorithm;
    /** The length of nonces and of the key: 16 or 32 bytes. */
    readonly nonceLength: 16 | 32;
    readonly tagLength: TagLength;
    readonly #id: number;
    #key: Bytes | undefined;

    /**
     * Copies the key, which has 16 bytes for the AEGIS-128 family and 32 for the AEGIS-256 family.
     */
    constructor(key: BytesLike, options: CipherOptions = {}) {
        checkOptions(options, CIPHER_OPTIONS);
        this.algorithm = options.algorithm ?? DEFAULT_ALGORITHM;
        this.#id = algorithmId(this.algorithm);
        this.nonceLength = keyLength(this.algorithm);
        this.tagLength = checkTagLength(options.tagLength ?? 32);
        this.#key = new Uint8Array(exactly(key, this.nonceLength, 'key'));
    }

    /** Wipes the key. The cipher cannot be used afterwards. */
    destroy(): void {
        this.#key?.fill(0);
        this.#key = undefined;
    }

    /** The key. Throws if it was destroyed. */
    get #liveKey(): Uint8Array {
        if (this.#key === undefined)
            throw new PalladionError('WRONG_STATE', 'the key of this cipher was destroyed');
        return this.#key;
    }

    #nonce(nonce: BytesLike): Uint8Array {
        return exactly(nonce, this.nonceLength, 'nonce');
    }

    /** Encrypts into an array, or two of them. */
    #encryptTo(
        nonce: Uint8Array,
        ad: Uint8Array,
        input: Uint8Array,
        output: Uint8Array,
        tag: Uint8Array = output.subarray(input.length),
    ): void {
        const message = { id: this.#id, key: this.#liveKey, nonce, ad, input, tag };
        engine().encrypt({ ...message, output: output.subarray(0, input.length) });
    }

    /**
     * Encrypts a short message in the module's memory, and returns where the ciphertext is, which
     * the tag follows. Returns -1 if the message is too long.
     */
    #encryptShort(nonce: Uint8Array, ad: Uint8Array, input: Uint8Array): number {
        const e = engine();
        const key = this.#liveKey;
        if (ad.length + input.length > e.short) return -1;
        return e.encryptShort(this.#id, key, nonce, ad, input, this.tagLength);
    }

    /**
     * Decrypts `length` bytes of the input, which the tag follows unless it is given separately.
     */
    #decrypt(
        nonce: Uint8Array,
        ad: Uint8Array,
        input: Uint8Array,
        length: number,
        tag: Uint8Array | undefined,
        into: Uint8Array | undefined,
    ): Bytes {
        const e = engine();
        const id = this.#id;
        const key = this.#liveKey;
        if (ad.length + length > e.short) {
            const output = into ?? newOutput(length);
            tag ??= input.subarray(length);
            input = input.subarray(0, length);
            if (!e.decrypt({ id, key, nonce, ad, input, output, tag })) throw wrongTag();
            return output as Bytes;
        }
        const at = e.decryptShort(id, key, nonce, ad, input, length, tag);
        if (at === -1) {
            into?.fill(0);
            throw wrongTag();
        }
        const output = e.read(at, at + length, into);
        e.memory().fill(0, at, at + length);
        return output as Bytes;
    }

    /** Encrypts with a new random nonce. Returns the nonce, the ciphertext and the tag in one. */
    seal(message: BytesLike, options: MessageOptions = {}): Bytes {
        checkOptions(options, MESSAGE_OPTIONS);
        const ad = optionalBytes(options.ad, 'associated data');
        const input = toBytes(message, 'message');
        const e = engine(); // before the nonce is drawn
        const { nonceLength } = this;
        const length = input.length + this.tagLength;
        const sealed = newOutput(nonceLength + length);
        const nonce = sealed.subarray(0, nonceLength);
        drawNonce(nonce);
        const rest = sealed.subarray(nonceLength);
        const at = this.#encryptShort(nonce, ad, input);
        if (at === -1) this.#encryptTo(nonce, ad, input, rest);
        else e.read(at, at + length, rest);
        return sealed;
    }

    /** Decrypts the output of {@link seal}. Throws `VERIFICATION_FAILED` if it was changed. */
    open(sealed: BytesLike, options: MessageOptions = {}): Bytes {
        checkOptions(options, MESSAGE_OPTIONS);
        const ad = optionalBytes(options.ad, 'associated data');
        const input = toBytes(sealed, 'sealed message');
        const { nonceLength } = this;
        const length = input.length - nonceLength - this.tagLength;
        // Too short for an output of `seal`, so it was changed.
        if (length < 0) throw wrongTag();
        const nonce = input.subarray(0, nonceLength);
        return this.#decrypt(nonce, ad, input.subarray(nonceLength), length, undefined, undefined);
    }

    /** Encrypts. Returns the ciphertext and the tag in one. */
    encrypt(nonce: BytesLike, message: BytesLike, options: IntoOptions = {}): Bytes {
        checkOptions(options, INTO_OPTIONS);
        const { into } = options;
        const ad = optionalBytes(options.ad, 'associated data');
        const n = this.#nonce(nonce);
        const input = toBytes(message, 'message');
        const length = input.length + this.tagLength;
        let output = place(into, length, input, input.length);
        const at = this.#encryptShort(n, ad, input);
        if (at !== -1) {
            output = engine().read(at, at + length, output);
        } else {
            output ??= newOutput(length);
            this.#encryptTo(n, ad, input, output);
        }
        return (into ?? output) as Bytes;
    }

    /**
     * Decrypts the output of {@link encrypt}. On failure, zeroes `into` and throws
     * `VERIFICATION_FAILED`.
     */
    decrypt(nonce: BytesLike, ciphertext: BytesLike, options: IntoOptions = {}): Bytes {
        checkOptions(options, INTO_OPTIONS);
        const { into } = options;
        const ad = optionalBytes(options.ad, 'associated data');
        const n = this.#nonce(nonce);
        const input = toBytes(ciphertext, 'ciphertext');
        const length = input.length - this.tagLength;
        if (length < 0) throw wrongTag();
        const output = place(into, length, input, length);
        const opened = this.#decrypt(n, ad, input, length, undefined, output);
        return (into ?? opened) as Bytes;
    }

    /** Encrypts. Returns the ciphertext and the tag separately. */
    encryptDetached(nonce: BytesLike, message: BytesLike, options: IntoOptions = {}): Detached {
        checkOptions(options, INTO_OPTIONS);
        const { into } = options;
        const ad = optionalBytes(options.ad, 'associated data');
        const n = this.#nonce(nonce);
        const input = toBytes(message, 'message');
        let output = place(into, input.length, input, input.length);
        let tag;
        const at = this.#encryptShort(n, ad, input);
        if (at !== -1) {
            const end = at + input.length;
            const e = engine();
            output = e.read(at, end, output);
            tag = e.read(end, end + this.tagLength) as Bytes;
        } else {
            output ??= newOutput(input.length);
            tag = new Uint8Array(this.tagLength);
            this.#encryptTo(n, ad, input, output, tag);
        }
        return { ciphertext: (into ?? output) as Bytes, tag };
    }

    /** Decrypts with a separate tag. On failure, zeroes `into` and throws `VERIFICATION_FAILED`. */
    decryptDetached(
        nonce: BytesLike,
        ciphertext: BytesLike,
        tag: BytesLike,
        options: IntoOptions = {},
    ): Bytes {
        checkOptions(options, INTO_OPTIONS);
        const { into } = options;
        const ad = optionalBytes(options.ad, 'associated data');
        const n = this.#nonce(nonce);
        const input = toBytes(ciphertext, 'ciphertext');
        const t = exactly(tag, this.tagLength, 'tag');
        const output = place(into, input.length, input, input.length);
        const opened = this.#decrypt(n, ad, input, input.length, t, output);
        return (into ?? opened) as Bytes;
    }

    /** Encrypts a message where it lies, and returns its tag. */
    encryptInPlace(nonce: BytesLike, buffer: BytesLike, options: MessageOptions = {}): Bytes {
        checkOptions(options, MESSAGE_OPTIONS);
        const text = toBytes(buffer, 'buffer');
        return this.encryptDetached(nonce, text, { ad: options.ad, into: text }).tag;
    }

    /** Decrypts in place. On failure, zeroes the buffer and throws `VERIFICATION_FAILED`. */
    decryptInPlace(
        nonce: BytesLike,
        buffer: BytesLike,
        tag: BytesLike,
        options: MessageOptions = {},
    ): void {
        checkOptions(options, MESSAGE_OPTIONS);
        const text = toBytes(buffer, 'buffer');
        this.decryptDetached(nonce, text, tag, { ad: options.ad, into: text });
    }
}

/** A new random key for an algorithm: 16 or 32 bytes. */
export function generateKey(algorithm: Algorithm = DEFAULT_ALGORITHM): Bytes {
    return randomBytes(keyLength(algorithm));
}

/**
 * A new random nonce for an algorithm: 16 or 32 bytes. With 16 bytes, use at most 2^48 random
 * nonces with one key.
 */
export function generateNonce(algorithm: Algorithm = DEFAULT_ALGORITHM): Bytes {
    return randomBytes(keyLength(algorithm));
}

/** Encrypts with a new random nonce. Returns the nonce, the ciphertext and the tag in one. */
export function seal(
    key: BytesLike,
    message: BytesLike,
    options: CipherOptions & MessageOptions = {},
): Bytes {
    checkOptions(options, ALL_OPTIONS);
    const { algorithm, tagLength, ad } = options;
    const cipher = new Cipher(key, { algorithm, tagLength });
    try {
        return cipher.seal(message, { ad });
    } finally {
        cipher.destroy();
    }
}

/**
 * Decrypts the output of {@link seal}, with the same options. Throws `VERIFICATION_FAILED` if it
 * was changed.
 */
export function open(
    key: BytesLike,
    sealed: BytesLike,
    options: CipherOptions & MessageOptions = {},
): Bytes {
    checkOptions(options, ALL_OPTIONS);
    const { algorithm, tagLength, ad } = options;
    const cipher = new Cipher(key, { algorithm, tagLength });
    try {
        return cipher.open(sealed, { ad });
    } finally {
        cipher.destroy();
    }
}
