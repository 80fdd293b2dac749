// The demo page, from a server and from the disk: it exchanges files with the command line, reports
// errors, works with the keyboard alone, and has no accessibility errors that axe can find.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

test('a place', () =>
    withPage('server', async (page) => {
        const place = "-customer 7's büro";
        const isOpen = () => page.evaluate('document.getElementById("with-place").open');
        const asks = (bind) => ['-f', '-k', path('my.key'), ...bind, '-o', path('back')];
        await choose(page, 'plain.txt');
        await pick(page, 'key');
        await useKey(page, 'my.key');
        assert(!(await isOpen()));
        await page.click('#with-place summary');
        assert.doesNotMatch(await page.innerText('#place-said'), /All of these files/);
        // Nobody could see whether it is the same.
        await page.fill('#place', ' \u00a0');
        await page.click('#with-place summary');
        await go(page);
        assert.match(await page.innerText('#place-wrong'), /^These are only spaces\./);
        assert(await isOpen());
        assert.equal(await page.evaluate('document.activeElement.id'), 'place');
        const described = () => page.getAttribute('#place', 'aria-describedby');
        assert.equal(await described(), 'place-said place-wrong');
        await page.fill('#place', place);
        const { name, bytes } = await saved(page, () => go(page));
        writeFileSync(path(name), bytes);
        assert.equal(
            await page.textContent('#command'),
            "palladion decrypt -k my.key --bind='-customer 7'\\''s büro' " +
                '-o plain.txt plain.txt.pld',
        );
        palladion('decrypt', ...asks([`--bind=${place}`]), path(name));
        assert(readFileSync(path('back')).equals(plain));
        assert.throws(() => palladion('decrypt', ...asks([]), path(name)), /bound to a place/);

        // The next file has none.
        await page.click('#another');
        assert.equal(await page.inputValue('#place'), '');
        await page.click('#with-place summary');
        assert(!(await isOpen()));
        await choose(page, name);
        await go(page);
        assert.match(await problem(page), /is bound to a place, and none was given\.\s+Say which/);
        assert(await isOpen());
        await page.fill('#place', `${place} `);
        await go(page);
        assert.match(
            await problem(page),
            /is bound to another place: it was moved.+\s+The key is right: .+ mistyped/,
        );
        await page.fill('#place', place);
        assert((await saved(page, () => go(page))).bytes.equals(plain));

        await page.click('#another');
        await choose(page, 'with key.pld');
        await page.fill('#place', place);
        await go(page);
        assert.match(
            await problem(page),
            /is not bound to a place, but one was given\.\s+Someone may have put it/,
        );
        await page.fill('#place', '');
        assert((await saved(page, () => go(page))).bytes.equals(plain));
        assert.equal(await described(), 'place-said');

        // A file that other programs bound to spaces.
        palladion('encrypt', ...asks(['--bind=  ']), path('plain.txt'));
        await page.click('#another');
        await choose(page, 'back');
        await pick(page, 'decrypt');
        await page.fill('#place', '  ');
        assert((await saved(page, () => go(page))).bytes.equals(plain));

        // Several files have one place.
        await page.click('#another');
        await page.setInputFiles('#file', [path('plain.txt'), path('back')]);
        await page.getByText('All of these files have this place').waitFor();
        await page.setInputFiles('#file', path('plain.txt'));
        await page.getByText('All of these files have this place').waitFor({ state: 'detached' });
    }));

test('several files, each bound to its path', () =>
    withPage('server', async (page) => {
        for (const name of ['2026/january', '2026/february']) {
            mkdirSync(dirname(path(`year/${name}`)), { recursive: true });
            writeFileSync(path(`year/${name}`), name);
        }
        const [from, to, key] = ['year', 'bound', 'my.key'].map(path);
        palladion('encrypt', '-k', key, '--recursive', from, '-o', to, '--bind-to-path');
        await page.setInputFiles('#folder', path('bound'));
        await page.getByText('2 files').first().waitFor();
        await pick(page, 'key');
        await useKey(page, 'my.key');
        await pick(page, 'downloads');
        await go(page);
        const advice = /one at a time here, with a place such as “2026\/january\.txt\.pld”/;
        const said = await problem(page);
        assert.match(said, /^None of the 2 files .* bound to a place.*\s+Say which .* bound to\./);
        assert.match(said, advice);
        assert.match(said, /in a terminal\. Nothing was saved\.$/);
        // With one's path, the others fail.
        await page.fill('#place', '2026/january.pld');
        const { name, bytes } = await saved(page, () => go(page));
        assert.deepEqual([name, String(bytes)], ['january', '2026/january']);
        await finished(page);
        assert.equal(await page.innerText('#done-title'), 'Decrypted 1 of 2 files');
        assert.match(
            await page.innerText('#done-said'),
            /^1 file was decrypted \(12 bytes\), and nothing in it was changed/,
        );
        assert.match(await page.innerText('#done-where'), /^Your browser saves it among/);
        assert.match(await page.innerText('#done-failed'), advice);

        // Those of the page have one place, of which the command reminds.
        await page.click('#another');
        await page.setInputFiles('#file', [path('year/2026/january'), path('year/2026/february')]);
        await page.getByText('2 files').first().waitFor();
        await pick(page, 'downloads');
        await page.fill('#place', 'the year');
        const downloads = [];
        page.on('download', (download) => downloads.push(download));
        await go(page);
        await finished(page);
        while (downloads.length < 2) await page.waitForTimeout(50);
        assert.match(await page.innerText('#done-command'), /this command decrypts them:/);
        assert.equal(
            await page.textContent('#command'),
            "palladion decrypt -k my.key --bind='the year' january.pld february.pld",
        );
        const names = downloads.map((each) => path(each.suggestedFilename()));
        for (const each of downloads) await each.saveAs(path(each.suggestedFilename()));
        palladion('decrypt', '-k', key, '--bind=the year', ...names);
        assert.equal(readFileSync(path('february'), 'utf8'), '2026/february');
        // One that failed for another reason, and nothing of places is said.
        const damaged = readFileSync(path('january.pld'));
        damaged[150] ^= 1;
        writeFileSync(path('january.pld'), damaged);
        await page.click('#another');
        await page.setInputFiles('#file', [path('january.pld'), path('february.pld')]);
        await page.getByText('2 files').first().waitFor();
        await pick(page, 'downloads');
        await page.fill('#place', 'the year');
        await saved(page, () => go(page));
        await finished(page);
        const failed = await page.innerText('#done-failed');
        assert.match(failed, /^These failed.*:\s+january\.pld: .*\.$/);
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
        for (const easy of [
            'abcabcabcabc', 'aabbaabab', 'Passw0rd!', 'qwertyuiop', '87654321', 'Summer2024!',
            '12.05.1987', 'iloveyou2', '482917356', 'correct horse battery staple',
        ]) {
            await page.fill('#passphrase', easy);
            assert.match(await page.innerText('#passphrase-wrong'), /easy to guess/, easy);
            await page.fill('#again', easy);
            await go(page);
            assert.match(await page.innerText('#passphrase-wrong'), /easy to guess/, easy);
            assert.equal(await page.evaluate('document.activeElement.id'), 'passphrase');
        }
        // It says so only of what is.
        for (const other of ['one two three', 'xkqwzvtb', 'k3ks-r9!z', '4829173561', 'пять слов']) {
            await page.fill('#passphrase', other);
            assert(!(await page.isVisible('#passphrase-wrong')), other);
        }
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
            await page.keyboard.insertText('abcd'.repeat(16385)); // too long to be called easy
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
        await drop(['a.txt']);
        assert.equal(await page.evaluate('globalThis.marked'), true);
        await page.getByText('a.txt, 7 bytes').waitFor();
        assert(!(await page.evaluate('document.body.classList.contains("dragging")')));
        // Another one, once this is done, has another passphrase.
        for (const id of ['#passphrase', '#again']) await page.fill(id, passphrase);
        await saved(page, () => go(page));
        await drop(['c.txt', 'd.txt']);
        await page.getByText('2 files, 14 bytes').waitFor();
        assert.equal(await page.inputValue('#passphrase'), '');
        await go(page);
        assert.match(await page.innerText('#passphrase-wrong'), /Type a passphrase/);
    }));

/** Files below a folder: paths and contents. */
const tree = { 'a.txt': 'one', '.hidden': 'two', 'sub/a.txt': 'three', 'sub/deep/empty': '' };
for (const [name, text] of Object.entries(tree)) {
    mkdirSync(dirname(path(`tree/${name}`)), { recursive: true });
    writeFileSync(path(`tree/${name}`), text);
}
mkdirSync(path('hollow/inner'), { recursive: true });

/** Drops files and folders as the system does. */
async function drop(page, context, ...names) {
    const session = await context.newCDPSession(page);
    const data = { items: [], files: names.map(path), dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop'])
        await session.send('Input.dispatchDragEvent', { type, x: 200, y: 200, data });
}

test('folders that are dropped', () =>
    withPage('server', async (page, context) => {
        await drop(page, context, 'tree', 'plain.txt');
        await page.getByText('5 files, 3.0 MB').waitFor();
        assert.equal(await page.innerText('#go'), 'Encrypt 5 files');
        await drop(page, context, 'hollow');
        assert.match(await problem(page), /There is no file in this folder/);
        await drop(page, context, 'plain.txt');
        await page.getByText('plain.txt, 3.0 MB').waitFor();
        assert(!(await page.isVisible('#problem')));
        assert.equal(await page.innerText('#go'), 'Encrypt');
    }));

test('a folder that is dropped on a page from the disk', () =>
    withPage('file', async (page, context) => {
        await drop(page, context, 'tree');
        assert.match(await problem(page), /what is in the folder tree\.\s+Press “Choose a folder”/);
        await page.setInputFiles('#folder', path('tree'));
        await page.getByText('4 files, 11 bytes').waitFor();
        assert(!(await page.isVisible('#problem')));
    }));

/**
 * Lets the page choose a folder, which begins with some files. Returns a function that says what is
 * in it.
 */
async function folderForResults(page, first = {}) {
    await page.evaluate(async (first) => {
        const root = await navigator.storage.getDirectory();
        globalThis.chosen = await root.getDirectoryHandle('chosen', { create: true });
        for (const [name, text] of Object.entries(first)) {
            const file = await chosen.getFileHandle(name, { create: true });
            const stream = await file.createWritable();
            await stream.write(text);
            await stream.close();
        }
        globalThis.showDirectoryPicker = () => chosen;
    }, first);
    return () =>
        page.evaluate(async () => {
            const walk = async (folder, above) => {
                const found = {};
                for await (const [name, handle] of folder.entries()) {
                    if (handle.kind === 'directory')
                        Object.assign(found, await walk(handle, `${above}${name}/`));
                    else {
                        const bytes = new Uint8Array(await (await handle.getFile()).arrayBuffer());
                        found[above + name] = Array.from(bytes);
                    }
                }
                return found;
            };
            return walk(chosen, '');
        });
}

const finished = (page) => page.waitForSelector('#done:not([hidden])');

test('a folder is encrypted into a folder, for the command line, and decrypted from it', () =>
    withPage('server', async (page) => {
        page.on('download', () => assert.fail('a download'));
        const results = await folderForResults(page, { 'tree.pld': 'not this one' });
        await page.setInputFiles('#folder', path('tree'));
        await page.getByText('4 files, 11 bytes').waitFor();
        assert(await page.isChecked('input[value=folder]'));
        await pick(page, 'key');
        await useKey(page, 'my.key');
        await go(page);
        await finished(page);
        assert.match(await page.innerText('#done-said'), /^4 files were encrypted \(\d+ bytes\)/);
        assert.match(await page.innerText('#done-where'), /The folder “chosen” has what/);
        const command = (key, to, from) =>
            `palladion decrypt -k ${key} --recursive -o ${to} ${from}`;
        assert.equal(
            await page.textContent('#command'),
            command('my.key', 'decrypted', 'chosen'),
        );
        const encrypted = await results();
        for (const [name, bytes] of Object.entries(encrypted)) {
            mkdirSync(dirname(path(`chosen/${name}`)), { recursive: true });
            writeFileSync(path(`chosen/${name}`), Buffer.from(bytes));
        }
        assert.equal(readFileSync(path('chosen/tree.pld'), 'utf8'), 'not this one');
        rmSync(path('chosen/tree.pld'));
        const names = ['my.key', 'decrypted', 'chosen'].map(path);
        palladion(...command(...names).split(' ').slice(1));
        for (const [name, text] of Object.entries(tree))
            assert.equal(readFileSync(path(`decrypted/tree/${name}`), 'utf8'), text);

        // One that is damaged does not hold up the others, and leaves no file.
        const damaged = path('chosen/tree/sub/a.txt.pld');
        const bytes = readFileSync(damaged);
        bytes[bytes.length - 1] ^= 1;
        writeFileSync(damaged, bytes);
        writeFileSync(path('chosen/tree/note.txt'), 'not encrypted');
        await page.click('#another');
        await page.setInputFiles('#folder', path('chosen/tree'));
        await page.getByText(/^5 files: to be encrypted/).waitFor();
        const already = 'Files named .pld are encrypted already. They will be encrypted once more.';
        assert.equal(await page.innerText('#mode-said'), already);
        assert.equal(await page.textContent('#live'), `5 files: to be encrypted. ${already}`);
        await pick(page, 'decrypt');
        assert.match(await page.innerText('#mode-said'), /^Only files named \.pld .*: 4 of 5\./);
        await go(page);
        await finished(page);
        assert.equal(await page.innerText('#done-title'), 'Decrypted 3 of 4 files');
        const said = await page.innerText('#failed');
        assert.match(said, /^tree\/sub\/a\.txt\.pld: The file is damaged/);
        const all = await results();
        for (const name of Object.keys(encrypted)) delete all[name];
        const { 'sub/a.txt': _, ...others } = tree;
        const expected = Object.keys(others).map((name) => `tree/${name}`);
        assert.deepEqual(Object.keys(all).sort(), expected.sort());
        for (const [name, text] of Object.entries(others))
            assert.equal(String(Buffer.from(all[`tree/${name}`])), text);

        // A second time, nothing is replaced.
        await page.click('#another');
        for (let time = 0; time < 2; time++) {
            await page.setInputFiles('#file', [path('tree/a.txt'), path('tree/.hidden')]);
            await page.getByText('2 files, 6 bytes').waitFor();
            await go(page);
            await finished(page);
            await page.click('#another');
        }
        const last = Object.keys(await results());
        assert(last.includes('a.txt.pld') && last.includes('a.txt (1).pld'), `${last}`);
    }));

test('no folder is chosen, or it takes no file', () =>
    withPage('server', async (page) => {
        await page.setInputFiles('#folder', path('tree'));
        await page.getByText('4 files, 11 bytes').waitFor();
        for (const id of ['#passphrase', '#again']) await page.fill(id, passphrase);
        await page.evaluate(() => {
            globalThis.showDirectoryPicker = async () => {
                throw new DOMException('The user aborted a request.', 'AbortError');
            };
        });
        await go(page);
        await page.locator('#form').getByText('No folder was chosen. Nothing was').waitFor();
        const results = await folderForResults(page);
        await page.evaluate(() => {
            FileSystemWritableFileStream.prototype.close = async () => {
                throw new DOMException('no space left', 'NotFoundError');
            };
        });
        await go(page);
        assert.match(
            await problem(page),
            /None of the 4 files .*The first is .*: the result cannot be written.*: no space le/,
        );
        assert.deepEqual(await results(), {});
    }));

test('several files become downloads, which can be cancelled', () =>
    withPage('server', async (page) => {
        const many = Array.from({ length: 25 }, (_, i) => path(`file ${i}`));
        for (const name of many) writeFileSync(name, name);
        await page.setInputFiles('#file', many);
        await page.getByText('25 files').first().waitFor();
        await pick(page, 'key');
        await useKey(page, 'my.key');
        await pick(page, 'downloads');
        const downloads = [];
        page.on('download', (download) => downloads.push(download));
        await go(page);
        await finished(page);
        while (downloads.length < 25) await page.waitForTimeout(50);
        for (const download of downloads) {
            palladion('decrypt', '-f', '-k', path('my.key'), '-o', path('back'),
                await download.path());
            const name = download.suggestedFilename().replace(/\.pld$/, '');
            assert.equal(readFileSync(path('back'), 'utf8'), path(name));
        }
        await page.click('#done-saved summary');
        const { name } = await saved(page, () => page.click('#saved li:nth-child(3) a'));
        assert.match(name, /^file \d+\.pld$/);
        assert.equal(await page.textContent('#command'), 'palladion decrypt -k my.key *.pld');

        await page.click('#another');
        await page.setInputFiles('#file', many);
        await page.getByText('25 files').first().waitFor();
        await pick(page, 'key');
        // Once the second has begun.
        await page.evaluate(() => {
            const title = document.getElementById('working-title');
            new MutationObserver(() => {
                if (title.textContent.includes('(2 of 25)'))
                    document.getElementById('cancel').click();
            }).observe(title, { childList: true });
        });
        await go(page);
        await page.locator('#form').getByText('Cancelled. 1 of 25 files was saved').waitFor();
        assert.equal(await page.evaluate('document.activeElement.id'), 'go');
    }));

test('the time that is left', () =>
    withPage(
        'server',
        async (page) => {
            await choose(page, 'plain.txt');
            await pick(page, 'key');
            await useKey(page, 'my.key');
            await page.evaluate(() => {
                // By this clock, each step takes 100 s.
                let now = performance.now();
                performance.now = () => (now += 100_000);
                globalThis.seen = [];
                for (const id of ['figures', 'live']) {
                    const place = document.getElementById(id);
                    new MutationObserver(() => seen.push(place.textContent)).observe(place, {
                        childList: true,
                    });
                }
            });
            await saved(page, () => page.evaluate(() => document.getElementById('go').click()));
            const seen = await page.evaluate('seen.filter((text) => text.includes("left"))');
            assert.deepEqual(seen, [
                '1.5 MB of 3.0 MB, 15 kB per second, about 2 minutes left',
                '50 percent, about 2 minutes left',
            ]);
        },
        {},
        (page) =>
            page.addInitScript(() => {
                const reads = [300_000, 1_500_000];
                globalThis.Worker = class {
                    constructor() {
                        setTimeout(() => this.onmessage({ data: { ready: true } }));
                    }

                    postMessage() {
                        const read = reads.shift();
                        const step = { read, piece: new Uint8Array(1000) };
                        const data = read === undefined ? { done: true } : { step };
                        setTimeout(() => this.onmessage({ data }));
                    }

                    terminate() {}
                };
            }),
    ));

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
        assert.equal(await focused(), 'folder');
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
                    await page.click('#with-place summary');
                    await check('a place');
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
                    await page.click('#another');
                    await page.setInputFiles('#file', ['plain.txt', 'with key.pld'].map(path));
                    await page.getByText(/^2 files: /).waitFor();
                    await pick(page, 'downloads');
                    await check('several files');
                    await saved(page, () => go(page));
                    await finished(page);
                    await page.click('#done-saved summary');
                    await check('several downloads');
                    await page.click('#another');
                    writeFileSync(path('not.pld'), 'not encrypted');
                    await page.setInputFiles('#file', ['not.pld', 'with key.pld'].map(path));
                    await page.getByText(/^2 files: /).waitFor();
                    await pick(page, 'key');
                    await saved(page, () => go(page));
                    await finished(page);
                    await check('one that failed');
                },
                options,
            ),
        );
    }
});
