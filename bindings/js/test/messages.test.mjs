// Messages, MACs and invalid arguments.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as aegis from '@palladion/aegis';
import {
    ALGORITHMS,
    Cipher,
    Encryptor,
    KeyStream,
    Mac,
    generateKey,
    generateNonce,
    keyLength,
    mac,
    open,
    seal,
    verifyMac,
} from '@palladion/aegis';
import { build, bytes, code, failure, fill, hex, isZero, noise, text } from './common.mjs';

/** More bytes than the module takes at once. */
const BIG = 3 * 256 * 1024 + 77;

test('the build is the one that was asked for, and the fastest otherwise', () => {
    assert.equal(aegis.currentBuild(), build || aegis.supportedBuilds()[0]);
    assert(aegis.supportedBuilds().includes('scalar'));
});

test('seal and open', () => {
    for (const algorithm of ALGORITHMS) {
        for (const tagLength of [16, 32]) {
            const key = generateKey(algorithm);
            const options = { algorithm, tagLength, ad: bytes('header') };
            const sealed = seal(key, bytes('attack at dawn'), options);
            assert.equal(sealed.length, keyLength(algorithm) + 14 + tagLength);
            assert.equal(text(open(key, sealed, options)), 'attack at dawn');
            assert.notEqual(hex(seal(key, bytes('attack at dawn'), options)), hex(sealed));
            for (const [otherKey, other, ad] of [
                [key, sealed, bytes('Header')],
                [generateKey(algorithm), sealed, options.ad],
                [key, sealed.map((byte, at) => (at === 40 ? byte ^ 1 : byte)), options.ad],
                [key, sealed.subarray(1), options.ad],
                [key, sealed.subarray(0, keyLength(algorithm) + tagLength - 1), options.ad],
                [key, new Uint8Array(0), options.ad],
            ])
                assert.equal(
                    code(() => open(otherKey, other, { ...options, ad })),
                    'VERIFICATION_FAILED',
                );
        }
    }
});

test('messages of any length, at once and in pieces', () => {
    const message = noise(BIG);
    for (const algorithm of ALGORITHMS) {
        const length = keyLength(algorithm);
        const [key, nonce] = [fill(1, length), fill(2, length)];
        const cipher = new Cipher(key, { algorithm });
        for (const [size, ad] of [
            [BIG, fill(3, 100)],
            [256 * 1024, fill(3, 1)],
            [256 * 1024, undefined],
            [256 * 1024 + 1, undefined],
            [5, noise(BIG, 2)],
        ]) {
            const plain = message.subarray(0, size);
            const sealed = cipher.encrypt(nonce, plain, { ad });
            const encryptor = new Encryptor(key, nonce, { algorithm, ad });
            let at = 0;
            for (const piece of [1, 15, 300_000, 0, 7, 100_000, BIG]) {
                const part = encryptor.update(plain.subarray(at, at + piece));
                assert(Buffer.compare(part, sealed.subarray(at, at + part.length)) === 0);
                at += part.length;
            }
            assert.equal(hex(encryptor.finalize()), hex(sealed.subarray(size)));
            assert(Buffer.compare(cipher.decrypt(nonce, sealed, { ad }), plain) === 0);
            for (const where of [0, size - 1, size, sealed.length - 1]) {
                const into = new Uint8Array(size).fill(9);
                const changed = sealed.slice();
                changed[where] ^= 4;
                assert.equal(
                    code(() => cipher.decrypt(nonce, changed, { ad, into })),
                    'VERIFICATION_FAILED',
                );
                assert(isZero(into));
            }
        }
    }
});

test('in place, into another place, and into overlapping ones', () => {
    const cipher = new Cipher(fill(1, 32));
    const nonce = fill(2, 32);
    for (const size of [0, 1, 100, BIG]) {
        const message = noise(size);
        const sealed = cipher.encrypt(nonce, message);
        // The message is at the beginning of the output.
        const room = new Uint8Array(size + 32);
        room.set(message);
        assert.equal(cipher.encrypt(nonce, room.subarray(0, size), { into: room }), room);
        assert(Buffer.compare(room, sealed) === 0);
        const back = cipher.decrypt(nonce, room, { into: room.subarray(0, size) });
        assert(back.buffer === room.buffer && Buffer.compare(back, message) === 0);
        const buffer = message.slice();
        const tag = cipher.encryptInPlace(nonce, buffer);
        assert(Buffer.compare(buffer, sealed.subarray(0, size)) === 0);
        cipher.decryptInPlace(nonce, buffer, tag);
        assert(Buffer.compare(buffer, message) === 0);
        cipher.encryptInPlace(nonce, buffer);
        tag[0] ^= 1;
        assert.equal(code(() => cipher.decryptInPlace(nonce, buffer, tag)), 'VERIFICATION_FAILED');
        assert(isZero(buffer));
        if (size > 1) {
            const wide = new Uint8Array(size + 1);
            const [input, into] = [wide.subarray(0, size), wide.subarray(1)];
            assert.equal(
                code(() => cipher.encryptDetached(nonce, input, { into })),
                'OVERLAP',
            );
            assert.equal(
                code(() => cipher.decryptDetached(nonce, input, tag, { into })),
                'OVERLAP',
            );
        }
    }
});

for (const size of [64, 5000]) test(`bytes of all kinds, ${size} of them`, () => {
    const key = fill(1, 32);
    const message = noise(size);
    const expected = hex(mac(key, message));
    const ciphertext = hex(new Cipher(key).encryptDetached(key, message).ciphertext);
    const shared = new Uint8Array(new SharedArrayBuffer(size));
    shared.set(message);
    const odd = new Uint8Array(size + 16).subarray(3, size + 3);
    odd.set(message);
    for (const same of [
        message.buffer,
        new DataView(message.buffer),
        new Uint16Array(message.buffer),
        Buffer.from(message),
        shared,
        shared.buffer,
        odd,
    ]) {
        assert.equal(hex(mac(key, same)), expected);
        assert.deepEqual(open(key, seal(key, same, { ad: same }), { ad: same }), message);
        assert.equal(hex(new Encryptor(key, key).update(same)), ciphertext);
    }
});

test('MACs', () => {
    const data = noise(BIG);
    for (const algorithm of ALGORITHMS) {
        const key = fill(1, keyLength(algorithm));
        for (const tagLength of [16, 32]) {
            const tag = mac(key, data, { algorithm, tagLength });
            assert.equal(tag.length, tagLength);
            const pieces = new Mac(key, { algorithm });
            for (let at = 0; at < BIG; at += 99_999) pieces.update(data.subarray(at, at + 99_999));
            const copy = pieces.clone();
            assert.equal(hex(pieces.finalize(tagLength)), hex(tag));
            assert.equal(code(() => pieces.update(data)), 'WRONG_STATE');
            assert.equal(code(() => pieces.finalize()), 'WRONG_STATE');
            verifyMac(key, data, tag, { algorithm });
            const wrong = tag.slice();
            wrong[tagLength - 1] ^= 0x80;
            assert.equal(
                code(() => verifyMac(key, data, wrong, { algorithm })),
                'VERIFICATION_FAILED',
            );
            copy.clone().verify(tag);
            assert.equal(code(() => copy.verify(wrong)), 'VERIFICATION_FAILED');
        }
        assert.equal(
            code(() => verifyMac(key, data, new Uint8Array(20), { algorithm })),
            'WRONG_LENGTH',
        );
        new Mac(key, { algorithm }).destroy();
    }
});

test('MACs of files, as the command line makes them (docs/file-format.md)', () => {
    const tags = [
        '232219588e09879cecc62e06a5977eb7312ec03e842b0764267071c21452f4c0',
        'd5afc1cf3a4b1757f21ee06117bff281727e35485b7caf55161f99263364513f',
        '8bcb2f4892141433e9ba27237467d20ed5e86baeadee1dcefd69ae12e4cb895d',
        '2c99f89f0b7fedc4e1e0e0e675ff81ad1d0a0f5bbda864c93386be148cf0965f',
        '19cd580fe828741500f1959d4d6ab42fcfc65b090fcd1c453e98a9e0e05c7450',
        '60579210e76519a3195c3db23a960aeb0d8cc2e58cee6a5b1685b76a0673e172',
    ];
    const masterKey = Uint8Array.from({ length: 32 }, (_, i) => i);
    ALGORITHMS.forEach((algorithm, i) => {
        const begun = Mac.forFiles(masterKey, { algorithm }).update(bytes('abc'));
        assert.equal(code(() => begun.finalize(16)), 'WRONG_LENGTH');
        begun.clone().verify(Buffer.from(tags[i], 'hex'));
        assert.equal(hex(begun.finalize()), tags[i]);
    });
});

test('keys and nonces are random, and as long as the algorithm wants', () => {
    for (const algorithm of ALGORITHMS) {
        assert.equal(generateKey(algorithm).length, keyLength(algorithm));
        assert.equal(generateNonce(algorithm).length, keyLength(algorithm));
        assert.notEqual(hex(generateKey(algorithm)), hex(generateKey(algorithm)));
    }
});

test('an error for a wrong type or length has the expected and the actual one', () => {
    const [key, nonce, short] = [32, 32, 16].map((length) => new Uint8Array(length));
    const cipher = new Cipher(key);
    const wrong = {
        WRONG_LENGTH: [
            [() => new Cipher(short), /the key must have 32 bytes, but has 16/],
            [() => new Cipher(key, { algorithm: 'AEGIS-128L' }), /16 bytes, but has 32/],
            [() => new Cipher(key, { tagLength: 12 }), /16 or 32 bytes, not 12/],
            [() => cipher.encrypt(short, key), /the nonce must have 32 bytes, but has 16/],
            [() => cipher.encrypt(nonce, nonce, { into: key }), /must have 64 bytes, but has 32/],
            [() => cipher.decryptDetached(nonce, nonce, short), /the tag must have 32 bytes/],
            [() => mac(short, key), /the key must have 32 bytes, but has 16/],
            [() => mac(key, key, { nonce: short }), /the nonce/],
            [() => mac(key, key, { tagLength: 0 }), /tags have 16 or 32 bytes/],
        ],
        WRONG_TYPE: [
            [() => new Cipher('a key of 32 characters, or nearly'), /key must be .* not a string/],
            [() => new Cipher(undefined), /not undefined/],
            [() => new Cipher(null), /not null/],
            [() => new Cipher([1, 2, 3]), /not a value of type Array/],
            [() => new Cipher(32), /not a number/],
            [() => cipher.seal('text'), /the message must be bytes/],
            [() => cipher.seal(nonce, { ad: 'text' }), /the associated data must be bytes/],
            [() => cipher.encrypt(nonce, nonce, { into: [] }), /must be a Uint8Array/],
            [() => new KeyStream(key).read('8'), /the length must be a number/],
            [() => new Encryptor(key, undefined), /the nonce must be bytes/],
        ],
        WRONG_VALUE: [[() => new KeyStream(key).read(-1), /the length must be an integer/]],
        UNKNOWN_ALGORITHM: [
            [() => new Cipher(key, { algorithm: 'AES' }), /"AES"; expected one of AEGIS-128L/],
        ],
        VERIFICATION_FAILED: [[() => cipher.decrypt(nonce, new Uint8Array(31)), /failed/]],
    };
    for (const [expected, calls] of Object.entries(wrong)) {
        for (const [call, message] of calls) {
            const error = failure(call);
            assert.equal(error.code, expected, String(call));
            assert.match(error.message, message);
            assert.equal(error.name, 'PalladionError');
        }
    }
    assert.match(failure(() => cipher.seal('text')).hint, /TextEncoder/);
});

test('unknown options are refused', () => {
    const [key, nonce, data] = [new Uint8Array(32), new Uint8Array(32), new Uint8Array(8)];
    const cipher = new Cipher(key);
    const encrypted = cipher.encrypt(nonce, data);
    const tag = mac(key, data);
    const options = { aad: data };
    const calls = [
        () => seal(key, data, options),
        () => open(key, seal(key, data), options),
        () => cipher.seal(data, options),
        () => cipher.open(cipher.seal(data), options),
        () => cipher.encrypt(nonce, data, options),
        () => cipher.decrypt(nonce, encrypted, options),
        () => cipher.encryptDetached(nonce, data, options),
        () => cipher.decryptDetached(nonce, data, tag, options),
        () => cipher.encryptInPlace(nonce, data, options),
        () => cipher.decryptInPlace(nonce, data, tag, options),
        () => new Cipher(key, options),
        () => new Encryptor(key, nonce, options),
        () => new KeyStream(key, options),
        () => aegis.keyStream(key, 1, options),
        () => new Mac(key, options),
        () => Mac.forFiles(key, options),
        () => mac(key, data, options),
        () => verifyMac(key, data, tag, options),
        () => aegis.encryptFile(data, { key, ...options }),
        () => aegis.decryptFile(data, { key, ...options }),
        () => aegis.encryptStream({ key, ...options }),
        () => aegis.decryptStream({ key, ...options }),
        () => aegis.encryptFile(data, { key, kdf: options }),
        () => aegis.decryptFile(data, { key, limits: options }),
    ];
    for (const call of calls) {
        const error = failure(call);
        assert.equal(error.code, 'UNKNOWN_OPTION', String(call));
        assert.match(error.message, /no option "aad" here, only \w/);
        assert.match(error.hint, /option "ad"|it is an option of seal, open/);
    }
    // These take the length of the tag later.
    assert.match(failure(() => new Mac(key, { tagLength: 16 })).hint, /finalize/);
    assert.match(failure(() => new Encryptor(key, nonce, { tagLength: 16 })).hint, /finalize/);
    const bytesAsOptions = failure(() => cipher.seal(data, data));
    assert.match(bytesAsOptions.message, /must be an object such as { ad }/);
    assert.equal(code(() => cipher.seal(data, null)), 'WRONG_TYPE');
});

test('what is finished cannot be used', () => {
    const cipher = new Cipher(generateKey());
    cipher.destroy();
    cipher.destroy();
    assert.equal(code(() => cipher.seal(new Uint8Array(1))), 'WRONG_STATE');
    const encryptor = new Encryptor(generateKey(), generateNonce());
    encryptor.finalize();
    assert.equal(code(() => encryptor.update(new Uint8Array(1))), 'WRONG_STATE');
    assert.equal(code(() => encryptor.finalize()), 'WRONG_STATE');
    const stream = new KeyStream(generateKey());
    stream.destroy();
    assert.equal(code(() => stream.read(1)), 'WRONG_STATE');
});

test('an object goes on with the build that it began with', async () => {
    const [key, data] = [fill(1, 32), noise(1000)];
    const before = aegis.currentBuild();
    const begun = new Mac(key).update(data.subarray(0, 500));
    for (const build of aegis.supportedBuilds()) {
        await aegis.init({ build });
        assert.equal(hex(begun.clone().update(data.subarray(500)).finalize()), hex(mac(key, data)));
    }
    await aegis.init({ build: before });
});

// The addon reads it where it is.
const skip = build === 'native' ? 'the addon needs no memory for it' : false;

test('associated data for which there is no memory', { skip }, () => {
    const [key, ad] = [fill(1, 32), new Uint8Array(2 ** 31)];
    assert.equal(code(() => seal(key, bytes('text'), { ad })), 'OUT_OF_MEMORY');
    assert.equal(text(open(key, seal(key, bytes('works')))), 'works');
});

test('modules from elsewhere', async () => {
    const before = aegis.currentBuild();
    const wasm = aegis.supportedBuilds().filter((build) => build !== 'native');
    const url = (build) => new URL(import.meta.resolve(`@palladion/aegis/wasm/${build}.wasm`));
    assert.equal(await aegis.init({ build: 'scalar', wasm: url }), 'scalar');
    const { readFile } = await import('node:fs/promises');
    const module = await readFile(url('scalar'));
    assert.equal(await aegis.init({ wasm: module }), 'scalar');
    assert.equal(await aegis.init({ wasm: new WebAssembly.Module(module) }), 'scalar');
    for (const type of ['application/wasm', 'application/octet-stream']) {
        assert.equal(
            await aegis.init({
                wasm: Promise.resolve(new Response(module, { headers: { 'content-type': type } })),
            }),
            'scalar',
        );
    }
    assert.equal(text(open(fill(1, 32), seal(fill(1, 32), bytes('works')))), 'works');
    await assert.rejects(aegis.init({ wasm: new Response('', { status: 404 }) }), {
        code: 'UNSUPPORTED',
    });
    await assert.rejects(aegis.init({ build: 'avx' }), { code: 'WRONG_VALUE' });
    await assert.rejects(aegis.init({ build: 'native', wasm: module }), {
        code: aegis.supportedBuilds().includes('native') ? 'WRONG_VALUE' : 'UNSUPPORTED',
    });
    assert.equal(await aegis.init(), 'scalar');
    assert.equal(await aegis.init({ build: 'wasm' }), wasm[0]);
    await aegis.init({ build: before });
});
