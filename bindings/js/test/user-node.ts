// A program for Node that uses the package, for the type checker only.
import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { Duplex, pipeline as pipelineOf, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
    decryptFileTo, decryptStream, encryptFile, encryptFileTo, encryptStream, init, openFile, seal,
} from '@palladion/aegis';

const key = Buffer.alloc(32);
const [source, target] = [createReadStream('f'), createWriteStream('g')];
await pipeline(source, encryptStream({ key }), target);
await pipeline(source, encryptStream({ key }), decryptStream({ key }), target);
// `as never` is needed with the types of browsers.
source.pipe(Duplex.fromWeb(encryptStream({ key }) as never)).pipe(target);
pipelineOf(source, encryptStream({ key }), target, (error) => console.log(error));
await pipeline(source, decryptStream({ key }), async (pieces) => {
    for await (const piece of pieces) console.log(piece.length);
});
const into: Buffer = Buffer.alloc(100);
target.write(seal(key, into, { ad: into.buffer }));
target.write(encryptFile(into, { key, limits: { workKiB: 5 } }));
await init({ wasm: new URL('x.wasm', import.meta.url) });

const handle = await open('f.pld');
const file = await openFile(handle, { key });
await pipeline(file.stream(5, 500), decryptStream({ key }), target);
for await (const piece of file.stream()) target.write(piece);
Readable.fromWeb(file.stream() as never).pipe(target);
target.write(await file.read(5, 500, { signal: AbortSignal.timeout(1000) }));

await encryptFileTo('f', 'g', { key, chunkSize: 1024, onProgress: (n) => console.log(n + 1) });
await decryptFileTo(source, new URL('file:///g'), { passphrase: 'x', overwrite: true });
await encryptFileTo(new Blob(['text']), 'g', { key, signal: new AbortController().signal });
// @ts-expect-error: bytes are no name
await encryptFileTo(into, 'g', { key });
