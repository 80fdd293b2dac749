// A program that uses the package, for the type checker only.
import {
    Cipher,
    decryptStream,
    encryptFile,
    encryptFileAsync,
    encryptFileTo,
    encryptStream,
    generateKey,
    init,
    Mac,
    open,
    openFile,
    PalladionError,
    seal,
    type Algorithm,
    type Build,
    type ErrorCode,
    type FileSource,
    type OpenFile,
    type ServerError,
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

// @ts-expect-error: a new file has one key
encryptStream({ key: [key] });
decryptStream({ key: [key, 'palladion-key-1:'], passphrase: ['x', key] });
// @ts-expect-error: a key or a passphrase
decryptStream({});
encryptStream({ key, bind: 'a place' });
decryptStream({ passphrase: ['x'], bind: new ArrayBuffer(3) });
// @ts-expect-error: a file has one place
decryptStream({ key, bind: ['a place'] });
// @ts-expect-error: a place alone
encryptStream({ bind: 'a place' });

const streams: ReadableStream<Uint8Array> = new Blob([sealed])
    .stream()
    .pipeThrough(encryptStream({ passphrase: 'x', kdf: { passes: 2 } }))
    .pipeThrough(decryptStream({ passphrase: 'x', limits: { memoryKiB: 1 << 17 } }));
await streams.cancel();
const { ciphertext, tag } = new Cipher(key).encryptDetached(key, sealed);
new Mac(key).update(ciphertext).clone().verify(tag);

const source: FileSource = { size: 5, read: async (start, end) => sealed.subarray(start, end) };
for (const from of [source, sealed, sealed.buffer, new Blob([sealed]), new URL('https://a.b/c')]) {
    const file: OpenFile = await openFile(from, { passphrase: 'x', limits: { passes: 5 } });
    const part = await file.read(5, Math.min(file.size, 7));
    new Blob([part, await file.read()]);
    const parts: ReadableStream<Uint8Array> = file.stream(1).pipeThrough(encryptStream({ key }));
    await parts.cancel(file.algorithm === algorithm);
    file.close();
}
await openFile('https://a.b/c', { key, fetch: { headers: { a: 'b' }, credentials: 'include' } });
await openFile({ size: 5, read: async (start, end) => sealed.subarray(start, end) }, { key });
// @ts-expect-error: a key or a passphrase
await openFile(sealed, {});
await openFile(sealed, { key, bind: 'a place' });
await encryptFileAsync(key, { key, signal: new AbortController().signal });
await encryptFileTo(new Blob([key]), 'f', { key, bind: key });
// @ts-expect-error: no source
await openFile(5, { key });

try {
    const build: Build = await init({
        build: 'simd128',
        wasm: (build) => new URL(`${build}.wasm`, 'https://example.org'),
    });
    await slim.init({ wasm: fetch(`${build}.wasm`) });
} catch (error) {
    if (error instanceof PalladionError) {
        const code: ErrorCode = error.code;
        const { status, retryAfter } = error.cause as ServerError;
        const answer: [number, string?] = [status, retryAfter];
        const hint: string | undefined = error.hint;
        console.log(code === 'VERIFICATION_FAILED', hint);
    }
}
console.log(plain);
