import { PalladionError } from './errors.js';

/** Bytes as an argument. */
export type BytesLike = Uint8Array | ArrayBufferLike | ArrayBufferView;

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

/** Allocates an array. Engines throw a RangeError if it is too long. */
function newArray(length: number, make: (length: number) => Bytes): Bytes {
    try {
        return make(length);
    } catch (cause) {
        throw new PalladionError(
            'OUT_OF_MEMORY',
            `there is not enough memory for an array of ${length} bytes`,
            'pass long data in pieces; of a file, encryptStream and decryptStream do so',
            { cause },
        );
    }
}

/** A new array of zeros. */
export function newZeros(length: number): Bytes {
    return newArray(length, (length) => new Uint8Array(length));
}

/** A new array, all of which the caller writes to before anyone else sees it. */
export function newOutput(length: number): Bytes {
    return newArray(length, length < 4096 ? (length) => new Uint8Array(length) : allocate);
}

/** A copy of bytes. */
export function copyOf(bytes: Uint8Array): Bytes {
    const copy = newOutput(bytes.length);
    copy.set(bytes);
    return copy;
}

/** Describes the type of a value for messages. It never shows the contents, which may be a key. */
export function describe(value: unknown): string {
    if (value === null || value === undefined) return String(value);
    if (typeof value === 'string') return 'a string';
    if (typeof value !== 'object') return `a ${typeof value}`;
    const name: unknown = value.constructor?.name;
    return `a value of type ${typeof name === 'string' && name !== '' ? name : 'object'}`;
}

/** A value in a message: a string itself, otherwise its type. For what is not secret. */
export const quoted = (value: unknown): string =>
    typeof value === 'string' ? JSON.stringify(value) : describe(value);

/** The name of a value's type, which is the same for objects of another realm, such as those of a
 * frame, of `node:vm` or of Jest.
 */
export const typeName = (value: unknown): string =>
    Object.prototype.toString.call(value).slice(8, -1);

const getter = (prototype: object, name: string | symbol) =>
    Object.getOwnPropertyDescriptor(prototype, name)!.get as (this: unknown) => unknown;
const TypedArray = Object.getPrototypeOf(Uint8Array.prototype) as Uint8Array;
// These ask an object what it is, whatever its realm.
const arrayName = getter(TypedArray, Symbol.toStringTag);
const unsharedLength = getter(ArrayBuffer.prototype, 'byteLength');

/** Whether other threads may change bytes at the same time. */
export function isShared({ buffer }: Uint8Array): boolean {
    try {
        unsharedLength.call(buffer);
        return false;
    } catch {
        return true;
    }
}

/** Views a value as bytes. Throws a TypeError if their memory is gone. */
function view(value: unknown): Uint8Array | undefined {
    if (!ArrayBuffer.isView(value)) {
        const name = typeName(value);
        if (name !== 'ArrayBuffer' && name !== 'SharedArrayBuffer') return undefined;
        const bytes = new Uint8Array(value as ArrayBuffer);
        // Of anything that is not a buffer, this would be a copy.
        return bytes.buffer === value ? bytes : undefined;
    }
    // Arrays of a subclass have other methods: `slice` of a Buffer does not copy.
    const bytes =
        Object.getPrototypeOf(value) === Uint8Array.prototype
            ? (value as Uint8Array)
            : new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    // An array whose memory is gone has the length 0. Its methods throw, but for a few.
    if (bytes.length === 0 && arrayName.call(value) !== undefined) TypedArray.keys.call(value);
    return bytes;
}

/** What to do with a text, for each argument that is bytes. */
function textHint(what: string): string {
    switch (what) {
        case 'key':
            return (
                'a key is random bytes, as from generateKey(): decode its text as it was ' +
                "encoded, such as with Buffer.from(text, 'hex'); " +
                'for a passphrase, there is encryptFile'
            );
        case 'master key':
            return 'parseKey(text) returns the bytes in the text of a key file';
        case 'nonce':
        case 'tag':
        case 'ciphertext':
        case 'sealed message':
            return "decode the text as it was encoded, such as with Buffer.from(text, 'base64')";
        case 'file':
        case 'beginning of a file':
            return 'pass the contents of the file, not its name';
        case 'plaintext':
            return (
                'use new TextEncoder().encode(text) to get bytes from a string; ' +
                'of a file, pass the contents, not its name'
            );
        case 'piece of a stream':
            return (
                'read the source without an encoding, or send a text through a TextEncoderStream'
            );
        default:
            return 'use new TextEncoder().encode(text) to get bytes from a string';
    }
}

function typeHint(value: unknown, what: string): string | undefined {
    if (typeof value === 'string') return textHint(what);
    switch (typeName(value)) {
        case 'Promise': return '`await` it first';
        case 'Array': return 'Uint8Array.from(numbers) makes bytes of an array of numbers';
        case 'Blob':
        case 'File': return 'use new Uint8Array(await blob.arrayBuffer()), or blob.stream()';
        case 'CryptoKey': return "use await crypto.subtle.exportKey('raw', key)";
        case 'KeyObject': return 'use key.export()';
        default: return undefined;
    }
}

/**
 * Views an argument as bytes, without a copy. All arguments that are bytes pass through here. The
 * result is an ordinary Uint8Array. `other` says in the message what else the caller takes.
 */
export function toBytes(value: BytesLike, what: string, other = ''): Uint8Array {
    let bytes;
    try {
        bytes = view(value);
    } catch {
        throw new PalladionError(
            'WRONG_STATE',
            `the ${what} has no bytes any more: its buffer was transferred or made smaller`,
            'pass a copy where you transfer a buffer, such as array.slice()',
        );
    }
    if (bytes !== undefined) return bytes;
    throw new PalladionError(
        'WRONG_TYPE',
        `the ${what} must be ${other}bytes (such as a Uint8Array), not ${describe(value)}`,
        typeHint(value, what),
    );
}

/** Views an array to write into, which must be a Uint8Array. */
export function toOutput(value: Uint8Array, what: string): Uint8Array {
    if (!ArrayBuffer.isView(value) || arrayName.call(value) !== 'Uint8Array') {
        throw new PalladionError(
            'WRONG_TYPE',
            `the ${what} must be a Uint8Array, not ${describe(value)}`,
        );
    }
    return toBytes(value, what);
}

/** Names of options elsewhere, in small letters, and ours. */
const OTHER_NAMES: Record<string, string> = {
    aad: 'ad',
    additionaldata: 'ad',
    associateddata: 'ad',
    alg: 'algorithm',
    cipher: 'algorithm',
    name: 'algorithm',
    authtaglength: 'tagLength',
    iv: 'nonce',
    masterkey: 'key',
    out: 'into',
    output: 'into',
    password: 'passphrase',
    taglen: 'tagLength',
};

function optionHint(name: string, names: readonly string[]): string | undefined {
    const small = name.toLowerCase();
    const meant = names.find((known) => known.toLowerCase() === small) ?? OTHER_NAMES[small];
    if (meant !== undefined && names.includes(meant)) {
        return meant === 'ad'
            ? 'associated data is the option "ad"'
            : `the option is called "${meant}"`;
    }
    return meant === 'ad'
        ? 'associated data goes with a message: it is an option of seal, open and the like'
        : undefined;
}

/**
 * Refuses options with other names, and what has no options in it. A mistake such as `aad` for
 * `ad`, or a Map, would otherwise leave data unauthenticated.
 */
export function checkOptions(options: object, names: readonly string[], hint?: string): void {
    if (
        typeof options !== 'object' ||
        options === null ||
        // Of other types, only those without a name of their own have options as properties.
        (Object.getPrototypeOf(options) !== Object.prototype && typeName(options) !== 'Object')
    ) {
        throw new PalladionError(
            'WRONG_TYPE',
            `the options must be an object such as { ${names[0]} }, not ${describe(options)}`,
            typeName(options) === 'Map'
                ? 'Object.fromEntries(map) makes an object of it'
                : undefined,
        );
    }
    for (const name in options) {
        if (names.includes(name)) continue;
        throw new PalladionError(
            'UNKNOWN_OPTION',
            `there is no option ${JSON.stringify(name)} here, only ${names.join(', ')}`,
            optionHint(name, names) ?? hint,
        );
    }
}

export function optionalBytes(value: BytesLike | null | undefined, what: string): Uint8Array {
    return value === undefined || value === null ? NOTHING : toBytes(value, what);
}

const KEY_FILE = Array.from('palladion-key-1:', (letter) => letter.charCodeAt(0));

/** Whether bytes have the text of a key file in them. */
function hasKeyFile(bytes: Uint8Array): boolean {
    return (
        bytes.length > 64 &&
        bytes
            .subarray(0, 4096)
            .some((_, at) => KEY_FILE.every((byte, i) => bytes[at + i] === byte))
    );
}

function lengthHint(bytes: Uint8Array, expected: number, what: string): string | undefined {
    if (what !== 'key' && what !== 'master key') return undefined;
    if (hasKeyFile(bytes))
        return 'this is the text of a key file: read it as a string, and use parseKey(text)';
    if (bytes.length === 2 * expected)
        return "if these are hexadecimal digits, decode them: Buffer.from(text, 'hex')";
    return undefined;
}

export function checkLength(bytes: Uint8Array, expected: number, what: string): void {
    if (bytes.length !== expected) {
        throw new PalladionError(
            'WRONG_LENGTH',
            `the ${what} must have ${expected} bytes, but has ${bytes.length}`,
            lengthHint(bytes, expected, what),
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
        const [code, actual] =
            typeof length === 'number'
                ? (['WRONG_LENGTH', length] as const)
                : (['WRONG_TYPE', describe(length)] as const);
        throw new PalladionError(code, `tags have 16 or 32 bytes, not ${actual}`);
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
