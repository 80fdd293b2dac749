import type { Bytes } from './bytes.js';
import { PalladionError } from './errors.js';

interface Source {
    getRandomValues(bytes: Bytes): unknown;
}

let source: Source | undefined = (globalThis as { crypto?: Source }).crypto;

/** For Node 18, which keeps it in a module. */
export function useRandomSource(other: Source): void {
    source ??= other;
}

export function randomBytes(length: number): Bytes {
    if (source === undefined) {
        throw new PalladionError('NO_RANDOMNESS', 'there is no crypto.getRandomValues here, so there are no random bytes');
    }
    const bytes = new Uint8Array(length);
    source.getRandomValues(bytes);
    return bytes;
}
