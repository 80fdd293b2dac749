// What the tests of the demo page share: a server, a browser, files in a folder, and steps.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { launch, launchWithProfile } from './chromium.mjs';
import { serve } from './server.mjs';

export const js = join(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = mkdtempSync(join(tmpdir(), 'palladion-demo-'));
export const path = (name) => join(folder, name);
const command = process.env.PALLADION_CLI ?? join(js, '../../target/release/palladion');
export const palladion = (...words) =>
    execFileSync(command, words, { stdio: ['ignore', 'pipe', 'pipe'] });
export const passphrase = 'six words drawn at random, pässphrase';
export const plain = Buffer.from('attack at dawn\n'.repeat(200_000)); // three chunks

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

let server, browser;
const addresses = {};
before(async () => {
    server = await serve({ demo: join(js, 'demo/dist') });
    addresses.server = `${server.url}/demo/index.html`;
    addresses.file = String(pathToFileURL(join(js, 'demo/dist/index.html')));
    browser = await launch();
});
after(async () => {
    await browser?.close();
    server?.close();
    rmSync(folder, { recursive: true });
});

/**
 * Opens the page and runs a test. Fails if the page logs an error or uses the network. The context
 * is like a private window, unless the options have a `profile`, a folder.
 */
export async function withPage(from, run, { profile, ...others } = {}, prepare = () => {}) {
    const options = { viewport: { width: 800, height: 900 }, ...others };
    const context = await (profile === undefined
        ? browser.newContext(options)
        : launchWithProfile(profile, options));
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
        await prepare(page, context);
        await page.goto(addresses[from]);
        await run(page, context);
        assert.deepEqual(complaints, []);
    } finally {
        await context.close();
    }
}

/** Does something after which the page saves a file: its name and contents. */
export async function saved(page, action) {
    const [download] = await Promise.all([page.waitForEvent('download'), action()]);
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

/** Chooses a file and waits until the page knows what it is. */
export async function choose(page, name) {
    await page.setInputFiles('#file', path(name));
    await page.waitForFunction(
        (name) => document.getElementById('live').textContent.startsWith(`${name}: `),
        name,
    );
}

/** Chooses a key file and waits until the page has read it. */
export async function useKey(page, name) {
    await page.setInputFiles('#key', path(name));
    await page.getByText(`${name} is ready.`).waitFor();
}

export const go = (page) => page.click('#go');
/** Cancels the next job once it has begun: within the page, because it may be done in no time. */
export const cancelNext = (page, key) =>
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
export async function cancelled(page) {
    await page.locator('#form').getByText('Cancelled. Nothing was saved.').waitFor();
}
export const pick = (page, value) => page.check(`input[value=${value}]`, { force: true });
export const problem = async (page) => {
    await page.waitForSelector('#problem:not([hidden])');
    assert.equal(await page.evaluate('document.activeElement.id'), 'problem');
    assert.equal(await page.getAttribute('#problem', 'role'), 'alert');
    return page.innerText('#problem');
};
