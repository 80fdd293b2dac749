import { quoted } from './bytes.js';
import { PalladionError } from './errors.js';

/** The ciphers, by their names in the standard. */
export type Algorithm =
    'AEGIS-128L' | 'AEGIS-128X2' | 'AEGIS-128X4' | 'AEGIS-256' | 'AEGIS-256X2' | 'AEGIS-256X4';

/** All algorithms. */
export const ALGORITHMS: readonly Algorithm[] = Object.freeze([
    'AEGIS-128L',
    'AEGIS-128X2',
    'AEGIS-128X4',
    'AEGIS-256',
    'AEGIS-256X2',
    'AEGIS-256X4',
]);

/** The algorithm used by default. */
export const DEFAULT_ALGORITHM: Algorithm = 'AEGIS-256X2';

/** The number of an algorithm in files and for the WebAssembly module. */
export function algorithmId(algorithm: Algorithm): number {
    const index = ALGORITHMS.indexOf(algorithm);
    if (index < 0) {
        throw new PalladionError(
            'UNKNOWN_ALGORITHM',
            `unknown algorithm ${quoted(algorithm)}; ` +
                `expected one of ${ALGORITHMS.join(', ')}`,
        );
    }
    return index + 1;
}

/** The length of keys and nonces: 16 bytes for the AEGIS-128 family, 32 for the AEGIS-256 family.
 */
export function keyLength(algorithm: Algorithm = DEFAULT_ALGORITHM): 16 | 32 {
    return algorithmId(algorithm) <= 3 ? 16 : 32;
}
