// Streams that fail: whoever fails, what was written until then is not a complete file.
import assert from 'node:assert/strict';
import { Duplex, Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { decryptFile, decryptStream, encryptFile, encryptStream } from '@palladion/aegis';
import { code, noise } from './common.mjs';

const key = new Uint8Array(32);
const options = { key, chunkSize: 1024 };

/** A stream that keeps what is written to it, and fails after `most` writes. */
function target(most = Infinity) {
    const got = [];
    const stream = new Writable({
        write(piece, _encoding, done) {
            got.push(piece);
            done(got.length > most ? new Error('full') : undefined);
        },
    });
    return Object.assign(stream, { got });
}

/** A stream of Node that has 5000 bytes and then waits. */
function source(then) {
    const stream = new Readable({ read() {} });
    stream.push(noise(5000));
    setTimeout(() => then(stream), 20);
    return stream;
}

async function* pieces(last) {
    yield noise(5000);
    last();
}

async function* then(piece) {
    yield noise(5000);
    yield piece;
    yield noise(10);
}

const web = (from, to) =>
    Readable.toWeb(from).pipeThrough(encryptStream(options)).pipeTo(Writable.toWeb(to));
const writing = async (to, write) => {
    const stream = encryptStream(options);
    const end = stream.readable.pipeTo(Writable.toWeb(to));
    end.catch(() => {});
    const writer = stream.writable.getWriter();
    writer.closed.catch(() => {});
    await writer.write(noise(5000));
    await write(writer, stream);
    return end;
};
const ignored = (promise) => promise.catch(() => {});
const fail = () => {
    throw new Error('failed');
};

const failures = {
    'a source that fails': (to) => {
        const from = source((stream) => stream.destroy(new Error('failed')));
        return pipeline(from, encryptStream(options), to);
    },
    'a source that is destroyed': (to) =>
        pipeline(source((stream) => stream.destroy()), encryptStream(options), to),
    'a source of a Duplex that is destroyed': (to) => {
        const stream = Duplex.fromWeb(encryptStream(options));
        return pipeline(source((stream) => stream.destroy()), stream, to);
    },
    'a Duplex that is destroyed': (to) => {
        const stream = Duplex.fromWeb(encryptStream(options));
        return pipeline(source(() => stream.destroy()), stream, to);
    },
    'a generator that throws': (to) => pipeline(() => pieces(fail), encryptStream(options), to),
    'a signal': (to) => {
        const controller = new AbortController();
        const { signal } = controller;
        return pipeline(source(() => controller.abort()), encryptStream(options), to, { signal });
    },
    'a string as a piece': (to) => pipeline(() => then('text'), encryptStream(options), to),
    'an object as a piece': (to) => pipeline(() => then({}), encryptStream(options), to),
    'null as a piece': (to) => pipeline(() => then(null), encryptStream(options), to),
    'an array as a piece': (to) => pipeline(() => then([1, 2]), encryptStream(options), to),
    'a web source that fails': (to) =>
        web(source((stream) => stream.destroy(new Error('failed'))), to),
    'a web source that is destroyed': (to) => web(source((stream) => stream.destroy()), to),
    'a writer that aborts': (to) => writing(to, (writer) => ignored(writer.abort('enough'))),
    'a writer that goes on after an error': (to) =>
        writing(to, async (writer) => {
            await assert.rejects(writer.write('text'), { code: 'WRONG_TYPE', hint: /encoding/ });
            await ignored(writer.write(noise(10)));
            await ignored(writer.close());
        }),
};

for (const [name, run] of Object.entries(failures)) {
    test(`encryption: ${name}`, async () => {
        const to = target();
        await assert.rejects(async () => {
            await run(to);
        });
        const written = Buffer.concat(to.got);
        if (written.length > 0)
            assert.equal(code(() => decryptFile(written, { key })), 'TRUNCATED');
    });
}

test('a target that fails', async () => {
    const file = encryptFile(noise(5000), options);
    for (const stream of [encryptStream(options), decryptStream({ key })]) {
        const from = Readable.from([file.subarray(0, 3000), file.subarray(3000)]);
        await assert.rejects(pipeline(from, stream, target(1)), /full/);
    }
});

test('a reader that cancels', async () => {
    for (const stream of [encryptStream(options), decryptStream({ key })]) {
        const writer = stream.writable.getWriter();
        writer.closed.catch(() => {});
        const written = ignored(writer.write(encryptFile(noise(5000), options)));
        const reader = stream.readable.getReader();
        await reader.read();
        await reader.cancel('enough');
        await written;
        await assert.rejects(writer.write(noise(10)));
        await assert.rejects(writer.close());
    }
});

test('a stream waits for its reader', async () => {
    const stream = encryptStream(options);
    const writer = stream.writable.getWriter();
    let written = 0;
    for (let i = 0; i < 10; i++)
        writer.write(noise(2048)).then(() => written++, () => {});
    await new Promise((resolve) => setTimeout(resolve, 10));
    assert(written <= 1, `${written} pieces`);
    const reader = stream.readable.getReader();
    for (let i = 0; i < 19; i++) await reader.read();
    writer.closed.catch(() => {});
    await reader.cancel();
});

test('a stream is for one file', async () => {
    const sink = () => new WritableStream();
    for (const make of [() => encryptStream(options), () => decryptStream({ key })]) {
        const again = { code: 'WRONG_STATE', hint: /new stream/ };
        const first = make();
        const file = new Blob([encryptFile(noise(5000), options)]);
        await file.stream().pipeThrough(first).pipeTo(sink());
        await assert.rejects(file.stream().pipeThrough(first).pipeTo(sink()), again);
        await assert.rejects(file.stream().pipeTo(first.writable), again);
        const use = pipeline(Readable.from([noise(5)]), first, target());
        await assert.rejects(use, again);
        const cancelled = make();
        const reader = file.stream().pipeThrough(cancelled).getReader();
        await reader.read();
        await reader.cancel();
        await assert.rejects(file.stream().pipeThrough(cancelled).pipeTo(sink()), again);
        assert.match(inspect(cancelled), /errored/); // which may look at them
        // The two sides may be looked at in any order and often.
        const stream = make();
        assert.equal(stream.writable, stream.writable);
        const writer = stream.writable.getWriter();
        writer.write(new Uint8Array(await file.arrayBuffer())).catch(() => {});
        writer.close().catch(() => {});
        assert.equal(stream.readable, stream.readable);
        for await (const piece of stream.readable) assert(piece.length > 0);
    }
});

const still = globalThis.Bun ? 'Bun transfers no streams' : false;

test('a stream that is transferred to another thread', { skip: still }, async () => {
    const { port1, port2 } = new MessageChannel();
    const stream = encryptStream(options);
    port1.postMessage(stream, [stream]);
    const { data } = await new Promise((resolve) => (port2.onmessage = resolve));
    const file = new Blob([noise(5000)]).stream().pipeThrough(data);
    const sealed = new Uint8Array(await new Response(file).arrayBuffer());
    assert.deepEqual(decryptFile(sealed, { key }), noise(5000));
    port1.close();
});

test('what was verified before an error comes before it', async () => {
    const plain = noise(5000);
    const file = encryptFile(plain, options);
    const damaged = file.slice();
    damaged[128 + 3 * 1060 + 500] ^= 1;
    const longer = Buffer.concat([file, file]);
    for (const [bytes, code, verified] of [
        [damaged, 'DAMAGED', 3072], [file.subarray(0, 4500), 'TRUNCATED', 4096],
        [file.subarray(0, file.length - 904), 'TRUNCATED', 4096], [longer, 'TRAILING_DATA', 5000],
    ]) {
        for (const size of [bytes.length, 3000, 1]) {
            const pieces = [];
            for (let at = 0; at < bytes.length; at += size)
                pieces.push(bytes.subarray(at, at + size));
            const got = [];
            const stream = new ReadableStream({
                pull(controller) {
                    if (pieces.length > 0) controller.enqueue(pieces.shift());
                    else controller.close();
                },
            });
            const read = async () => {
                for await (const piece of stream.pipeThrough(decryptStream({ key }))) {
                    got.push(piece);
                    await new Promise((resolve) => setTimeout(resolve));
                }
            };
            await assert.rejects(read, { code });
            assert(Buffer.compare(Buffer.concat(got), plain.subarray(0, verified)) === 0, code);
        }
    }
});
