// Builds the demo: demo/dist/index.html, a single file that works from the disk and from any
// server.
//
//   node demo/build.mjs It imports the package by name, so build dist/ first. A page opened from
// the disk may load neither modules nor workers, so it contains everything: `core`, which has the
// package and the work, and the page itself, which creates its worker from `core`.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const path = (...names) => join(here, ...names);

execFileSync(process.execPath, [path('../node_modules/typescript/bin/tsc'), '-p', here], {
    stdio: 'inherit',
});

async function script(entry) {
    const { outputFiles } = await build({
        entryPoints: [path(entry)],
        bundle: true,
        minify: true,
        format: 'iife',
        target: 'es2022',
        charset: 'utf8',
        legalComments: 'none',
        write: false,
    });
    const text = outputFiles[0].text.trim();
    if (/<\/script|<!--/i.test(text)) throw new Error(`${entry}: its text would end the element`);
    return text;
}

const core = await script('core.ts');
const page = await script('page.ts');
const style = readFileSync(path('style.css'), 'utf8');

// The policy lets the page run only these scripts and connect to nothing.
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const policy = [
    "default-src 'none'",
    `script-src ${hash(core)} ${hash(page)} 'wasm-unsafe-eval'`,
    'worker-src blob:',
    `style-src ${hash(style)}`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
].join('; ');

const { version } = JSON.parse(readFileSync(path('../package.json'), 'utf8'));
const parts = {
    version,
    policy: `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    style: `<style>${style}</style>`,
    scripts: `<script id="core">${core}</script>\n<script>${page}</script>`,
};
const html = readFileSync(path('index.html'), 'utf8').replace(
    /<!-- build: (\w+) -->/g,
    (_, name) => parts[name],
);
mkdirSync(path('dist'), { recursive: true });
writeFileSync(path('dist/index.html'), html);
console.log(`demo/dist/index.html: ${html.length} bytes`);
