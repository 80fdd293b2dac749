// The demo page with files of more than 64 MB, in a browser that keeps its data in a profile, as it
// does for users: a result is complete or not there, and the page changes no other file.
//
//   node --test test/browser/demo-large.test.mjs
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
    appendFileSync, copyFileSync, createReadStream, mkdtempSync, readdirSync, readFileSync, rmSync,
    statSync, utimesSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { describe, test } from 'node:test';
import {
    cancelled, cancelNext, choose, go, palladion, passphrase, path, pick, problem, useKey,
    withPage,
} from './demo.mjs';

const LARGE = 65 << 20;
// Chromium 156 silently breaks blobs in memory from 500 MiB on.
const HUGE = 530 << 20;

async function sha256(file) {
    const hash = createHash('sha256');
    await pipeline(createReadStream(file), hash);
    return hash.digest('hex');
}

const block = Buffer.alloc(1 << 20);
for (let i = 0; i < block.length; i += 4)
    block.writeUInt32LE(Math.imul(i, 0x9e3779b1) >>> 0, i);
for (let i = 0; i < HUGE >> 20; i++) {
    block.writeUInt32LE(i);
    appendFileSync(path('huge'), block);
    if (i < LARGE >> 20) appendFileSync(path('large'), block);
}
palladion('encrypt', '-k', path('my.key'), '-o', path('large.pld'), path('large'));
const secret = ['--passphrase-file', path('passphrase')];
palladion('encrypt', ...secret, '-o', path('large, passphrase.pld'), path('large'));

/** Opens the page in a browser with a new profile, and runs a test. */
async function withProfile(from, run, prepare) {
    const profile = mkdtempSync(path('profile-'));
    try {
        await withPage(from, (page, context) => run(page, context, profile), { profile }, prepare);
    } finally {
        rmSync(profile, { recursive: true, maxRetries: 5 });
    }
}

/** Waits until the browser keeps nothing on the disk for the page. */
async function nothingKept(page, profile) {
    const folder = join(profile, 'Default/IndexedDB');
    for (;;) {
        const bytes = readdirSync(folder, { recursive: true })
            .map((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0)
            .reduce((sum, size) => sum + size, 0);
        if (bytes < 1 << 20) return;
        await page.requestGC();
        await page.waitForTimeout(100);
    }
}

/** Does something after which the page saves a file: its name and where it is. */
async function saved(page, action) {
    const [download] = await Promise.all([
        page.waitForEvent('download', { timeout: 300_000 }),
        action(),
    ]);
    assert.equal(await download.failure(), null);
    return { name: download.suggestedFilename(), file: await download.path() };
}

for (const from of ['server', 'file']) {
    test(`more than the browser holds in memory, from a ${from}`, () =>
        withProfile(from, async (page, context, profile) => {
            await page.evaluate(() => {
                globalThis.seen = [];
                const progress = document.getElementById('progress');
                new MutationObserver(() => globalThis.seen.push(progress.value)).observe(progress, {
                    attributes: true,
                });
            });
            await choose(page, 'huge');
            await pick(page, 'key');
            await useKey(page, 'my.key');
            const { name, file } = await saved(page, () => go(page));
            assert.equal(name, 'huge.pld');
            const seen = await page.evaluate('globalThis.seen');
            assert(
                seen.length > 3 && seen.every((value, i) => i === 0 || value >= seen[i - 1]),
                `${seen}`,
            );
            assert.equal(seen.at(-1), 100);
            palladion('decrypt', '-f', '-k', path('my.key'), '-o', path('back'), file);
            assert.equal(await sha256(path('back')), await sha256(path('huge')));

            copyFileSync(file, path('huge.pld'));
            await page.click('#another');
            await choose(page, 'huge.pld');
            const first = await saved(page, () => go(page));
            assert.equal(first.name, 'huge');
            assert.equal(await sha256(first.file), await sha256(path('huge')));
            const second = await saved(page, () => page.click('#save'));
            assert.equal(statSync(second.file).size, HUGE);

            await page.goto('about:blank');
            await nothingKept(page, profile);
        }));
}

/** Runs a job that fails or is cancelled. Nothing may be saved then. */
const nothingSaved = (run, prepare = () => {}) =>
    withProfile(
        'server',
        async (page, context, profile) => {
            let downloads = 0;
            page.on('download', () => downloads++);
            await page.evaluate(async () => {
                const stream = await (await target()).createWritable();
                await stream.write('the only copy');
                await stream.close();
            });
            await run(page, context);
            assert.equal(downloads, 0);
            assert(await page.isVisible('#form'));
            const contents = await page.evaluate(async () =>
                (await (await target()).getFile()).text(),
            );
            assert.equal(contents, 'the only copy');
            await nothingKept(page, profile);
        },
        async (page) => {
            // Does what Chromium does with the file that the user chooses, which is the same each
            // time: empties it before the page learns which one it is.
            await page.addInitScript(() => {
                globalThis.target = async () =>
                    (await navigator.storage.getDirectory()).getFileHandle('target', {
                        create: true,
                    });
                globalThis.showSaveFilePicker = async () => {
                    const handle = await target();
                    await (await handle.createWritable()).close();
                    return handle;
                };
            });
            await prepare(page);
        },
    );

describe('nothing is saved', () => {
    test('with a wrong passphrase', () =>
        nothingSaved(async (page) => {
            await choose(page, 'large, passphrase.pld');
            await page.fill('#passphrase', `${passphrase}!`);
            await go(page);
            assert.match(await problem(page), /not the passphrase.+Nothing was saved\./s);
        }));

    test('with a wrong key', () =>
        nothingSaved(async (page) => {
            await choose(page, 'large.pld');
            await useKey(page, 'other.key');
            await go(page);
            assert.match(await problem(page), /not the key.+Nothing was saved\./s);
        }));

    test('if a chunk is damaged, or the end is missing', () =>
        nothingSaved(async (page) => {
            const file = readFileSync(path('large.pld'));
            writeFileSync(path('cut.pld'), file.subarray(0, LARGE - 1000));
            file[LARGE] ^= 1;
            writeFileSync(path('damaged.pld'), file);
            await choose(page, 'damaged.pld');
            await useKey(page, 'my.key');
            await go(page);
            assert.match(await problem(page), /chunk 64.+Nothing was saved\./s);
            await choose(page, 'cut.pld');
            await go(page);
            assert.match(await problem(page), /truncated.+Nothing was saved\./s);
        }));

    test('if it is cancelled', () =>
        nothingSaved(async (page) => {
            await choose(page, 'large');
            await pick(page, 'key');
            await useKey(page, 'my.key');
            await cancelNext(page, 'Enter');
            await go(page);
            await cancelled(page);
        }));

    test('if the file changes while it is read', () =>
        nothingSaved(
            async (page) => {
                writeFileSync(path('log'), Buffer.alloc(LARGE));
                await choose(page, 'log');
                await pick(page, 'key');
                await useKey(page, 'my.key');
                await go(page);
                await page.waitForFunction(() => globalThis.held);
                appendFileSync(path('log'), 'one more line\n');
                // Chromium compares whole seconds.
                utimesSync(path('log'), new Date(), new Date(Date.now() + 10_000));
                await page.evaluate('proceed()');
                assert.match(
                    await problem(page),
                    /file cannot be read.+changed.+Nothing was saved\./s,
                );
            },
            // Holds the work when it looks at the first piece of the result.
            (page) =>
                page.addInitScript(() => {
                    const { arrayBuffer } = Blob.prototype;
                    const proceeds = new Promise((resolve) => (globalThis.proceed = resolve));
                    Blob.prototype.arrayBuffer = async function () {
                        if (this.size === 1) {
                            globalThis.held = true;
                            await proceeds;
                        }
                        return arrayBuffer.call(this);
                    };
                }),
        ));

    const withoutRoom = async (page, context) => {
        const session = await context.newCDPSession(page);
        const origin = new URL(page.url()).origin;
        await session.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 40 << 20 });
        await choose(page, 'large');
        await pick(page, 'key');
        await useKey(page, 'my.key');
        await go(page);
        return problem(page);
    };

    test('if the browser has no room, which it says before the work', () =>
        nothingSaved(async (page, context) => {
            await page.evaluate(() => {
                Worker.prototype.postMessage = () => (globalThis.began = true);
            });
            assert(!(await page.isVisible('#where')));
            assert.match(
                await withoutRoom(page, context),
                /room for about (3\d|4[01]) MB here, .+ needs 68 MB.+folder.+Nothing was saved\./s,
            );
            assert.equal(await page.evaluate('globalThis.began'), undefined);
            // A folder needs none of it.
            assert(await page.isVisible('#where'));
            assert(await page.isChecked('input[value=folder]'));
        }));

    test('if the browser has no room, but does not say so before', () =>
        nothingSaved(
            async (page, context) =>
                assert.match(
                    await withoutRoom(page, context),
                    /The browser has no room for the result.+command.+Nothing was saved\./s,
                ),
            (page) =>
                page.addInitScript(() => {
                    const { createWritable } = FileSystemFileHandle.prototype;
                    FileSystemFileHandle.prototype.createWritable = function () {
                        if (this.name.startsWith('room')) throw new TypeError('not here');
                        return createWritable.call(this);
                    };
                }),
        ));
});

test('the data of the page is deleted meanwhile', () =>
    withProfile(
        'server',
        async (page, context) => {
            const session = await context.newCDPSession(page);
            const { origin } = new URL(page.url());
            await page.exposeFunction('deleteData', () =>
                session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'indexeddb' }),
            );
            await choose(page, 'large');
            await pick(page, 'key');
            await useKey(page, 'my.key');
            await go(page);
            assert.match(
                await problem(page),
                /lost a part of the result.+try again\. Nothing was saved\./s,
            );
            await saved(page, () => go(page));
            assert.equal(await page.evaluate('opened'), 2); // one more, for later pieces
        },
        // Deletes it once the first piece was kept.
        (page) =>
            page.addInitScript(() => {
                const { arrayBuffer } = Blob.prototype;
                let deleted = false;
                Blob.prototype.arrayBuffer = async function () {
                    const result = await arrayBuffer.call(this);
                    if (this.size === 1 && !deleted) {
                        deleted = true;
                        await globalThis.deleteData();
                    }
                    return result;
                };
                const { open } = IDBFactory.prototype;
                globalThis.opened = 0;
                IDBFactory.prototype.open = function (...words) {
                    globalThis.opened++;
                    return open.apply(this, words);
                };
            }),
    ));

test('without IndexedDB, and with more than memory holds', () =>
    withProfile(
        'server',
        async (page) => {
            await choose(page, 'large.pld');
            await useKey(page, 'my.key');
            const { file } = await saved(page, () => go(page));
            assert.equal(await sha256(file), await sha256(path('large')));
            await page.click('#another');

            await choose(page, 'huge');
            await pick(page, 'key');
            // A browser may have the memory. If not, the page says so.
            const outcome = await Promise.any([
                page.waitForEvent('download', { timeout: 300_000 }),
                go(page).then(() => problem(page)),
            ]);
            if (typeof outcome === 'string')
                assert.match(outcome, /no room for the result.+Nothing was saved\./s);
            else assert.equal(await outcome.failure(), null);
        },
        (page) =>
            page.addInitScript(() =>
                Object.defineProperty(globalThis, 'indexedDB', {
                    get() {
                        throw new DOMException('not here', 'SecurityError');
                    },
                }),
            ),
    ));
