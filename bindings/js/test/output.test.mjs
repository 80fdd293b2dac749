// From file to file: what a target has at the end, and that nothing else stays.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
    chmodSync, createReadStream, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync,
    statSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import {
    decryptFile, decryptFileTo, encryptedLength, encryptFile, encryptFileAsync, encryptFileTo,
} from '@palladion/aegis';
import { noise } from './common.mjs';

const key = new Uint8Array(32).fill(7);
const plain = noise(3_000_000);
const file = encryptFile(plain, { key });
const posix = process.platform !== 'win32';

/** A test in a folder of its own, which must have these files in the end. */
function inFolder(name, left, run) {
    test(name, async () => {
        const folder = mkdtempSync(join(tmpdir(), 'palladion-js-'));
        const at = (name) => join(folder, name);
        try {
            writeFileSync(at('plain'), plain);
            writeFileSync(at('sealed'), file);
            await run(at);
            assert.deepEqual(readdirSync(folder).sort(), ['plain', 'sealed', ...left].sort());
        } finally {
            rmSync(folder, { recursive: true });
        }
    });
}
const same = (path, bytes) => assert(Buffer.compare(readFileSync(path), bytes) === 0);

inFolder('files that are bound to a place', ['a', 'b', 'a.pld', 'b.pld'], async (at) => {
    for (const bind of ['a', 'b'])
        await encryptFileTo(at('plain'), at(`${bind}.pld`), { key, bind });
    await decryptFileTo(at('a.pld'), at('a'), { key, bind: new Uint8Array([0x61]) });
    same(at('a'), plain);
    writeFileSync(at('b'), 'old');
    const swapped = decryptFileTo(at('a.pld'), at('b'), { key, bind: 'b', overwrite: true });
    await assert.rejects(swapped, { code: 'WRONG_PLACE' });
    same(at('b'), Buffer.from('old'));
});

inFolder('every source and name of a target', ['made', 'opened'], async (at) => {
    for (const source of [
        at('plain'),
        pathToFileURL(at('plain')),
        new Blob([plain]),
        new Blob([plain]).stream(),
        Readable.from([plain.subarray(0, 5), plain.subarray(5)]),
    ]) {
        const read = [];
        const onProgress = (bytes) => read.push(bytes);
        await encryptFileTo(source, at('made'), { key, onProgress });
        assert.equal(read.at(-1), plain.length);
        assert.deepEqual(read, [...new Set(read)].sort((a, b) => a - b));
        assert.equal(statSync(at('made')).size, encryptedLength(plain.length));
        await decryptFileTo(at('made'), pathToFileURL(at('opened')), { key, overwrite: true });
        same(at('opened'), plain);
        rmSync(at('made'));
    }
    const secret = { passphrase: 'x', kdf: { memoryKiB: 64, passes: 1, lanes: 1 } };
    await encryptFileTo(at('plain'), at('made'), secret);
    assert.deepEqual(decryptFile(readFileSync(at('made')), { passphrase: 'x' }), plain);
});

inFolder('the permissions of a target', ['new', 'old', 'link'], async (at) => {
    if (!posix) return ['new', 'old', 'link'].forEach((name) => writeFileSync(at(name), ''));
    let during;
    const onProgress = () => {
        const [name] = readdirSync(at('')).filter((name) => name.startsWith('.palladion-'));
        during = statSync(at(name)).mode & 0o777;
    };
    writeFileSync(at('usual'), '');
    await decryptFileTo(at('sealed'), at('new'), { key, onProgress });
    assert.equal(during, 0o600);
    assert.equal(statSync(at('new')).mode, statSync(at('usual')).mode);
    rmSync(at('usual'));
    rmSync(at('new'));
    chmodSync(at('sealed'), 0o600);
    await decryptFileTo(at('sealed'), at('new'), { key });
    assert.equal(statSync(at('new')).mode & 0o777, 0o600);
    writeFileSync(at('old'), 'old');
    chmodSync(at('old'), 0o640);
    symlinkSync('old', at('link'));
    await decryptFileTo(at('sealed'), at('link'), { key, onProgress, overwrite: true });
    assert.equal(during, 0o600);
    assert.equal(statSync(at('old')).mode & 0o777, 0o640);
    same(at('old'), plain);
});

const changed = file.slice();
changed[file.length - 1] ^= 1;
const stop = new Error('stopped');
const failures = {
    'a wrong key': [{ key: new Uint8Array(32) }, { code: 'WRONG_KEY' }],
    'a damaged file': [{ key, source: new Blob([changed]) }, { code: 'DAMAGED' }],
    'a file that was cut': [
        { key, source: new Blob([file.subarray(0, 3e6)]) },
        { code: 'TRUNCATED' },
    ],
    'a source that is not there': [{ key, source: 'absent' }, { code: 'READ_FAILED' }],
    'a source that fails': [
        { key, source: Readable.from((async function* () { yield file; throw stop; })()) },
        stop,
    ],
    'a source that is no bytes': [{ key, source: Readable.from(['text']) }, { code: 'WRONG_TYPE' }],
    'an onProgress that throws': [{ key, onProgress: () => { throw stop; } }, stop],
    'a source that never answers': (() => {
        const abort = new AbortController();
        const source = new ReadableStream({ pull: () => abort.abort(stop) });
        return [{ key, source, signal: abort.signal }, stop];
    })(),
    'an abort in the middle': (() => {
        const abort = new AbortController();
        const onProgress = () => abort.abort();
        return [{ key, onProgress, signal: abort.signal }, { name: 'AbortError' }];
    })(),
    'an abort before': [{ key, signal: AbortSignal.abort() }, { name: 'AbortError' }],
};

for (const [name, [{ source, ...options }, error]] of Object.entries(failures)) {
    inFolder(`${name} changes nothing`, ['old'], async (at) => {
        writeFileSync(at('old'), 'old');
        const from = source === 'absent' ? at(source) : (source ?? at('sealed'));
        const call = () => decryptFileTo(from, at('old'), { ...options, overwrite: true });
        await assert.rejects(call, error);
        assert.equal(readFileSync(at('old'), 'utf8'), 'old');
    });
}

inFolder('relative names, and another working directory during the work', ['new'], async (at) => {
    const before = process.cwd();
    process.chdir(at(''));
    try {
        const done = decryptFileTo('sealed', 'new', { key, onProgress: () => process.chdir('/') });
        process.chdir('..');
        await done;
    } finally {
        process.chdir(before);
    }
    same(at('new'), plain);
});

inFolder('an abort at the start, at the end, and while a pipe opens', ['pipe'], async (at) => {
    if (!posix) return writeFileSync(at('pipe'), '');
    const handle = await open(at('plain'));
    const type = Object.getPrototypeOf(handle);
    await handle.close();
    for (const step of ['stat', 'sync']) { // of the temporary file
        const abort = new AbortController();
        const usual = type[step];
        type[step] = function (...args) { abort.abort(stop); return usual.apply(this, args); };
        try {
            const options = { key, signal: abort.signal };
            await assert.rejects(decryptFileTo(new Blob([file]), at('new'), options), stop);
        } finally {
            type[step] = usual;
        }
        assert.deepEqual(readdirSync(at('')).sort(), ['plain', 'sealed']);
    }
    spawnSync('mkfifo', [at('pipe')]);
    const signal = AbortSignal.timeout(1);
    await assert.rejects(decryptFileTo(at('pipe'), at('new'), { key, signal }), {
        name: 'TimeoutError',
    });
    writeFileSync(at('pipe'), ''); // ends the thread that opens it
});

inFolder('a stream that was read already', ['one', 'two'], async (at) => {
    const read = Readable.from([plain]);
    read.read();
    const ended = Readable.from([plain]);
    for await (const _ of ended);
    const locked = new Blob([plain]).stream();
    locked.getReader();
    const begun = new Response(plain).body;
    const reader = begun.getReader();
    await reader.read();
    reader.releaseLock();
    const cancelled = new Blob([plain]).stream();
    await cancelled.cancel();
    const shared = Readable.from([plain]).on('readable', () => {}); // would have to read it
    const generator = (async function* () { yield plain; })();
    await Promise.all(['one', 'two'].map(async (name, i) => {
        const call = encryptFileTo(generator, at(name), { key });
        await (i === 0 ? call : assert.rejects(call, { code: 'WRONG_STATE' }));
    }));
    for (const source of [read, ended, locked, begun, cancelled, shared, generator])
        await assert.rejects(encryptFileTo(source, at('two'), { key }), { code: 'WRONG_STATE' });
    const again = { async *[Symbol.asyncIterator]() { yield plain; } };
    for (let i = 0; i < 2; i++) await encryptFileTo(again, at('two'), { key, overwrite: true });
});

inFolder('a stream that others read too', ['made'], async (at) => {
    // The file begins only after Argon2id.
    const secret = { passphrase: 'x', kdf: { memoryKiB: 8192, passes: 1, lanes: 1 } };
    const encrypt = (source) => encryptFileTo(source, at('made'), { ...secret, overwrite: true });
    const opened = () => decryptFile(readFileSync(at('made')), { passphrase: 'x' });
    for (const late of [false, true]) {
        const source = createReadStream(at('plain'));
        const hash = createHash('sha256');
        let length = 0;
        const done = late && encrypt(source);
        source.on('data', (bytes) => { length += bytes.length; });
        source.pipe(hash);
        await (done || encrypt(source));
        assert.deepEqual(opened(), plain);
        assert.equal(length, plain.length);
        assert.equal(hash.digest('hex'), createHash('sha256').update(plain).digest('hex'));
    }
    await encrypt(createReadStream(at('plain')).resume());
    assert.deepEqual(opened(), plain);
});

inFolder('a failure ends the source', ['old'], async (at) => {
    writeFileSync(at('old'), 'old');
    const reason = new Error('enough');
    const kinds = {
        'a stream of Node': (end) => new PassThrough().on('error', end),
        'a stream of the Web': (end) => new ReadableStream({ cancel: end }),
        'an iterator': (end) => ({
            next: () => new Promise(() => {}),
            return() { end(); throw new Error('another error'); },
            [Symbol.asyncIterator]() { return this; },
        }),
    };
    for (const [kind, make] of Object.entries(kinds)) {
        for (const [target, options, error] of [
            ['old', {}, { code: 'FILE_EXISTS' }],
            ['new', { signal: AbortSignal.abort(reason) }, reason],
            ['new', { override: true }, { code: 'UNKNOWN_OPTION' }],
        ]) {
            let source;
            const ended = new Promise((resolve) => { source = make(resolve); });
            const thrown = await encryptFileTo(source, at(target), { key, ...options })
                .catch((error) => error);
            const told = await ended;
            assert.throws(() => { throw thrown; }, error, kind);
            if (kind !== 'an iterator') assert.equal(told, thrown, kind);
            assert.notEqual(source.locked, true);
        }
    }
    // An error that nobody listens to would end the program.
    for (const [options, error] of [[{}, { code: 'ENOENT' }], [{ nope: 1 }, /nope/]]) {
        const call = encryptFileTo(createReadStream(at('absent')), at('new'), { key, ...options });
        await assert.rejects(call, error);
    }
});

inFolder('targets that are refused', ['old'], async (at) => {
    writeFileSync(at('old'), 'old');
    const rejects = async (target, code, message, source = at('plain'), more = {}) => {
        const options = { key, ...more };
        await assert.rejects(encryptFileTo(source, target, options), { code, message });
    };
    await rejects(at('old'), 'FILE_EXISTS', /old" exists already/);
    await rejects(at('plain'), 'WRONG_VALUE', /the same file/, at('plain'), { overwrite: true });
    await rejects(at('.'), 'WRONG_VALUE', /is a directory/);
    await rejects(at('new/'), 'WRONG_VALUE', /ends with a slash/);
    await rejects('', 'WRONG_VALUE', /empty/);
    await rejects(at('a\0b'), 'WRONG_VALUE', /null character/);
    await rejects(at('new'), 'WRONG_VALUE', /null character/, pathToFileURL(at('a\0b')));
    await rejects(new URL('file:///a%2fb'), 'WRONG_VALUE', /URL/);
    await rejects(at('none/new'), 'WRITE_FAILED', /none[\\/]new" cannot be written: ENOENT[^']*$/);
    await rejects('https://example.org/x', 'WRONG_VALUE', /paths or file: URLs/);
    await rejects(5, 'WRONG_TYPE', /target/);
    await rejects(at('new'), 'WRONG_TYPE', /source/, plain);
    await rejects(at('new'), 'UNKNOWN_OPTION', /override/, at('plain'), { override: true });
    if (!posix) return;
    await rejects('/dev/null', 'WRONG_VALUE', /not a regular file/);
    const handle = await open(at('old'));
    try {
        symlinkSync(`/dev/fd/${handle.fd}`, at('link'));
        for (const name of [`/dev/fd/${handle.fd}`, at('link')])
            await rejects(name, 'WRONG_VALUE', /open descriptor/, at('plain'), { overwrite: true });
    } finally {
        await handle.close();
        rmSync(at('link'));
    }
    symlinkSync('absent', at('link'));
    await rejects(at('link'), 'WRONG_VALUE', /symbolic link/, at('plain'), { overwrite: true });
    rmSync(at('link'));
    symlinkSync('plain', at('link'));
    await rejects(at('link'), 'WRONG_VALUE', /the same file/, at('plain'), { overwrite: true });
    rmSync(at('link'));
    // A file that appears during the work.
    const onProgress = () => writeFileSync(at('late'), 'late');
    await rejects(at('late'), 'FILE_EXISTS', /late/, at('plain'), { onProgress });
    assert.equal(readFileSync(at('late'), 'utf8'), 'late');
    rmSync(at('late'));
});

inFolder('many failures while passphrases wait for each other', [], async (at) => {
    const secret = { passphrase: 'x', kdf: { memoryKiB: 8192, passes: 1, lanes: 1 } };
    const error = { code: 'READ_FAILED' };
    const all = Array.from({ length: 6 }, () =>
        assert.rejects(encryptFileTo(at('absent'), at('new'), secret), error),
    );
    await Promise.all(all);
    // An error that nobody waits for would end the program.
    const sealed = await encryptFileAsync(plain, secret);
    assert.deepEqual(decryptFile(sealed, { passphrase: 'x' }), plain);
});

inFolder('a program that exits leaves nothing', [], async (at) => {
    const program = `
        import { decryptFileTo } from '@palladion/aegis';
        const [source, target] = process.argv.slice(-2);
        const key = new Uint8Array(32).fill(7);
        await decryptFileTo(source, target, { key, onProgress: () => process.exit(3) });`;
    const script = join(import.meta.dirname ?? new URL('.', import.meta.url).pathname, 'exits.mjs');
    writeFileSync(script, program);
    try {
        // Node 20 needs an option for relaxed SIMD.
        const options = process.execArgv.filter((option) => option.includes('wasm'));
        const words = globalThis.Deno ? ['run', '-A', '--no-check'] : options;
        words.push(script, at('sealed'), at('new'));
        assert.equal(spawnSync(process.execPath, words).status, 3);
        assert(!existsSync(at('new')));
    } finally {
        rmSync(script);
    }
});
