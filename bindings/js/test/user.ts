// A program that uses the package, for the type checker only.
import {
    Cipher,
    decryptStream,
    encryptFile,
    encryptStream,
    generateKey,
    init,
    Mac,
    open,
    PalladionError,
    seal,
    type Algorithm,
    type Build,
    type ErrorCode,
} from '@palladion/aegis';
import * as slim from '@palladion/aegis/slim';

const algorithm: Algorithm = 'AEGIS-128X4';
const key = generateKey(algorithm);
const sealed = seal(key, new Uint8Array(4), { algorithm, ad: new ArrayBuffer(3), tagLength: 16 });
const opened = open(key, sealed, { algorithm });
const plain: Uint8Array = opened;
// Results can be passed where TypeScript wants unshared buffers.
new Blob([opened, sealed, encryptFile(opened, { key: 'palladion-key-1:' })]);
crypto.getRandomValues(opened);
// @ts-expect-error: no such algorithm
seal(key, sealed, { algorithm: 'AES' });
// @ts-expect-error: no such tags
new Cipher(key, { tagLength: 12 });
// @ts-expect-error: a string is not bytes
seal(key, 'text');
// @ts-expect-error: one or the other
encryptStream({ key, passphrase: 'x' });
// @ts-expect-error: one or the other
encryptStream({});

const streams: ReadableStream<Uint8Array> = new Blob([sealed])
    .stream()
    .pipeThrough(encryptStream({ passphrase: 'x', kdf: { passes: 2 } }))
    .pipeThrough(decryptStream({ passphrase: 'x', limits: { memoryKiB: 1 << 17 } }));
await streams.cancel();
const { ciphertext, tag } = new Cipher(key).encryptDetached(key, sealed);
new Mac(key).update(ciphertext).clone().verify(tag);
try {
    const build: Build = await init({
        build: 'simd128',
        wasm: (build) => new URL(`${build}.wasm`, 'https://example.org'),
    });
    await slim.init({ wasm: fetch(`${build}.wasm`) });
} catch (error) {
    if (error instanceof PalladionError) {
        const code: ErrorCode = error.code;
        const hint: string | undefined = error.hint;
        console.log(code === 'VERIFICATION_FAILED', hint);
    }
}
console.log(plain);
