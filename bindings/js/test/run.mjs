// Runs the tests with each build.
//
//   node test/run.mjs [native|scalar|simd128|relaxed-simd ...]
//
// Node 20 needs an option for relaxed SIMD. Its baseline compiler miscompiles one instruction of
// it, which we do not use; the tests turn that compiler off anyway. Node 18 has no relaxed SIMD.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const major = Number(process.versions.node.split('.')[0]);
const files = readdirSync(here)
    .filter((file) => file.endsWith('.test.mjs'))
    .map((file) => join(here, file));
const builds =
    process.argv.length > 2
        ? process.argv.slice(2)
        : ['native', 'scalar', 'simd128', 'relaxed-simd'];

let failed = false;
for (const build of builds) {
    if (build === 'relaxed-simd' && major < 20) {
        console.log(`== ${build}: not supported by Node ${process.versions.node}`);
        continue;
    }
    const flags =
        build === 'relaxed-simd' && major === 20
            ? ['--experimental-wasm-relaxed-simd', '--no-liftoff']
            : [];
    console.log(`== ${build}`);
    const { status, stdout } = spawnSync(
        process.execPath,
        [...flags, '--expose-gc', '--test', ...files],
        {
            env: { ...process.env, PALLADION_BUILD: build },
            encoding: 'utf8',
        },
    );
    const summary = stdout
        .split('\n')
        .filter((line) => /^(#|ℹ) (pass|fail|skipped|duration_ms)/.test(line))
        .join('  ');
    console.log(status === 0 ? summary : stdout);
    failed ||= status !== 0;
}
process.exit(failed ? 1 : 0);
