// Makes the demo: one page with everything in it, demo/dist/index.html, which works from a file as
// well as from any server.
//
//   node demo/build.mjs
//
// It uses the package by its name, so dist/ has to be there. Pages opened from a file may load
// neither modules nor workers, so all is within: `core` (the package and the work), which the page
// runs and makes its worker of, and the page itself.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const path = (...names) => join(here, ...names);

execFileSync(process.execPath, [path('../node_modules/typescript/bin/tsc'), '-p', here], { stdio: 'inherit' });

async function script(entry) {
    const { outputFiles } = await build({
        entryPoints: [path(entry)], bundle: true, minify: true, format: 'iife', target: 'es2022', charset: 'utf8', legalComments: 'none',
        write: false,
    });
    const text = outputFiles[0].text.trim();
    if (/<\/script|<!--/i.test(text)) throw new Error(`${entry}: this text would end its element`);
    return text;
}

const core = await script('core.ts');
const page = await script('page.ts');
const style = readFileSync(path('style.css'), 'utf8');

// The page runs what is here and nothing else, and connects to nowhere.
const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const policy = [
    "default-src 'none'", `script-src ${hash(core)} ${hash(page)} 'wasm-unsafe-eval'`, 'worker-src blob:', `style-src ${hash(style)}`,
    'img-src data:', "base-uri 'none'", "form-action 'none'",
].join('; ');

const parts = {
    policy: `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    style: `<style>${style}</style>`,
    scripts: `<script id="core">${core}</script>\n<script>${page}</script>`,
};
const html = readFileSync(path('index.html'), 'utf8').replace(/<!-- build: (\w+) -->/g, (_, name) => parts[name]);
mkdirSync(path('dist'), { recursive: true });
writeFileSync(path('dist/index.html'), html);
console.log(`demo/dist/index.html: ${html.length} bytes`);
