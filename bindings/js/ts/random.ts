import type { Bytes } from './bytes.js';
import { PalladionError } from './errors.js';

interface Source {
    getRandomValues(bytes: Bytes): unknown;
}

let source: Source | undefined = (globalThis as { crypto?: Source }).crypto;

/** Sets the source in Node 18, which has it in a module instead of a global. */
export function useRandomSource(other: Source): void {
    source ??= other;
}

export function randomBytes(length: number): Bytes {
    if (source === undefined) {
        throw new PalladionError(
            'NO_RANDOMNESS',
            'no source of random bytes: crypto.getRandomValues is missing',
        );
    }
    const bytes = new Uint8Array(length);
    source.getRandomValues(bytes);
    return bytes;
}
