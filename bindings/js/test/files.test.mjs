// Encrypted files: the format, streams, errors, and the command line if PALLADION_CLI names it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
    ALGORITHMS,
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
    openFile,
    parseKey,
} from '@palladion/aegis';
import { build, bytes, code, failure, hex, noise, root, text, unhex } from './common.mjs';

const key = Uint8Array.from({ length: 32 }, (_, i) => i);
const cheap = { memoryKiB: 64, passes: 1, lanes: 1 };
const hello = 'Hello, Palladion!\n';

/** Sends bytes through a stream in pieces of these lengths, in turn, and collects the result. */
async function through(stream, input, lengths) {
    const writer = stream.writable.getWriter();
    const sent = (async () => {
        let at = 0;
        for (let i = 0; at < input.length; i++) {
            const end = at + lengths[i % lengths.length];
            await writer.write(input.subarray?.(at, end) ?? input[at]);
            at = end;
        }
        await writer.close();
    })();
    sent.catch(() => {}); // the reader gets the error too
    const pieces = [];
    for await (const piece of stream.readable) pieces.push(piece);
    await sent;
    return { whole: Buffer.concat(pieces), pieces };
}

// docs/file-format.md, "Test vectors".
const oneChunk = unhex(
    '89504c440d0a1a0a0105001400000000808182838485868788898a8b8c8d8e8f9091929394959697' +
    '98999a9b9c9d9e9f00000000000000000000000000000000' +
        '0a974bec572d2de02bb891d1c6f2c4f7ee59077ce0a65190fb3bb65744c0b5601cfcd39376a9e9b8' +
        '791f064e420e39dba391ed50fad6d1955fabdcb6c015368f' +
        '12000080361e0c34e2056b11181fce58a4d3900c47b41ced28bb213ac2ea2632f361f6e7f9eadaf2' +
        'c5335c7d1f6bb41934a843b93c06',
);

const bound = unhex(
    '89504c440d0a1a0a0105001450000000808182838485868788898a8b8c8d8e8f9091929394959697' +
    '98999a9b9c9d9e9f00000000000000000000000090173ea9' +
        'a3891ed36803f573646de253e553ebcad769d36cd8db4bf27b651f0ffbe33dcea7874c724626996f' +
        '2106c6597c4b54176ba26118266b85e232ae5f9c12e34fab' +
        '12000080a85e0d322db81a49f787c7a55e6384a8775de45cdc439a0e7e76748ba4c7617e403f3aa0' +
        'a1e270ea68777de7e054cb065aa5',
);
const place = 'reports/2026/january';
const boundToLong = unhex(
    '89504c440d0a1a0a0105001450000000808182838485868788898a8b8c8d8e8f9091929394959697' +
    '98999a9b9c9d9e9f000000000000000000000000c56965deeea2b3bd6d2581d581d7423154bb6eb8' +
    '64ca775e41ed4b1da07e192db3cdf4c7cf5ba41102c36d5c312cd8192327e8e18ff4fa06bb9ad3fb' +
    'c0b63eaa8f947fd012000080d707f95d4ff5057d4f200137d441ed1f2fe126bc725ef37dbbb04188' +
    'b50c2724f724ff374008a67b5beada6736fd08b6caf7',
);
const longPlace = Uint8Array.from({ length: 300_000 }, (_, i) => i % 251);

test('the files of the format\'s description', () => {
    assert.equal(text(decryptFile(oneChunk, { key })), hello);
    assert.equal(needsPassphrase(oneChunk), false);
    assert.equal(text(decryptFile(bound, { key, bind: place })), hello);
    assert.equal(needsPassphrase(bound), false);
    assert.equal(text(decryptFile(boundToLong, { key, bind: longPlace })), hello);
});

const old = globalThis.crypto ? false : 'Node 18 has its random bytes in a module';

test('with its salt, a new file has the bytes of the description', { skip: old }, () => {
    const options = { key, chunkSize: 1 << 20 };
    crypto.getRandomValues = (array) => (array.set(oneChunk.subarray(16, 48)), array);
    try {
        for (const none of [{}, { bind: undefined }])
            assert.equal(hex(encryptFile(bytes(hello), { ...options, ...none })), hex(oneChunk));
        for (const bind of [place, bytes(place), bytes(place).buffer])
            assert.equal(hex(encryptFile(bytes(hello), { ...options, bind })), hex(bound));
    } finally {
        delete crypto.getRandomValues;
    }
});

test('places have any length', () => {
    // A call takes 262144 bytes.
    const lengths = [1, 65_536, 65_537, 262_143, 262_144, 262_145, 524_288, 600_000];
    const longest = noise(600_000);
    const places = lengths.map((length) => longest.subarray(0, length));
    const changed = (bind, at) => bind.map((byte, i) => (i === at ? byte ^ 1 : byte));
    places.forEach((bind, i) => {
        const file = encryptFile(bytes(hello), { key, bind });
        assert.equal(text(decryptFile(file, { key, bind })), hello);
        const next = places[(i + 1) % places.length];
        for (const other of [changed(bind, 0), changed(bind, bind.length - 1), next]) {
            assert.equal(code(() => decryptFile(file, { key, bind: other })), 'WRONG_PLACE');
        }
        // Nothing of it is left for the next file.
        assert.equal(code(() => decryptFile(file, { key })), 'BOUND');
        assert.equal(text(decryptFile(oneChunk, { key })), hello);
        assert.equal(text(decryptFile(bound, { key, bind: place })), hello);
    });
});

test('files that are bound to a place', async () => {
    const readers = [
        async (file, options) => decryptFile(file, options),
        decryptFileAsync,
        async (file, options) => (await through(decryptStream(options), file, [50])).whole,
        async (file, options) => {
            const open = await openFile(file, options);
            const whole = await open.read();
            open.close();
            return whole;
        },
    ];
    for (const secret of [{ key }, { passphrase: 'x' }]) {
        const costs = secret.key ? {} : { kdf: cheap };
        // The last is longer than what the module takes in one call.
        const [one, other] = ['café', 'é'.repeat(150_000)];
        const make = (bind) => ({ ...secret, ...costs, bind });
        const files = [
            encryptFile(bytes('one'), make(one)),
            await encryptFileAsync(bytes('one'), make(bytes(one))),
            (await through(encryptStream(make(one)), bytes('one'), [2])).whole,
        ];
        const swapped = encryptFile(bytes('other'), make(other));
        const unbound = encryptFile(bytes('unbound'), make(undefined));
        for (const read of readers) {
            for (const file of files) {
                for (const bind of [one, bytes(one)])
                    assert.equal(text(await read(file, { ...secret, bind })), 'one');
            }
            assert.equal(text(await read(swapped, { ...secret, bind: other })), 'other');
            for (const [file, bind, code, message] of [
                [swapped, one, 'WRONG_PLACE', /bound to another place.+swapped/],
                // Text is not normalised.
                [files[0], one.normalize('NFD'), 'WRONG_PLACE', /another place/],
                [files[0], undefined, 'BOUND', /none was given/],
                [unbound, one, 'NOT_BOUND', /is not bound/],
            ])
                await assert.rejects(read(file, { ...secret, bind }), { code, message });
            // A wrong key is one whatever the place.
            const wrong = secret.key ? { key: noise(32) } : { passphrase: 'y' };
            const code = secret.key ? 'WRONG_KEY' : 'WRONG_PASSPHRASE';
            for (const bind of [one, other])
                await assert.rejects(read(files[0], { ...wrong, bind }), { code });
        }
        assert.match(failure(() => decryptFile(swapped, { ...secret, bind: one })).hint, /typed/);
        const several = { key: [noise(32), key], passphrase: ['y', 'x'], bind: one };
        assert.equal(text(decryptFile(files[0], several)), 'one');
        assert.equal(code(() => decryptFile(swapped, several)), 'WRONG_PLACE');
    }
    for (const [bind, expected, message] of [
        ['', 'WRONG_LENGTH', /^the place in the option "bind" must not be empty$/],
        [new Uint8Array(0), 'WRONG_LENGTH', /must not be empty/],
        ['x\udd11', 'WRONG_VALUE', /half of a character/],
        [null, 'WRONG_TYPE', /"bind" must be a string or bytes .+ not null/],
        [5, 'WRONG_TYPE', /"bind" must be a string or bytes .+ not a number/],
    ]) {
        for (const call of [
            () => encryptFile(bytes(hello), { key, bind }),
            () => decryptFile(oneChunk, { key, bind }),
            () => encryptStream({ key, bind }),
            () => decryptStream({ key, bind }),
        ]) {
            const error = failure(call);
            assert.equal(error.code, expected);
            assert.match(error.message, message);
        }
        await assert.rejects(openFile(oneChunk, { key, bind }), { code: expected });
    }
});

test('files of all algorithms and lengths, in pieces of all lengths', async () => {
    const some = [1, 0, 1000, 7, 3000, 1024];
    for (const algorithm of ALGORITHMS) for (const length of [0, 1023, 1024, 5000]) {
        const plain = noise(length);
        const options = { key, algorithm, chunkSize: 1024 };
        const { whole, pieces } = await through(encryptStream(options), plain, some);
        assert.equal(whole.length, encryptedLength(length, 1024));
        assert(pieces.every(({ length }) => length <= 1060), 'chunks come out one by one');
        assert(Buffer.compare(decryptFile(whole, { key }), plain) === 0);
        for (const lengths of [[1], [128, 4, 1056], some, [100_000]]) {
            const { whole: back } = await through(decryptStream({ key }), whole, lengths);
            assert(Buffer.compare(back, plain) === 0);
        }
        const file = encryptFile(plain, options);
        assert.notEqual(hex(file), hex(whole)); // another salt
        assert(Buffer.compare(decryptFile(file, { key }), plain) === 0);
    }
});

test('chunks of the usual and of the largest size', async () => {
    for (const chunkSize of [1 << 20, 1 << 24]) {
        const plain = noise(chunkSize + 12_345);
        const { whole } = await through(
            encryptStream({ key, chunkSize }),
            plain,
            [65_536, 999_999],
        );
        assert.equal(whole.length, encryptedLength(plain.length, chunkSize));
        const { whole: back, pieces } = await through(decryptStream({ key }), whole, [1_000_001]);
        assert(Buffer.compare(back, plain) === 0);
        assert.deepEqual(pieces.map((piece) => piece.length), [chunkSize, 12_345]);
    }
});

// answers.test.mjs has files of every kind.
test('a file for each code', () => {
    const file = encryptFile(noise(1500), { key, chunkSize: 1024 });
    const changed = (at, byte) => {
        const copy = file.slice();
        copy[at] ^= byte;
        if (at >= 8) copy.set(createHash('sha256').update(copy.subarray(0, 96)).digest(), 96);
        return copy;
    };
    for (const [input, expected] of [
        [bytes('text'), 'NOT_PALLADION'],
        [file.subarray(0, 127), 'TRUNCATED'],
        [changed(5, 1), 'HEADER_DAMAGED'],
        [changed(8, 3), 'UNSUPPORTED_VERSION'],
        [changed(9, 2), 'UNSUPPORTED_HEADER'],
        [changed(500, 1), 'DAMAGED'],
        [Uint8Array.of(...file, 1), 'TRAILING_DATA'],
    ])
        assert.equal(code(() => decryptFile(input, { key })), expected);
    assert.equal(code(() => decryptFile(file, { key: new Uint8Array(32) })), 'WRONG_KEY');
    assert.equal(code(() => decryptFile(file, { passphrase: 'x' })), 'NEEDS_KEY');
    const error = failure(() => decryptFile(file.subarray(0, 1200), { key }));
    assert.match(error.message, /the file is truncated: it ends within chunk 1, after 1200 bytes/);
    assert.match(error.hint, /incomplete/);
});

test('passphrases', async () => {
    const file = encryptFile(bytes(hello), { passphrase: 'pässword', kdf: cheap });
    assert.equal(text(decryptFile(file, { passphrase: bytes('pässword') })), hello);
    assert.equal(needsPassphrase(file), true);
    assert.equal(
        code(() => decryptFile(file, { passphrase: 'password' })),
        'WRONG_PASSPHRASE',
    );
    const line = { passphrase: 'pässword\n' };
    assert.match(failure(() => decryptFile(file, line)).hint, /line break/);
    await assert.rejects(decryptFileAsync(file, line), { hint: /line break/ });
    await assert.rejects(openFile(file, line), { hint: /line break/ });
    const number = failure(() => decryptFile(file, { passphrase: 42 }));
    assert.match(number.message, /must be a string or bytes/);
    assert.equal(
        code(() => decryptFile(file, { key })),
        'NEEDS_PASSPHRASE',
    );
    const error = failure(() =>
        decryptFile(file, { passphrase: 'pässword', limits: { memoryKiB: 32 } }),
    );
    assert.equal(error.code, 'KDF_TOO_COSTLY');
    assert.match(error.message, /memory in KiB 64, at most 32 allowed/);
    // Nobody could decrypt these, or anybody could.
    for (const [kdf, expected] of [
        [{ memoryKiB: 7, lanes: 1 }, 'WRONG_VALUE'],
        [{ memoryKiB: 2 ** 20 + 1, passes: 1 }, 'KDF_TOO_COSTLY'],
        [{ memoryKiB: 64, passes: 17, lanes: 1 }, 'KDF_TOO_COSTLY'],
        [{ memoryKiB: 1024, lanes: 17 }, 'KDF_TOO_COSTLY'],
        [{ memoryKiB: 2 ** 20, passes: 5 }, 'KDF_TOO_COSTLY'],
    ])
        assert.equal(code(() => encryptStream({ passphrase: 'x', kdf })), expected);
    const limits = { passes: 17 };
    const kdf = { memoryKiB: 64, passes: 17, lanes: 1 };
    const costly = encryptFile(bytes(hello), { passphrase: 'x', kdf, limits });
    assert.equal(code(() => decryptFile(costly, { passphrase: 'x' })), 'KDF_TOO_COSTLY');
    assert.equal(text(decryptFile(costly, { passphrase: 'x', limits })), hello);
    for (const passphrase of ['', new Uint8Array(0)]) {
        assert.equal(code(() => encryptFile(bytes(hello), { passphrase })), 'WRONG_LENGTH');
        assert.equal(code(() => encryptStream({ passphrase })), 'WRONG_LENGTH');
        assert.equal(code(() => decryptFile(file, { passphrase })), 'WRONG_PASSPHRASE');
    }
    // The default cost.
    const usual = await through(encryptStream({ passphrase: 'x' }), bytes(hello), [5]);
    assert.equal(
        text((await through(decryptStream({ passphrase: 'x' }), usual.whole, [5])).whole),
        hello,
    );
});

test('several keys and passphrases', async () => {
    const [old, fresh, other] = [1, 2, 3].map((seed) => noise(32, seed));
    const file = encryptFile(bytes(hello), { key: old });
    const ofPassphrase = encryptFile(bytes(hello), { passphrase: 'old', kdf: cheap });
    const keys = [fresh, formatKey(old)];
    for (const [input, secrets] of [
        [file, { key: keys }],
        [file, { key: keys, passphrase: 'x' }],
        [file, { key: Object.freeze([old]) }],
        [ofPassphrase, { passphrase: ['new', bytes('old')] }],
        [ofPassphrase, { key: fresh, passphrase: ['new', 'old'] }],
    ]) {
        assert.equal(text(decryptFile(input, secrets)), hello);
        assert.equal(text(await decryptFileAsync(input, secrets)), hello);
        const { whole } = await through(decryptStream(secrets), input, [5]);
        assert.equal(text(whole), hello);
        const open = await openFile(input, secrets);
        assert.equal(text(await open.read()), hello);
        open.close();
    }
    const many = Array.from({ length: 5000 }, (_, i) => noise(32, i + 10));
    assert.equal(text(decryptFile(file, { key: [...many, old] })), hello);
    for (const [input, secrets, expected, message] of [
        [file, { key: [fresh, other] }, 'WRONG_KEY', /the key/],
        [file, { passphrase: ['new', 'old'] }, 'NEEDS_KEY', /key file/],
        [ofPassphrase, { key: [fresh, old] }, 'NEEDS_PASSPHRASE', /passphrase/],
        [ofPassphrase, { passphrase: ['x', 'y'] }, 'WRONG_PASSPHRASE', /passphrase/],
        [file, { key: [] }, 'WRONG_LENGTH', /list of keys is empty/],
        [file, { key, passphrase: [] }, 'WRONG_LENGTH', /list of passphrases is empty/],
        [file, { key: [old, undefined] }, 'WRONG_TYPE', /^key\[1\]: .*not undefined/],
        [file, { key: [old, [old]] }, 'WRONG_TYPE', /^key\[1\]: /],
        [file, { key: [old, new Uint8Array(16)] }, 'WRONG_LENGTH', /^key\[1\]: .*32 bytes/],
        [file, { key: [...keys, 'x'] }, 'NO_KEY', /^key\[2\]: /],
        [file, { key: [...many, ...many] }, 'WRONG_LENGTH', /together/],
    ]) {
        const error = failure(() => decryptFile(input, secrets));
        assert.equal(error.code, expected);
        assert.match(error.message, message);
    }
    // A new file has one secret.
    const both = { key: old, passphrase: 'x' };
    for (const secrets of [{ key: [old] }, { passphrase: ['x', 'y'] }, both])
        assert.equal(code(() => encryptFile(bytes(hello), secrets)), 'WRONG_TYPE');
    assert.match(failure(() => encryptFile(file, { key: keys })).hint, /new key alone/);
    assert.match(failure(() => encryptFile(file, { key: [1, 2] })).hint, /Uint8Array.from/);
});

test('functions that return promises', async () => {
    const secrets = [{ key }, { passphrase: 'one', kdf: cheap }, { passphrase: 'two', kdf: cheap }];
    await Promise.all(
        [...secrets, ...secrets].map(async ({ kdf, ...secret }, i) => {
            const plain = noise(3000 * i);
            const file = await encryptFileAsync(plain, { ...secret, kdf, chunkSize: 1024 });
            assert.deepEqual(decryptFile(file, secret), plain);
            assert.deepEqual(await decryptFileAsync(file, secret), plain);
            const other = { passphrase: 'three' };
            const wrong = secret.key ? 'NEEDS_KEY' : 'WRONG_PASSPHRASE';
            await assert.rejects(decryptFileAsync(file, other), { code: wrong });
            await assert.rejects(through(decryptStream(other), file, [100]), { code: wrong });
            for (const length of [0, 127, 128, 140, file.length - 1])
                await assert.rejects(decryptFileAsync(file.subarray(0, length), secret), {
                    name: 'PalladionError',
                });
        }),
    );
    await assert.rejects(encryptFileAsync('text', { key }), { code: 'WRONG_TYPE' });
    await assert.rejects(encryptFileAsync(key, {}), { code: 'WRONG_TYPE' });
    const impossible = { passphrase: 'x', kdf: { memoryKiB: 7, lanes: 1 } };
    await assert.rejects(encryptFileAsync(key, impossible), { code: 'WRONG_VALUE' });
    assert.equal(code(() => encryptStream(impossible)), 'WRONG_VALUE');
});

test('an abort ends functions that return promises', async () => {
    const plain = noise(5000);
    const options = { passphrase: 'x', kdf: cheap };
    const file = encryptFile(plain, options);
    const reason = new Error('enough');
    const abort = new AbortController();
    const { signal } = abort;
    // Some of them wait for the others.
    const calls = [1, 2, 3].flatMap(() => [
        encryptFileAsync(plain, { ...options, signal }),
        decryptFileAsync(file, { passphrase: 'x', signal }),
        openFile(file, { passphrase: 'x', signal }),
    ]);
    abort.abort(reason);
    await Promise.all(calls.map((call) => assert.rejects(call, { message: 'enough' })));
    await assert.rejects(encryptFileAsync(plain, { key, signal }), { message: 'enough' });
    assert.deepEqual(await decryptFileAsync(file, { passphrase: 'x' }), plain);
});

const threads = build === 'native' ? false : 'WebAssembly blocks the thread';

test('Argon2id runs on another thread', { skip: threads }, async () => {
    const options = { passphrase: 'x', kdf: cheap };
    const plain = noise(5000);
    const file = encryptFile(plain, options);
    for (const call of [
        () => encryptFileAsync(plain, options),
        () => decryptFileAsync(file, { passphrase: 'x' }),
        async () => (await openFile(file, { passphrase: 'x' })).close(),
    ]) {
        let settled = false;
        const promise = call().finally(() => (settled = true));
        // The result can arrive only once the event loop turns.
        for (let i = 0; i < 100; i++) await undefined;
        assert(!settled);
        await promise;
    }
    for (const call of [
        (bytes) => encryptFileAsync(bytes, options),
        (bytes) => decryptFileAsync(bytes, { passphrase: 'x' }),
    ]) {
        const bytes = Uint8Array.from(file);
        const promise = call(bytes);
        structuredClone(bytes.buffer, { transfer: [bytes.buffer] });
        await assert.rejects(promise, { code: 'WRONG_STATE' });
    }
    // A reader that cancels meanwhile.
    for (const stream of [encryptStream(options), decryptStream({ passphrase: 'x' })]) {
        const writer = stream.writable.getWriter();
        const written = writer.write(file);
        await stream.readable.cancel('enough');
        await assert.rejects(written);
        await new Promise((resolve) => setTimeout(resolve, 10));
        await assert.rejects(writer.closed);
    }
});

// The addon would take this much.
const small = build === 'native' ? 'not limited to 4 GiB' : false;

test('more memory than there is', { skip: small }, () => {
    // 4 GiB less 1 KiB for Argon2id.
    const kdf = { memoryKiB: 2 ** 22 - 1, passes: 1, lanes: 1 };
    const limits = { memoryKiB: kdf.memoryKiB, workKiB: 2 ** 32 - 1 };
    const error = failure(() => encryptFile(bytes(hello), { passphrase: 'x', kdf, limits }));
    assert.equal(error.code, 'KDF_MEMORY');
    assert.match(error.hint, /more memory/);
    // A file that asks for it, where that is allowed.
    const file = encryptFile(bytes(hello), { passphrase: 'x', kdf: cheap });
    new DataView(file.buffer, file.byteOffset).setUint32(48, kdf.memoryKiB, true);
    file.set(createHash('sha256').update(file.subarray(0, 96)).digest(), 96);
    assert.equal(code(() => decryptFile(file, { passphrase: 'x' })), 'KDF_TOO_COSTLY');
    assert.equal(code(() => decryptFile(file, { passphrase: 'x', limits })), 'KDF_MEMORY');
    // The module still works.
    assert.equal(text(decryptFile(encryptFile(bytes(hello), { key }), { key })), hello);
});

test('keys', () => {
    const made = generateMasterKey();
    const keyFile = formatKey(made);
    assert.match(keyFile, /^palladion-key-1:[0-9a-f]{64}\n# check: [0-9a-f]{8}\n$/);
    assert.deepEqual(parseKey(`# a comment\n\n${keyFile}`), made);
    assert.deepEqual(parseKey(`\uFEFF${keyFile}`), made);
    assert.deepEqual(parseKey(keyFile.replaceAll('\n', '\r\n')), made);
    const file = encryptFile(bytes(hello), { key: keyFile });
    assert.equal(text(decryptFile(file, { key: made })), hello);
    const other = keyFile[20] === '0' ? '1' : '0';
    for (const [wrong, expected] of [
        ['ssh-rsa AAAA', 'NO_KEY'],
        [' '.repeat(1 << 20), 'NO_KEY'],
        [keyFile + keyFile, 'NOT_ONE_KEY'],
        ['palladion-key-1:xyz', 'KEY_NOT_HEX'],
        [keyFile.slice(0, 20) + other + keyFile.slice(21), 'KEY_DAMAGED'],
    ])
        assert.equal(code(() => parseKey(wrong)), expected);
});

test('options that cannot be', () => {
    for (const [options, expected] of [
        [{}, 'WRONG_TYPE'],
        [undefined, 'WRONG_TYPE'],
        [{ key, passphrase: 'x' }, 'WRONG_TYPE'],
        [{ key: new Uint8Array(16) }, 'WRONG_LENGTH'],
        [{ key, chunkSize: 1000 }, 'WRONG_VALUE'],
        [{ key, chunkSize: 1 << 25 }, 'WRONG_VALUE'],
        [{ key, algorithm: 'AES' }, 'UNKNOWN_ALGORITHM'],
        [{ passphrase: 'x'.repeat(65537) }, 'WRONG_LENGTH'],
    ])
        assert.equal(code(() => encryptStream(options)), expected);
    assert.equal(code(() => encryptFile('text', { key })), 'WRONG_TYPE');
    assert.equal(code(() => decryptStream({ key: 5 })), 'WRONG_TYPE');
});

// This is slow and the same for all builds.
const skip = [undefined, 'simd128', 'native'].includes(build) ? false : 'tested with simd128';

test('many streams that nobody ends keep no more memory than is there', { skip }, async () => {
    // Without freeing, this would be 4 GiB, which the module cannot have.
    for (let i = 0; i < 260; i++) {
        const stream = encryptStream({ key, chunkSize: 1 << 24 });
        const writer = stream.writable.getWriter();
        writer.abort('enough').catch(() => {});
        await writer.closed.catch(() => {});
        await stream.readable.cancel().catch(() => {});
        globalThis.gc?.();
        if (i % 20 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
});

const cli =
    process.env.PALLADION_CLI ??
    join(
        process.env.CARGO_TARGET_DIR ?? join(root, 'target'),
        process.platform === 'win32' ? 'release/palladion.exe' : 'release/palladion',
    );

test(
    'the command line reads our files, and we read its',
    { skip: existsSync(cli) ? false : 'no command line' },
    async () => {
        const folder = mkdtempSync(join(tmpdir(), 'palladion-js-'));
        try {
            const path = (name) => join(folder, name);
            const palladion = (...words) =>
                execFileSync(cli, words, { input: '', stdio: ['pipe', 'pipe', 'pipe'] });
            const decrypt = (from, to, secret = ['-k', path('my.key')]) =>
                palladion('decrypt', '-f', ...secret, '-o', path(to), path(from));
            palladion('keygen', '-o', path('my.key'));
            const keyFile = readFileSync(path('my.key'), 'utf8');
            for (const [length, algorithm] of [[0, 'AEGIS-128L'], [2_500_000, 'AEGIS-256X2']]) {
                const plain = noise(length);
                const made = encryptStream({ key: keyFile, algorithm });
                const { whole: ours } = await through(made, plain, [65_536]);
                writeFileSync(path('ours.pld'), ours);
                decrypt('ours.pld', 'ours');
                assert(Buffer.compare(readFileSync(path('ours')), plain) === 0);
                palladion('encrypt', '-k', path('my.key'), '-fo', path('theirs'), path('ours'));
                const theirs = readFileSync(path('theirs'));
                const { whole } = await through(decryptStream({ key: keyFile }), theirs, [65_536]);
                assert(Buffer.compare(whole, plain) === 0);
            }
            // Both report the same error for a damaged file.
            const file = encryptFile(noise(100), { key: keyFile });
            file[140] ^= 1;
            writeFileSync(path('damaged.pld'), file);
            const { message } = failure(() => decryptFile(file, { key: keyFile }));
            assert.throws(() => decrypt('damaged.pld', 'damaged'), ({ stderr }) =>
                String(stderr).includes(message));
            // Passphrases.
            const passphrase = 'correct horse battery staple';
            writeFileSync(path('passphrase'), `${passphrase}\n`, { mode: 0o600 });
            writeFileSync(path('ours.pld'), encryptFile(bytes(hello), { passphrase }));
            decrypt('ours.pld', 'ours', ['--passphrase-file', path('passphrase')]);
            assert.equal(readFileSync(path('ours'), 'utf8'), hello);
            // Files that are bound to a place.
            const bind = 'notes/café';
            const [name, secret] = [path('bound.pld'), ['--bind', bind, '-k', path('my.key')]];
            writeFileSync(name, encryptFile(bytes(hello), { key: keyFile, bind }));
            palladion('decrypt', '-f', ...secret, '-o', path('ours'), name);
            assert.equal(readFileSync(path('ours'), 'utf8'), hello);
            palladion('encrypt', '-f', ...secret, '-o', name, path('ours'));
            assert.equal(text(decryptFile(readFileSync(name), { key: keyFile, bind })), hello);
        } finally {
            rmSync(folder, { recursive: true });
        }
    },
);
