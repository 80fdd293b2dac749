/**
 * AEGIS (RFC 10032): authenticated encryption, MACs and encrypted files.
 * This entry does not contain the WebAssembly. Call `await init()` once to load the one build that
 * fits. Everything else is the same as in `@palladion/aegis`.
 */
export { ALGORITHMS, DEFAULT_ALGORITHM, keyLength, type Algorithm } from './algorithm.js';
export type { Bytes, BytesLike, TagLength } from './bytes.js';
export {
    Cipher, generateKey, generateNonce, open, seal,
    type CipherOptions, type Detached, type IntoOptions, type MessageOptions,
} from './cipher.js';
export {
    BUILDS,
    currentBuild,
    init,
    supportedBuilds,
    type Build,
    type InitOptions,
    type WasmSource,
} from './engine.js';
export { PalladionError, type ErrorCode } from './errors.js';
export {
    decryptFile,
    decryptStream,
    encryptedLength,
    encryptFile,
    encryptStream,
    formatKey,
    generateMasterKey,
    needsPassphrase,
    parseKey,
    type DecryptOptions,
    type EncryptOptions,
    type KdfCosts,
    type Secret,
} from './file.js';
export { Mac, mac, verifyMac, type MacOptions, type MacTagOptions } from './mac.js';
export { Encryptor, KeyStream, keyStream } from './stream.js';
