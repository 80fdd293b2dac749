import { algorithmId, DEFAULT_ALGORITHM, keyLength, type Algorithm } from './algorithm.js';
import {
    checkInteger,
    checkOptions,
    exactly,
    newZeros,
    NOTHING,
    optionalBytes,
    toBytes,
    checkTagLength,
    type Bytes,
    type BytesLike,
    type TagLength,
} from './bytes.js';
import { engine } from './builds.js';
import { Handle } from './engine.js';

const ZEROS = new Uint8Array(32);

/** A message or a key stream in pieces. */
class Session {
    readonly #handle: Handle;

    constructor(
        algorithm: Algorithm,
        key: BytesLike,
        nonce: BytesLike | null | undefined,
        ad: BytesLike | null | undefined,
    ) {
        const id = algorithmId(algorithm);
        const length = keyLength(algorithm);
        const k = exactly(key, length, 'key');
        const n = nonce == null ? ZEROS.subarray(0, length) : exactly(nonce, length, 'nonce');
        const e = engine();
        const number = e.beginSession(id, k, n, optionalBytes(ad, 'associated data'));
        this.#handle = new Handle(this, e, number, e.call.pld_session_free);
    }

    /** Encrypts the next piece, or `length` zeros. */
    next(input: Uint8Array | undefined, length: number): Bytes {
        const { engine, number } = this.#handle;
        const output = newZeros(length);
        engine.encryptNext(number, input, output);
        return output;
    }

    finalize(tagLength: TagLength): Bytes {
        const e = this.#handle.engine;
        e.check(e.call.pld_session_finalize(this.#handle.take(), tagLength));
        return e.readTag(tagLength);
    }

    free(): void {
        this.#handle.free();
    }
}

/**
 * Encrypts a message in pieces. There is no such class for decryption, because it would return
 * bytes before they are verified. Use encrypted files for long data: each chunk is verified.
 */
export class Encryptor {
    readonly #session: Session;

    /** Starts a message. **Never use a nonce twice with one key.** */
    constructor(
        key: BytesLike,
        nonce: BytesLike,
        options: { algorithm?: Algorithm; ad?: BytesLike | null } = {},
    ) {
        const hint = 'the length of the tag is an argument of finalize';
        checkOptions(options, ['algorithm', 'ad'], hint);
        const algorithm = options.algorithm ?? DEFAULT_ALGORITHM;
        const n = exactly(nonce, keyLength(algorithm), 'nonce');
        this.#session = new Session(algorithm, key, n, options.ad);
    }

    /** Encrypts the next piece. The result has the same length. */
    update(piece: BytesLike): Bytes {
        const bytes = toBytes(piece, 'message');
        return this.#session.next(bytes, bytes.length);
    }

    /** Ends the message and returns its tag: 32 bytes, or 16 if you ask for it. */
    finalize(tagLength: TagLength = 32): Bytes {
        return this.#session.finalize(checkTagLength(tagLength));
    }

    /** Wipes the key, if you do not need the tag. */
    destroy(): void {
        this.#session.free();
    }
}

/** Pseudo-random bytes from a key and a nonce (RFC 10032 §7), in pieces. */
export class KeyStream {
    readonly #session: Session;

    /**
     * Starts the stream. The default nonce is all zeros; do not use the key for anything else
     * then.
     */
    constructor(key: BytesLike, options: { algorithm?: Algorithm; nonce?: BytesLike | null } = {}) {
        checkOptions(options, ['algorithm', 'nonce']);
        this.#session = new Session(
            options.algorithm ?? DEFAULT_ALGORITHM,
            key,
            options.nonce,
            NOTHING,
        );
    }

    /** Returns the next bytes. */
    read(length: number): Bytes {
        return this.#session.next(
            undefined,
            checkInteger(length, 0, Number.MAX_SAFE_INTEGER, 'length'),
        );
    }

    /** Wipes the key. */
    destroy(): void {
        this.#session.free();
    }
}

/** Returns the first bytes of a key stream. */
export function keyStream(
    key: BytesLike,
    length: number,
    options: { algorithm?: Algorithm; nonce?: BytesLike | null } = {},
): Bytes {
    const stream = new KeyStream(key, options);
    try {
        return stream.read(length);
    } finally {
        stream.destroy();
    }
}
