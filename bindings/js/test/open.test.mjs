// Files of which any part is read: from bytes, a Blob and a source of our own, and damaged ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
    ALGORITHMS, encryptedLength, encryptFile, generateMasterKey, openFile,
} from '@palladion/aegis';
import { build, noise } from './common.mjs';

const key = Uint8Array.from({ length: 32 }, (_, i) => i);
const cheap = { memoryKiB: 64, passes: 1, lanes: 1 };
const SEALED = 1024 + 36;
const sealed = (length, more) => encryptFile(noise(length), { key, chunkSize: 1024, ...more });
const same = (a, b, message) => assert(Buffer.compare(a, b) === 0, message);

/** A source that keeps which bytes were read. */
function counting(file) {
    const ranges = [];
    const read = async (start, end) => {
        ranges.push([start, end]);
        return file.subarray(start, end);
    };
    return { size: file.length, read, ranges };
}

async function collect(stream) {
    const pieces = [];
    const reader = stream.getReader();
    for (;;) {
        const { done, value } = await reader.read();
        if (done) return { whole: Buffer.concat(pieces), pieces };
        pieces.push(value);
    }
}

/** The places around the borders of chunks. */
function borders(length) {
    const places = new Set([0, length]);
    for (let border = 0; border <= length + 1024; border += 1024)
        for (const place of [border - 1, border, border + 1])
            if (place >= 0 && place <= length) places.add(place);
    return [...places].sort((a, b) => a - b);
}

test('every range between the borders of chunks, of all sources', async () => {
    for (const length of [0, 1, 1023, 1024, 1025, 2048, 3000]) {
        const plain = noise(length);
        const bytes = sealed(length);
        const sources = {
            bytes,
            'a buffer': bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length),
            'a Blob': new Blob([bytes]),
            'our own': counting(bytes),
            'our own without promises': { size: bytes.length, read: (a, b) => bytes.slice(a, b) },
        };
        for (const [name, source] of Object.entries(sources)) {
            const file = await openFile(source, { key });
            assert.equal(file.size, length);
            assert.equal(file.chunkSize, 1024);
            assert.equal(file.algorithm, 'AEGIS-256X2');
            const places = borders(length);
            for (const start of places) {
                for (const end of places.filter((end) => end >= start)) {
                    const expected = plain.subarray(start, end);
                    const said = `${name}, ${length} bytes, ${start} to ${end}`;
                    same(await file.read(start, end), expected, said);
                    same((await collect(file.stream(start, end))).whole, expected, said);
                }
            }
            same(await file.read(), plain);
            same(await file.read(length >> 1), plain.subarray(length >> 1));
            // As with `slice`, nothing follows the end.
            same(await file.read(1, length + 5000), plain.subarray(1));
            assert.equal((await file.read(length + 7)).length, 0);
            assert.equal((await file.read(length + 7, length + 9)).length, 0);
            assert.equal((await collect(file.stream(length + 7))).whole.length, 0);
            file.close();
        }
    }
});

test('all algorithms and secrets', async () => {
    const secret = { passphrase: 'correct horse' };
    const bytes = encryptFile(noise(5000), { ...secret, kdf: cheap, chunkSize: 1024 });
    const files = await Promise.all([
        ...ALGORITHMS.map((algorithm) => openFile(sealed(5000, { algorithm }), { key })),
        ...[1, 2, 3].map(() => openFile(bytes, secret)),
    ]);
    for (const [i, file] of files.entries()) {
        assert.equal(file.algorithm, ALGORITHMS[i] ?? 'AEGIS-256X2');
        same(await file.read(1000, 4000), noise(5000).subarray(1000, 4000));
        file.close();
    }
    for (const [options, code] of [
        [{ passphrase: 'wrong' }, 'WRONG_PASSPHRASE'],
        [{ key }, 'NEEDS_PASSPHRASE'],
        [{ ...secret, limits: { memoryKiB: 32 } }, 'KDF_TOO_COSTLY'],
    ])
        await assert.rejects(openFile(bytes, options), { name: 'PalladionError', code });
    await assert.rejects(openFile(sealed(9), { key: generateMasterKey() }), { code: 'WRONG_KEY' });
    await assert.rejects(openFile(sealed(9), secret), { code: 'NEEDS_KEY' });
});

test('chunks of several sizes, random reads at the same time', async () => {
    let x = 12345;
    const random = (below) => (x = (x * 48271) % 0x7fffffff) % below;
    for (const [chunkSize, length] of [
        [1024, 300_000],
        [65_536, 1_000_000],
        [1 << 20, 3_500_000],
        [1 << 24, (1 << 24) + 5000],
    ]) {
        const plain = noise(length);
        const file = await openFile(new Blob([encryptFile(plain, { key, chunkSize })]), { key });
        const reads = Array.from({ length: 40 }, async () => {
            const start = random(length);
            const end = start + random(Math.min(length - start, 3 * chunkSize)) + 1;
            const said = `${chunkSize}: ${start} to ${end}`;
            same(await file.read(start, end), plain.subarray(start, end), said);
        });
        reads.push(collect(file.stream()).then(({ whole }) => same(whole, plain)));
        reads.push(collect(file.stream(77)).then(({ whole }) => same(whole, plain.subarray(77))));
        await Promise.all(reads);
        file.close();
    }
});

test('only what is needed is fetched', async () => {
    const file = sealed(100 * 1024, {});
    const source = counting(file);
    const at = (chunk) => 128 + chunk * SEALED;
    const asked = (...ranges) => {
        assert.deepEqual(source.ranges.splice(0), ranges);
    };
    const opened = await openFile(source, { key });
    asked([0, 132], [at(99), at(100)]);
    await opened.read(99 * 1024 + 5); // the last chunk was kept
    asked();
    await opened.read(10 * 1024 + 1000, 11 * 1024 + 24); // two chunks in one
    asked([at(10), at(12)]);
    await opened.read(11 * 1024 + 500, 11 * 1024 + 600); // kept
    await opened.read(50, 50);
    await opened.read(11 * 1024, 12 * 1024);
    asked();
    await opened.read(11 * 1024 + 1023, 12 * 1024 + 1); // the first is kept
    asked([at(12), at(13)]);
    for (let i = 0; i < 9; i++) { // in turn, near and far
        await opened.read(12 * 1024 + i, 12 * 1024 + i + 1);
        await opened.read(80 * 1024 + i, 80 * 1024 + i + 1);
        await opened.read(99 * 1024 + i, 99 * 1024 + i + 1);
    }
    asked([at(80), at(81)]);
    // Reads of one chunk that do not wait for each other fetch it once, and so does one within a
    // longer one.
    await Promise.all(Array.from({ length: 9 }, (_, i) => opened.read(5000 + i, 5010 + i)));
    asked([at(4), at(5)]);
    await Promise.all([opened.read(20 * 1024, 30 * 1024), opened.read(25 * 1024, 26 * 1024)]);
    asked([at(20), at(30)]);
    await opened.read();
    asked([at(0), at(100)]);
    opened.close();

    // At most 4 MiB at once.
    const large = counting(encryptFile(noise(9 << 20), { key }));
    const whole = await openFile(large, { key });
    await whole.read();
    for (const [start, end] of large.ranges) assert(end - start <= 4 << 20, `${start} to ${end}`);
    assert.equal(large.ranges.length, 2 + 3);
    whole.close();
});

test('a stream waits for its reader, in pieces that end where chunks do', async () => {
    const plain = noise(20 << 20);
    const source = counting(encryptFile(plain, { key }));
    const file = await openFile(source, { key });
    source.ranges.length = 0;
    const stream = file.stream(1000);
    const reader = stream.getReader();
    assert.equal((await reader.read()).value.length, (1 << 20) - 1000);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(source.ranges.length, 1);
    await reader.cancel('enough');
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(source.ranges.length, 1);
    const { whole, pieces } = await collect(file.stream(5, 5 + (3 << 20)));
    same(whole, plain.subarray(5, 5 + (3 << 20)));
    assert.deepEqual(pieces.map((piece) => piece.length), [(1 << 20) - 5, 1 << 20, 1 << 20, 5]);
    // Small chunks go together.
    const small = await openFile(sealed(200_000), { key });
    const sizes = (await collect(small.stream())).pieces.map((piece) => piece.length);
    assert.deepEqual(sizes, [65_536, 65_536, 65_536, 200_000 - 3 * 65_536]);
    same(new Uint8Array(await new Response(small.stream(9)).arrayBuffer()),
        noise(200_000).subarray(9));
    small.close();
    file.close();
});

// answers.test.mjs has damage of every kind.
test('damage spoils the reads that touch it, and no others', async () => {
    const plain = noise(10 * 1024 + 7);
    const changed = encryptFile(plain, { key, chunkSize: 1024 });
    changed[128 + 3 * SEALED + 500] ^= 1;
    const opened = await openFile(changed, { key });
    const damaged = {
        name: 'PalladionError',
        code: 'DAMAGED',
        message: /chunk 3 \(at byte 3308\)/,
    };
    // The buffer has nothing of the damaged chunk, nor of the one before any more.
    for (const [start, end] of [[3 * 1024, 3 * 1024 + 1], [0, 10_000], [4095, 4096]]) {
        same(await opened.read(2048, 2058), plain.subarray(2048, 2058));
        await assert.rejects(opened.read(start, end), damaged);
        same(await opened.read(2048, 2058), plain.subarray(2048, 2058));
    }
    same(await opened.read(0, 3 * 1024), plain.subarray(0, 3 * 1024));
    same(await opened.read(4 * 1024), plain.subarray(4 * 1024));
    await assert.rejects(collect(opened.stream()), damaged);
    same((await collect(opened.stream(4096))).whole, plain.subarray(4096));
    opened.close();
});

test('a file that was cut or extended cannot be opened', async () => {
    const file = sealed(3 * 1024 + 500);
    const cut = {
        code: 'TRUNCATED',
        message: /truncated: it ends .* 2248 bytes/,
        hint: /incomplete/,
    };
    await assert.rejects(openFile(file.subarray(0, 128 + 2 * SEALED), { key }), cut);
    for (const length of [0, 127, 130, file.length - 1])
        await assert.rejects(openFile(file.subarray(0, length), { key }), { code: 'TRUNCATED' });
    for (const more of [1, 5000]) {
        const longer = new Uint8Array(file.length + more);
        longer.set(file);
        const message = new RegExp(`${file.length}`);
        await assert.rejects(openFile(longer, { key }), { code: 'TRAILING_DATA', message });
    }
    for (const [place, code] of [
        [3, 'NOT_PALLADION'],
        [4, 'HEADER_DAMAGED'],
        [file.length - 1, 'DAMAGED'],
    ]) {
        const changed = file.slice();
        changed[place] ^= 1;
        await assert.rejects(openFile(changed, { key }), { name: 'PalladionError', code });
    }
});

test('sources that fail or change', async () => {
    const file = sealed(5000);
    const at = (chunk) => 128 + chunk * SEALED;
    const source = { ...counting(file.slice()) };
    const opened = await openFile(source, { key });
    // It became shorter.
    const before = source.read;
    source.read = async (start, end) => file.subarray(start, Math.min(end, at(2) + 5));
    same(await opened.read(0, 2048), noise(5000).subarray(0, 2048));
    await assert.rejects(opened.read(0, 5000), { code: 'TRUNCATED', message: /chunk 2.* 2253 / });
    await assert.rejects(opened.read(3072, 3073), { code: 'TRUNCATED', message: /chunk 3/ });
    source.read = async () => new Uint8Array(0);
    await assert.rejects(opened.read(0, 1), { code: 'TRUNCATED', message: /chunk 0.* 128 / });
    // Another file has its place.
    const other = sealed(5000);
    source.read = async (start, end) => other.subarray(start, end);
    await assert.rejects(opened.read(0, 1), { code: 'DAMAGED', hint: /replaced/ });
    const cause = new Error('no disk');
    for (const read of [
        () => { throw cause; },
        () => Promise.reject(cause),
    ]) {
        source.read = read;
        await assert.rejects(opened.read(0, 1), {
            name: 'PalladionError',
            code: 'READ_FAILED',
            message: /^bytes 128 to 1188 of the file cannot be read: no disk$/,
            cause,
        });
    }
    for (const [result, code] of [
        ['text', 'WRONG_TYPE'],
        [undefined, 'WRONG_TYPE'],
        [new Uint8Array(1061), 'WRONG_LENGTH'],
    ]) {
        source.read = () => result;
        await assert.rejects(opened.read(0, 1), { code });
        await assert.rejects(openFile({ size: 900, read: () => result }, { key }), { code });
    }
    // It recovers.
    source.read = before;
    same(await opened.read(), noise(5000));
    opened.close();
});

test('a closed file', async () => {
    const file = sealed(5000);
    let answer;
    const slow = {
        size: file.length,
        read: (start, end) =>
            new Promise((resolve) => {
                answer = () => resolve(file.subarray(start, end));
                if (start === 0 || end === file.length) answer();
            }),
    };
    const opened = await openFile(slow, { key });
    const [reading, streaming] = [opened.read(0, 5), collect(opened.stream())];
    reading.catch(() => {});
    streaming.catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, 5));
    opened.close();
    opened[Symbol.dispose ?? 'close'](); // as `using` does
    await assert.rejects(reading, { code: 'WRONG_STATE' });
    await assert.rejects(streaming, { code: 'WRONG_STATE' });
    answer();
    await assert.rejects(opened.read(0, 5), { code: 'WRONG_STATE' });
    assert.throws(() => opened.stream(), { code: 'WRONG_STATE' });
    assert.equal(opened.size, 5000);
    // Bytes that are gone.
    const bytes = file.slice();
    const gone = await openFile(bytes, { key });
    structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
    await assert.rejects(gone.read(0, 5), { code: 'WRONG_STATE' });
    gone.close();
});

test('arguments that cannot be', async () => {
    const file = sealed(5000);
    const rejects = (source, options, code, hint) =>
        assert.rejects(openFile(source, options), { code, ...(hint && { hint }) });
    for (const other of ['ftp://notes.pld', new URL('ftp://notes.pld')])
        await rejects(other, { key }, 'WRONG_TYPE', /new URL/);
    await rejects(new Blob([file]).stream(), { key }, 'WRONG_TYPE', /decryptStream/);
    await rejects(Promise.resolve(file), { key }, 'WRONG_TYPE', /await/);
    for (const source of [undefined, null, 5, {}, [], { size: 5 }, { size: 5, read: 5 }])
        await rejects(source, { key }, 'WRONG_TYPE');
    for (const size of [-1, 1.5, NaN, 2 ** 53])
        await rejects({ size, read: () => file }, { key }, 'WRONG_VALUE');
    await rejects({ size: '5', read: () => file }, { key }, 'WRONG_TYPE');
    await rejects(file, {}, 'WRONG_TYPE');
    await rejects(file, undefined, 'WRONG_TYPE');
    await rejects(file, { key: [], passphrase: 'x' }, 'WRONG_LENGTH');
    await rejects(file, { key, chunkSize: 1024 }, 'UNKNOWN_OPTION');
    await rejects(file, { key: new Uint8Array(5) }, 'WRONG_LENGTH');
    const address = 'https://127.0.0.1:1/';
    await rejects(address, { key, fetch }, 'WRONG_TYPE');
    await rejects(address, { key, fetch: { method: 'POST' } }, 'WRONG_VALUE');
    await rejects(address, { key, fetch: { body: 'x' } }, 'WRONG_VALUE');
    await rejects(file, { key, fetch: {} }, 'WRONG_VALUE');
    const opened = await openFile(file, { key });
    for (const [start, end] of [[-1, 5], [1.5, 2], [5, 4], [0, -1], [0, Infinity], [NaN, 5]]) {
        await assert.rejects(opened.read(start, end), { code: 'WRONG_VALUE' });
        assert.throws(() => opened.stream(start, end), { code: 'WRONG_VALUE' });
    }
    await assert.rejects(opened.read('0', 5), { code: 'WRONG_TYPE' });
    opened.close();
    // The caller's key may change or go once the call returns.
    const mine = key.slice();
    const opening = openFile(new Blob([file]), { key: mine });
    mine.fill(9);
    (await opening).close();
});

// This is slow and the same for all builds.
const skip = build !== 'simd128' || !globalThis.gc ? 'tested with simd128 in Node' : false;

test('many files that nobody closes keep no more memory than is there', { skip }, async () => {
    // Without freeing, this would be 4 GiB, which the module cannot have.
    const file = encryptFile(noise((1 << 24) + 5), { key, chunkSize: 1 << 24 });
    for (let i = 0; i < 260; i++) {
        await openFile(file, { key });
        globalThis.gc();
        if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
});

test('a size that no test can have', async () => {
    // 8 PiB: the last chunk of a source that has only header, frames and zeros.
    const header = sealed(0).subarray(0, 128);
    const size = encryptedLength(2 ** 52, 1024);
    const read = (start, end) => {
        const bytes = new Uint8Array(end - start);
        if (start === 0) bytes.set(header);
        bytes.set([0, 4, 0, end === size ? 0x80 : 0], start === 0 ? 128 : 0);
        return bytes;
    };
    const error = { code: 'DAMAGED', message: new RegExp(`chunk ${2 ** 42 - 1} `) };
    await assert.rejects(openFile({ size, read }, { key }), error);
});
