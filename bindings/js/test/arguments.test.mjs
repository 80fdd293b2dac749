// Arguments: bytes whose memory is gone, objects of another realm, memory that is shared or used
// twice, and mistakes with their hints.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import vm from 'node:vm';
import * as aegis from '@palladion/aegis';
import { Cipher, Encryptor, KeyStream, Mac, mac, open, seal, verifyMac } from '@palladion/aegis';
import { bytes, code, failure, fill, hex, isZero, noise } from './common.mjs';

const [key, nonce, tag] = [fill(1, 32), fill(2, 32), fill(3, 32)];
const message = noise(100);
const cipher = new Cipher(key);
const cheap = { memoryKiB: 64, passes: 1, lanes: 1 };
const file = aegis.encryptFile(message, { key });
const withPassphrase = aegis.encryptFile(message, { passphrase: 'x', kdf: cheap });

/** Every argument that is bytes. */
const calls = {
    'Cipher, key': (it) => new Cipher(it),
    'seal, key': (it) => seal(it, message),
    'seal, message': (it) => seal(key, it),
    'seal, ad': (it) => seal(key, message, { ad: it }),
    'open, key': (it) => open(it, cipher.seal(message)),
    'open, message': (it) => open(key, it),
    'open, ad': (it) => open(key, cipher.seal(message), { ad: it }),
    'Cipher.seal, message': (it) => cipher.seal(it),
    'Cipher.seal, ad': (it) => cipher.seal(message, { ad: it }),
    'Cipher.open, message': (it) => cipher.open(it),
    'Cipher.open, ad': (it) => cipher.open(cipher.seal(message), { ad: it }),
    'encrypt, nonce': (it) => cipher.encrypt(it, message),
    'encrypt, message': (it) => cipher.encrypt(nonce, it),
    'encrypt, ad': (it) => cipher.encrypt(nonce, message, { ad: it }),
    'encrypt, into': (it) => cipher.encrypt(nonce, message, { into: it }),
    'decrypt, nonce': (it) => cipher.decrypt(it, message),
    'decrypt, ciphertext': (it) => cipher.decrypt(nonce, it),
    'decrypt, ad': (it) => cipher.decrypt(nonce, message, { ad: it }),
    'decrypt, into': (it) => cipher.decrypt(nonce, message, { into: it }),
    'encryptDetached, nonce': (it) => cipher.encryptDetached(it, message),
    'encryptDetached, message': (it) => cipher.encryptDetached(nonce, it),
    'encryptDetached, ad': (it) => cipher.encryptDetached(nonce, message, { ad: it }),
    'encryptDetached, into': (it) => cipher.encryptDetached(nonce, message, { into: it }),
    'encryptDetached, into without bytes': (it) =>
        cipher.encryptDetached(nonce, new Uint8Array(0), { into: it }),
    'decryptDetached, nonce': (it) => cipher.decryptDetached(it, message, tag),
    'decryptDetached, ciphertext': (it) => cipher.decryptDetached(nonce, it, tag),
    'decryptDetached, tag': (it) => cipher.decryptDetached(nonce, message, it),
    'decryptDetached, ad': (it) => cipher.decryptDetached(nonce, message, tag, { ad: it }),
    'decryptDetached, into': (it) => cipher.decryptDetached(nonce, message, tag, { into: it }),
    'encryptInPlace, nonce': (it) => cipher.encryptInPlace(it, message.slice()),
    'encryptInPlace, buffer': (it) => cipher.encryptInPlace(nonce, it),
    'encryptInPlace, ad': (it) => cipher.encryptInPlace(nonce, message.slice(), { ad: it }),
    'decryptInPlace, nonce': (it) => cipher.decryptInPlace(it, message.slice(), tag),
    'decryptInPlace, buffer': (it) => cipher.decryptInPlace(nonce, it, tag),
    'decryptInPlace, tag': (it) => cipher.decryptInPlace(nonce, message.slice(), it),
    'decryptInPlace, ad': (it) => cipher.decryptInPlace(nonce, message.slice(), tag, { ad: it }),
    'Encryptor, key': (it) => new Encryptor(it, nonce),
    'Encryptor, nonce': (it) => new Encryptor(key, it),
    'Encryptor, ad': (it) => new Encryptor(key, nonce, { ad: it }),
    'Encryptor.update': (it) => new Encryptor(key, nonce).update(it),
    'KeyStream, key': (it) => new KeyStream(it),
    'KeyStream, nonce': (it) => new KeyStream(key, { nonce: it }),
    'keyStream, key': (it) => aegis.keyStream(it, 1),
    'keyStream, nonce': (it) => aegis.keyStream(key, 1, { nonce: it }),
    'Mac, key': (it) => new Mac(it),
    'Mac, nonce': (it) => new Mac(key, { nonce: it }),
    'Mac.forFiles': (it) => Mac.forFiles(it),
    'Mac.update': (it) => new Mac(key).update(it),
    'Mac.verify': (it) => new Mac(key).verify(it),
    'mac, key': (it) => mac(it, message),
    'mac, data': (it) => mac(key, it),
    'mac, nonce': (it) => mac(key, message, { nonce: it }),
    'verifyMac, key': (it) => verifyMac(it, message, tag),
    'verifyMac, data': (it) => verifyMac(key, it, tag),
    'verifyMac, tag': (it) => verifyMac(key, message, it),
    'verifyMac, nonce': (it) => verifyMac(key, message, tag, { nonce: it }),
    'encryptFile, plaintext': (it) => aegis.encryptFile(it, { key }),
    'encryptFile, key': (it) => aegis.encryptFile(message, { key: it }),
    'encryptFile, passphrase': (it) =>
        aegis.encryptFile(message, { passphrase: it, kdf: cheap }),
    'encryptFile, bind': (it) => aegis.encryptFile(message, { key, bind: it }),
    'decryptFile, bind': (it) => aegis.decryptFile(file, { key, bind: it }),
    'decryptFile, file': (it) => aegis.decryptFile(it, { key }),
    'decryptFile, key': (it) => aegis.decryptFile(file, { key: it }),
    'decryptFile, passphrase': (it) => aegis.decryptFile(withPassphrase, { passphrase: it }),
    'encryptStream, key': (it) => aegis.encryptStream({ key: it }),
    'encryptStream, passphrase': (it) => aegis.encryptStream({ passphrase: it, kdf: cheap }),
    'decryptStream, key': (it) => aegis.decryptStream({ key: it }),
    'decryptStream, passphrase': (it) => aegis.decryptStream({ passphrase: it }),
    'needsPassphrase': (it) => aegis.needsPassphrase(it),
    'formatKey': (it) => aegis.formatKey(it),
};

const skip = 'resize' in ArrayBuffer.prototype ? false : 'no resizable buffers';
const resizable = (length, most) => new ArrayBuffer(length, { maxByteLength: most });

/** Views that have lost their memory: their length is 0, or they throw. */
function* goneViews(realm) {
    const types = [realm.Uint8Array, realm.Uint16Array, realm.DataView];
    if (realm === globalThis && globalThis.process?.versions?.node) types.push(Buffer.from);
    for (const Type of types) {
        const make = (...words) => (Type === Buffer.from ? Type(...words) : new Type(...words));
        const buffer = new realm.ArrayBuffer(32);
        const view = make(buffer);
        structuredClone(buffer, { transfer: [buffer] });
        yield [`a transferred ${Type.name}`, view];
        yield ['a transferred buffer', buffer];
        if (!('resize' in ArrayBuffer.prototype)) continue;
        const smaller = new realm.ArrayBuffer(32, { maxByteLength: 32 });
        const views = [make(smaller, 0, 8), make(smaller, 8, 8), make(smaller, 8)];
        smaller.resize(4);
        // A Buffer has a fixed length.
        for (const view of views) yield [`a ${Type.name} out of bounds`, view];
    }
}

test('bytes that are gone are an error for every argument', () => {
    for (const realm of [globalThis, vm.runInNewContext('globalThis')]) {
        for (const [kind, view] of goneViews(realm)) {
            for (const [name, call] of Object.entries(calls)) {
                const error = failure(() => call(view));
                // Only a Uint8Array can be written into.
                if (name.includes('into') && error.code === 'WRONG_TYPE') continue;
                assert.equal(error.code, 'WRONG_STATE', `${name}: ${kind}`);
                assert.match(error.message, /has no bytes any more/);
            }
        }
    }
});

test('bytes that are gone are an error in streams', async () => {
    for (const [kind, view] of goneViews(globalThis)) {
        for (const stream of [aegis.encryptStream({ key }), aegis.decryptStream({ key })]) {
            const writer = stream.writable.getWriter();
            const read = new Response(stream.readable).arrayBuffer();
            await assert.rejects(writer.write(view), { code: 'WRONG_STATE' }, kind);
            await assert.rejects(writer.close());
            await assert.rejects(read);
        }
        await assert.rejects(aegis.init({ wasm: view }), { code: 'WRONG_STATE' }, kind);
    }
});

test('bytes that are taken away while the options are read', () => {
    const take = (view) => structuredClone(view.buffer, { transfer: [view.buffer] });
    const shrink = (view) => view.buffer.resize(8);
    for (const [name, size, call] of [
        ['encryptFile, plaintext', 100,
            (it, then) => aegis.encryptFile(it, { key, get chunkSize() { then(); } })],
        ['encryptFile, key', 32,
            (it, then) => aegis.encryptFile(message, { key: it, get chunkSize() { then(); } })],
        ['encryptFile, passphrase', 32,
            (it, then) => aegis.encryptFile(message, { passphrase: it, get kdf() { then(); } })],
        ['encryptFile, bind', 32,
            (it, then) => aegis.encryptFile(message, { key, bind: it, get kdf() { then(); } })],
        ['decryptFile, file', file.length,
            (it, then) => aegis.decryptFile(it, { key, get limits() { then(); } })],
        ['decryptFile, key', 32,
            (it, then) => aegis.decryptFile(file, { key: it, get limits() { then(); } })],
        ['encryptStream, key', 32,
            (it, then) => aegis.encryptStream({ key: it, get limits() { then(); } })],
        ['seal, message', 100, (it, then) => seal(key, it, { get ad() { then(); } })],
        ['encrypt, nonce', 32,
            (it, then) => cipher.encrypt(it, message, { get into() { then(); } })],
        ['Encryptor, nonce', 32, (it, then) => new Encryptor(key, it, { get ad() { then(); } })],
        ['mac, data', 300_000, (it, then) => mac(key, it, { get nonce() { then(); } })],
        ['verifyMac, tag', 32,
            (it, then) => verifyMac(key, message, it, { get nonce() { then(); } })],
    ]) {
        const array = noise(size);
        assert.equal(code(() => call(array, () => take(array))), 'WRONG_STATE', name);
        if (skip) continue;
        const smaller = new Uint8Array(resizable(size, size), 0, size);
        assert.equal(code(() => call(smaller, () => shrink(smaller))), 'WRONG_STATE', name);
        // A key of 8 bytes is none.
        const following = new Uint8Array(resizable(size, size));
        const shrunk = () => call(following, () => shrink(following));
        if (/key|nonce/.test(name)) assert.equal(code(shrunk), 'WRONG_LENGTH', name);
    }
    // Each option is read once, also of long data.
    const long = noise(300_000);
    for (const call of [
        (options) => mac(key, long, options),
        (options) => verifyMac(key, long, mac(key, long), options),
    ]) {
        let read = 0;
        call({ get nonce() { read++; } });
        assert.equal(read, 1);
    }
});


test('arrays that follow the length of their buffer', { skip }, () => {
    for (const [size, less] of [[100, 50], [300_000, 5000]]) {
        const buffer = resizable(size, size);
        const array = new Uint8Array(buffer);
        array.set(noise(size));
        buffer.resize(less);
        const sealed = seal(key, array, { ad: array });
        assert.deepEqual(open(key, sealed, { ad: noise(size).subarray(0, less) }), array.slice());
        assert.equal(hex(mac(key, array)), hex(mac(key, array.slice())));
        assert.equal(hex(new Mac(key).update(array).finalize()), hex(mac(key, array.slice())));
        const into = new Uint8Array(buffer);
        cipher.decrypt(nonce, cipher.encrypt(nonce, array), { into });
        assert.deepEqual(into.slice(), noise(size).slice(0, less));
        buffer.resize(0); // no bytes, but none is lost
        assert.equal(open(key, seal(key, array)).length, 0);
    }
});

test('objects of another realm', async () => {
    const realm = vm.createContext({ wasm: null });
    const there = (text) => vm.runInContext(text, realm);
    const wasm = aegis.supportedBuilds().find((build) => build !== 'native');
    for (const size of [100, 5000]) {
        const foreign = there(`new Uint8Array(${size})`);
        assert(!(foreign instanceof Uint8Array));
        foreign.set(noise(size));
        assert.deepEqual(open(key, seal(key, foreign, { ad: foreign }), { ad: foreign }),
            noise(size));
        const into = there(`new Uint8Array(${size})`);
        assert.equal(cipher.decrypt(nonce, cipher.encrypt(nonce, foreign), { into }), into);
        assert.equal(hex(into), hex(noise(size)));
        assert.equal(hex(mac(key, foreign.buffer)), hex(mac(key, noise(size))));
        // Shared memory of another realm must not reach the addon.
        const shared = there(`new Uint8Array(new SharedArrayBuffer(${size}))`);
        shared.set(noise(size));
        assert.equal(hex(mac(key, shared)), hex(mac(key, shared.buffer)));
        cipher.encrypt(nonce, noise(size - 32), { into: shared, ad: shared });
        assert.equal(hex(shared.slice()),
            hex(cipher.encrypt(nonce, noise(size - 32), { ad: noise(size) })));
    }
    const before = aegis.currentBuild();
    const { readFile } = await import('node:fs/promises');
    const url = import.meta.resolve(`@palladion/aegis/wasm/${wasm}.wasm`);
    const module = await readFile(new URL(url));
    realm.bytes = module;
    const foreignModule = there('new WebAssembly.Module(new Uint8Array(bytes))');
    assert(!(foreignModule instanceof WebAssembly.Module));
    for (const source of [foreignModule, url, new URL(url)])
        assert.equal(await aegis.init({ wasm: source }), wasm);
    await aegis.init({ build: before });
});

test('what only claims to be a buffer is refused', () => {
    const words = [
        { [Symbol.toStringTag]: 'ArrayBuffer' },
        { [Symbol.toStringTag]: 'SharedArrayBuffer', byteLength: 32 },
        { length: 32 },
        Object.create(Uint8Array.prototype),
        Object.create(ArrayBuffer.prototype),
    ];
    for (const word of words) {
        for (const [name, call] of Object.entries(calls))
            assert.equal(code(() => call(word)), 'WRONG_TYPE', name);
    }
});

test('inputs that lie in the output', () => {
    for (const size of [64, 100, 3000, 300_000]) for (const tagLength of [16, 32]) {
        const cipher = new Cipher(key, { tagLength });
        const plain = noise(size);
        const most = Math.min(size - 32, 3000);
        for (const Type of [Uint8Array, Buffer]) for (const at of [0, 7, size - 32]) {
            const ad = noise(size).subarray(at, at + Math.min(most, size - at));
            const { ciphertext, tag } = cipher.encryptDetached(nonce, plain, { ad });
            const place = () => {
                const array = Type === Buffer ? Buffer.from(noise(size)) : noise(size);
                return [array, array.subarray(at, at + ad.length)];
            };
            let [into, inside] = place();
            const result = cipher.encryptDetached(nonce, plain, { into, ad: inside });
            assert.equal(hex(result.tag), hex(tag));
            assert(Buffer.compare(into, ciphertext) === 0);
            // In place, with associated data, the nonce and the tag inside.
            [into, inside] = place();
            assert.equal(hex(cipher.encryptInPlace(nonce, into, { ad: inside })), hex(tag));
            assert(Buffer.compare(into, ciphertext) === 0);
            [into] = place();
            into.set(nonce, at);
            cipher.encryptDetached(into.subarray(at, at + 32), plain, { into, ad });
            assert(Buffer.compare(into, ciphertext) === 0);
            [into, inside] = place();
            if (ad.length > tag.length) inside = inside.subarray(tag.length);
            const expected = cipher.encryptDetached(nonce, plain, { ad: inside });
            into.set(expected.tag, at);
            const back = cipher.decryptDetached(
                nonce, expected.ciphertext, into.subarray(at, at + tagLength),
                { into, ad: ad.length > tag.length ? inside : ad },
            );
            assert.equal(back, into);
            assert(Buffer.compare(back, plain) === 0);
        }
    }
});

test('two buffers of the same shared memory', () => {
    const size = 600_000;
    const memory = new SharedArrayBuffer(size + 100);
    const same = structuredClone(memory);
    assert.notEqual(memory, same);
    for (const [from, to] of [[0, 50], [50, 0], [0, 0]]) {
        const input = new Uint8Array(memory, from, size);
        const into = new Uint8Array(same, to, size);
        input.set(noise(size));
        const expected = cipher.encryptDetached(nonce, noise(size));
        const { tag } = cipher.encryptDetached(nonce, input, { into });
        assert.equal(hex(tag), hex(expected.tag));
        assert(Buffer.compare(into, expected.ciphertext) === 0);
        input.set(expected.ciphertext);
        cipher.decryptDetached(nonce, input, tag, { into });
        assert(Buffer.compare(into, noise(size)) === 0);
    }
});

test('a Buffer as output is returned as it was given', () => {
    const into = Buffer.alloc(132);
    assert.equal(cipher.encrypt(nonce, message, { into }), into);
    const changed = Buffer.from(into);
    changed[0] ^= 1;
    const back = Buffer.alloc(100, 1);
    assert.equal(cipher.decrypt(nonce, into, { into: back }), back);
    assert.equal(code(() => cipher.decrypt(nonce, changed, { into: back })), 'VERIFICATION_FAILED');
    assert(isZero(back));
});

test('options with their contents elsewhere than in properties are refused', () => {
    const ad = bytes('header');
    for (const options of [
        new Map([['ad', ad]]),
        new Set([ad]),
        [ad],
        new URLSearchParams({ ad: 'header' }),
        Promise.resolve({ ad }),
        new Date(),
        () => ({ ad }),
        'ad',
        vm.runInNewContext('new Map()'),
    ]) {
        for (const call of [
            () => seal(key, message, options),
            () => cipher.seal(message, options),
            () => new Cipher(key, options),
            () => mac(key, message, options),
            () => aegis.encryptFile(message, options),
            () => aegis.encryptFile(message, { key, kdf: options }),
        ])
            assert.equal(code(call), 'WRONG_TYPE');
    }
    assert.match(failure(() => seal(key, message, new Map())).hint, /Object.fromEntries/);
    // Objects of other kinds that have properties are good.
    class Options {
        constructor() {
            this.ad = ad;
        }
    }
    for (const options of [
        new Options(),
        Object.assign(Object.create(null), { ad }),
        vm.runInNewContext('({ ad })', { ad }),
    ])
        assert.deepEqual(open(key, seal(key, message, options), { ad }), message);
});

test('hints name the mistake', () => {
    const keyFile = aegis.formatKey(key);
    for (const [call, expected, hint] of [
        [() => seal('a key of 32 characters, or nearly', message), 'WRONG_TYPE', /generateKey/],
        [() => new Mac('a key'), 'WRONG_TYPE', /encryptFile/],
        [() => Mac.forFiles(keyFile), 'WRONG_TYPE', /parseKey/],
        [() => aegis.formatKey('text'), 'WRONG_TYPE', /parseKey/],
        [() => cipher.encrypt('nonce', message), 'WRONG_TYPE', /base64/],
        [() => cipher.open('c2VhbGVk'), 'WRONG_TYPE', /base64/],
        [() => verifyMac(key, message, hex(tag)), 'WRONG_TYPE', /base64/],
        [() => seal(key, 'text'), 'WRONG_TYPE', /TextEncoder/],
        [() => aegis.encryptFile('notes.txt', { key }), 'WRONG_TYPE', /not its name/],
        [() => aegis.decryptFile('notes.pld', { key }), 'WRONG_TYPE', /not its name/],
        [() => aegis.needsPassphrase('notes.pld'), 'WRONG_TYPE', /not its name/],
        [() => seal(key, [1, 2]), 'WRONG_TYPE', /Uint8Array.from/],
        [() => seal(key, Promise.resolve(message)), 'WRONG_TYPE', /await/],
        [() => aegis.encryptFile(new Blob(['text']), { key }), 'WRONG_TYPE', /arrayBuffer/],
        [() => aegis.encryptFile(message, { key: bytes(keyFile) }), 'WRONG_LENGTH', /parseKey/],
        [() => aegis.encryptFile(message, { key: bytes(hex(key)) }), 'WRONG_LENGTH', /hexadecimal/],
        [() => new Cipher(bytes(keyFile)), 'WRONG_LENGTH', /parseKey/],
        [() => aegis.encryptFile(message, { key: 'my.key' }), 'NO_KEY', /not its name/],
        [() => aegis.parseKey(bytes(keyFile)), 'WRONG_TYPE', /utf8/],
        [() => aegis.parseKey(Buffer.from(keyFile, 'utf16le').toString()), 'NO_KEY', /UTF-16/],
        [() => aegis.encryptFile(message, { key, aad: tag }), 'UNKNOWN_OPTION', /seal, open/],
        [() => aegis.encryptFile(message, { password: 'x' }), 'UNKNOWN_OPTION', /"passphrase"/],
        [() => aegis.encryptFile(message, { passphrase: 'x\n' }), 'WRONG_VALUE', /first line/],
        [() => aegis.encryptStream({ passphrase: keyFile }), 'WRONG_VALUE', /first line/],
        [() => seal(key, message, { taglength: 16 }), 'UNKNOWN_OPTION', /"tagLength"/],
        [() => seal(key, message, { additionalData: tag }), 'UNKNOWN_OPTION', /"ad"/],
    ]) {
        const error = failure(call);
        assert.equal(error.code, expected, String(call));
        assert.match(error.hint ?? '', hint, String(call));
    }
});

test('a secret that is missing, and a passphrase that nobody could type', () => {
    const missing = failure(() => aegis.encryptFile(message, { passphrase: undefined }));
    assert.match(missing.message, /both undefined/);
    const both = failure(() => aegis.encryptFile(message, { key, passphrase: 'x' }));
    assert.match(both.message, /not both/);
    // The command line takes one line, so a file with more could not be opened there.
    for (const passphrase of ['x\n', 'x\r\n', '\n', 'one\ntwo', '\ufeffx']) {
        for (const secret of [passphrase, bytes(passphrase)]) {
            const options = { passphrase: secret, kdf: cheap };
            assert.equal(code(() => aegis.encryptFile(message, options)), 'WRONG_VALUE');
        }
    }
    for (const passphrase of ['age1ql3z7', 'palladion-key-1:00', bytes('AGE-SECRET-KEY-1')]) {
        const error = failure(() => aegis.encryptFile(message, { passphrase, kdf: cheap }));
        assert.match(error.message, /a key or a recipient/);
    }
    const words = { passphrase: 'age before beauty', kdf: cheap };
    assert.ok(aegis.encryptFile(message, words).length > 0);
    // A file that exists is opened all the same.
    const old = Buffer.from(
        '89504c440d0a1a0a0105010a000000000505050505050505050505050505050505050505050505050505' +
        '050505050505080000000100000001000000000000004cb303c127bebe7d65734bab9e30bcb8be500665' +
        '9dfaac26773c33a8889b474ba94622c84f288d9b7527d484cb7f8b59755e067fbc5d4227a835a647b514' +
        'd3c7030000808dae678ba5ed435c0cf5979103510901749596d5d39f5479352a21a5b28b6835ee9b46',
        'hex',
    );
    assert.deepEqual(aegis.decryptFile(old, { passphrase: 'one\ntwo' }), bytes('old'));
    // As UTF-8, all halves of characters would be the same.
    for (const passphrase of ['\ud83d', 'x\udd11', '\udd11\ud83d']) {
        const options = { passphrase, kdf: cheap };
        assert.equal(code(() => aegis.encryptFile(message, options)), 'WRONG_VALUE');
        assert.equal(code(() => aegis.decryptFile(old, { passphrase })), 'WRONG_VALUE');
    }
    const whole = { passphrase: '\ud83d\udd11', kdf: cheap };
    const sealed = aegis.encryptFile(message, whole);
    assert.deepEqual(aegis.decryptFile(sealed, { passphrase: whole.passphrase }), message);
});

test('the caller may wipe a secret and a place once a call has returned', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'palladion-js-'));
    const at = (name) => join(folder, name);
    const kdf = cheap;
    const sealed = {
        key: aegis.encryptFile(message, { key, bind: key }),
        passphrase: aegis.encryptFile(message, { passphrase: key, kdf, bind: key }),
    };
    for (const file of ['key', 'passphrase']) writeFileSync(at(file), sealed[file]);
    writeFileSync(at('plain'), message);
    const whole = async (stream, bytes) => {
        const result = new Blob([bytes]).stream().pipeThrough(stream);
        return new Uint8Array(await new Response(result).arrayBuffer());
    };
    const calls = {
        Cipher: (key) => {
            const cipher = new Cipher(key);
            return async () => cipher.encrypt(nonce, message);
        },
        Encryptor: (key) => {
            const encryptor = new Encryptor(key, key, { ad: key });
            return async () => [encryptor.update(message), encryptor.finalize()];
        },
        KeyStream: (key) => {
            const stream = new KeyStream(key, { nonce: key });
            return async () => stream.read(99);
        },
        Mac: (key) => {
            const mac = new Mac(key, { nonce: key });
            return async () => mac.update(message).finalize();
        },
        'Mac.forFiles': (key) => {
            const mac = Mac.forFiles(key);
            return async () => mac.update(message).finalize();
        },
    };
    for (const name of ['key', 'passphrase']) {
        const later = (call) => (key) => {
            const promise = call({ [name]: key, bind: key });
            return () => promise;
        };
        const encrypts = name === 'key' ? {} : { kdf };
        const open = async (file) => aegis.decryptFile(await file, { [name]: key, bind: key });
        const to = async (call, from, secret) => {
            await call(at(from), at('to'), { ...secret, overwrite: true });
            return new Uint8Array(readFileSync(at('to')));
        };
        for (const [call, run] of Object.entries({
            encryptStream: (secret) =>
                open(whole(aegis.encryptStream({ ...secret, ...encrypts }), message)),
            decryptStream: (secret) => whole(aegis.decryptStream(secret), sealed[name]),
            encryptFileAsync: (secret) =>
                open(aegis.encryptFileAsync(message, { ...secret, ...encrypts })),
            decryptFileAsync: (secret) => aegis.decryptFileAsync(sealed[name], secret),
            openFile: async (secret) =>
                (await aegis.openFile(new Blob([sealed[name]]), secret)).read(),
            encryptFileTo: (secret) =>
                open(to(aegis.encryptFileTo, 'plain', { ...secret, ...encrypts })),
            decryptFileTo: (secret) => to(aegis.decryptFileTo, name, secret),
        }))
            calls[`${call}, ${name}`] = later(run);
    }
    try {
        for (const [name, call] of Object.entries(calls)) {
            const mine = key.slice();
            const finish = call(mine);
            mine.fill(0);
            assert.deepEqual(await finish(), await call(key.slice())(), name);
        }
    } finally {
        rmSync(folder, { recursive: true });
    }
});

test('errors for values of any kind, and for huge lengths', () => {
    const loop = {};
    loop.loop = loop;
    for (const word of [5n, Symbol('x'), loop, null, NaN, () => 1, Object.create(null)]) {
        assert.equal(code(() => seal(key, message, { algorithm: word ?? 0 })), 'UNKNOWN_ALGORITHM');
        const wrong = typeof word === 'number' ? 'WRONG_LENGTH' : 'WRONG_TYPE';
        assert.equal(code(() => new Mac(key).finalize(word)), wrong);
        for (const [name, call] of Object.entries(calls))
            if (word !== null || !/, (ad|nonce)$/.test(name))
                assert.match(code(() => call(word)), /^WRONG_/, name);
    }
    for (const length of [2 ** 40, Number.MAX_SAFE_INTEGER]) {
        assert.equal(code(() => aegis.keyStream(key, length)), 'OUT_OF_MEMORY');
    }
});

test('the length of an encrypted file', () => {
    assert.equal(aegis.encryptedLength(0), 164);
    assert.equal(aegis.encryptedLength(1025, 1024), 128 + 1025 + 72);
    for (const length of [-1, 0.5, NaN, Infinity, 2 ** 53, Number.MAX_SAFE_INTEGER])
        assert.equal(code(() => aegis.encryptedLength(length)), 'WRONG_VALUE');
    for (const size of [0, 1, 1000, 1025, NaN, -1024, 2 ** 25])
        assert.equal(code(() => aegis.encryptedLength(5, size)), 'WRONG_VALUE');
    assert.equal(code(() => aegis.encryptedLength('5')), 'WRONG_TYPE');
    assert.equal(code(() => aegis.encryptedLength()), 'WRONG_TYPE');
});
