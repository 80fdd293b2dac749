// Looks for keys in the memory of the WebAssembly, which it gets hold of before the package does.
import assert from 'node:assert/strict';
import { hkdfSync } from 'node:crypto';
import { test } from 'node:test';

const memories = [];
WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
    construct(target, values) {
        const instance = Reflect.construct(target, values);
        memories.push(instance.exports.memory);
        return instance;
    },
});
const aegis = await import('@palladion/aegis');
const { noise, code } = await import('./common.mjs');
const skip = aegis.currentBuild() === 'native' && "the addon's memory cannot be searched";

/** The stack is below this address. */
const STACK_END = 1 << 20;
/** What a call may leave there of its own frame: arguments and the text of an error. */
const FRAME = 256;

const key = noise(32, 1);
const text = noise(5000, 2);
const passphrase = 'correct horse battery staple';
const kdf = { memoryKiB: 64, passes: 1, lanes: 1 };
const chunkSize = 1024;

/** Where the first 16 bytes of a secret are in all memories: half of a key is as bad as all. */
function places(secret) {
    const bytes = Buffer.from(secret).subarray(0, 16);
    return memories.flatMap(({ buffer }, memory) => {
        const found = [];
        const all = Buffer.from(buffer);
        for (let at = -1; (at = all.indexOf(bytes, at + 1)) !== -1; )
            found.push(`${memory}:0x${at.toString(16)}`);
        return found;
    });
}

/** The key of a file with a master key, which may be bound to a place. */
function fileKey(file, master, place) {
    const parts = place ? ['palladion place v1', 60, place] : ['palladion file v1', 64, ''];
    const [label, length, end] = parts;
    const info = Buffer.concat([Buffer.from(label), file.subarray(0, length), Buffer.from(end)]);
    return hkdfSync('sha256', master, file.subarray(16, 48), info, 32);
}

/** Whether there is a copy of the secrets in memory, or anything at all on the stack. */
function checkWiped(what, secrets) {
    for (const [name, secret] of Object.entries(secrets))
        assert.deepEqual(places(secret), [], `${name} after ${what}`);
    for (const { buffer } of memories) {
        const used = new Uint8Array(buffer, 0, STACK_END - FRAME).findIndex((byte) => byte !== 0);
        assert.equal(used, -1, `the stack after ${what} from ${STACK_END - used} bytes`);
    }
}

/** Forgets what earlier calls left on the stack. */
function clear() {
    for (const { buffer } of memories) new Uint8Array(buffer, 0, STACK_END).fill(0);
}

test('calls for files leave nothing behind', { skip }, async () => {
    for (const algorithm of aegis.ALGORITHMS) {
        clear();
        const file = aegis.encryptFile(text, { key, algorithm, chunkSize });
        const secrets = { 'master key': key, 'file key': fileKey(file, key), text };
        checkWiped('encryptFile', secrets);
        aegis.decryptFile(file, { key });
        checkWiped('decryptFile', secrets);
        await aegis.decryptFileAsync(file, { key });
        checkWiped('decryptFileAsync', secrets);
        const decrypted = () => new Blob([file]).stream().pipeThrough(aegis.decryptStream({ key }));
        await new Response(decrypted()).arrayBuffer();
        checkWiped('decryptStream', secrets);
        const reader = decrypted().getReader();
        await reader.read();
        await reader.cancel();
        checkWiped('decryptStream, cancelled', secrets);

        const damaged = file.slice();
        damaged[2000] ^= 1;
        assert.equal(code(() => aegis.decryptFile(damaged, { key })), 'DAMAGED');
        checkWiped('decryptFile of a damaged file', secrets);

        const other = noise(32, 3);
        const wrong = { 'master key': other, 'file key': fileKey(file, other) };
        assert.equal(code(() => aegis.decryptFile(file, { key: other })), 'WRONG_KEY');
        checkWiped('decryptFile with a wrong key', wrong);
        await assert.rejects(aegis.openFile(file, { key: other }), { code: 'WRONG_KEY' });
        checkWiped('openFile with a wrong key', wrong);
        const more = [4, 5, 6, 7, 8, 9].map((seed) => noise(32, seed));
        aegis.decryptFile(file, { key: [...more, key], passphrase });
        checkWiped('decryptFile with several secrets', { ...secrets, more: more[0], passphrase });

        const bind = 'a place';
        const bound = aegis.encryptFile(text, { key, algorithm, chunkSize, bind });
        const keys = { 'file key': fileKey(bound, key, bind), 'unused key': fileKey(bound, key) };
        const its = { ...secrets, ...keys };
        checkWiped('encryptFile to a place', its);
        aegis.decryptFile(bound, { key, bind });
        checkWiped('decryptFile of a place', its);
        assert.equal(code(() => aegis.decryptFile(bound, { key, bind: 'x' })), 'WRONG_PLACE');
        checkWiped('decryptFile of another place', its);

        const open = await aegis.openFile(file, { key });
        await open.read(100, 3000);
        assert.equal(places(secrets['file key']).length, 1, 'one copy of the key of an open file');
        open.close();
        checkWiped('close', secrets);
    }
});

test('calls with a passphrase leave nothing behind', { skip }, async () => {
    clear();
    const file = aegis.encryptFile(text, { passphrase, kdf });
    const secrets = { passphrase: Buffer.from(passphrase), text };
    checkWiped('encryptFile', secrets);
    aegis.decryptFile(file, { passphrase });
    checkWiped('decryptFile', secrets);
    const open = await aegis.openFile(file, { passphrase });
    await open.read();
    open.close();
    checkWiped('close', secrets);
    assert.equal(code(() => aegis.decryptFile(file, { passphrase: 'x' })), 'WRONG_PASSPHRASE');
    checkWiped('decryptFile with a wrong passphrase', secrets);
});

test('keys and MACs of files leave nothing behind', { skip }, () => {
    clear();
    const keyFile = aegis.formatKey(key);
    const digits = Buffer.from(keyFile.split(':')[1]);
    checkWiped('formatKey', { key, digits });
    aegis.parseKey(keyFile);
    checkWiped('parseKey', { key, digits });
    const mac = aegis.Mac.forFiles(key);
    checkWiped('Mac.forFiles', { key });
    mac.update(text).finalize();
    const macKey = hkdfSync('sha256', key, '', Buffer.from('palladion mac v1\x05'), 32);
    for (const secret of [key, macKey]) assert.deepEqual(places(secret), [], 'after a MAC');
});
