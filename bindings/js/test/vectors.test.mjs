// All vectors of the project whose cipher the package has.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cipher, Encryptor, KeyStream, Mac, keyStream, mac, verifyMac } from '@palladion/aegis';
import { code, fill, hex, isZero, lines, unhex, variants } from './common.mjs';

for (const [algorithm, file] of Object.entries(variants)) {
    test(`vectors: ${algorithm}`, () => {
        let seed, key, nonce, ad, ciphertext, tags = 0, macs = 0;
        for (const [kind, ...words] of lines(file)) {
            if (kind === 'variant') {
                assert.equal(words[0].toUpperCase(), algorithm);
                seed = Number(words[3]);
            } else if (kind === 'key') {
                key = unhex(words[0]);
            } else if (kind === 'nonce') {
                nonce = unhex(words[0]);
            } else if (kind === 'stream' || kind === 'stream0') {
                const expected = unhex(words[0]);
                const options = { algorithm, nonce: kind === 'stream' ? nonce : undefined };
                assert.equal(hex(keyStream(key, expected.length, options)), words[0]);
                const stream = new KeyStream(key, options);
                for (let at = 0, piece = 1; at < expected.length; at += piece++) {
                    const end = Math.min(at + piece, expected.length);
                    assert.equal(hex(stream.read(end - at)), hex(expected.subarray(at, end)));
                }
            } else if (kind === 'aead') {
                ad = fill(seed + 120, Number(words[0]));
                ciphertext = unhex(words[1]);
            } else if (kind === 'tag') {
                const message = fill(seed + 180, Number(words[0]));
                const expected = hex(ciphertext.subarray(0, message.length));
                for (const tagHex of words.slice(1)) {
                    const tag = unhex(tagHex);
                    const cipher = new Cipher(key, { algorithm, tagLength: tag.length });
                    assert.equal(hex(cipher.encrypt(nonce, message, { ad })), expected + tagHex);
                    const sealed = unhex(expected + tagHex);
                    assert.deepEqual(cipher.decrypt(nonce, sealed, { ad }), message);
                    const detached = cipher.encryptDetached(nonce, message, { ad });
                    const { ciphertext: made } = detached;
                    assert.equal(`${hex(made)} ${hex(detached.tag)}`, `${expected} ${tagHex}`);
                    assert.deepEqual(cipher.decryptDetached(nonce, made, tag, { ad }), message);
                    const place = message.slice();
                    assert.equal(hex(cipher.encryptInPlace(nonce, place, { ad })), tagHex);
                    assert.equal(hex(place), expected);
                    cipher.decryptInPlace(nonce, place, tag, { ad });
                    assert.deepEqual(place, message);
                    // Change a bit of the tag; the output must be all zeros.
                    const bit = tags % (8 * tag.length);
                    tag[bit >> 3] ^= 1 << (bit & 7);
                    place.fill(1);
                    assert.equal(
                        code(() => cipher.decryptInPlace(nonce, place, tag, { ad })),
                        'VERIFICATION_FAILED',
                    );
                    assert(isZero(place));
                    const encryptor = new Encryptor(key, nonce, { algorithm, ad });
                    const cut = tags % (message.length + 1);
                    const pieces =
                        hex(encryptor.update(message.subarray(0, cut))) +
                        hex(encryptor.update(message.subarray(cut)));
                    assert.equal(pieces + hex(encryptor.finalize(tag.length)), expected + tagHex);
                    tags++;
                }
            } else if (kind === 'mac') {
                const data = fill(seed + 180, Number(words[0]));
                for (const tagHex of words.slice(1)) {
                    const tag = unhex(tagHex);
                    assert.equal(
                        hex(mac(key, data, { algorithm, nonce, tagLength: tag.length })),
                        tagHex,
                    );
                    verifyMac(key, data, tag, { algorithm, nonce });
                    const pieces = new Mac(key, { algorithm, nonce });
                    const cut = macs % (data.length + 1);
                    pieces
                        .update(data.subarray(0, cut))
                        .update(data.subarray(cut))
                        .clone()
                        .verify(tag);
                    assert.equal(hex(pieces.finalize(tag.length)), tagHex);
                    tag[macs % tag.length] ^= 0x80;
                    assert.equal(
                        code(() => verifyMac(key, data, tag, { algorithm, nonce })),
                        'VERIFICATION_FAILED',
                    );
                    macs++;
                }
            }
        }
        assert(tags > 100 && macs > 100, `${tags} tags, ${macs} MACs`);
    });
}
