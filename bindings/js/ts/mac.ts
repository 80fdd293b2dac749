import { algorithmId, DEFAULT_ALGORITHM, keyLength, type Algorithm } from './algorithm.js';
import {
    checkOptions,
    checkTagLength,
    exactly,
    toBytes,
    type Bytes,
    type BytesLike,
    type TagLength,
} from './bytes.js';
import { engine } from './builds.js';
import { Handle, type Engine } from './engine.js';
import { PalladionError } from './errors.js';

/** The options of a MAC. */
export interface MacOptions {
    /** By default `AEGIS-256X2`. */
    algorithm?: Algorithm;
    /** All zeros by default. MACs may use the same nonce for all data. */
    nonce?: BytesLike | null;
}

/** The options of a MAC, with the length of its tags. */
export interface MacTagOptions extends MacOptions {
    /** Bytes in the tag: 32 by default, or 16. */
    tagLength?: TagLength;
}

const MAC_OPTIONS = ['algorithm', 'nonce'];
const MAC_TAG_OPTIONS = [...MAC_OPTIONS, 'tagLength'];
const ZEROS = new Uint8Array(32);

/** Checks the key and the nonce. */
function parameters(
    key: BytesLike,
    options: MacOptions,
): [id: number, key: Uint8Array, nonce: Uint8Array] {
    const algorithm = options.algorithm ?? DEFAULT_ALGORITHM;
    const length = keyLength(algorithm);
    const nonce =
        options.nonce == null ? ZEROS.subarray(0, length) : exactly(options.nonce, length, 'nonce');
    return [algorithmId(algorithm), exactly(key, length, 'key'), nonce];
}

/** Writes the key and the nonce for a MAC. */
function writeKey(e: Engine, key: Uint8Array, nonce: Uint8Array): void {
    const memory = e.memory();
    memory.set(key, e.key);
    memory.set(nonce, e.nonce);
}

/** Authenticates data in pieces. A MAC gives one tag; {@link clone} it first to add more data
 * later.
 */
export class Mac {
    readonly algorithm: Algorithm;
    readonly #handle: Handle;
    readonly #longTagsOnly: boolean;

    /** The key has 16 bytes for the AEGIS-128 family and 32 for the AEGIS-256 family. */
    constructor(key: BytesLike, options: MacOptions = {}) {
        checkOptions(options, MAC_OPTIONS, 'the length of a tag is an argument of finalize');
        if (key instanceof Begun) {
            this.algorithm = key.algorithm;
            this.#longTagsOnly = key.master;
            this.#handle = key.handle(this);
            return;
        }
        this.algorithm = options.algorithm ?? DEFAULT_ALGORITHM;
        this.#longTagsOnly = false;
        const [id, k, nonce] = parameters(key, options);
        const e = engine();
        writeKey(e, k, nonce);
        this.#handle = new Handle(this, e, e.check(e.call.pld_mac_new(id)), e.call.pld_mac_free);
    }

    /** The MAC that `palladion mac` computes for files, with a key derived from a 32-byte master
     * key. Its tags have 32 bytes.
     */
    static forFiles(masterKey: BytesLike, options: { algorithm?: Algorithm } = {}): Mac {
        checkOptions(options, ['algorithm']);
        const algorithm = options.algorithm ?? DEFAULT_ALGORITHM;
        const id = algorithmId(algorithm);
        const key = exactly(masterKey, 32, 'master key');
        const e = engine();
        writeKey(e, key, ZEROS);
        return new Mac(
            new Begun(
                e,
                e.check(e.call.pld_mac_new_for_files(id)),
                algorithm,
                true,
            ) as unknown as BytesLike,
        );
    }

    /** Adds data, in pieces of any size. */
    update(data: BytesLike): this {
        const bytes = toBytes(data, 'data');
        this.#handle.engine.updateMac(this.#handle.number, bytes);
        return this;
    }

    /** Returns an independent copy with the same key and data. */
    clone(): Mac {
        const e = this.#handle.engine;
        const number = e.check(e.call.pld_mac_clone(this.#handle.number));
        return new Mac(
            new Begun(e, number, this.algorithm, this.#longTagsOnly) as unknown as BytesLike,
        );
    }

    #tagLength(length: number): TagLength {
        const tagLength = checkTagLength(length);
        if (this.#longTagsOnly && tagLength !== 32) {
            throw new PalladionError(
                'WRONG_LENGTH',
                `the tags of this MAC have 32 bytes, not ${tagLength}`,
            );
        }
        return tagLength;
    }

    /** Returns the tag of all data and finishes the MAC. */
    finalize(tagLength: TagLength = 32): Bytes {
        const length = this.#tagLength(tagLength);
        const e = this.#handle.engine;
        e.check(e.call.pld_mac_finalize(this.#handle.take(), length));
        return e.readTag(length);
    }

    /**
     * Compares the tag of all data with `tag`, which has 16 or 32 bytes, and finishes the MAC.
     * Throws `VERIFICATION_FAILED` if they differ.
     */
    verify(tag: BytesLike): void {
        const bytes = toBytes(tag, 'tag');
        this.#tagLength(bytes.length);
        const e = this.#handle.engine;
        e.memory().set(bytes, e.tag);
        if (e.call.pld_mac_compare(this.#handle.take(), bytes.length) === -1) throw wrongMac(e);
    }

    /** Wipes the key and the data, if you do not need the tag. */
    destroy(): void {
        this.#handle.free();
    }
}

/** A MAC that exists in the module already, passed to the constructor of {@link Mac}. */
class Begun {
    constructor(
        readonly engine: Engine,
        readonly number: number,
        readonly algorithm: Algorithm,
        readonly master: boolean,
    ) {}

    handle(owner: Mac): Handle {
        return new Handle(owner, this.engine, this.number, this.engine.call.pld_mac_free);
    }
}

function wrongMac(e: Engine): PalladionError {
    if (!e.wrongTag()) return e.failure();
    return new PalladionError(
        'VERIFICATION_FAILED',
        'verification failed: the key is wrong, or the data or the tag was changed',
    );
}

/** Reads the options once. They may be getters, which may take bytes away. */
function read({ algorithm, nonce }: MacOptions): MacOptions {
    return { algorithm, nonce };
}

/** Computes the MAC of some data. */
export function mac(key: BytesLike, data: BytesLike, options: MacTagOptions = {}): Bytes {
    checkOptions(options, MAC_TAG_OPTIONS);
    const tagLength = checkTagLength(options.tagLength ?? 32);
    const given = read(options);
    const [id, k, nonce] = parameters(key, given);
    const bytes = toBytes(data, 'data');
    const e = engine();
    if (bytes.length > e.short) return new Mac(key, given).update(bytes).finalize(tagLength);
    writeKey(e, k, nonce);
    e.memory().set(bytes, e.data);
    e.check(e.call.pld_mac(id, tagLength, bytes.length));
    return e.readTag(tagLength);
}

/**
 * Checks the MAC of some data. `tag` has 16 or 32 bytes. Throws `VERIFICATION_FAILED` if it is
 * wrong.
 */
export function verifyMac(
    key: BytesLike,
    data: BytesLike,
    tag: BytesLike,
    options: MacOptions = {},
): void {
    checkOptions(options, MAC_OPTIONS, 'the length of the tag is that of the argument');
    const given = read(options);
    const [id, k, nonce] = parameters(key, given);
    const bytes = toBytes(data, 'data');
    const expected = toBytes(tag, 'tag');
    checkTagLength(expected.length);
    const e = engine();
    if (bytes.length > e.short) return new Mac(key, given).update(bytes).verify(expected);
    writeKey(e, k, nonce);
    const memory = e.memory();
    memory.set(expected, e.tag);
    memory.set(bytes, e.data);
    if (e.call.pld_mac_verify(id, expected.length, bytes.length) === -1) throw wrongMac(e);
}
