// Encrypted files on the disk and on servers, of which parts are read.
import assert from 'node:assert/strict';
import { open as openHandle, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
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
        assert.deepEqual(asked, [[0, 128], [128 + 48 * 1060, file.length], [128, 128 + 3 * 1060]]);
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
        assert.match(error.message, /the server answers 403 for http.*\/private$/);
        return true;
    });
    const aborted = { key, fetch: { headers, signal: AbortSignal.abort() } };
    await assert.rejects(openFile(`${base}/private`, aborted), (error) => {
        assert.equal(error.code, 'READ_FAILED');
        assert.equal(error.cause.name, 'AbortError');
        return true;
    });
});

test('servers that do something else', async () => {
    for (const [kind, code, message, hint] of [
        ['whole', 'NO_RANGES', /does not send parts/, /decryptStream/],
        ['absent', 'READ_FAILED', /404/],
        ['silent', 'NO_RANGES', /no Content-Range/, /Access-Control-Expose-Headers/],
        ['endless', 'NO_RANGES', /Content-Range is "bytes 0-127\/\*"/],
        ['other', 'NO_RANGES', /sent bytes 1 to 128 of .* instead of 0 to 127/],
        ['late', 'NO_RANGES', /sent bytes 1 to 127 of .* instead of 0 to 127/],
        ['more', 'READ_FAILED', /more bytes than it announces/],
        ['fewer', 'READ_FAILED', /fewer bytes than it announces/],
        ['broken', 'READ_FAILED', /the start of the file cannot be read/],
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
    const changed = { name: 'PalladionError', code: 'FILE_CHANGED', message: /changed/ };
    const answers = {
        'another ETag': { ETag: '"two"' },
        'no ETag': {},
        'another size': { ETag: '"one"', size: 70_000 },
        'no such part': { status: 416 },
    };
    for (const [name, answer] of Object.entries(answers)) {
        const { status = 206, size = file.length, ...headers } = answer;
        change = undefined;
        const opened = await openFile(`${base}/good`, { key });
        kinds.changed = (request, response, [start, end]) => {
            const range = `bytes ${start}-${end - 1}/${size}`;
            response.writeHead(status, { 'Content-Range': range, ...headers });
            response.end(file.subarray(start, end));
        };
        change = 'changed';
        await assert.rejects(opened.read(5, 6), changed, name);
        opened.close();
    }
    // Without ETags, the time tells.
    let time = 1;
    kinds.dated = (request, response, [start, end], body) => {
        response.writeHead(206, {
            'Content-Range': `bytes ${start}-${end - 1}/${body.length}`,
            'Last-Modified': new Date(time * 1000).toUTCString(),
        });
        response.end(body.subarray(start, end));
    };
    change = undefined;
    const opened = await openFile(`${base}/dated`, { key });
    same(await opened.read(5, 6), plain.subarray(5, 6));
    time++;
    await assert.rejects(opened.read(3000, 3001), changed);
    opened.close();
});
