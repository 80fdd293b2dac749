// Bundles programs that use the package with esbuild, rollup, webpack and Vite, as its README says,
// and runs what comes out: for pages, with a server that sends the modules, and for Node, with the
// addon and without.
//
//   node test/bundlers/run.mjs     where scripts/test-js.sh installed the package
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { serve } from '../browser/server.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const tools = createRequire(join(process.env.PALLADION_ROOT, 'bindings/js/package.json'));
const tool = (name) => import(pathToFileURL(tools.resolve(name)));
const esbuild = await tool('esbuild');
const { rollup } = await tool('rollup');
const { nodeResolve } = await tool('@rollup/plugin-node-resolve');
const { default: webpack } = await tool('webpack');
// Vite needs Node 20.19.
const vite = Number(process.versions.node.split('.')[0]) < 20 ? undefined : await tool('vite');

const folder = mkdtempSync(join(here, 'programs-'));
const path = (...names) => join(folder, ...names);
// The version of a program is not that of the package.
writeFileSync(path('package.json'), '{ "name": "program", "version": "7.0.0", "private": true }');

const use = `{
    const key = generateKey();
    if (open(key, seal(key, key)).length !== 32) throw new Error('wrong bytes');
    console.log(currentBuild());
}`;
writeFileSync(
    path('main.js'),
    `import { currentBuild, generateKey, open, seal } from '@palladion/aegis'; ${use}`,
);
writeFileSync(
    path('slim.js'),
    `import { currentBuild, generateKey, init, open, seal } from '@palladion/aegis/slim';
    init().then(() => ${use}, (error) => console.log(error.message, error.hint));`,
);

/** Bundles one of them into a folder, as a module or for Node also as CommonJS. */
const bundlers = {
    async esbuild(name, out, node, format) {
        await esbuild.build({
            entryPoints: [path(`${name}.js`)],
            bundle: true,
            minify: true,
            platform: node ? 'node' : 'browser',
            format,
            outfile: out,
            logLevel: 'error',
        });
    },
    async rollup(name, out, node, format) {
        const made = await rollup({
            input: path(`${name}.js`),
            plugins: [nodeResolve({ exportConditions: node ? ['node'] : [] })],
            external: /^node:/,
        });
        await made.write({ file: out, format });
    },
    async webpack(name, out, node, format) {
        const stats = await promisify(webpack)({
            mode: 'production',
            entry: path(`${name}.js`),
            target: node ? 'node' : 'web',
            output: {
                path: dirname(out),
                filename: out.slice(dirname(out).length + 1),
                assetModuleFilename: '[name][ext]',
                module: format === 'esm',
                chunkFormat: format === 'esm' ? 'module' : undefined,
            },
            experiments: { outputModule: format === 'esm' },
            performance: false,
        });
        assert(!stats.hasErrors(), stats.toString());
    },
    async vite(name, out, node, format) {
        await vite.build({
            root: folder,
            base: './',
            configFile: false,
            logLevel: 'error',
            ssr: { noExternal: true },
            build: {
                ssr: node && path(`${name}.js`),
                outDir: dirname(out),
                assetsDir: '.',
                rollupOptions: {
                    input: path(`${name}.js`),
                    output: { entryFileNames: out.slice(dirname(out).length + 1), format },
                },
            },
        });
    },
};

/** Runs Node and returns what it prints. */
async function run(words, environment = {}) {
    const env = { ...process.env, PALLADION_BUILD: '', ...environment };
    const { stdout } = await promisify(execFile)(process.execPath, words, { env, cwd: tmpdir() });
    return stdout.trim();
}

const page = (url) =>
    run(['--no-warnings', '--experimental-vm-modules', join(here, 'page.mjs'), url]);
const copyWasm = (to) =>
    cpSync(join(here, '../../node_modules/@palladion/aegis/dist/wasm'), to, { recursive: true });
const isWasm = /^(relaxed-simd|simd128)$/;

const server = await serve({ folder });
const elsewhere = mkdtempSync(join(tmpdir(), 'palladion-bundlers-'));
try {
    for (const [bundler, bundle] of Object.entries(bundlers)) {
        if (bundler === 'vite' && vite === undefined) continue;
        const done = [];
        const check = (what, printed, expected) => {
            assert.match(printed, expected, `${bundler}, ${what}`);
            done.push(what);
        };
        // For pages. These two do not copy the modules.
        for (const name of ['main', 'slim']) {
            const out = path(bundler, 'page', `${name}.mjs`);
            await bundle(name, out, false, 'esm');
            if (name === 'slim' && ['esbuild', 'rollup'].includes(bundler)) {
                const url = `${server.url}/folder/${bundler}/page/slim.mjs`;
                check('without its files', await page(url), /answers 404.*"With a bundler"/);
                copyWasm(path(bundler, 'page/wasm'));
            }
            check(name, await page(`${server.url}/folder/${bundler}/page/${name}.mjs`), isWasm);
        }
        // For Node, within reach of the addon and elsewhere.
        for (const [format, name] of [['esm', 'node.mjs'], ['cjs', 'node.cjs']]) {
            if (bundler === 'vite' && format === 'cjs') continue;
            const out = path(bundler, format, name);
            await bundle('main', out, true, format);
            check(`Node, ${format}`, await run([out]), /^native$/);
            check('wasm', await run([out], { PALLADION_BUILD: 'wasm' }), isWasm);
            const moved = join(elsewhere, `${bundler}-${name}`);
            cpSync(out, moved);
            const printed = await run([moved]);
            // webpack writes the address of this package into its bundles.
            check('elsewhere', printed, bundler === 'webpack' ? /^\w/ : isWasm);
        }
        console.log(`${bundler}: ${done.join(', ')}`);
    }

    const development = await vite?.createServer({
        root: folder,
        configFile: false,
        logLevel: 'error',
        server: { host: '127.0.0.1', port: 0, hmr: false, ws: false, fs: { strict: false } },
        optimizeDeps: { exclude: ['@palladion/aegis'] },
    });
    try {
        await development?.listen();
        const { port } = development?.httpServer.address() ?? {};
        for (const name of port === undefined ? [] : ['main', 'slim'])
            assert.match(await page(`http://127.0.0.1:${port}/${name}.js`), isWasm);
        console.log('vite, development server: main, slim');
    } finally {
        await development?.close();
    }
} finally {
    server.close();
    rmSync(folder, { recursive: true });
    rmSync(elsewhere, { recursive: true });
}
