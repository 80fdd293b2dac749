/** Everything that `@palladion/aegis` and `@palladion/aegis/slim` export. */
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
    type InitOptions,
} from './builds.js';
export type { Build } from './engine.js';
export type { WasmBuild, WasmSource } from './wasm.js';
export { PalladionError, type ErrorCode } from './errors.js';
export {
    decryptFile,
    decryptFileAsync,
    decryptStream,
    encryptedLength,
    encryptFile,
    encryptFileAsync,
    encryptStream,
    formatKey,
    generateMasterKey,
    needsPassphrase,
    parseKey,
    type Abortable,
    type DecryptOptions,
    type EncryptOptions,
    type KdfCosts,
    type KdfLimits,
    type Secret,
    type Secrets,
} from './file.js';
export { decryptFileTo, encryptFileTo, type OutputOptions } from './output.js';
export { openFile, type OpenFile, type OpenOptions } from './open.js';
export type { FileSource, ServerError } from './source.js';
export { Mac, mac, verifyMac, type MacOptions, type MacTagOptions } from './mac.js';
export { Encryptor, KeyStream, keyStream } from './stream.js';
