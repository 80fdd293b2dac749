// The package in a browser: its tests for Node, with each build, and tests for browsers only.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { encryptFile, generateMasterKey } from '@palladion/aegis';
import { launch } from './chromium.mjs';
import { serve } from './server.mjs';

const tests = dirname(dirname(fileURLToPath(import.meta.url)));
const installed = process.env.JS_FOLDER;

let server, browser;
before(async () => {
    server = await serve({
        installed,
        test: tests,
        vectors: join(process.env.PALLADION_ROOT, 'vectors'),
    });
    browser = await launch();
});
after(async () => {
    await browser?.close();
    server?.close();
});

/** Runs the tests that the query names, in a page. */
async function pass(query) {
    const page = await browser.newPage();
    try {
        await page.goto(`${server.url}/test/browser/tests.html?${query}`);
        await page.waitForFunction('globalThis.failures', undefined, { timeout: 600_000 });
        assert.deepEqual(await page.evaluate('failures'), []);
    } finally {
        await page.close();
    }
}

describe('vectors, messages and files', { concurrency: true }, () => {
    for (const build of ['scalar', 'simd128', 'relaxed-simd']) {
        test(build, () => pass(`build=${build}&tests=vectors,messages,files,open`));
    }
});

test('slim', () => pass('tests=slim'));

/** Runs a function in a page of the server that cannot load the base64 modules. */
async function inPage(run, ...words) {
    const page = await browser.newPage();
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname.split('/').at(-1)));
    try {
        await page.goto(`${server.url}/test/browser/empty.html`);
        return { result: await page.evaluate(run, words), asked };
    } finally {
        await page.close();
    }
}

const SLIM = '/installed/node_modules/@palladion/aegis/dist/slim.js';

test('slim loads the one build that fits', async () => {
    const { result, asked } = await inPage(async ([slim]) => (await import(slim)).init(), SLIM);
    assert.equal(result, 'relaxed-simd');
    assert.deepEqual(asked.filter((name) => /scalar|simd/.test(name)), ['relaxed-simd.wasm']);
});

test('slim compiles a module while it arrives', async () => {
    const { result, asked } = await inPage(async ([url]) => {
        const slim = await import(url);
        let streaming = 0;
        const compile = WebAssembly.compileStreaming;
        WebAssembly.compileStreaming = (response) => {
            streaming++;
            return compile.call(WebAssembly, response);
        };
        const builds = [];
        for (const build of slim.supportedBuilds()) {
            builds.push(
                await slim.init({
                    build,
                    wasm: (build) => new URL(`./wasm/${build}.wasm`, new URL(url, location.href)),
                }),
            );
            const key = slim.generateKey();
            slim.open(key, slim.seal(key, new Uint8Array(1000)));
        }
        return { builds, streaming };
    }, SLIM);
    assert.deepEqual(result, { builds: ['relaxed-simd', 'simd128', 'scalar'], streaming: 3 });
    assert.deepEqual(
        asked.filter((name) => /scalar|simd/.test(name)),
        ['relaxed-simd.wasm', 'simd128.wasm', 'scalar.wasm'],
    );
});

test('a page with a policy needs wasm-unsafe-eval only, and fails without it', async () => {
    for (const [policy, good] of [
        ["script-src 'self' 'wasm-unsafe-eval'", true],
        ["script-src 'self'", false],
    ]) {
        const context = await browser.newContext();
        const page = await context.newPage();
        await page.route('**/empty.html', async (route) => {
            const response = await route.fetch();
            await route.fulfill({
                response,
                headers: { ...response.headers(), 'content-security-policy': policy },
            });
        });
        await page.goto(`${server.url}/test/browser/empty.html`);
        const result = await page.evaluate(async (url) => {
            const { generateKey, open, seal } = await import(url);
            try {
                const key = generateKey();
                return open(key, seal(key, new Uint8Array(5))).length;
            } catch (error) {
                return `${error.code} ${error.hint}`;
            }
        }, SLIM.replace('slim', 'index'));
        if (good) assert.equal(result, 5);
        else assert.match(result, /^UNSUPPORTED .*'wasm-unsafe-eval'/);
        await context.close();
    }
});

test('streams in a worker, of a module that the server has', async () => {
    const { result } = await inPage(async ([url]) => {
        const text = `
            import { decryptStream, encryptStream } from '${new URL(url, location.href)}';
            onmessage = async ({ data }) => {
                const passphrase = 'x';
                const kdf = { memoryKiB: 64, passes: 1, lanes: 1 };
                try {
                    const encryption = encryptStream({ passphrase, kdf });
                    const encrypted = data.stream().pipeThrough(encryption);
                    const blob = await new Response(encrypted).blob();
                    const decrypted = blob.stream().pipeThrough(decryptStream({ passphrase }));
                    postMessage(await new Response(decrypted).text());
                } catch (error) {
                    postMessage(String(error)); // the page would wait for ever
                }
            };`;
            const worker = new Worker(
                URL.createObjectURL(new Blob([text], { type: 'text/javascript' })),
                { type: 'module' },
            );
            worker.postMessage(new Blob(['attack at dawn']));
            return new Promise((resolve, reject) => {
                worker.onmessage = ({ data }) => resolve(data);
                worker.onerror = (event) => reject(new Error(event.message));
            });
        },
        SLIM.replace('slim', 'index'),
    );
    assert.equal(result, 'attack at dawn');
});

test('parts of a file on a server and of one that the user chose', async () => {
    const page = await browser.newPage();
    try {
        await page.goto(`${server.url}/test/browser/empty.html`);
        const plain = Uint8Array.from({ length: 300_000 }, (_, i) => i * 7 + (i >> 8));
        const key = generateMasterKey();
        const file = Buffer.from(encryptFile(plain, { key, chunkSize: 1 << 16 }));
        await page.setContent('<input type="file">');
        await page.setInputFiles('input', { name: 'a.pld', mimeType: '', buffer: file });
        server.files.set('/file.pld', file);
        const result = await page.evaluate(
            async ([url, key]) => {
                const { encryptFileTo, openFile } = await import(url);
                const secret = { key: Uint8Array.from(key) };
                const codes = [];
                const parts = [];
                const { files } = document.querySelector('input');
                for (const source of [files[0], new URL('/file.pld', url), new URL('/x', url)]) {
                    try {
                        const opened = await openFile(source, secret);
                        const part = await opened.read(100_000, 100_005);
                        const stream = new Response(opened.stream(65_530, 65_540));
                        const rest = new Uint8Array(await stream.arrayBuffer());
                        parts.push([opened.size, ...part, ...rest]);
                        opened.close();
                    } catch (error) {
                        codes.push(error.code);
                    }
                }
                // There is no file system here.
                await encryptFileTo(files[0], 'b', secret).catch(({ code }) => codes.push(code));
                return { parts, codes };
            },
            [new URL(SLIM.replace('slim', 'index'), server.url).href, [...key]],
        );
        const expected =
            [plain.length, ...plain.slice(100_000, 100_005), ...plain.slice(65_530, 65_540)];
        const codes = ['READ_FAILED', 'UNSUPPORTED'];
        assert.deepEqual(result, { parts: [expected, expected], codes });
    } finally {
        await page.close();
    }
});

test('the demo is built of this very package', () => {
    const base64 = /'(.*)'/.exec(
        readFileSync(join(installed, 'node_modules/@palladion/aegis/dist/wasm/simd128.js'), 'utf8'),
    )[1];
    assert(readFileSync(join(tests, '../demo/dist/index.html'), 'utf8').includes(base64));
});
