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

export function randomBytes(length: number): Bytes {
    const bytes = new Uint8Array(length);
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
    return bytes;
}
