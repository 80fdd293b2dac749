/** A drop-in replacement for the package `aegis-aead`, with the same functions, arguments and
 * layouts. Change only the import.
 *
 * - The functions return nonce, ciphertext and tag in one. `Detached` functions return them
 *   separately.
 * - Tags have 16 bytes by default.
 * - If verification fails, the result is `null` or `false`. Invalid lengths throw.
 * - `Bs` means "bitsliced", which is constant time. Here everything is constant time, so the `Bs`
 *   functions are the same as the others.
 */
import './embedded.js';

import type { Algorithm } from './algorithm.js';
import { toBytes, type Bytes } from './bytes.js';
import { Cipher, type Detached } from './cipher.js';
import { PalladionError } from './errors.js';
import { mac, verifyMac } from './mac.js';
import { randomBytes } from './random.js';

export { PalladionError } from './errors.js';

type TagLength = 16 | 32;

/** The result of `use`, or `null` if verification failed. */
function unlessForged<T>(use: () => T): T | null {
    try {
        return use();
    } catch (error) {
        if (error instanceof PalladionError && error.code === 'VERIFICATION_FAILED') return null;
        throw error;
    }
}

function withCipher<T>(
    algorithm: Algorithm,
    key: Uint8Array,
    tagLength: TagLength,
    use: (cipher: Cipher) => T,
): T {
    const cipher = new Cipher(key, { algorithm, tagLength });
    try {
        return use(cipher);
    } finally {
        cipher.destroy();
    }
}

function encrypt(
    algorithm: Algorithm,
    msg: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array | null,
    tagLen: TagLength,
): Bytes {
    return withCipher(algorithm, key, tagLen, (cipher) => {
        if (nonce === null) return cipher.seal(msg, { ad });
        const input = toBytes(msg, 'message');
        const sealed = new Uint8Array(cipher.nonceLength + input.length + tagLen);
        cipher.encrypt(nonce, input, { ad, into: sealed.subarray(cipher.nonceLength) });
        sealed.set(nonce);
        return sealed;
    });
}

function decrypt(
    algorithm: Algorithm,
    sealed: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    tagLen: TagLength,
): Bytes | null {
    return withCipher(algorithm, key, tagLen, (cipher) =>
        unlessForged(() => cipher.open(sealed, { ad })),
    );
}

function encryptDetached(
    algorithm: Algorithm,
    msg: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
    tagLen: TagLength,
): Detached {
    return withCipher(algorithm, key, tagLen, (cipher) =>
        cipher.encryptDetached(nonce, msg, { ad }),
    );
}

/** The length of a tag, or `undefined` if it is invalid, so that the tag cannot be right. */
function tagLength(tag: Uint8Array): TagLength | undefined {
    const { length } = toBytes(tag, 'tag');
    return length === 16 || length === 32 ? length : undefined;
}

function decryptDetached(
    algorithm: Algorithm,
    ct: Uint8Array,
    tag: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
): Bytes | null {
    const length = tagLength(tag);
    if (length === undefined) return null;
    return withCipher(algorithm, key, length, (cipher) =>
        unlessForged(() => cipher.decryptDetached(nonce, ct, tag, { ad })),
    );
}

function encryptInPlace(
    algorithm: Algorithm,
    data: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
    tagLen: TagLength,
): Bytes {
    return withCipher(algorithm, key, tagLen, (cipher) =>
        cipher.encryptInPlace(nonce, data, { ad }),
    );
}

function decryptInPlace(
    algorithm: Algorithm,
    data: Uint8Array,
    tag: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
): boolean {
    const length = tagLength(tag);
    if (length === undefined) {
        data.fill(0);
        return false;
    }
    return withCipher(
        algorithm,
        key,
        length,
        (cipher) =>
            unlessForged(() => (cipher.decryptInPlace(nonce, data, tag, { ad }), true)) ?? false,
    );
}

function makeMac(
    algorithm: Algorithm,
    data: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array | null,
    tagLen: TagLength,
): Bytes {
    return mac(key, data, { algorithm, nonce, tagLength: tagLen });
}

function checkMac(
    algorithm: Algorithm,
    data: Uint8Array,
    tag: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array | null,
): boolean {
    if (tagLength(tag) === undefined) return false;
    return unlessForged(() => (verifyMac(key, data, tag, { algorithm, nonce }), true)) ?? false;
}

/** The algorithm of a family and a degree. */
function ofDegree(family: '128' | '256', degree: number): Algorithm {
    switch (degree) {
        case 1: return family === '128' ? 'AEGIS-128L' : 'AEGIS-256';
        case 2: return `AEGIS-${family}X2`;
        case 4: return `AEGIS-${family}X4`;
    }
    throw new PalladionError(
        'UNKNOWN_ALGORITHM',
        `the degree of AEGIS-${family}X must be 1, 2 or 4, not ${String(degree)}`,
    );
}

// AEGIS-128L

export function aegis128LEncrypt(
    msg: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array | null = null,
    tagLen: TagLength = 16,
): Bytes {
    return encrypt('AEGIS-128L', msg, ad, key, nonce, tagLen);
}
export function aegis128LDecrypt(
    sealed: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    tagLen: TagLength = 16,
): Bytes | null {
    return decrypt('AEGIS-128L', sealed, ad, key, tagLen);
}
export function aegis128LEncryptDetached(
    msg: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, tagLen: TagLength = 16,
): Detached {
    return encryptDetached('AEGIS-128L', msg, ad, key, nonce, tagLen);
}
export function aegis128LDecryptDetached(
    ct: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array,
): Bytes | null {
    return decryptDetached('AEGIS-128L', ct, tag, ad, key, nonce);
}
export function aegis128LEncryptDetachedInPlace(
    data: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, tagLen: TagLength = 16,
): Bytes {
    return encryptInPlace('AEGIS-128L', data, ad, key, nonce, tagLen);
}
export function aegis128LDecryptDetachedInPlace(
    data: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array,
): boolean {
    return decryptInPlace('AEGIS-128L', data, tag, ad, key, nonce);
}
export function aegis128LMac(
    data: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null, tagLen: TagLength = 16,
): Bytes {
    return makeMac('AEGIS-128L', data, key, nonce, tagLen);
}
export function aegis128LMacVerify(
    data: Uint8Array, tag: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null,
): boolean {
    return checkMac('AEGIS-128L', data, tag, key, nonce);
}
export const aegis128LCreateKey = (): Bytes => randomBytes(16);
export const aegis128LCreateNonce = (): Bytes => randomBytes(16);

// AEGIS-128X2

export function aegis128X2Encrypt(
    msg: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array | null = null,
    tagLen: TagLength = 16,
): Bytes {
    return encrypt('AEGIS-128X2', msg, ad, key, nonce, tagLen);
}
export function aegis128X2Decrypt(
    sealed: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    tagLen: TagLength = 16,
): Bytes | null {
    return decrypt('AEGIS-128X2', sealed, ad, key, tagLen);
}
export function aegis128X2EncryptDetached(
    msg: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, tagLen: TagLength = 16,
): Detached {
    return encryptDetached('AEGIS-128X2', msg, ad, key, nonce, tagLen);
}
export function aegis128X2DecryptDetached(
    ct: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array,
): Bytes | null {
    return decryptDetached('AEGIS-128X2', ct, tag, ad, key, nonce);
}
export function aegis128X2EncryptDetachedInPlace(
    data: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, tagLen: TagLength = 16,
): Bytes {
    return encryptInPlace('AEGIS-128X2', data, ad, key, nonce, tagLen);
}
export function aegis128X2DecryptDetachedInPlace(
    data: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array,
): boolean {
    return decryptInPlace('AEGIS-128X2', data, tag, ad, key, nonce);
}
export function aegis128X2Mac(
    data: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null, tagLen: TagLength = 16,
): Bytes {
    return makeMac('AEGIS-128X2', data, key, nonce, tagLen);
}
export function aegis128X2MacVerify(
    data: Uint8Array, tag: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null,
): boolean {
    return checkMac('AEGIS-128X2', data, tag, key, nonce);
}
export const aegis128X2CreateKey = (): Bytes => randomBytes(16);
export const aegis128X2CreateNonce = (): Bytes => randomBytes(16);

// AEGIS-128X4

export function aegis128X4Encrypt(
    msg: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array | null = null,
    tagLen: TagLength = 16,
): Bytes {
    return encrypt('AEGIS-128X4', msg, ad, key, nonce, tagLen);
}
export function aegis128X4Decrypt(
    sealed: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    tagLen: TagLength = 16,
): Bytes | null {
    return decrypt('AEGIS-128X4', sealed, ad, key, tagLen);
}
export function aegis128X4EncryptDetached(
    msg: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, tagLen: TagLength = 16,
): Detached {
    return encryptDetached('AEGIS-128X4', msg, ad, key, nonce, tagLen);
}
export function aegis128X4DecryptDetached(
    ct: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array,
): Bytes | null {
    return decryptDetached('AEGIS-128X4', ct, tag, ad, key, nonce);
}
export function aegis128X4EncryptDetachedInPlace(
    data: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, tagLen: TagLength = 16,
): Bytes {
    return encryptInPlace('AEGIS-128X4', data, ad, key, nonce, tagLen);
}
export function aegis128X4DecryptDetachedInPlace(
    data: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array,
): boolean {
    return decryptInPlace('AEGIS-128X4', data, tag, ad, key, nonce);
}
export function aegis128X4Mac(
    data: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null, tagLen: TagLength = 16,
): Bytes {
    return makeMac('AEGIS-128X4', data, key, nonce, tagLen);
}
export function aegis128X4MacVerify(
    data: Uint8Array, tag: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null,
): boolean {
    return checkMac('AEGIS-128X4', data, tag, key, nonce);
}
export const aegis128X4CreateKey = (): Bytes => randomBytes(16);
export const aegis128X4CreateNonce = (): Bytes => randomBytes(16);

// AEGIS-256

export function aegis256Encrypt(
    msg: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array | null = null,
    tagLen: TagLength = 16,
): Bytes {
    return encrypt('AEGIS-256', msg, ad, key, nonce, tagLen);
}
export function aegis256Decrypt(
    sealed: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    tagLen: TagLength = 16,
): Bytes | null {
    return decrypt('AEGIS-256', sealed, ad, key, tagLen);
}
export function aegis256EncryptDetached(
    msg: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, tagLen: TagLength = 16,
): Detached {
    return encryptDetached('AEGIS-256', msg, ad, key, nonce, tagLen);
}
export function aegis256DecryptDetached(
    ct: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array,
): Bytes | null {
    return decryptDetached('AEGIS-256', ct, tag, ad, key, nonce);
}
export function aegis256EncryptDetachedInPlace(
    data: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, tagLen: TagLength = 16,
): Bytes {
    return encryptInPlace('AEGIS-256', data, ad, key, nonce, tagLen);
}
export function aegis256DecryptDetachedInPlace(
    data: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array,
): boolean {
    return decryptInPlace('AEGIS-256', data, tag, ad, key, nonce);
}
export function aegis256Mac(
    data: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null, tagLen: TagLength = 16,
): Bytes {
    return makeMac('AEGIS-256', data, key, nonce, tagLen);
}
export function aegis256MacVerify(
    data: Uint8Array, tag: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null,
): boolean {
    return checkMac('AEGIS-256', data, tag, key, nonce);
}
export const aegis256CreateKey = (): Bytes => randomBytes(32);
export const aegis256CreateNonce = (): Bytes => randomBytes(32);

// AEGIS-256X2

export function aegis256X2Encrypt(
    msg: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array | null = null,
    tagLen: TagLength = 16,
): Bytes {
    return encrypt('AEGIS-256X2', msg, ad, key, nonce, tagLen);
}
export function aegis256X2Decrypt(
    sealed: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    tagLen: TagLength = 16,
): Bytes | null {
    return decrypt('AEGIS-256X2', sealed, ad, key, tagLen);
}
export function aegis256X2EncryptDetached(
    msg: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, tagLen: TagLength = 16,
): Detached {
    return encryptDetached('AEGIS-256X2', msg, ad, key, nonce, tagLen);
}
export function aegis256X2DecryptDetached(
    ct: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array,
): Bytes | null {
    return decryptDetached('AEGIS-256X2', ct, tag, ad, key, nonce);
}
export function aegis256X2EncryptDetachedInPlace(
    data: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, tagLen: TagLength = 16,
): Bytes {
    return encryptInPlace('AEGIS-256X2', data, ad, key, nonce, tagLen);
}
export function aegis256X2DecryptDetachedInPlace(
    data: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array,
): boolean {
    return decryptInPlace('AEGIS-256X2', data, tag, ad, key, nonce);
}
export function aegis256X2Mac(
    data: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null, tagLen: TagLength = 16,
): Bytes {
    return makeMac('AEGIS-256X2', data, key, nonce, tagLen);
}
export function aegis256X2MacVerify(
    data: Uint8Array, tag: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null,
): boolean {
    return checkMac('AEGIS-256X2', data, tag, key, nonce);
}
export const aegis256X2CreateKey = (): Bytes => randomBytes(32);
export const aegis256X2CreateNonce = (): Bytes => randomBytes(32);

// AEGIS-256X4

export function aegis256X4Encrypt(
    msg: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array | null = null,
    tagLen: TagLength = 16,
): Bytes {
    return encrypt('AEGIS-256X4', msg, ad, key, nonce, tagLen);
}
export function aegis256X4Decrypt(
    sealed: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    tagLen: TagLength = 16,
): Bytes | null {
    return decrypt('AEGIS-256X4', sealed, ad, key, tagLen);
}
export function aegis256X4EncryptDetached(
    msg: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, tagLen: TagLength = 16,
): Detached {
    return encryptDetached('AEGIS-256X4', msg, ad, key, nonce, tagLen);
}
export function aegis256X4DecryptDetached(
    ct: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array,
): Bytes | null {
    return decryptDetached('AEGIS-256X4', ct, tag, ad, key, nonce);
}
export function aegis256X4EncryptDetachedInPlace(
    data: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, tagLen: TagLength = 16,
): Bytes {
    return encryptInPlace('AEGIS-256X4', data, ad, key, nonce, tagLen);
}
export function aegis256X4DecryptDetachedInPlace(
    data: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array,
): boolean {
    return decryptInPlace('AEGIS-256X4', data, tag, ad, key, nonce);
}
export function aegis256X4Mac(
    data: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null, tagLen: TagLength = 16,
): Bytes {
    return makeMac('AEGIS-256X4', data, key, nonce, tagLen);
}
export function aegis256X4MacVerify(
    data: Uint8Array, tag: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null,
): boolean {
    return checkMac('AEGIS-256X4', data, tag, key, nonce);
}
export const aegis256X4CreateKey = (): Bytes => randomBytes(32);
export const aegis256X4CreateNonce = (): Bytes => randomBytes(32);

// Other names of AEGIS-128L and AEGIS-256

export {
    aegis128LEncrypt as aegis128LBsEncrypt,
    aegis128LDecrypt as aegis128LBsDecrypt,
    aegis128LEncryptDetached as aegis128LBsEncryptDetached,
    aegis128LDecryptDetached as aegis128LBsDecryptDetached,
    aegis128LEncryptDetachedInPlace as aegis128LBsEncryptDetachedInPlace,
    aegis128LDecryptDetachedInPlace as aegis128LBsDecryptDetachedInPlace,
    aegis128LMac as aegis128LBsMac,
    aegis128LMacVerify as aegis128LBsMacVerify,
    aegis128LCreateKey as aegis128LBsCreateKey,
    aegis128LCreateNonce as aegis128LBsCreateNonce,
    aegis256Encrypt as aegis256BsEncrypt,
    aegis256Decrypt as aegis256BsDecrypt,
    aegis256EncryptDetached as aegis256BsEncryptDetached,
    aegis256DecryptDetached as aegis256BsDecryptDetached,
    aegis256EncryptDetachedInPlace as aegis256BsEncryptDetachedInPlace,
    aegis256DecryptDetachedInPlace as aegis256BsDecryptDetachedInPlace,
    aegis256Mac as aegis256BsMac,
    aegis256MacVerify as aegis256BsMacVerify,
    aegis256CreateKey as aegis256BsCreateKey,
    aegis256CreateNonce as aegis256BsCreateNonce,
};

// AEGIS-128X of degree 1, 2 or 4

export function aegis128XEncrypt(
    msg: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array | null = null,
    tagLen: TagLength = 16,
    degree = 2,
): Bytes {
    return encrypt(ofDegree('128', degree), msg, ad, key, nonce, tagLen);
}
export function aegis128XDecrypt(
    sealed: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    tagLen: TagLength = 16,
    degree = 2,
): Bytes | null {
    return decrypt(ofDegree('128', degree), sealed, ad, key, tagLen);
}
export function aegis128XEncryptDetached(
    msg: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
    tagLen: TagLength = 16,
    degree = 2,
): Detached {
    return encryptDetached(ofDegree('128', degree), msg, ad, key, nonce, tagLen);
}
export function aegis128XDecryptDetached(
    ct: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, degree = 2,
): Bytes | null {
    return decryptDetached(ofDegree('128', degree), ct, tag, ad, key, nonce);
}
export function aegis128XEncryptDetachedInPlace(
    data: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
    tagLen: TagLength = 16,
    degree = 2,
): Bytes {
    return encryptInPlace(ofDegree('128', degree), data, ad, key, nonce, tagLen);
}
export function aegis128XDecryptDetachedInPlace(
    data: Uint8Array,
    tag: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
    degree = 2,
): boolean {
    return decryptInPlace(ofDegree('128', degree), data, tag, ad, key, nonce);
}
export function aegis128XMac(
    data: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array | null = null,
    tagLen: TagLength = 16,
    degree = 2,
): Bytes {
    return makeMac(ofDegree('128', degree), data, key, nonce, tagLen);
}
export function aegis128XMacVerify(
    data: Uint8Array, tag: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null, degree = 2,
): boolean {
    return checkMac(ofDegree('128', degree), data, tag, key, nonce);
}
export const aegis128XCreateKey = (): Bytes => randomBytes(16);
export const aegis128XCreateNonce = (): Bytes => randomBytes(16);

// AEGIS-256X of degree 1, 2 or 4

export function aegis256XEncrypt(
    msg: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array | null = null,
    tagLen: TagLength = 16,
    degree = 2,
): Bytes {
    return encrypt(ofDegree('256', degree), msg, ad, key, nonce, tagLen);
}
export function aegis256XDecrypt(
    sealed: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    tagLen: TagLength = 16,
    degree = 2,
): Bytes | null {
    return decrypt(ofDegree('256', degree), sealed, ad, key, tagLen);
}
export function aegis256XEncryptDetached(
    msg: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
    tagLen: TagLength = 16,
    degree = 2,
): Detached {
    return encryptDetached(ofDegree('256', degree), msg, ad, key, nonce, tagLen);
}
export function aegis256XDecryptDetached(
    ct: Uint8Array, tag: Uint8Array, ad: Uint8Array, key: Uint8Array, nonce: Uint8Array, degree = 2,
): Bytes | null {
    return decryptDetached(ofDegree('256', degree), ct, tag, ad, key, nonce);
}
export function aegis256XEncryptDetachedInPlace(
    data: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
    tagLen: TagLength = 16,
    degree = 2,
): Bytes {
    return encryptInPlace(ofDegree('256', degree), data, ad, key, nonce, tagLen);
}
export function aegis256XDecryptDetachedInPlace(
    data: Uint8Array,
    tag: Uint8Array,
    ad: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array,
    degree = 2,
): boolean {
    return decryptInPlace(ofDegree('256', degree), data, tag, ad, key, nonce);
}
export function aegis256XMac(
    data: Uint8Array,
    key: Uint8Array,
    nonce: Uint8Array | null = null,
    tagLen: TagLength = 16,
    degree = 2,
): Bytes {
    return makeMac(ofDegree('256', degree), data, key, nonce, tagLen);
}
export function aegis256XMacVerify(
    data: Uint8Array, tag: Uint8Array, key: Uint8Array, nonce: Uint8Array | null = null, degree = 2,
): boolean {
    return checkMac(ofDegree('256', degree), data, tag, key, nonce);
}
export const aegis256XCreateKey = (): Bytes => randomBytes(32);
export const aegis256XCreateNonce = (): Bytes => randomBytes(32);

export const AEGIS_128L_KEY_SIZE = 16;
export const AEGIS_128L_NONCE_SIZE = 16;
export const AEGIS_128X_KEY_SIZE = 16;
export const AEGIS_128X_NONCE_SIZE = 16;
export const AEGIS_128X2_KEY_SIZE = 16;
export const AEGIS_128X2_NONCE_SIZE = 16;
export const AEGIS_128X4_KEY_SIZE = 16;
export const AEGIS_128X4_NONCE_SIZE = 16;
export const AEGIS_256_KEY_SIZE = 32;
export const AEGIS_256_NONCE_SIZE = 32;
export const AEGIS_256X_KEY_SIZE = 32;
export const AEGIS_256X_NONCE_SIZE = 32;
export const AEGIS_256X2_KEY_SIZE = 32;
export const AEGIS_256X2_NONCE_SIZE = 32;
export const AEGIS_256X4_KEY_SIZE = 32;
export const AEGIS_256X4_NONCE_SIZE = 32;
export const AEGIS_128L_BS_KEY_SIZE = 16;
export const AEGIS_128L_BS_NONCE_SIZE = 16;
export const AEGIS_256_BS_KEY_SIZE = 32;
export const AEGIS_256_BS_NONCE_SIZE = 32;
