// Builds what is published: pkg/, the package, and npm/, the packages with the native addon.
//
//   node build.mjs [--keep-wasm] [--release]
//     builds dist/, which programs import, and pkg/. --keep-wasm uses the modules in wasm/ without
//     building them. pkg/ depends on the packages in npm/; with --release, on those of all
//     platforms, which must then be published first.
//   node build.mjs addon [PLATFORM FILE]
//     builds the addon for this machine and puts it into a package in npm/; or makes the package of
//     a FILE that cargo built for another PLATFORM, such as linux-arm64-musl. Makes pkg/ depend on
//     it.
import { execFileSync } from 'node:child_process';
import {
    cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const builds = ['scalar', 'simd128', 'relaxed-simd'];
const path = (...names) => join(here, ...names);

const manifest = JSON.parse(readFileSync(path('package.json'), 'utf8'));
const { version } = manifest;
const workspace = /^\[workspace\.package\]\nversion = "([^"]+)"/m.exec(
    readFileSync(join(root, 'Cargo.toml'), 'utf8'),
)?.[1];
if (version !== workspace)
    throw new Error(`package.json has version ${version}, Cargo.toml ${workspace}`);

/** The platforms with an addon, as Node and npm call them: system, CPU, C library. */
const platforms = [
    'linux-x64-gnu', 'linux-x64-musl', 'linux-arm64-gnu', 'linux-arm64-musl',
    'darwin-x64', 'darwin-arm64', 'win32-x64',
];

/**
 * Makes pkg/ depend on the addons of these platforms. `npm ci` fails if one that it depends on does
 * not exist, although it need not be installed.
 */
function addAddons(added) {
    const file = path('pkg/package.json');
    const manifest = JSON.parse(readFileSync(file, 'utf8'));
    manifest.optionalDependencies ??= {};
    for (const platform of added)
        manifest.optionalDependencies[`@palladion/aegis-${platform}`] = version;
    writeFileSync(file, JSON.stringify(manifest, null, 2) + '\n');
}

/** Creates the folder of a package, with its manifest and what every package has. */
function startPackage(folder, manifest, readme) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2) + '\n');
    writeFileSync(join(folder, 'README.md'), readme);
    for (const licence of ['LICENSE-MIT', 'LICENSE-APACHE'])
        cpSync(join(root, licence), join(folder, licence));
}

/** Builds the addon for this machine. Returns its platform and the file. */
function buildAddon() {
    const { platform, arch, report } = process;
    const libc = report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'gnu';
    const format = '--message-format=json-render-diagnostics';
    const messages = execFileSync('cargo', ['build', '--release', '-p', 'palladion-js', format], {
        stdio: ['inherit', 'pipe', 'inherit'],
        maxBuffer: 1 << 28,
        cwd: root,
        env: { ...process.env, CARGO_PROFILE_RELEASE_STRIP: 'symbols', CARGO_TERM_QUIET: 'true' },
    });
    // Cargo says where the library is: that depends on its settings.
    const built = messages.toString().trim().split('\n').map((line) => JSON.parse(line));
    const library = built.find(({ target }) => target?.name === 'palladion_js')?.filenames[0];
    if (library === undefined) throw new Error('cargo did not build the addon');
    return [platform === 'linux' ? `linux-${arch}-${libc}` : `${platform}-${arch}`, library];
}

if (process.argv[2] === 'addon') {
    const [platform, file] = process.argv.length > 3 ? process.argv.slice(3) : buildAddon();
    if (!platforms.includes(platform) || file === undefined)
        throw new Error(`expected one of ${platforms.join(', ')}, and a file`);
    const [os, cpu, libc] = platform.split('-');
    const { license, author, homepage, bugs, repository, engines, publishConfig } = manifest;
    startPackage(
        path('npm', platform),
        {
            name: `@palladion/aegis-${platform}`,
            version,
            description: `The native addon of @palladion/aegis for ${platform}`,
            license, author, homepage, bugs, repository, engines,
            os: [os],
            cpu: [cpu],
            libc: libc && [libc === 'gnu' ? 'glibc' : libc],
            main: 'palladion.node',
            files: ['palladion.node', 'LICENSE-MIT', 'LICENSE-APACHE'],
            publishConfig,
        },
        `# @palladion/aegis-${platform}\n\n` +
            `The native addon of [@palladion/aegis](https://www.npmjs.com/package/@palladion/aegis) ` +
            `for ${platform}. Install that package; it depends on this one.\n`,
    );
    cpSync(file, path('npm', platform, 'palladion.node'));
    if (existsSync(path('pkg'))) addAddons([platform]);
    console.log(`npm/${platform}: @palladion/aegis-${platform} ${version}`);
    process.exit();
}

// Only from here on, so that an addon needs nothing from npm.
const { default: ts } = await import('typescript');

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
// The same declarations for CommonJS: TypeScript lets it load ES modules only where it targets
// Node 20 or later.
for (const name of readdirSync(path('dist')).filter((name) => name.endsWith('.d.ts'))) {
    const text = readFileSync(path('dist', name), 'utf8');
    const common = text.replace(/((?:from|import) '\.\/[\w-]+)\.js/g, '$1.cjs');
    writeFileSync(path('dist', name.replace('.d.ts', '.d.cts')), common);
}
writeFileSync(path('dist/version.js'), `export const VERSION = '${version}';\n`);
mkdirSync(path('dist/wasm'), { recursive: true });
for (const build of builds) {
    const module = stripped(readFileSync(path('wasm', `${build}.wasm`)));
    const compressed = gzipSync(module, { level: 9 }).length;
    console.log(`${build}: ${module.length} bytes, ${compressed} with gzip`);
    // The README promises 72 KB. The size depends on Node's version of zlib.
    if (compressed > 72_000) throw new Error(`${build}.wasm is larger than 72,000 bytes with gzip`);
    writeFileSync(path('dist/wasm', `${build}.wasm`), module);
    cpSync(path('ts/wasm', `${build}.d.ts`), path('dist/wasm', `${build}.d.ts`));
    writeFileSync(
        path('dist/wasm', `${build}.js`),
        `export default '${module.toString('base64')}';\n`,
    );
}

/** The modules that do something when they are imported. Bundlers must keep them even where a
 * program uses nothing of them.
 */
const sideEffects = readdirSync(path('dist'))
    .filter((name) => name.endsWith('.js'))
    .filter((name) => {
        const text = readFileSync(path('dist', name), 'utf8');
        return ts
            .createSourceFile(name, text, ts.ScriptTarget.ES2022)
            .statements.some(
                (statement) =>
                    ts.isExpressionStatement(statement) ||
                    (ts.isImportDeclaration(statement) && statement.importClause === undefined),
            );
    })
    .map((name) => `./dist/${name}`);

const { scripts: _, devDependencies: __, ...published } = manifest;
startPackage(
    path('pkg'),
    { ...published, sideEffects },
    readFileSync(path('README.md'), 'utf8'),
);
const isRelease = process.argv.includes('--release');
addAddons(platforms.filter((platform) => isRelease || existsSync(path('npm', platform))));
cpSync(path('dist'), path('pkg/dist'), { recursive: true });
console.log(`pkg/: @palladion/aegis ${version}`);
