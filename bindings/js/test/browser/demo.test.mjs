// The demo page, from a server and from the disk: it exchanges files with the command line, reports
// errors, works with the keyboard alone, and has no accessibility errors that axe can find.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
    cancelled, cancelNext, choose, go, js, palladion, passphrase, path, pick, plain, problem, saved,
    useKey, withPage,
} from './demo.mjs';

const axe = readFileSync(join(js, 'node_modules/axe-core/axe.min.js'), 'utf8');

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
                await useKey(page, 'my.key');
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
                // The page takes it only from the file, because the browser may not have saved it.
                await go(page);
                assert.match(await page.innerText('#key-wrong'), /Choose the new key file/);
                writeFileSync(path('made.key'), key.bytes, { mode: 0o600 });
                await useKey(page, 'made.key');
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
        await useKey(page, 'other.key');
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
        await useKey(page, 'my.key');
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
        await page.fill('#passphrase', 'one two');
        await page.fill('#again', 'one two');
        await go(page);
        assert.match(await page.innerText('#passphrase-wrong'), /at least 8 characters/);
        assert.equal(await page.evaluate('document.activeElement.id'), 'passphrase');
        for (const id of ['#passphrase', '#again']) await page.fill(id, 'abcabcabcabc');
        await go(page);
        assert.match(await page.innerText('#passphrase-wrong'), /at least 4 different/);
        await page.fill('#passphrase', 'one two three');
        await page.fill('#again', '');
        await go(page);
        assert.match(await page.innerText('#again-wrong'), /Type the passphrase here as well/);
        await page.fill('#again', 'two');
        await go(page);
        assert.match(await page.innerText('#again-wrong'), /not the same/);
        assert.equal(await page.getAttribute('#again', 'aria-invalid'), 'true');
        await page.click('#show');
        assert.equal(await page.getAttribute('#passphrase', 'type'), 'text');
        assert.equal(await page.getAttribute('#again', 'type'), 'text');
        // The end of a long one must not get lost.
        for (const id of ['#passphrase', '#again']) {
            await page.fill(id, '');
            await page.focus(id);
            await page.keyboard.insertText('abcd'.repeat(16385));
        }
        await go(page);
        assert.match(await problem(page), /at most 65536 bytes.+Nothing was saved\./s);
        await page.fill('#passphrase', 'one two three');
        await page.fill('#again', 'one two three');
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

test('draws a passphrase', () =>
    withPage('file', async (page) => {
        await choose(page, 'plain.txt');
        await page.fill('#passphrase', 'x');
        const drawn = new Set();
        for (let i = 0; i < 20; i++) {
            await page.click('#draw');
            drawn.add(await page.inputValue('#passphrase'));
        }
        assert.equal(drawn.size, 20);
        const word = '[bdfghjklmnprstvz][aiou][bdfghjklmnprstvz][aiou][bdfghjklmnprstvz]';
        const form = new RegExp(`^${word}(-${word}){4}$`);
        for (const passphrase of drawn) assert.match(passphrase, form);
        // The command draws the same (crates/palladion-cli/src/words.rs).
        await page.evaluate(() => {
            const numbers = [0x7f00, 0x0001, 0x3f54, 0xdcc1, 0xffff];
            crypto.getRandomValues = (array) => (array.set(numbers), array);
        });
        await page.click('#draw');
        assert.equal(await page.inputValue('#passphrase'), 'lusab-babad-gutih-tugad-zuzuz');
        await page.evaluate(() => delete crypto.getRandomValues);
        await page.click('#draw');
        assert.equal(await page.getAttribute('#passphrase', 'type'), 'text');
        const words = await page.innerText('#words');
        assert.equal(await page.inputValue('#passphrase'), words);
        writeFileSync(path('drawn'), words, { mode: 0o600 });
        writeFileSync(path('from page.pld'), (await saved(page, () => go(page))).bytes);
        const names = ['-o', path('back'), path('from page.pld')];
        palladion('decrypt', '-f', '--passphrase-file', path('drawn'), ...names);
        assert(readFileSync(path('back')).equals(plain));
        await page.click('#another');
        assert.equal(await page.textContent('#words'), '');
        // It is for new files.
        await choose(page, 'with passphrase.pld');
        assert(!(await page.isVisible('#draw')));
    }));

test('the page says what it is', () =>
    withPage('server', async (page) => {
        const { version } = JSON.parse(readFileSync(join(js, 'package.json'), 'utf8'));
        const said = await page.innerText('footer');
        for (const word of [`Palladion ${version}, `, 'AEGIS-256X2', 'MIT', 'Source code'])
            assert(said.includes(word), word);
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
        // Another one, once this is done, has another passphrase.
        for (const id of ['#passphrase', '#again']) await page.fill(id, passphrase);
        await saved(page, () => go(page));
        await drop(['c.txt']);
        await page.getByText('c.txt, 7 bytes').waitFor();
        assert.equal(await page.inputValue('#passphrase'), '');
        await go(page);
        assert.match(await page.innerText('#passphrase-wrong'), /Type a passphrase/);
    }));

test('a folder that is dropped', () =>
    withPage('server', async (page, context) => {
        mkdirSync(path('folder'));
        const session = await context.newCDPSession(page);
        const drop = async (...names) => {
            const data = { items: [], files: names.map(path), dragOperationsMask: 1 };
            for (const type of ['dragEnter', 'dragOver', 'drop'])
                await session.send('Input.dispatchDragEvent', { type, x: 200, y: 200, data });
        };
        await drop('folder', 'plain.txt');
        assert.match(await problem(page), /This is a folder\.\s+Pack it first/);
        assert.equal(await page.innerText('#file-said'), 'No file yet.');
        await drop('plain.txt', 'folder');
        await page.getByText('plain.txt, 3.0 MB. One at a time').waitFor();
        assert(!(await page.isVisible('#problem')));
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

test('a passphrase that is cancelled', () =>
    withPage('file', async (page) => {
        await choose(page, 'plain.txt');
        await page.fill('#passphrase', passphrase);
        await page.fill('#again', passphrase);
        await cancelNext(page, 'Escape');
        await go(page);
        await cancelled(page);
        assert.equal(await page.evaluate('document.activeElement.id'), 'go');
    }));

test('a key file that is wrong is not said to be ready', () =>
    withPage('server', async (page) => {
        await choose(page, 'plain.txt');
        await pick(page, 'key');
        await useKey(page, 'my.key');
        // A dialogue that is cancelled changes nothing.
        await page.setInputFiles('#key', []);
        assert.match(await page.innerText('#key-said'), /^my\.key is ready\.$/);
        for (const name of ['plain.txt', 'with key.pld']) {
            await useKey(page, 'my.key');
            await page.setInputFiles('#key', path(name));
            await page.getByText(/Key files are made by/).waitFor();
            assert.doesNotMatch(await page.innerText('#with-key'), /is ready/);
            await go(page);
            assert.match(await page.innerText('#key-wrong'), /^Choose a key file, or make a new/);
        }
        // Nor is the old one, once there is a new one.
        await useKey(page, 'my.key');
        await saved(page, () => page.click('#new-key'));
        assert.doesNotMatch(await page.innerText('#with-key'), /is ready|was saved/);
        await go(page);
        assert.match(await page.innerText('#key-wrong'), /^Choose the new key file/);
    }));

test('the key file is not encrypted with itself', () =>
    withPage('server', async (page) => {
        writeFileSync(path('copy of my.key'), readFileSync(path('my.key')));
        await choose(page, 'copy of my.key');
        await pick(page, 'key');
        await useKey(page, 'my.key');
        await go(page);
        assert.match(await problem(page), /This file is the key file itself.+Nothing was saved\./s);
        await useKey(page, 'other.key');
        const { name } = await saved(page, () => go(page));
        assert.equal(name, 'copy of my.key.pld');
    }));

test('a RAF file', () =>
    withPage('server', async (page) => {
        palladion('raf', 'create', '-k', path('my.key'), path('pages.raf'));
        await choose(page, 'pages.raf');
        assert.match(await page.innerText('#mode-said'), /is a RAF file, which is encrypted alrea/);
        await pick(page, 'decrypt');
        assert.match(await page.innerText('#mode-said'), /“palladion raf export” decrypts/);
    }));

test('the page names the result as the browser does', () =>
    withPage('server', async (page) => {
        await pick(page, 'key');
        await useKey(page, 'my.key');
        for (const [name, result] of [
            ['photo\u202egpj.exe', 'photo_gpj.exe.pld'],
            ['10:30?.log', '10_30_.log.pld'],
            ['back\\slash|"<>*.txt', 'back_slash_____.txt.pld'],
            ['.bashrc', 'bashrc.pld'],
            ['~notes', '_notes.pld'],
            ['line\nbreak', 'line_break.pld'],
            ['.pld', 'pld.pld'],
            ['twice.pld', 'twice.pld.pld'],
            ['-rf', '-rf.pld'],
            ['é&ü 文.txt', 'é&ü 文.txt.pld'],
        ]) {
            await page.setInputFiles('#file', { name, mimeType: '', buffer: Buffer.from('text') });
            await page.waitForSelector('#go:not([disabled])');
            await pick(page, 'encrypt');
            assert.equal((await saved(page, () => go(page))).name, result);
            const said = await page.innerText('#done-said');
            assert(said.includes(`The result is ${result} (`), said);
            assert.doesNotMatch(await page.innerText('#done'), /\u202e/);
            await page.click('#another');
        }
    }));

test('a double click saves one result', () =>
    withPage('server', async (page) => {
        await choose(page, 'plain.txt');
        await pick(page, 'key');
        await useKey(page, 'my.key');
        let downloads = 0;
        page.on('download', () => downloads++);
        await page.dblclick('#go');
        await page.waitForSelector('#done:not([hidden])');
        await saved(page, () => page.click('#save'));
        assert.equal(downloads, 2);
    }));

test('a worker that dies', () =>
    withPage(
        'server',
        async (page) => {
            await choose(page, 'plain.txt');
            await pick(page, 'key');
            await useKey(page, 'my.key');
            await go(page);
            assert.match(
                await problem(page),
                /The browser stopped the work: out of memory.+close other tabs.+Nothing was saved/s,
            );
        },
        {},
        (page) =>
            page.addInitScript(() => {
                globalThis.Worker = class {
                    constructor() {
                        setTimeout(() => this.onmessage({ data: { ready: true } }));
                    }

                    postMessage(message) {
                        const step = { read: 1000, piece: new Uint8Array(1000) };
                        setTimeout(() =>
                            message !== 'taken'
                                ? this.onmessage({ data: { step } })
                                : this.onerror({ message: 'out of memory', preventDefault() {} }),
                        );
                    }

                    terminate() {}
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
                    await page.click('#draw');
                    await check('a passphrase that was drawn');
                    await page.fill('#passphrase', 'x');
                    await go(page);
                    await check('a short passphrase');
                    await page.fill('#passphrase', passphrase);
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
                    await useKey(page, 'my.key');
                    await saved(page, () => go(page));
                    await check('done');
                },
                options,
            ),
        );
    }
});
