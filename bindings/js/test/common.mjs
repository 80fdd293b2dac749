// Shared by the tests. They import the package by its name: scripts/test-js.sh tests the installed
// package; run from here, they test dist/, because a package can import itself. PALLADION_BUILD
// chooses the build, PALLADION_ROOT is the repository.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as aegis from '@palladion/aegis';

export const root =
    process.env.PALLADION_ROOT ?? join(dirname(fileURLToPath(import.meta.url)), '../../..');
export const build = process.env.PALLADION_BUILD;
if (build) await aegis.init({ build });

export const hex = (bytes) =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');
export const unhex = (text) =>
    text === '-' ? new Uint8Array(0) : new Uint8Array(Buffer.from(text, 'hex'));
export const text = (bytes) => new TextDecoder().decode(bytes);
export const bytes = (string) => new TextEncoder().encode(string);
/** The bytes described in vectors/README.md. */
export const fill = (seed, length) => Uint8Array.from({ length }, (_, i) => (seed + 7 * i) % 251);
export const isZero = (array) => array.every((byte) => byte === 0);

/** Random-looking bytes, the same each time. */
export function noise(length, seed = 1) {
    const array = new Uint8Array(length);
    let x = seed >>> 0 || 1;
    for (let i = 0; i < length; i++) {
        x ^= x << 13;
        x ^= x >>> 17;
        x ^= x << 5;
        array[i] = x;
    }
    return array;
}

/** Returns what a call throws, which must be a PalladionError. */
export function failure(call) {
    try {
        call();
    } catch (error) {
        if (error instanceof aegis.PalladionError) return error;
        throw error;
    }
    throw new Error('expected an error');
}

export const code = (call) => failure(call).code;

export const variants = {
    'AEGIS-128L': 'aegis-128l', 'AEGIS-128X2': 'aegis-128x2', 'AEGIS-128X4': 'aegis-128x4',
    'AEGIS-256': 'aegis-256', 'AEGIS-256X2': 'aegis-256x2', 'AEGIS-256X4': 'aegis-256x4',
};

/** The lines of a file of vectors, split into words. */
export function* lines(file) {
    for (const line of readFileSync(join(root, 'vectors', `${file}.txt`), 'latin1').split('\n')) {
        if (line !== '' && !line.startsWith('#')) yield line.split(' ');
    }
}
