// The demo page, from a server and from the disk: it exchanges files with the command line, reports
// errors, works with the keyboard alone, and has no accessibility errors that axe can find.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch } from './chromium.mjs';
import { serve } from './server.mjs';

const js = join(dirname(fileURLToPath(import.meta.url)), '../..');
const axe = readFileSync(join(js, 'node_modules/axe-core/axe.min.js'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'palladion-demo-'));
const path = (name) => join(folder, name);
const palladion = (...words) =>
    execFileSync(process.env.PALLADION_CLI, words, { stdio: ['ignore', 'pipe', 'pipe'] });
const passphrase = 'six words drawn at random, pässphrase';
const plain = Buffer.from('attack at dawn\n'.repeat(200_000)); // three chunks

let server, browser;
const addresses = {};
before(async () => {
    server = await serve({ demo: join(js, 'demo/dist') });
    addresses.server = `${server.url}/demo/index.html`;
    addresses.file = String(pathToFileURL(join(js, 'demo/dist/index.html')));
    browser = await launch();
    writeFileSync(path('plain.txt'), plain);
    writeFileSync(path('passphrase'), `${passphrase}\n`, { mode: 0o600 });
    palladion('keygen', '-o', path('my.key'));
    palladion('keygen', '-o', path('other.key'));
    palladion('encrypt', '-k', path('my.key'), '-o', path('with key.pld'), path('plain.txt'));
    palladion(
        'encrypt',
        '--passphrase-file',
        path('passphrase'),
        '-o',
        path('with passphrase.pld'),
        path('plain.txt'),
    );
});
after(async () => {
    await browser?.close();
    server?.close();
    rmSync(folder, { recursive: true });
});

/** Opens the page and runs a test. Fails if the page logs an error or uses the network. */
async function withPage(from, run, options = {}, prepare = () => {}) {
    const context = await browser.newContext({ viewport: { width: 800, height: 900 }, ...options });
    try {
        const page = await context.newPage();
        page.setDefaultTimeout(60_000);
        const complaints = [];
        page.on('pageerror', (error) => complaints.push(String(error)));
        page.on(
            'console',
            (message) =>
                ['error', 'warning'].includes(message.type()) && complaints.push(message.text()),
        );
        page.on('request', (request) => {
            if (!/^(blob|data):/.test(request.url()) && request.url() !== addresses[from])
                complaints.push(request.url());
        });
        await prepare(page);
        await page.goto(addresses[from]);
        await run(page);
        assert.deepEqual(complaints, []);
    } finally {
        await context.close();
    }
}

/** Does something after which the page saves a file: its name and contents. */
async function saved(page, action) {
    const [download] = await Promise.all([page.waitForEvent('download'), action()]);
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

/** Chooses a file and waits until the page knows what it is. */
async function choose(page, name) {
    await page.setInputFiles('#file', path(name));
    await page.waitForFunction(
        (name) => document.getElementById('live').textContent.startsWith(`${name}: `),
        name,
    );
}

const go = (page) => page.click('#go');
/** Cancels the next job once it has begun: within the page, because it may be done in no time. */
const cancelNext = (page, key) =>
    page.evaluate((key) => {
        const [working, figures, progress] = ['working', 'figures', 'progress'].map((id) =>
            document.getElementById(id),
        );
        const observer = new MutationObserver(() => {
            if (!figures.textContent.startsWith('Preparing') && !(progress.value > 0)) return;
            observer.disconnect();
            if (key === 'Escape') dispatchEvent(new KeyboardEvent('keydown', { key }));
            else document.activeElement.click(); // what Enter does: the button has the focus
        });
        observer.observe(working, { subtree: true, childList: true, attributes: true });
    }, key);
async function cancelled(page) {
    await page.getByText('Cancelled. Nothing was saved.').waitFor({ state: 'attached' });
    await page.waitForSelector('#form:not([hidden])');
}
const pick = (page, value) => page.check(`input[value=${value}]`, { force: true });
const problem = async (page) => {
    await page.waitForSelector('#problem:not([hidden])');
    assert.equal(await page.evaluate('document.activeElement.id'), 'problem');
    assert.equal(await page.getAttribute('#problem', 'role'), 'alert');
    return page.innerText('#problem');
};

for (const from of ['server', 'file']) {
    describe(`the page, from a ${from}`, () => {
        test('encrypts with a passphrase for the command line', () =>
            withPage(from, async (page) => {
                await choose(page, 'plain.txt');
                await page.fill('#passphrase', passphrase);
                await page.fill('#again', passphrase);
                const { name, bytes } = await saved(page, () => go(page));
                assert.equal(name, 'plain.txt.pld');
                assert.equal(await page.evaluate('document.getElementById("progress").value'), 100);
                assert.equal(await page.textContent('#percent'), '100 %');
                assert.equal(
                    await page.textContent('#command'),
                    'palladion decrypt -p -o plain.txt plain.txt.pld',
                );
                assert.equal(await page.evaluate('document.activeElement.id'), 'done-title');
                writeFileSync(path('from page.pld'), bytes);
                palladion(
                    'decrypt',
                    '-f',
                    '--passphrase-file',
                    path('passphrase'),
                    '-o',
                    path('back'),
                    path('from page.pld'),
                );
                assert(readFileSync(path('back')).equals(plain));
            }));

        test('decrypts what the command line encrypted with a passphrase', () =>
            withPage(from, async (page) => {
                await choose(page, 'with passphrase.pld');
                assert(await page.isChecked('input[value=decrypt]'));
                assert(await page.isChecked('input[value=passphrase]'));
                assert(!(await page.isVisible('#again')));
                await page.fill('#passphrase', passphrase);
                const { name, bytes } = await saved(page, () => go(page));
                assert.equal(name, 'with passphrase');
                assert(bytes.equals(plain));
            }));

        test('exchanges files with the command line, with a key file', () =>
            withPage(from, async (page) => {
                await choose(page, 'plain.txt');
                await pick(page, 'key');
                await page.setInputFiles('#key', path('my.key'));
                await page.getByText('my.key is ready').waitFor();
                writeFileSync(path('from page.pld'), (await saved(page, () => go(page))).bytes);
                assert.equal(
                    await page.textContent('#command'),
                    'palladion decrypt -k my.key -o plain.txt plain.txt.pld',
                );
                palladion(
                    'decrypt',
                    '-f',
                    '-k',
                    path('my.key'),
                    '-o',
                    path('back'),
                    path('from page.pld'),
                );
                assert(readFileSync(path('back')).equals(plain));
                // Another file with the same key.
                await page.click('#another');
                await choose(page, 'with key.pld');
                assert(await page.isChecked('input[value=key]'));
                assert((await saved(page, () => go(page))).bytes.equals(plain));
            }));

        test('makes a key file that the command line takes', () =>
            withPage(from, async (page) => {
                await choose(page, 'plain.txt');
                await pick(page, 'key');
                const key = await saved(page, () => page.click('#new-key'));
                assert.equal(key.name, 'my.key');
                writeFileSync(path('made.key'), key.bytes, { mode: 0o600 });
                writeFileSync(path('from page.pld'), (await saved(page, () => go(page))).bytes);
                palladion(
                    'decrypt',
                    '-f',
                    '-k',
                    path('made.key'),
                    '-o',
                    path('back'),
                    path('from page.pld'),
                );
                assert(readFileSync(path('back')).equals(plain));
            }));

        test('works without a worker', () =>
            withPage(
                from,
                async (page) => {
                    await choose(page, 'plain.txt');
                    await page.fill('#passphrase', passphrase);
                    await page.fill('#again', passphrase);
                    writeFileSync(path('from page.pld'), (await saved(page, () => go(page))).bytes);
                    assert.equal(await page.evaluate('globalThis.workers'), 1);
                    palladion(
                        'decrypt',
                        '-f',
                        '--passphrase-file',
                        path('passphrase'),
                        '-o',
                        path('back'),
                        path('from page.pld'),
                    );
                    assert(readFileSync(path('back')).equals(plain));
                },
                {},
                (page) =>
                    page.addInitScript(() => {
                        globalThis.workers = 0;
                        globalThis.Worker = class {
                            constructor() {
                                globalThis.workers++;
                                if (location.protocol === 'file:')
                                    throw new DOMException('not here', 'SecurityError');
                                setTimeout(() => this.onerror(new ErrorEvent('error')), 10);
                            }

                            terminate() {}
                        };
                    }),
            ));
    });
}

test('what is wrong, it says', () =>
    withPage('server', async (page) => {
        await go(page);
        assert.match(await problem(page), /There is no file yet\.\s+Choose one/);
        await choose(page, 'with passphrase.pld');
        await go(page);
        assert.match(await page.innerText('#passphrase-wrong'), /Type the passphrase/);
        assert.equal(await page.evaluate('document.activeElement.id'), 'passphrase');
        await page.fill('#passphrase', 'another');
        await go(page);
        assert.match(
            await problem(page),
            /not the passphrase that the file was encrypted with\.\s+The file .* sound: try other/,
        );

        await choose(page, 'with key.pld');
        assert(!(await page.isVisible('#problem')));
        await go(page);
        assert.match(await page.innerText('#key-wrong'), /Choose the key file/);
        await page.setInputFiles('#key', path('plain.txt'));
        await page.getByText(/Key files are made by/).waitFor();
        await page.setInputFiles('#key', path('other.key'));
        await page.getByText('other.key is ready').waitFor();
        await go(page);
        assert.match(
            await problem(page),
            /not the key that the file was encrypted with\.\s+The file .* sound: try the other/,
        );
        await pick(page, 'passphrase');
        assert.match(
            await page.innerText('#mode-said'),
            /encrypted with a key file, not with a passphrase/,
        );
        await page.fill('#passphrase', 'x');
        await go(page);
        assert.match(
            await problem(page),
            /The file was encrypted with a key file, not with a passphrase\.\s+Give the key file/,
        );

        await pick(page, 'key');
        await page.setInputFiles('#key', path('my.key'));
        await page.getByText('my.key is ready').waitFor();
        const sound = readFileSync(path('with key.pld'));
        const broken = {
            'damaged.pld': [
                (file) => ((file[2_000_000] ^= 1), file),
                /The file is damaged: chunk 1.+\n*.*restore a backup/s,
            ],
            'cut.pld': [
                (file) => file.subarray(0, 1_500_000),
                /The file is truncated.+\n*.*incomplete/s,
            ],
            'longer.pld': [
                (file) => Buffer.concat([file, Buffer.from('more')]),
                /extended after it was written/,
            ],
            'header.pld': [
                (file) => ((file[70] ^= 1), file),
                /The header of the file is damaged.+\n*.*binary mode/s,
            ],
            'empty.pld': [() => Buffer.alloc(0), /The input is empty/],
            'text.pld': [
                () => Buffer.from('text'.repeat(100)),
                /This is not a Palladion file.+\n*.*another program/s,
            ],
        };
        for (const [name, [change, expected]] of Object.entries(broken)) {
            writeFileSync(path(name), change(Buffer.from(sound)));
            await choose(page, name);
            assert(await page.isChecked('input[value=decrypt]'), name);
            await pick(page, 'key');
            await go(page);
            assert.match(await problem(page), expected, name);
        }
        // A file that disappears.
        writeFileSync(path('fleeting.txt'), 'here');
        await choose(page, 'fleeting.txt');
        rmSync(path('fleeting.txt'));
        await pick(page, 'key');
        await go(page);
        assert.match(
            await problem(page),
            /The file cannot be read\.\s+It may have been changed, moved or removed/,
        );
        assert.equal(await page.innerText('#file-said'), 'No file yet.');
        assert.equal(await page.inputValue('#file'), '');
    }));

test('passphrases that are not the same, and names', () =>
    withPage('server', async (page) => {
        writeFileSync(path("it's mine.txt"), '');
        await choose(page, "it's mine.txt");
        await page.fill('#passphrase', 'one');
        await go(page);
        assert.match(await page.innerText('#again-wrong'), /Type the passphrase here as well/);
        await page.fill('#again', 'two');
        await go(page);
        assert.match(await page.innerText('#again-wrong'), /not the same/);
        assert.equal(await page.getAttribute('#again', 'aria-invalid'), 'true');
        await page.click('#show');
        assert.equal(await page.getAttribute('#passphrase', 'type'), 'text');
        assert.equal(await page.getAttribute('#again', 'type'), 'text');
        await page.fill('#again', 'one');
        const { name, bytes } = await saved(page, () => go(page));
        assert.equal(name, "it's mine.txt.pld");
        assert.equal(bytes.length, 128 + 36); // an empty file
        assert.equal(
            await page.textContent('#command'),
            "palladion decrypt -p -o 'it'\\''s mine.txt' 'it'\\''s mine.txt.pld'",
        );
        const again = await saved(page, () => page.click('#save'));
        assert(again.bytes.equals(bytes));
        await page.click('#another');
        assert.equal(await page.inputValue('#passphrase'), '');
        assert.equal(await page.getAttribute('#passphrase', 'type'), 'password');
    }));

test('a file that is dropped', () =>
    withPage('file', async (page) => {
        const drop = (names) =>
            page.evaluate((names) => {
                const dataTransfer = new DataTransfer();
                for (const name of names) dataTransfer.items.add(new File(['dropped'], name));
                for (const type of ['dragenter', 'dragover', 'drop']) {
                    document
                        .querySelector('footer')
                        .dispatchEvent(
                            new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }),
                        );
                    if (type === 'dragover')
                        globalThis.marked = document.body.classList.contains('dragging');
                }
            }, names);
        await drop(['a.txt', 'b.txt']);
        assert.equal(await page.evaluate('globalThis.marked'), true);
        await page.getByText('a.txt, 7 bytes. One at a time: the others were left out.').waitFor();
        assert(!(await page.evaluate('document.body.classList.contains("dragging")')));
    }));

/**
 * Returns the dialogue for choosing files. A browser on a busy machine may refuse it because the
 * key press is too old; then this tries again.
 */
async function chooser(page, press) {
    for (let left = 3; ; left--) {
        try {
            return (await Promise.all([page.waitForEvent('filechooser'), press()]))[0];
        } catch (error) {
            if (left === 0) throw error;
        }
    }
}

test('by keyboard alone', () =>
    withPage('file', async (page) => {
        const { keyboard } = page;
        const focused = () =>
            page.evaluate('document.activeElement.id || document.activeElement.value');
        await keyboard.press('Tab');
        assert.equal(await focused(), 'file');
        await (await chooser(page, () => keyboard.press('Space'))).setFiles(path('plain.txt'));
        await page.getByText('plain.txt, 3.0 MB').waitFor();
        await keyboard.press('Tab');
        assert.equal(await focused(), 'encrypt');
        await keyboard.press('Tab');
        assert.equal(await focused(), 'passphrase');
        await keyboard.press('ArrowRight');
        assert.equal(await focused(), 'key');
        assert(await page.isVisible('#new-key'));
        await keyboard.press('ArrowLeft');
        await keyboard.press('Tab');
        await keyboard.type(passphrase);
        await keyboard.press('Tab');
        assert.equal(await focused(), 'show');
        await keyboard.press('Tab');
        assert.equal(await focused(), 'again');
        await keyboard.type(passphrase);
        const { bytes } = await saved(page, () => keyboard.press('Enter'));
        assert.equal(bytes.length, 128 + plain.length + 3 * 36);
        // Continue from the title of the result.
        await keyboard.press('Tab');
        assert.equal(await focused(), 'save');
        await keyboard.press('Tab');
        assert.equal(await focused(), 'another');
        await keyboard.press('Enter');
        assert.equal(await focused(), 'file');
    }));

const LARGE = 64 << 20;

/** A long file with random-looking contents. */
function large() {
    const file = Buffer.alloc(LARGE);
    for (let i = 0; i < LARGE; i += 4) file.writeUInt32LE(Math.imul(i, 0x9e3779b1) >>> 0, i);
    return file;
}

/** Makes the page save to the private file system of its origin without a dialogue. */
const fakePicker = (page) =>
    page.addInitScript(() => {
        globalThis.showSaveFilePicker = async ({ suggestedName }) =>
            (await navigator.storage.getDirectory()).getFileHandle(suggestedName, { create: true });
    });

test('a file of 64 MiB: saved directly, with progress, and cancelled', async () => {
    writeFileSync(path('large'), large());
    const sha256 = createHash('sha256')
        .update(readFileSync(path('large')))
        .digest('hex');
    palladion('encrypt', '-k', path('my.key'), '-o', path('large.pld'), path('large'));
    await withPage(
        'server',
        async (page) => {
            await choose(page, 'large.pld');
            await page.setInputFiles('#key', path('my.key'));
            await page.getByText('my.key is ready').waitFor();
            await page.evaluate(() => {
                globalThis.seen = [];
                const progress = document.getElementById('progress');
                new MutationObserver(() => globalThis.seen.push(progress.value)).observe(progress, {
                    attributes: true,
                });
            });
            await go(page);
            await page.waitForSelector('#done:not([hidden])');
            assert.match(
                await page.innerText('#done-said'),
                /nothing in it was changed.+The result is large, saved where you said/s,
            );
            assert(!(await page.isVisible('#save')));
            const seen = await page.evaluate('globalThis.seen');
            assert(
                seen.length > 3 && seen.every((value, i) => i === 0 || value >= seen[i - 1]),
                `${seen}`,
            );
            assert.equal(seen.at(-1), 100);
            const written = await page.evaluate(async () => {
                const file = await (
                    await (await navigator.storage.getDirectory()).getFileHandle('large')
                ).getFile();
                const hash = new Uint8Array(
                    await crypto.subtle.digest('SHA-256', await file.arrayBuffer()),
                );
                return {
                    length: file.size,
                    sha256: Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join(''),
                };
            });
            assert.deepEqual(written, { length: LARGE, sha256 });
            await page.click('#another');

            // After cancelling, nothing is written, and the page works.
            await choose(page, 'large');
            await pick(page, 'key');
            await cancelNext(page, 'Enter');
            await go(page);
            await cancelled(page);
            const size = await page.evaluate(
                async () =>
                    (
                        await (
                            await (
                                await navigator.storage.getDirectory()
                            ).getFileHandle('large.pld')
                        ).getFile()
                    ).size,
            );
            assert.equal(size, 0);
            // A damaged file leaves nothing either.
            const damaged = readFileSync(path('large.pld'));
            damaged[LARGE] ^= 1;
            writeFileSync(path('large damaged.pld'), damaged);
            await choose(page, 'large damaged.pld');
            await go(page);
            assert.match(await problem(page), /chunk 63/);
            const left = await page.evaluate(
                async () =>
                    (
                        await (
                            await (
                                await navigator.storage.getDirectory()
                            ).getFileHandle('large damaged')
                        ).getFile()
                    ).size,
            );
            assert.equal(left, 0);
        },
        {},
        fakePicker,
    );
});

test('the same file as a download, and a passphrase that is cancelled', () =>
    withPage(
        'file',
        async (page) => {
            await choose(page, 'large');
            await pick(page, 'key');
            await page.setInputFiles('#key', path('my.key'));
            await page.getByText('my.key is ready').waitFor();
            const { bytes } = await saved(page, () => go(page));
            writeFileSync(path('from page.pld'), bytes);
            palladion(
                'decrypt',
                '-f',
                '-k',
                path('my.key'),
                '-o',
                path('back'),
                path('from page.pld'),
            );
            assert(readFileSync(path('back')).equals(readFileSync(path('large'))));
            await page.click('#another');
            await choose(page, 'plain.txt');
            await pick(page, 'passphrase');
            await page.fill('#passphrase', 'x');
            await page.fill('#again', 'x');
            await cancelNext(page, 'Escape');
            await go(page);
            await cancelled(page);
            assert.equal(await page.evaluate('document.activeElement.id'), 'go');
        },
        {},
        (page) => page.addInitScript(() => delete globalThis.showSaveFilePicker),
    ));

test('a picker that is closed, and one that is forbidden', () =>
    withPage(
        'server',
        async (page) => {
            await choose(page, 'large');
            await pick(page, 'key');
            await page.setInputFiles('#key', path('my.key'));
            await page.getByText('my.key is ready').waitFor();
            await go(page);
            await page.waitForFunction(
                () => document.getElementById('live').textContent === 'Nothing was done.',
            );
            assert(await page.isVisible('#form'));
            const { bytes } = await saved(page, () => go(page));
            assert(bytes.length > LARGE);
        },
        {},
        (page) =>
            page.addInitScript(() => {
                const names = ['AbortError', 'SecurityError'];
                globalThis.showSaveFilePicker = async () => {
                    throw new DOMException('not now', names.shift());
                };
            }),
    ));

describe('accessibility', { concurrency: true }, () => {
    for (const [name, options] of [
        ['light', {}],
        ['dark', { colorScheme: 'dark' }],
        ['narrow, less motion', { viewport: { width: 320, height: 700 }, reducedMotion: 'reduce' }],
    ]) {
        test(name, () =>
            withPage(
                'server',
                async (page) => {
                    await page.evaluate(axe);
                    const check = async (state) => {
                        const { violations } = await page.evaluate(
                            'axe.run(document, { resultTypes: ["violations"] })',
                        );
                        const said = violations.map(
                            ({ id, help, nodes }) =>
                                `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`,
                        );
                        assert.deepEqual(said, [], state);
                        assert.equal(
                            await page.evaluate(
                                'document.documentElement.scrollWidth <= innerWidth',
                            ),
                            true,
                            `${state}: too wide`,
                        );
                    };
                    await check('start');
                    await choose(page, 'plain.txt');
                    await page.fill('#passphrase', 'x');
                    await page.click('#show');
                    await go(page);
                    await check('passphrases not the same');
                    await pick(page, 'key');
                    await saved(page, () => page.click('#new-key'));
                    await check('a key file');
                    await page.setInputFiles('#key', path('plain.txt'));
                    await page.getByText(/Key files are made by/).waitFor();
                    await check('a wrong key file');
                    await choose(page, 'with passphrase.pld');
                    await page.fill('#passphrase', 'x');
                    await go(page);
                    await check('the passphrase is being prepared');
                    await problem(page);
                    await check('a problem');
                    await choose(page, 'plain.txt');
                    await pick(page, 'key');
                    await page.setInputFiles('#key', path('my.key'));
                    await page.getByText('my.key is ready').waitFor();
                    await saved(page, () => go(page));
                    await check('done');
                },
                options,
            ),
        );
    }
});
