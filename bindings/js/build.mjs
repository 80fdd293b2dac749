// Builds dist/, which programs import, and pkg/, which is published.
//
//   node build.mjs [--keep-wasm] --keep-wasm uses the modules in wasm/ without building them. The
// version comes from the workspace in ../../Cargo.toml. The package.json here has none and is
// private, so that nobody publishes it by mistake.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const builds = ['scalar', 'simd128', 'relaxed-simd'];
const path = (...names) => join(here, ...names);

if (!process.argv.includes('--keep-wasm'))
    execFileSync(path('build-wasm.sh'), { stdio: 'inherit' });

/** Removes the custom sections of a module, which have the names of functions and of the compiler.
 */
function stripped(module) {
    const kept = [module.subarray(0, 8)];
    for (let at = 8; at < module.length; ) {
        const section = at;
        const id = module[at++];
        let length = 0;
        for (let shift = 0; ; shift += 7) {
            const byte = module[at++];
            length += (byte & 0x7f) * 2 ** shift;
            if (byte < 0x80) break;
        }
        at += length;
        if (id !== 0) kept.push(module.subarray(section, at));
    }
    return Buffer.concat(kept);
}

rmSync(path('dist'), { recursive: true, force: true });
execFileSync(process.execPath, [path('node_modules/typescript/bin/tsc'), '-p', here], {
    stdio: 'inherit',
});
mkdirSync(path('dist/wasm'), { recursive: true });
for (const build of builds) {
    const module = stripped(readFileSync(path('wasm', `${build}.wasm`)));
    const compressed = gzipSync(module, { level: 9 }).length;
    console.log(`${build}: ${module.length} bytes, ${compressed} with gzip`);
    // The README promises 64 KB. The size depends on Node's version of zlib.
    if (compressed > 64_000) throw new Error(`${build}.wasm is larger than 64,000 bytes with gzip`);
    writeFileSync(path('dist/wasm', `${build}.wasm`), module);
    cpSync(path('ts/wasm', `${build}.d.ts`), path('dist/wasm', `${build}.d.ts`));
    writeFileSync(
        path('dist/wasm', `${build}.js`),
        `export default '${module.toString('base64')}';\n`,
    );
}

const version = /^\[workspace\.package\]\nversion = "([^"]+)"/m.exec(
    readFileSync(join(root, 'Cargo.toml'), 'utf8'),
)?.[1];
if (version === undefined) throw new Error('Cargo.toml: no version of the workspace');
const {
    private: _,
    scripts: __,
    devDependencies: ___,
    ...manifest
} = JSON.parse(readFileSync(path('package.json'), 'utf8'));
rmSync(path('pkg'), { recursive: true, force: true });
mkdirSync(path('pkg'));
writeFileSync(path('pkg/package.json'), JSON.stringify({ ...manifest, version }, null, 2) + '\n');
cpSync(path('dist'), path('pkg/dist'), { recursive: true });
cpSync(path('README.md'), path('pkg/README.md'));
for (const licence of ['LICENSE-MIT', 'LICENSE-APACHE'])
    cpSync(join(root, licence), path('pkg', licence));
console.log(`pkg/: @palladion/aegis ${version}`);
