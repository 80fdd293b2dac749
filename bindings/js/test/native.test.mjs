// The native addon: when it is chosen, in several threads, and called with wrong arguments.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { encryptFile, Mac, supportedBuilds } from '@palladion/aegis';
import { build, fill, hex, noise } from './common.mjs';

const skip = build === 'native' ? false : 'tested with native';
const here = dirname(fileURLToPath(import.meta.url));

/** Runs a program that imports the package, and returns what it prints. */
function run(program, environment) {
    const words = ['--input-type=module', '--eval', program];
    const env = { ...process.env, PALLADION_BUILD: '', ...environment };
    const { stdout, stderr } = spawnSync(process.execPath, words, {
        cwd: here,
        env,
        encoding: 'utf8',
    });
    return stdout || stderr;
}

/** The addon for this platform. A program does not know its C library; only one of two loads. */
function load() {
    const require = createRequire(import.meta.url);
    const { platform, arch } = process;
    const names = platform === 'linux' ? [`linux-${arch}-gnu`, `linux-${arch}-musl`]
        : [`${platform}-${arch}`];
    for (const name of names) {
        try {
            return require(`@palladion/aegis-${name}`);
        } catch {
            // the next
        }
    }
    throw new Error(`there is no addon for ${names}`);
}

test('the environment chooses the build', { skip }, () => {
    const program = `
        import { currentBuild } from '@palladion/aegis';
        try { console.log(currentBuild()) } catch (error) { console.log(error.message) }`;
    const wasm = supportedBuilds().find((build) => build !== 'native');
    for (const [wish, said] of [
        ['', 'native'],
        ['native', 'native'],
        ['wasm', wasm],
        ['scalar', 'scalar'],
        [
            'avx',
            'PALLADION_BUILD asks for the build "avx", which does not exist; ' +
                'expected one of native, relaxed-simd, simd128, scalar, wasm',
        ],
    ])
        assert.equal(run(program, { PALLADION_BUILD: wish }), `${said}\n`);
});

test('each thread has an instance of its own', { skip }, async () => {
    const results = Array.from({ length: 4 }, () => new Promise((resolve, reject) => {
        const worker = new Worker(new URL('worker.mjs', import.meta.url));
        worker.on('message', resolve);
        worker.on('error', reject);
    }));
    const zeros = new Uint8Array(32);
    const expected = hex(new Mac(zeros).update(zeros).finalize());
    for (const [used, tag] of await Promise.all(results)) {
        assert.equal(used, 'native');
        assert.equal(hex(tag), expected);
    }
});

test('a thread may end while another works on a passphrase', { skip }, async () => {
    const entry = createRequire(import.meta.url).resolve('@palladion/aegis');
    const program = `
        import(${JSON.stringify(pathToFileURL(entry))}).then(({ encryptFileAsync }) => {
            for (let i = 0; i < 2; i++) encryptFileAsync(new Uint8Array(9), { passphrase: 'x' });
            setImmediate(() => process.exit(7));
        })`;
    assert.equal(run(`await ${program}`), '');
    const worker = new Worker(program, { eval: true, env: { PALLADION_BUILD: 'native' } });
    const ended = await new Promise((resolve, reject) => {
        worker.on('exit', resolve);
        worker.on('error', reject);
    });
    assert.equal(ended, 7);
});

test('the addon refuses what the package would not pass', { skip }, () => {
    const addon = load();
    const one = new Uint8Array(100);
    const own = new Uint8Array(addon.memory).subarray(addon.data, addon.data + 100);
    const none = new Uint8Array(0);
    for (const words of [
        [],
        [5],
        [5, 32, none, one],
        [5, 32, none, one, new Uint8Array(99)],
        [5, 32, none, one, one.subarray(1)],
        [5, 32, none, one.subarray(1), one.subarray(0, 99)],
        [5, 32, one.subarray(50), one.subarray(0, 60), one.subarray(0, 60)],
        [5, 32, none, one, own],
        [5, 32, own, one, one],
        [5, 32, none, 'text', one],
        [5, 32, none, new Uint16Array(50), one],
        [5, 17, none, one, one],
        [5, 33, none, one, one],
        [9, 32, none, one, one],
        ['5', 32, none, one, one],
    ]) {
        assert.equal(addon.pld_encrypt_arrays(...words), -1, String(words));
        assert.equal(addon.pld_decrypt_arrays(...words), -1, String(words));
    }
    assert.equal(addon.pld_encrypt(5, 32, 2 ** 31, 2 ** 31), -1);
    assert.equal(addon.pld_encrypt(5, 32, 0, addon.room + 1), -1);
    for (const number of [0, 1e6, 2 ** 32 - 1, NaN]) {
        assert.equal(addon.pld_session_encrypt(number, 1), -1);
        assert.equal(addon.pld_session_free(number), -1);
        assert.equal(addon.pld_mac_update_array(number, one), -1);
        assert.equal(addon.pld_coder_push(number, one), -1);
        assert.equal(addon.pld_coder_take(number, one), -1);
        assert.equal(addon.pld_coder_go_on(number), -1);
        assert.equal(addon.pld_reader_wants(number), -1);
        assert.equal(addon.pld_reader_give(number, 1, one), -1);
        assert.equal(addon.pld_reader_open(number, 1, one), -1);
    }
    const secret = withKey(fill(3, 32));
    const keyed = (at = 0) => {
        new Uint8Array(addon.memory).set(secret, addon.data + at);
        return secret.length;
    };
    for (const callback of [undefined, 5, 'text']) {
        const words = [5, 1024, 64, 1, 1, callback];
        assert.equal(addon.pld_encoder_new_later(keyed(), ...words), -1, String(callback));
        const file = addon.pld_decoder_new(keyed(), 64, 1, 1, 64);
        assert.equal(addon.pld_coder_go_on_later(file, callback), -1);
        assert.equal(addon.pld_coder_free(file), -1); // it is gone
        assert.equal(addon.pld_reader_new_later(keyed(5), ...words), -1);
    }
    assert.equal(addon.pld_coder_go_on_later(), -1);
    // Secrets that are cut, and none.
    for (const length of [0, 1, 4, 5, 35])
        assert.equal(addon.pld_encoder_new(keyed() && length, 5, 1024, 64, 1, 1), -1);
    const file = addon.pld_encoder_new(keyed(), 5, 1024, 64, 1, 1);
    assert.equal(addon.pld_coder_push(file, one.subarray(0, 5)), 5);
    assert.equal(addon.pld_coder_ready(file), 128);
    assert.equal(addon.pld_coder_take(file, one), -1); // not as long as what is ready
    assert.equal(addon.pld_coder_take(file, new Uint8Array(128)), 0);
    assert.equal(addon.pld_coder_ready(file), 0);
    assert.equal(addon.pld_coder_end(file), 0);
    assert.equal(addon.pld_coder_take(file, new Uint8Array(41)), 0);
    assert.equal(addon.pld_coder_ready(file), 0);
    assert.equal(addon.pld_coder_push(file, one), -1); // after the end
    assert.equal(addon.pld_coder_free(file), 0);
    assert.equal(addon.pld_coder_free(file), -1);
});

/** A key as the module takes it. */
const withKey = (key) => Uint8Array.from([255, 255, 255, 255, ...key]);

test('the addon opens chunks only as the package does', { skip }, () => {
    const addon = load();
    const memory = new Uint8Array(addon.memory);
    const long = (number) =>
        new DataView(addon.memory).setBigUint64(addon.nonce, BigInt(number), true);
    const key = fill(3, 32);
    const file = encryptFile(noise(1500), { key, chunkSize: 1024 });
    const begin = () => {
        memory.set(file.subarray(0, 128), addon.data);
        memory.set(withKey(key), addon.data + 128);
        long(file.length);
        return addon.pld_reader_new(36, 128, 64, 1, 1, 64);
    };
    const buffer = new Uint8Array(1060);
    const last = file.subarray(1188);
    const reader = begin();
    assert.equal(addon.pld_reader_size(reader), 1024);
    assert.equal(addon.pld_reader_wants(reader), 4);
    assert.equal(addon.pld_reader_give(reader, 4, file.slice(128, 132)), 0);
    assert.equal(addon.pld_reader_wants(reader), last.length);
    long(0);
    assert.equal(addon.pld_reader_open(reader, 1060, buffer), -1); // not yet
    assert.equal(addon.pld_reader_algorithm(reader), -1);
    buffer.set(last);
    assert.equal(addon.pld_reader_give(reader, last.length, buffer), 0);
    assert.deepEqual(buffer.slice(4, 480), noise(1500).subarray(1024));
    assert.equal(addon.pld_reader_give(reader, last.length, buffer), -1); // it is open
    assert.equal(addon.pld_reader_wants(reader), 0);
    assert.equal(addon.pld_reader_algorithm(reader), 5);
    buffer.set(file.subarray(128, 1188));
    for (const chunk of [1, 2, 2n ** 63n, 2n ** 64n - 1n]) {
        long(chunk);
        assert.equal(addon.pld_reader_open(reader, 1060, buffer.slice()), -1, `${chunk}`);
    }
    long(0);
    for (const length of [0, 3, 4, 1059, 1061, 2 ** 32 - 1])
        assert.equal(addon.pld_reader_open(reader, length, buffer.slice()), -1, `${length}`);
    assert.equal(addon.pld_reader_open(reader, 1060, buffer), 1024);
    assert.deepEqual(buffer.slice(4, 1028), noise(1500).subarray(0, 1024));
    assert.equal(addon.pld_reader_free(reader), 0);
    assert.equal(addon.pld_reader_free(reader), -1);
    // Without a byte, it failed, and nothing can follow.
    const failed = begin();
    assert.equal(addon.pld_reader_give(failed, 0, buffer), -1);
    assert.equal(addon.pld_reader_wants(failed), -1);
    assert.equal(addon.pld_reader_size(failed), -1);
    assert.equal(addon.pld_reader_give(failed, last.length, buffer), -1);
    assert.equal(addon.pld_reader_free(failed), 0);
});

test('wrong lengths are errors, and nothing is printed', { skip }, () => {
    const program = `
        ${load}
        const { createRequire } = await import('node:module');
        const addon = load();
        const most = 2 ** 32 - 1;
        const results = [];
        // A tag of up to 32 bytes may follow the data.
        for (const wrong of [addon.room + 33, most - 1, most]) {
            const session = addon.pld_session_new(5, 0);
            const mac = addon.pld_mac_new(5);
            new Uint8Array(addon.memory).fill(255, addon.data, addon.data + 36);
            const file = addon.pld_encoder_new(36, 5, 1024, 64, 1, 1);
            results.push(
                addon.pld_encrypt(5, 32, 0, wrong),
                addon.pld_encrypt(5, 32, wrong, 1),
                addon.pld_decrypt(5, 32, wrong, wrong),
                addon.pld_decrypt(5, wrong, 0, 1),
                addon.pld_mac(5, 32, wrong),
                addon.pld_mac_verify(5, wrong, 1),
                addon.pld_session_new(5, wrong),
                addon.pld_session_encrypt(session, wrong),
                addon.pld_session_decrypt(session, wrong),
                addon.pld_session_finalize(session, wrong),
                addon.pld_mac_update(mac, wrong),
                addon.pld_mac_finalize(mac, wrong),
                addon.pld_encoder_new(addon.room + 33, 5, 1024, 64, 1, 1),
                addon.pld_coder_take(file, new Uint8Array(2000)),
                addon.pld_decoder_new(addon.room + 33, 64, 1, 1, 64),
                addon.pld_reader_new(0, wrong, 64, 1, 1, 64),
                addon.pld_needs_passphrase(wrong),
                addon.pld_key_parse(wrong),
            );
        }
        console.log(results.filter((result) => result !== -1).length);`;
    const words = ['--input-type=module', '--eval', program];
    const { stdout, stderr } = spawnSync(process.execPath, words, { cwd: here, encoding: 'utf8' });
    assert.equal(stderr, '');
    assert.equal(stdout, '0\n');
});
