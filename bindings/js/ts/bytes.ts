import { PalladionError } from './errors.js';

/** What functions take where they want bytes. */
export type BytesLike = Uint8Array | ArrayBuffer | ArrayBufferView;

/** What functions return: `Uint8Array<ArrayBuffer>` for compilers that tell buffers apart, else `Uint8Array`. */
export type Bytes = ReturnType<typeof Uint8Array.of>;

export const NOTHING: Bytes = new Uint8Array(0);

/** A value in words, for messages. Never its contents: it may be a key. */
function describe(value: unknown): string {
    if (value === null || value === undefined) return String(value);
    if (typeof value === 'string') return 'a string';
    if (typeof value === 'object') return `a value of type ${value.constructor?.name ?? 'object'}`;
    return `a ${typeof value}`;
}

/** A value as bytes, without a copy. */
export function toBytes(value: BytesLike, what: string): Uint8Array {
    if (value instanceof Uint8Array) return value;
    if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    // (Not `instanceof`: it may come from another window.)
    const tag = Object.prototype.toString.call(value);
    if (tag === '[object ArrayBuffer]' || tag === '[object SharedArrayBuffer]') return new Uint8Array(value);
    const hint = typeof value === 'string' ? 'new TextEncoder().encode(text) makes bytes of a text' : undefined;
    throw new PalladionError('WRONG_TYPE', `the ${what} must be bytes (a Uint8Array, say), not ${describe(value)}`, hint);
}

export function optionalBytes(value: BytesLike | null | undefined, what: string): Uint8Array {
    return value === undefined || value === null ? NOTHING : toBytes(value, what);
}

export function checkLength(bytes: Uint8Array, expected: number, what: string): void {
    if (bytes.length !== expected) {
        throw new PalladionError('WRONG_LENGTH', `the ${what} must have ${expected} bytes, but has ${bytes.length}`);
    }
}

/** Bytes of a given length. */
export function exactly(value: BytesLike, expected: number, what: string): Uint8Array {
    const bytes = toBytes(value, what);
    checkLength(bytes, expected, what);
    return bytes;
}

export function checkInteger(value: number, min: number, max: number, what: string): number {
    if (typeof value !== 'number') {
        throw new PalladionError('WRONG_TYPE', `the ${what} must be a number, not ${describe(value)}`);
    }
    if (!Number.isInteger(value) || value < min || value > max) {
        throw new PalladionError('WRONG_VALUE', `the ${what} must be an integer from ${min} to ${max}, not ${value}`);
    }
    return value;
}

export type TagLength = 16 | 32;

export function checkTagLength(length: number): TagLength {
    if (length !== 16 && length !== 32) {
        throw new PalladionError('WRONG_LENGTH', `tags have 16 or 32 bytes, not ${String(length)}`);
    }
    return length;
}

/** Refuses an output that lies over a part of an input, so that writing the one would change the other before it is read. The same
 * place is fine. */
export function checkOverlap(input: Uint8Array, output: Uint8Array): void {
    if (input.buffer !== output.buffer || input.byteOffset === output.byteOffset) return;
    const apart =
        input.byteOffset + input.length <= output.byteOffset || output.byteOffset + output.length <= input.byteOffset;
    if (!apart) {
        throw new PalladionError('OVERLAP', 'input and output must be the same place of a buffer, or not overlap');
    }
}
