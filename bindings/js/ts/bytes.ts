import { PalladionError } from './errors.js';

/** Bytes as an argument. */
export type BytesLike = Uint8Array | ArrayBuffer | ArrayBufferView;

/**
 * Bytes as a result: `Uint8Array<ArrayBuffer>` where TypeScript knows this type, else `Uint8Array`.
 */
export type Bytes = ReturnType<typeof Uint8Array.of>;

export const NOTHING: Bytes = new Uint8Array(0);

let allocate = (length: number): Bytes => new Uint8Array(length);

/** Sets a faster allocation, which may leave old bytes in the array. */
export function useAllocation(other: (length: number) => Bytes): void {
    allocate = other;
}

/** A new array, all of which the caller writes to before anyone else sees it. */
export function newOutput(length: number): Bytes {
    return length < 4096 ? new Uint8Array(length) : allocate(length);
}

/** Describes the type of a value for messages. It never shows the contents, which may be a key. */
function describe(value: unknown): string {
    if (value === null || value === undefined) return String(value);
    if (typeof value === 'string') return 'a string';
    if (typeof value === 'object') return `a value of type ${value.constructor?.name ?? 'object'}`;
    return `a ${typeof value}`;
}

/** Views a value as bytes, without a copy. */
export function toBytes(value: BytesLike, what: string): Uint8Array {
    if (value instanceof Uint8Array) return value;
    if (ArrayBuffer.isView(value))
        return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    // Not `instanceof`, which is false for buffers from another window.
    const tag = Object.prototype.toString.call(value);
    if (tag === '[object ArrayBuffer]' || tag === '[object SharedArrayBuffer]')
        return new Uint8Array(value);
    const hint =
        typeof value === 'string'
            ? 'use new TextEncoder().encode(text) to get bytes from a string'
            : undefined;
    throw new PalladionError(
        'WRONG_TYPE',
        `the ${what} must be bytes (such as a Uint8Array), not ${describe(value)}`,
        hint,
    );
}

/**
 * Refuses options with other names. A mistake such as `aad` for `ad` would otherwise leave data
 * unauthenticated.
 */
export function checkOptions(options: object, names: readonly string[], hint?: string): void {
    if (typeof options !== 'object' || options === null || ArrayBuffer.isView(options)) {
        throw new PalladionError(
            'WRONG_TYPE',
            `the options must be an object such as { ${names[0]} }, not ${describe(options)}`,
        );
    }
    for (const name in options) {
        if (names.includes(name)) continue;
        throw new PalladionError(
            'UNKNOWN_OPTION',
            `there is no option ${JSON.stringify(name)} here, only ${names.join(', ')}`,
            name === 'aad' ? 'associated data is the option "ad"' : hint,
        );
    }
}

export function optionalBytes(value: BytesLike | null | undefined, what: string): Uint8Array {
    return value === undefined || value === null ? NOTHING : toBytes(value, what);
}

export function checkLength(bytes: Uint8Array, expected: number, what: string): void {
    if (bytes.length !== expected) {
        throw new PalladionError(
            'WRONG_LENGTH',
            `the ${what} must have ${expected} bytes, but has ${bytes.length}`,
        );
    }
}

/** Views a value as bytes and checks their length. */
export function exactly(value: BytesLike, expected: number, what: string): Uint8Array {
    const bytes = toBytes(value, what);
    checkLength(bytes, expected, what);
    return bytes;
}

export function checkInteger(value: number, min: number, max: number, what: string): number {
    if (typeof value !== 'number') {
        throw new PalladionError(
            'WRONG_TYPE',
            `the ${what} must be a number, not ${describe(value)}`,
        );
    }
    if (!Number.isInteger(value) || value < min || value > max) {
        throw new PalladionError(
            'WRONG_VALUE',
            `the ${what} must be an integer from ${min} to ${max}, not ${value}`,
        );
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

/**
 * Refuses an output whose first `length` bytes partly overlap the input, which would change the
 * input before it is read. Both may start at the same place.
 */
export function checkOverlap(input: Uint8Array, output: Uint8Array, length: number): void {
    if (input.buffer !== output.buffer || input.byteOffset === output.byteOffset) return;
    const apart =
        input.byteOffset + input.length <= output.byteOffset ||
        output.byteOffset + length <= input.byteOffset;
    if (!apart) {
        throw new PalladionError(
            'OVERLAP',
            'input and output must start at the same place or not overlap',
        );
    }
}
