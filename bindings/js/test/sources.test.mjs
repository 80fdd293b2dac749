// Encrypted files on the disk and on servers, of which parts are read.
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import {
    open as openHandle, mkdtemp, realpath, rm, truncate, writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { encryptFile, openFile } from '@palladion/aegis';
import { noise } from './common.mjs';

const key = new Uint8Array(32);
const plain = noise(50_000);
const file = encryptFile(plain, { key, chunkSize: 1024 });
const same = (a, b) => assert(Buffer.compare(a, b) === 0);

test('a FileHandle', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'palladion-js-'));
    try {
        const path = join(folder, 'file.pld');
        await writeFile(path, file);
        const handle = await openHandle(path);
        const opened = await openFile(handle, { key });
        assert.equal(opened.size, 50_000);
        const reads = [[0, 1], [1023, 1025], [4000, 40_000], [49_999, 50_000], [0, 50_000]];
        await Promise.all(reads.map(async ([start, end]) =>
            same(await opened.read(start, end), plain.subarray(start, end))));
        // It is another one, written in its place.
        const other = encryptFile(plain, { key, chunkSize: 1024 });
        const writing = await openHandle(path, 'r+');
        await writing.write(other, 0, other.length, 0);
        await writing.utimes(1, 1);
        await assert.rejects(opened.read(0, 5000), { code: 'FILE_CHANGED' });
        await writing.write(file, 0, file.length, 0);
        await writing.close();
        // It became shorter.
        await truncate(path, 20_000);
        same(await opened.read(0, 5000), plain.subarray(0, 5000));
        const cut = { code: 'TRUNCATED', message: /chunk 18.* 20000 / };
        await assert.rejects(opened.read(18_000, 30_000), cut);
        opened.close();
        await assert.rejects(openFile(handle, { key }), { code: 'TRUNCATED' });
        await handle.close(); // `close` of the file left it open
        const closed = { name: 'PalladionError', code: 'READ_FAILED' };
        await assert.rejects(openFile(handle, { key }), closed);
        const device = await openHandle('/dev/null');
        await assert.rejects(openFile(device, { key }), { code: 'WRONG_VALUE', hint: /Stream/ });
        await device.close();
    } finally {
        await rm(folder, { recursive: true });
    }
});

/** Waits until no descriptor of this process is one of a file, where the system tells. */
async function closed(path) {
    for (let turns = 1000; existsSync('/proc/self/fd'); turns--) {
        const open = readdirSync('/proc/self/fd').some((name) => {
            try {
                return readlinkSync(`/proc/self/fd/${name}`) === path;
            } catch {
                return false; // that of the directory itself
            }
        });
        if (!open) return;
        assert(turns > 0, `${path} is open`);
        await new Promise((resolve) => setTimeout(resolve, 5));
    }
}

test('a path', async () => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'palladion-js-')));
    try {
        const path = join(folder, 'file.pld');
        await writeFile(path, file);
        for (const source of [path, pathToFileURL(path)]) {
            const opened = await openFile(source, { key });
            same(await opened.read(1000, 2000), plain.subarray(1000, 2000));
            opened.close();
            await closed(path);
        }
        await assert.rejects(openFile(path, { key: plain.subarray(0, 32) }), { code: 'WRONG_KEY' });
        await closed(path);
        const directory = { code: 'WRONG_VALUE', message: /directory/ };
        await assert.rejects(openFile(folder, { key }), directory);
        await closed(folder);
        const abort = new AbortController();
        const handle = await openHandle(path);
        const type = Object.getPrototypeOf(handle);
        await handle.close();
        const { stat } = type;
        type.stat = function () { abort.abort(); return stat.call(this); };
        const opening = openFile(path, { key, signal: abort.signal });
        await assert.rejects(opening, { name: 'AbortError' }).finally(() => { type.stat = stat; });
        await closed(path);
        const absent = { name: 'PalladionError', code: 'READ_FAILED', message: /absent/ };
        await assert.rejects(openFile(join(folder, 'absent'), { key }), absent);
    } finally {
        await rm(folder, { recursive: true });
    }
});

const head = ([start, end], body, etag = '"one"') => ({
    ETag: etag,
    'Content-Range': `bytes ${start}-${end - 1}/${body.length}`,
});

/** What the server does with a request for a range of a body. */
const kinds = {
    good: (request, response, [start, end], body) => {
        response.writeHead(206, head([start, end], body)).end(body.subarray(start, end));
    },
    weak: (request, response, [start, end], body) => {
        response.writeHead(206, head([start, end], body, start ? '"one"' : 'W/"one"'));
        response.end(body.subarray(start, end));
    },
    whole: (request, response, _, body) => response.writeHead(200).end(body),
    private: (request, response, range, body) => {
        const good = request.headers.authorization === 'Bearer mine';
        if (good) kinds.good(request, response, range, body);
        else response.writeHead(403).end();
    },
    absent: (request, response) => response.writeHead(404).end(),
    busy: (request, response) => response.writeHead(503, { 'Retry-After': '7' }).end(),
    silent: (request, response, [start, end], body) => {
        response.writeHead(206).end(body.subarray(start, end));
    },
    endless: (request, response, [start, end]) => {
        response.writeHead(206, { 'Content-Range': `bytes ${start}-${end - 1}/*` }).end('x');
    },
    other: (request, response, [start, end], body) =>
        kinds.good(request, response, [start + 1, end + 1], body),
    late: (request, response, [start, end], body) =>
        kinds.good(request, response, [start + 1, end], body),
    more: (request, response, range, body) =>
        response.writeHead(206, head(range, body)).end(Buffer.alloc(1 << 20)),
    fewer: (request, response, [start, end], body) => {
        response.writeHead(206, head([start, end], body)).end(body.subarray(start, end - 1));
    },
    broken: (request, response, [start, end], body) => {
        const length = { 'Content-Length': end - start };
        response.writeHead(206, { ...head([start, end], body), ...length });
        response.write(body.subarray(start, end - 1));
        setTimeout(() => response.destroy(), 5);
    },
    empty: (request, response) =>
        response.writeHead(416, { 'Content-Range': 'bytes */0' }).end(),
    short: (request, response, [start], body) =>
        kinds.good(request, response, [start, 50], body.subarray(0, 50)),
};
let server, base, change, asked;
before(async () => {
    server = createServer((request, response) => {
        const { pathname } = new URL(request.url, 'http://localhost');
        const [, start, end] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range);
        asked.push([Number(start), Number(end) + 1]);
        const kind = change ?? pathname.slice(1);
        kinds[kind](request, response, [Number(start), Number(end) + 1], Buffer.from(file));
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    base = `http://127.0.0.1:${server.address().port}`;
});
after(() => {
    server.closeAllConnections?.();
    server.close();
});
beforeEach(() => {
    change = undefined;
    asked = [];
});

test('a server that sends parts of files', async () => {
    for (const address of [`${base}/good`, new URL(`${base}/good?secret`), `${base}/weak`]) {
        asked = [];
        const opened = await openFile(address, { key });
        assert.equal(opened.size, 50_000);
        same(await opened.read(1000, 3000), plain.subarray(1000, 3000));
        // The header, the last chunk, and three chunks at once.
        assert.deepEqual(asked, [[0, 132], [128 + 48 * 1060, file.length], [128, 128 + 3 * 1060]]);
        const response = new Response(opened.stream(20_000));
        same(Buffer.from(await response.arrayBuffer()), plain.subarray(20_000));
        opened.close();
    }
});

test('headers for the server', async () => {
    const headers = { Authorization: 'Bearer mine' };
    for (const given of [headers, new Headers(headers), Object.entries(headers)]) {
        const opened = await openFile(`${base}/private`, { key, fetch: { headers: given } });
        same(await opened.read(5, 3000), plain.subarray(5, 3000));
        opened.close();
    }
    await assert.rejects(openFile(`${base}/private?secret`, { key }), (error) => {
        assert.equal(error.code, 'READ_FAILED');
        assert.match(error.message, /of http.*\/private cannot be read: the server answers 403$/);
        assert.deepEqual({ ...error.cause }, { status: 403 });
        return true;
    });
    await assert.rejects(openFile(`${base}/busy`, { key }), (error) => {
        assert.deepEqual({ ...error.cause }, { status: 503, retryAfter: '7' });
        return true;
    });
});

test('servers that do something else', async () => {
    for (const [kind, code, message, hint] of [
        ['whole', 'NO_RANGES', /does not send parts/, /decryptStream/],
        ['absent', 'READ_FAILED', /404/],
        ['silent', 'NO_RANGES', /no Content-Range/, /Access-Control-Expose-Headers/],
        ['endless', 'NO_RANGES', /Content-Range is "bytes 0-131\/\*"/],
        ['other', 'NO_RANGES', /sent bytes 1 to 132 of .* instead of 0 to 131/],
        ['late', 'NO_RANGES', /sent bytes 1 to 131 of .* instead of 0 to 131/],
        ['more', 'READ_FAILED', /more bytes than it announces/],
        ['fewer', 'READ_FAILED', /fewer bytes than it announces/],
        ['broken', 'READ_FAILED', /the start of http.*\/broken cannot be read/],
        ['empty', 'TRUNCATED', /./],
        ['short', 'TRUNCATED', /50 bytes/],
    ]) {
        // From the start, and once the file is open.
        const expected = { name: 'PalladionError', code, message };
        if (hint) expected.hint = hint;
        change = undefined;
        await assert.rejects(openFile(`${base}/${kind}`, { key }), expected, kind);
        if (['empty', 'short'].includes(kind)) continue;
        const opened = await openFile(`${base}/good`, { key });
        change = kind;
        await assert.rejects(opened.read(0, 5), { name: 'PalladionError', code }, kind);
        await assert.rejects(new Response(opened.stream()).arrayBuffer(), { code }, kind);
        change = undefined;
        same(await opened.read(0, 5), plain.subarray(0, 5));
        opened.close();
    }
    await assert.rejects(openFile('http://127.0.0.1:1/', { key }), (error) => {
        assert.equal(error.code, 'READ_FAILED');
        assert(error.cause instanceof Error);
        return true;
    });
});

test('addresses that are not valid, or have a password', async () => {
    for (const address of ['https://', 'https://user:secret@127.0.0.1/?token=secret']) {
        for (const source of [address, ...(address.includes('@') ? [new URL(address)] : [])]) {
            await assert.rejects(openFile(source, { key }), (error) => {
                assert.equal(error.name, 'PalladionError');
                assert.equal(error.code, 'WRONG_VALUE');
                assert(!/secret/.test(error.message + String(error.cause)));
                return true;
            });
        }
    }
});

test('a file that changes on the server', async () => {
    const other = encryptFile(plain, { key, chunkSize: 1024 });
    const time = (seconds) => new Date(seconds * 1000).toUTCString();
    const versions = [[{ ETag: '"one"' }, { ETag: '"two"' }], [{ ETag: '"one"' }, {}],
        [{ 'Last-Modified': time(1) }, { 'Last-Modified': time(2) }]];
    for (const [before, after] of versions) {
        let [headers, body] = [before, file];
        kinds.changing = (request, response, [start, end]) => {
            const range = `bytes ${start}-${end - 1}/${body.length}`;
            response.writeHead(206, { 'Content-Range': range, ...headers });
            response.end(body.subarray(start, end));
        };
        const opened = await openFile(`${base}/changing`, { key });
        // Machines behind one address may say different things of an unchanged file.
        headers = after;
        same(await opened.read(5, 6), plain.subarray(5, 6));
        // A chunk that does not belong to the file is explained, and an unchanged one that is
        // damaged is not.
        body = other;
        const changed = { name: 'PalladionError', code: 'FILE_CHANGED', message: /changed/ };
        await assert.rejects(opened.read(3000, 3001), changed);
        headers = before;
        await assert.rejects(opened.read(3000, 3001), { code: 'DAMAGED' });
        body = file;
        same(await opened.read(3000, 3001), plain.subarray(3000, 3001));
        for (const another of [other.subarray(0, 20_000), new Uint8Array(70_000)]) {
            body = another;
            await assert.rejects(opened.read(5000, 5001), changed);
        }
        opened.close();
    }
    const opened = await openFile(`${base}/good`, { key });
    kinds.none = (request, response) => response.writeHead(416).end();
    change = 'none';
    await assert.rejects(opened.read(5, 6), { code: 'FILE_CHANGED' });
    opened.close();
});

/** Answers the next request with nothing. Returns promises of its arrival and its end. */
function stall() {
    const result = {};
    result.arrived = new Promise((arrive) => {
        result.ended = new Promise((end) => {
            kinds.stalled = (request, response) => {
                response.on('close', end);
                arrive();
            };
        });
    });
    change = 'stalled';
    return result;
}

test('aborts, cancelled streams and closed files end their requests', async () => {
    const reason = new Error('enough');
    const open = () => {
        change = undefined;
        return openFile(`${base}/good`, { key });
    };
    const ways = {
        read: (opened, signal) => [opened.read(0, 5, { signal }), reason],
        stream: (opened, signal) => [
            new Response(opened.stream(0, 5, { signal })).arrayBuffer(), reason,
        ],
        'stream().cancel()': (opened, signal) => {
            const reader = opened.stream(0, 5).getReader();
            signal.addEventListener('abort', () => reader.cancel());
            return [reader.read().then(({ done }) => { if (done) throw reason; }), reason];
        },
        'close()': (opened, signal) => {
            signal.addEventListener('abort', () => opened.close());
            return [opened.read(0, 5), { code: 'WRONG_STATE' }];
        },
        'close() and a stream': (opened, signal) => {
            signal.addEventListener('abort', () => opened.close());
            return [new Response(opened.stream()).arrayBuffer(), { code: 'WRONG_STATE' }];
        },
        openFile: (_, signal) => [openFile(`${base}/good`, { key, signal }), reason],
        'the signal of fetch': (_, signal) => [
            openFile(`${base}/good`, { key, fetch: { signal } }), reason,
        ],
    };
    for (const [name, way] of Object.entries(ways)) {
        const opened = await open();
        const { arrived, ended } = stall();
        const abort = new AbortController();
        const [promise, error] = way(opened, abort.signal);
        const rejected = assert.rejects(promise, error, name);
        await arrived;
        const { length } = asked;
        abort.abort(reason);
        await rejected;
        await ended;
        assert.equal(asked.length, length, name); // and nothing asks again
        if (!name.startsWith('close()')) {
            change = undefined;
            same(await opened.read(0, 5), plain.subarray(0, 5));
        }
        opened.close();
    }
    await assert.rejects(openFile(`${base}/good`, { key, signal: AbortSignal.abort() }), {
        name: 'AbortError',
    });
});

test('an abort spares the other reads of a chunk', async () => {
    const opened = await openFile(`${base}/good`, { key });
    let answer;
    kinds.slow = (...request) => { answer = () => kinds.good(...request); };
    change = 'slow';
    const abort = new AbortController();
    const aborted = opened.read(0, 5, { signal: abort.signal });
    const other = opened.read(3, 9);
    abort.abort();
    await assert.rejects(aborted, { name: 'AbortError' });
    while (answer === undefined) await new Promise((resolve) => setTimeout(resolve, 1));
    answer();
    same(await other, plain.subarray(3, 9));
    opened.close();
});

test('many reads at once do not make many requests at once', async () => {
    const opened = await openFile(`${base}/good`, { key });
    let [now, most] = [0, 0];
    kinds.counted = (request, response, ...more) => {
        most = Math.max(most, ++now);
        response.on('close', () => now--);
        setTimeout(() => kinds.good(request, response, ...more), 10);
    };
    change = 'counted';
    await Promise.all(Array.from({ length: 48 }, async (_, chunk) => {
        const at = 1024 * chunk;
        same(await opened.read(at, at + 5), plain.subarray(at, at + 5));
    }));
    assert(most <= 8, `${most}`);
    opened.close();
});
