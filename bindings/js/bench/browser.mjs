// Measures the speed in Chromium with bench/index.html, and prints tables in Markdown.
//
//   node bench/browser.mjs [--serve] [--shot FILE.png] --serve only serves the page, for any other
// browser. --shot saves a picture of the page at the end.
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { serve } from '../test/browser/server.mjs';

const server = await serve({ js: join(dirname(fileURLToPath(import.meta.url)), '..') });
const url = `${server.url}/js/bench/index.html`;
if (process.argv.includes('--serve')) {
    console.log(url);
} else {
    const { launch } = await import('../test/browser/chromium.mjs');
    const browser = await launch();
    try {
        const page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
        page.on('pageerror', (error) => console.error(error));
        await page.goto(url);
        await page.click('#start');
        await page.waitForFunction(() => globalThis.result, undefined, { timeout: 600_000 });
        console.log(
            `Chromium ${browser.version()}; ` +
                'in brackets, times the speed of AES-256-GCM of @noble/ciphers\n',
        );
        console.log(await page.evaluate(() => globalThis.result));
        const shot = process.argv.indexOf('--shot');
        if (shot > 0) await page.screenshot({ path: process.argv[shot + 1], fullPage: true });
    } finally {
        await browser.close();
        server.close();
    }
}
