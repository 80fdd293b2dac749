// Every reader gives the answers of vectors/file-answers.txt.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { decryptFile, decryptStream, openFile } from '@palladion/aegis';
import { lines, unhex } from './common.mjs';

const CODES = {
    'not-palladion': 'NOT_PALLADION', truncated: 'TRUNCATED', 'damaged-header': 'HEADER_DAMAGED',
    'unsupported-version': 'UNSUPPORTED_VERSION', 'unsupported-header': 'UNSUPPORTED_HEADER',
    'needs-key': 'NEEDS_KEY', 'needs-passphrase': 'NEEDS_PASSPHRASE', damaged: 'DAMAGED',
    'too-costly': 'KDF_TOO_COSTLY', 'wrong-key': 'WRONG_KEY', 'trailing-data': 'TRAILING_DATA',
    bound: 'BOUND', 'not-bound': 'NOT_BOUND', 'wrong-place': 'WRONG_PLACE',
};
const wordOf = (code) =>
    code === 'WRONG_PASSPHRASE' ? 'wrong-key' : Object.keys(CODES).find((w) => CODES[w] === code);

const secrets = {};
const named = {};
const files = [];
for (const [kind, name, ...words] of lines('file-answers')) {
    if (kind === 'key') secrets.key = { key: unhex(name) };
    if (kind === 'passphrase') secrets.passphrase = { passphrase: [name, ...words].join(' ') };
    if (kind === 'bytes') named[name] = unhex(words[0]);
    if (kind !== 'file' && kind !== 'bound') continue;
    const place = kind === 'bound' ? words.splice(1, 1)[0] : '-';
    const bind = place === '-' ? undefined : unhex(place);
    const [secret, start, middle, chunks, ...pieces] = words;
    const parts = pieces.map((piece) => {
        if (piece.startsWith('=')) return unhex(piece.slice(1));
        const [, name, from, to] = /^([^[]+)(?:\[(\d*)\.\.(\d*)\])?$/.exec(piece);
        return named[name].subarray(Number(from ?? 0), to ? Number(to) : undefined);
    });
    const bytes = Buffer.concat(parts);
    files.push({ name, secret: { ...secrets[secret], bind }, start, middle, chunks, bytes });
}

const plain = (from, to) => Uint8Array.from({ length: to - from }, (_, i) => (from + i) % 251);
const same = (a, b, name) => assert(Buffer.compare(a, b) === 0, name);

/** The answer of a call: a word for an error, or what `good` says of the result. */
async function answer(call, good = () => 'ok') {
    try {
        return good(await call());
    } catch (error) {
        assert.equal(error.name, 'PalladionError', error.stack);
        return wordOf(error.code) ?? error.code;
    }
}

test('readers from the start', async () => {
    assert(files.length > 100);
    assert(files.filter(({ secret }) => secret.bind).length > 20);
    for (const { name, secret, start, bytes } of files) {
        const [word, count] = start.split(':');
        const whole = await answer(() => decryptFile(bytes, secret), (text) => {
            same(text, plain(0, Number(count)), name);
            return 'ok';
        });
        assert.equal(whole, word, name);
        for (const size of [1 << 20, 1000, 61]) {
            let at = 0;
            const got = [];
            const source = new ReadableStream({
                pull(controller) {
                    if (at < bytes.length) controller.enqueue(bytes.subarray(at, (at += size)));
                    else controller.close();
                },
            });
            const said = await answer(async () => {
                for await (const piece of source.pipeThrough(decryptStream(secret)))
                    got.push(piece);
            });
            assert.equal(said, word, `${name}, pieces of ${size}`);
            same(Buffer.concat(got), plain(0, Number(count)), `${name}, pieces of ${size}`);
        }
    }
});

/** Checks what is read from the middle of a file. */
async function fromTheMiddle({ name, secret, middle, chunks }, source) {
    let file;
    const [word, size] = middle.split(':');
    assert.equal(await answer(async () => (file = await openFile(source, secret))), word, name);
    if (word !== 'ok') return;
    assert.equal(file.size, Number(size), name);
    const words = chunks.split(',');
    const read = (from, to) =>
        answer(() => file.read(from, to), (text) => {
            same(text, plain(from, to), name);
            return 'ok';
        });
    for (const [i, word] of words.entries()) {
        const from = i * file.chunkSize;
        const to = Math.min(from + file.chunkSize, file.size);
        // Of an empty file, there is nothing to read.
        if (from < to) assert.equal(await read(from, to), word, `${name}, chunk ${i}`);
    }
    const first = words.find((word) => word !== 'ok') ?? 'ok';
    assert.equal(await read(0, file.size), first, name);
    const got = [];
    const streamed = await answer(async () => {
        for await (const piece of file.stream()) got.push(piece);
    });
    assert.equal(streamed, first, name);
    const good = first === 'ok' ? file.size : words.indexOf(first) * file.chunkSize;
    same(Buffer.concat(got), plain(0, good), name);
    file.close();
}

test('readers from the middle, of a Blob', async () => {
    for (const file of files) await fromTheMiddle(file, new Blob([file.bytes]));
});

test('readers from the middle, of a file on the disk', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'palladion-js-'));
    try {
        for (const file of files) {
            writeFileSync(join(folder, 'file'), file.bytes);
            const handle = await open(join(folder, 'file'));
            await fromTheMiddle(file, handle);
            await handle.close();
        }
    } finally {
        rmSync(folder, { recursive: true });
    }
});

test('readers from the middle, of a server', async () => {
    let body;
    const server = createServer((request, response) => {
        const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range);
        const until = Math.min(Number(end) + 1, body.length);
        const empty = Number(start) >= body.length;
        const range = empty ? '*' : `${start}-${until - 1}`;
        const headers = { 'Content-Range': `bytes ${range}/${body.length}` };
        response.writeHead(empty ? 416 : 206, headers);
        response.end(empty ? undefined : body.subarray(Number(start), until));
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
        for (const file of files) {
            body = file.bytes;
            await fromTheMiddle(file, `http://127.0.0.1:${server.address().port}/`);
        }
    } finally {
        server.closeAllConnections?.();
        server.close();
    }
});
