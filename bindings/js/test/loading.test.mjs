// Engines in which something is missing, and modules that cannot be loaded: every failure is a
// PalladionError that says what to do.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import * as aegis from '@palladion/aegis';
import { build } from './common.mjs';

const skip = [undefined, 'simd128'].includes(build) ? false : 'tested with simd128';
const here = dirname(fileURLToPath(import.meta.url));
const native = aegis.supportedBuilds().includes('native');
const [wasm] = aegis.supportedBuilds().filter((build) => build !== 'native');
/** The entry for browsers, which cannot use the addon. */
const browser = new URL('index.js', import.meta.resolve('@palladion/aegis')).href;

/** Runs a program and returns what it prints. */
function run(program, ...flags) {
    const words = [...flags, '--input-type=module', '--eval', program];
    const env = { ...process.env, PALLADION_BUILD: '' };
    const { stdout, stderr } = spawnSync(process.execPath, words, {
        cwd: here,
        env,
        encoding: 'utf8',
    });
    return stdout || stderr;
}

/** A program that prints the error of some code. */
const printing = (entry, code) => `
    import * as aegis from '${entry}';
    const { generateKey, init, open, seal, supportedBuilds } = aegis;
    const key = generateKey();
    try { console.log(await (async () => { ${code} })()) } catch (error) {
        console.log(error instanceof aegis.PalladionError, error.code, error.message, error.hint);
    }`;

test('an engine without WebAssembly', { skip }, () => {
    const use = 'return open(key, seal(key, key)).length';
    const jitless = (entry, code) => run(printing(entry, code), '--jitless');
    if (native) {
        assert.equal(jitless('@palladion/aegis', use), '32\n');
        assert.equal(jitless('@palladion/aegis', 'return init()'), 'native\n');
        assert.equal(jitless('@palladion/aegis', 'return supportedBuilds().join()'), 'native\n');
        for (const build of ['wasm', 'scalar'])
            assert.match(
                jitless('@palladion/aegis', `return init({ build: '${build}' })`),
                /^true UNSUPPORTED .* no WebAssembly; those that can: native/,
            );
    }
    assert.equal(jitless(browser, 'return supportedBuilds().length'), '0\n');
    for (const code of [use, 'return init()', "return init({ build: 'wasm' })"])
        assert.match(jitless(browser, code), /^true UNSUPPORTED .* no WebAssembly.*Lockdown Mode/);
});

test('an engine that computes wrong', { skip }, () => {
    // Flips a bit of what a function computes: of each ciphertext, or of each file's header.
    const wrong = (name, at, from = 0) => `
        const { Instance } = WebAssembly;
        let instances = 0;
        WebAssembly.Instance = class {
            constructor(module) {
                const exports = { ...new Instance(module).exports };
                const right = exports.${name};
                const wrong = (...values) => {
                    const result = right(...values);
                    new Uint8Array(exports.memory.buffer)[${at}] ^= 1;
                    return result;
                };
                if (instances++ >= ${from}) exports.${name} = wrong;
                this.exports = exports;
            }
        };`;
    const message = /^true UNSUPPORTED this engine computes wrong results with the build /;
    const data = 'exports.pld_place(4) + 50';
    for (const [name, at] of [['pld_encrypt', data], ['pld_coder_bytes', 'result + 100']])
        for (const code of ['return init()', 'return seal(key, key)']) {
            const printed = run(wrong(name, at) + printing(browser, code));
            assert.match(printed, message);
            assert.match(printed, /scalar/);
        }
    // Passphrases have instances of their own.
    const passphrase = "return aegis.encryptFile(key, { passphrase: 'x' })";
    assert.match(run(wrong('pld_encrypt', data, 1) + printing(browser, passphrase)), message);
    // No hint to use what does not work.
    const only = "return init({ build: 'scalar' })";
    const scalar = run(wrong('pld_encrypt', data) + printing(browser, only));
    assert.match(scalar, message);
    assert.match(scalar, /"scalar" use another version of the engine\n$/);
});

test('a page with a policy', { skip }, () => {
    // What Chromium, Firefox and Safari say.
    for (const [type, message] of [
        [
            'CompileError',
            'WebAssembly.Module(): Compiling or instantiating WebAssembly module violates the ' +
                'following Content Security policy directive because neither ...',
        ],
        ['CompileError', 'call to WebAssembly.Module() blocked by CSP'],
        [
            'CompileError',
            "Refused to create a WebAssembly object because 'unsafe-eval' or 'wasm-unsafe-eval' " +
                'is not an allowed source of script in the Content Security Policy directive',
        ],
    ]) {
        const refuse = `
            const refuse = () => {
                throw new WebAssembly.${type}(${JSON.stringify(message)});
            };
            WebAssembly.Module = class { constructor() { refuse() } };
            WebAssembly.compile = WebAssembly.compileStreaming = async () => refuse();`;
        for (const code of ['seal(key, key)', 'await init()', 'init({ build: "scalar" })'])
            assert.match(
                run(printing(browser, `${refuse} return ${code}`)),
                /^true UNSUPPORTED .* 'wasm-unsafe-eval' in script-src\n$/,
            );
    }
});

test('a Cloudflare Worker', { skip }, () => {
    const refuse = `
        WebAssembly.Module = class {
            constructor() {
                throw new WebAssembly.CompileError('Wasm code generation disallowed by embedder');
            }
        };`;
    assert.match(
        run(printing(browser, `${refuse} return seal(key, key)`)),
        /^true UNSUPPORTED .* import the \.wasm file/,
    );
});

test('an engine without memory for the module', { skip }, () => {
    const none = `
        const { Instance } = WebAssembly;
        let instances = 0;
        WebAssembly.Instance = function (module) {
            if (instances++ === most) throw new RangeError('could not allocate memory');
            return new Instance(module);
        };`;
    for (const [most, code] of [[0, 'UNSUPPORTED'], [1, 'OUT_OF_MEMORY']])
        assert.match(
            run(printing(browser, `const most = ${most}; ${none} seal(key, key);
                return aegis.encryptFile(key, { passphrase: 'x' }).length`)),
            new RegExp(`^true ${code} `),
        );
});

test('no random bytes', { skip }, () => {
    for (const crypto of ['undefined', '{}', '{ getRandomValues() { throw new Error() } }']) {
        const program = `
            Object.defineProperty(globalThis, 'crypto', { value: ${crypto} });
            const { generateKey } = await import('${browser}');
            try { generateKey() } catch (error) { console.log(error.code) }`;
        assert.equal(run(program), 'NO_RANDOMNESS\n');
    }
});

test('nonces are drawn in advance, and keys are not', { skip }, () => {
    const program = `
        import assert from 'node:assert/strict';
        import { webcrypto } from 'node:crypto';
        const draws = []; // the arrays that were filled, and copies of what they had then
        let fails = false;
        const getRandomValues = (array) => {
            if (fails) {
                array.fill(1, array.length / 2);
                throw new Error('no more');
            }
            webcrypto.getRandomValues(array);
            draws.push([array, Buffer.from(array)]);
        };
        Object.defineProperty(globalThis, 'crypto', { value: { getRandomValues } });
        const { Cipher, generateKey } = await import('${browser}');
        const ciphers = ['AEGIS-256X2', 'AEGIS-128L', 'AEGIS-256'].map((algorithm) => {
            const key = generateKey(algorithm);
            assert.deepEqual(draws.pop(), [key, Buffer.from(key)]);
            return new Cipher(key, { algorithm });
        });
        const seal = (i) => {
            const cipher = ciphers[i % 3];
            return Buffer.from(cipher.seal(new Uint8Array(3)).subarray(0, cipher.nonceLength));
        };

        const nonces = new Set();
        for (let i = 0; i < 10_000; i++) {
            const nonce = seal(i);
            nonces.add(nonce.toString('hex'));
            const [pool, random] = draws.at(-1);
            const at = random.indexOf(nonce);
            assert.notEqual(at, -1);
            const end = at + nonce.length;
            assert(pool.subarray(0, end).every((byte) => byte === 0));
            assert(random.subarray(end).equals(pool.subarray(end)));
        }
        assert.equal(nonces.size, 10_000);
        assert(draws.length < 500);

        // After a failure, even a nonce for which the pool had bytes left is an error.
        for (const { length } = draws; draws.length === length; ) seal(0);
        seal(1); // 16 bytes of 1024; one of 32 will find 16 left
        fails = true;
        const error = { code: 'NO_RANDOMNESS' };
        assert.throws(() => { for (let i = 0; i < 100; i++) seal(0); }, error);
        for (const i of [1, 0, 1]) assert.throws(() => seal(i), error);
        fails = false;
        const nonce = seal(0);
        assert.equal(draws.at(-1)[1].indexOf(nonce), 0);
        console.log('right');`;
    assert.equal(run(program), 'right\n');
    // No nonces are drawn without an engine, so a startup snapshot has none.
    const none = `
        const { webcrypto } = await import('node:crypto');
        let draws = 0;
        const getRandomValues = (array) => { draws++; return webcrypto.getRandomValues(array); };
        Object.defineProperty(globalThis, 'crypto', { value: { getRandomValues } });
        try { seal(key, key) } catch (error) { return error.code + ' ' + draws; }`;
    assert.equal(run(printing(browser, none), '--jitless'), 'UNSUPPORTED 0\n');
});

test('modules that cannot be loaded', { skip }, async () => {
    const before = aegis.currentBuild();
    const url = new URL(import.meta.resolve(`@palladion/aegis/wasm/${wasm}.wasm`));
    const module = readFileSync(url);
    const other = new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
    const page = (type) =>
        new Response('<!doctype html>', { headers: { 'content-type': type } });
    const used = new Response(module);
    await used.arrayBuffer();
    for (const [source, code, message] of [
        [5, 'WRONG_TYPE', /WebAssembly module must be bytes/],
        [null, 'WRONG_TYPE', /not null/],
        [{}, 'WRONG_TYPE'],
        [() => undefined, 'WRONG_TYPE', /not undefined/],
        ['', 'UNSUPPORTED'],
        ['no such file.wasm', 'UNSUPPORTED', /from no such file.wasm cannot be loaded/],
        [new URL('none.wasm', url), 'UNSUPPORTED', /from file:.*ENOENT/],
        [String(new URL('none.wasm', url)), 'UNSUPPORTED', /from file:.*ENOENT/],
        ['http://localhost:1/', 'UNSUPPORTED', /from http:\/\/localhost:1\/ cannot be loaded/],
        [new Response('', { status: 404 }), 'UNSUPPORTED', /answers 404/],
        [page('text/html'), 'UNSUPPORTED', /magic/],
        [page('application/wasm'), 'UNSUPPORTED', /magic/],
        [used, 'UNSUPPORTED'],
        [new Uint8Array(0), 'UNSUPPORTED'],
        [module.subarray(0, 1000), 'UNSUPPORTED'],
        [other, 'UNSUPPORTED', /not the module of version/],
        [new WebAssembly.Module(other), 'UNSUPPORTED', /not the module of version/],
        [() => { throw new Error('mine'); }, 'UNSUPPORTED', /mine/],
        [() => { throw 'a string'; }, 'UNSUPPORTED', /a string/],
        [() => { throw undefined; }, 'UNSUPPORTED'],
        [() => Promise.reject(new Error('mine')), 'UNSUPPORTED', /mine/],
    ]) {
        await assert.rejects(aegis.init({ wasm: source }), (error) => {
            assert(error instanceof aegis.PalladionError, String(error.stack));
            assert.equal(error.code, code, String(error));
            if (message !== undefined) assert.match(error.message, message);
            return true;
        });
    }
    for (const options of [null, 5, new Map(), { builds: 'wasm' }])
        await assert.rejects(aegis.init(options), aegis.PalladionError);
    for (const build of [5n, Symbol('x'), {}, ''])
        await assert.rejects(aegis.init({ build }), aegis.PalladionError);
    assert.equal(aegis.currentBuild(), before);
    assert.equal(await aegis.init({ wasm: module }), wasm);
    await aegis.init({ build: before });
});
