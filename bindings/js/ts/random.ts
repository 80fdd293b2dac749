import type { Bytes } from './bytes.js';
import { PalladionError } from './errors.js';

interface Source {
    getRandomValues(bytes: Bytes): unknown;
}

let source: Source | undefined;

/** Sets the source in Node 18, which has it in a module instead of a global. */
export function useRandomSource(other: Source): void {
    source = other;
}

function draw(bytes: Bytes): void {
    try {
        (source ?? (globalThis as { crypto?: Source }).crypto!).getRandomValues(bytes);
    } catch (cause) {
        throw new PalladionError(
            'NO_RANDOMNESS',
            'no source of random bytes: crypto.getRandomValues is missing or fails',
            undefined,
            { cause },
        );
    }
}

/** Random bytes for any use, keys among them. */
export function randomBytes(length: number): Bytes {
    const bytes = new Uint8Array(length);
    draw(bytes);
    return bytes;
}

/**
 * Random bytes that were drawn in advance, for nonces only. A draw takes several times as long as
 * the encryption of a short message, and hardly longer for 1024 bytes than for 32. The pool is
 * small, because copies of a virtual machine that resume from one snapshot all use what is left.
 */
const pool: Bytes = new Uint8Array(1024);
/** The bytes of the pool before this index were used, and are zero. */
let used = pool.length;

/**
 * Fills an array of at most 32 bytes with a nonce from the pool. Get the engine first. While Node
 * builds a startup snapshot it has no engine, so the snapshot contains no random bytes, which every
 * program that starts from it would use.
 */
export function drawNonce(nonce: Bytes): void {
    if (used + nonce.length > pool.length) {
        used = pool.length; // if the draw fails, nothing in the pool may be used
        draw(pool);
        used = 0;
    }
    const end = used + nonce.length;
    nonce.set(pool.subarray(used, end));
    pool.fill(0, used, end);
    used = end;
}
