// The functions of aegis-aead, against the vectors and against this package.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cipher } from '@palladion/aegis';
import * as compat from '@palladion/aegis/compat';
import { code, fill, hex, isZero, lines, noise, unhex } from './common.mjs';

const prefixes = {
    aegis128L: ['aegis-128l', 'AEGIS-128L', []], aegis128X2: ['aegis-128x2', 'AEGIS-128X2', []],
    aegis128X4: ['aegis-128x4', 'AEGIS-128X4', []], aegis256: ['aegis-256', 'AEGIS-256', []],
    aegis256X2: ['aegis-256x2', 'AEGIS-256X2', []], aegis256X4: ['aegis-256x4', 'AEGIS-256X4', []],
    aegis128LBs: ['aegis-128l', 'AEGIS-128L', []], aegis256Bs: ['aegis-256', 'AEGIS-256', []],
    aegis128X: ['aegis-128x4', 'AEGIS-128X4', [4]], aegis256X: ['aegis-256x4', 'AEGIS-256X4', [4]],
};

for (const [prefix, [file, algorithm, degree]] of Object.entries(prefixes)) {
    test(`compatible: ${prefix}`, () => {
        const call = (name, ...words) => compat[prefix + name](...words);
        let seed, key, nonce, ad, ciphertext, number = 0;
        for (const [kind, ...words] of lines(file)) {
            if (kind === 'variant') seed = Number(words[3]);
            if (kind === 'key') key = unhex(words[0]);
            if (kind === 'nonce') nonce = unhex(words[0]);
            if (kind === 'aead')
                [ad, ciphertext] = [fill(seed + 120, Number(words[0])), unhex(words[1])];
            if (kind === 'tag' && number++ % 5 === 0) {
                const message = fill(seed + 180, Number(words[0]));
                const expected = ciphertext.slice(0, message.length);
                for (const tag of words.slice(1).map(unhex)) {
                    const n = tag.length;
                    const sealed = call('Encrypt', message, ad, key, nonce, n, ...degree);
                    assert.equal(hex(sealed), hex(nonce) + hex(expected) + hex(tag));
                    assert.deepEqual(call('Decrypt', sealed, ad, key, n, ...degree), message);
                    const detached = call('EncryptDetached', message, ad, key, nonce, n, ...degree);
                    assert.deepEqual(detached, { ciphertext: expected, tag });
                    assert.deepEqual(
                        call('DecryptDetached', expected, tag, ad, key, nonce, ...degree),
                        message,
                    );
                    const place = message.slice();
                    assert.deepEqual(
                        call('EncryptDetachedInPlace', place, ad, key, nonce, n, ...degree),
                        tag,
                    );
                    assert.deepEqual(place, expected);
                    assert.equal(
                        call('DecryptDetachedInPlace', place, tag, ad, key, nonce, ...degree),
                        true,
                    );
                    assert.deepEqual(place, message);
                    const wrong = tag.slice();
                    wrong[n - 1] ^= 1;
                    sealed[sealed.length - 1] ^= 1;
                    place.fill(1);
                    assert.equal(call('Decrypt', sealed, ad, key, n, ...degree), null);
                    assert.equal(
                        call('DecryptDetached', expected, wrong, ad, key, nonce, ...degree),
                        null,
                    );
                    assert.equal(
                        call('DecryptDetachedInPlace', place, wrong, ad, key, nonce, ...degree),
                        false,
                    );
                    assert(isZero(place));
                }
            }
            if (kind === 'mac' && number++ % 5 === 0) {
                const data = fill(seed + 180, Number(words[0]));
                for (const tag of words.slice(1).map(unhex)) {
                    assert.deepEqual(call('Mac', data, key, nonce, tag.length, ...degree), tag);
                    assert.equal(call('MacVerify', data, tag, key, nonce, ...degree), true);
                    tag[0] ^= 1;
                    assert.equal(call('MacVerify', data, tag, key, nonce, ...degree), false);
                }
            }
        }
        // Defaults: tags of 16 bytes, a random nonce, no nonce for the MAC.
        const [message, none] = [noise(50), new Uint8Array(0)];
        const [made, random] = [call('CreateKey'), call('CreateNonce')];
        assert.equal(made.length, key.length);
        assert.equal(random.length, key.length);
        if (degree.length === 0) {
            const sealed = call('Encrypt', message, none, made);
            assert.equal(sealed.length, made.length + 50 + 16);
            assert.notEqual(hex(sealed), hex(call('Encrypt', message, none, made)));
            assert.deepEqual(call('Decrypt', sealed, none, made), message);
            assert.deepEqual(new Cipher(made, { algorithm, tagLength: 16 }).open(sealed), message);
            assert.equal(call('Mac', message, made).length, 16);
            assert.equal(
                call('MacVerify', message, call('Mac', message, made, null, 32), made),
                true,
            );
        }
        assert.equal(call('Decrypt', new Uint8Array(5), none, made, 16, ...degree), null);
        assert.equal(
            call('DecryptDetached', message, new Uint8Array(5), none, made, random, ...degree),
            null,
        );
        assert.equal(call('MacVerify', message, new Uint8Array(5), made, null, ...degree), false);
        assert.equal(
            code(() => call('Encrypt', message, none, new Uint8Array(5), random, 16, ...degree)),
            'WRONG_LENGTH',
        );
    });
}

test('compatible: degrees and sizes', () => {
    const none = new Uint8Array(0);
    for (const [family, length] of [
        ['128', 16],
        ['256', 32],
    ]) {
        const x = (degree) =>
            compat[`aegis${family}XEncrypt`](
                noise(99),
                none,
                fill(1, length),
                fill(2, length),
                16,
                degree,
            );
        const names = {
            1: family === '128' ? 'aegis128L' : 'aegis256',
            2: `aegis${family}X2`,
            4: `aegis${family}X4`,
        };
        for (const degree of [1, 2, 4]) {
            assert.equal(
                hex(x(degree)),
                hex(
                    compat[`${names[degree]}Encrypt`](
                        noise(99),
                        none,
                        fill(1, length),
                        fill(2, length),
                    ),
                ),
            );
        }
        assert.equal(hex(x(undefined)), hex(x(2)));
        assert.equal(code(() => x(3)), 'UNKNOWN_ALGORITHM');
    }
    for (const [name, size] of [
        ['128L', 16],
        ['128X', 16],
        ['256', 32],
        ['256X', 32],
        ['128L_BS', 16],
        ['256_BS', 32],
    ]) {
        assert.equal(compat[`AEGIS_${name}_KEY_SIZE`], size);
        assert.equal(compat[`AEGIS_${name}_NONCE_SIZE`], size);
    }
});
