// Checks the types of the package, of programs that use it and of the README's examples, as a
// program for Node, for both and for browsers has them.
//
//   node test/types.mjs     where scripts/test-js.sh installed the package
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const js = join(process.env.PALLADION_ROOT, 'bindings/js');
const dom = 'es2022,dom,dom.iterable,dom.asynciterable';
const node = ['--types', 'node', '--typeRoots', join(js, 'node_modules/@types')];
const settings = {
    'Node without the types of browsers': ['nodenext', 'nodenext', 'es2022', ...node],
    'Node, with modules as Node 16 has them': ['node16', 'node16', 'es2022', ...node],
    'Node with them, as older programs resolve names': ['esnext', 'node10', dom, ...node],
    'browsers, as bundlers resolve names': ['esnext', 'bundler', dom],
    'neither browsers nor Node': ['nodenext', 'nodenext', 'es2022'],
};

const folder = mkdtempSync(join(here, 'types-'));
try {
    const programs = [join(here, 'user.ts'), join(here, 'user-node.ts')];
    const readme = readFileSync(join(js, 'README.md'), 'utf8');
    for (const [, example] of readme.matchAll(/^```js\n(.*?)^```$/gms)) {
        const declared = /\bfile\.stream/.test(example) ? 'declare const file: Blob;\n' : '';
        programs.push(join(folder, `${programs.length}.mts`));
        writeFileSync(programs.at(-1), declared + example);
    }
    const common = join(folder, 'common.cts');
    writeFileSync(
        common,
        "import { seal } from '@palladion/aegis';\n" +
            "import * as slim from '@palladion/aegis/slim';\n" +
            'export const sealed: Uint8Array = seal(new Uint8Array(32), slim.generateKey());\n',
    );
    await Promise.all(Object.entries(settings).map(([name, [module, names, lib, ...others]]) => {
        const [browsers, neither] = [!others.includes('node'), lib + others === 'es2022'];
        const words = programs.filter(
            (file) => !neither && !(browsers && readFileSync(file, 'utf8').includes("'node:")),
        );
        if (module.startsWith('node')) words.push(common); // which others take for an ES module
        // TypeScript checks such imports by default only from version 6 on.
        words.push('--noUncheckedSideEffectImports');
        words.push('--noEmit', '--strict', '--target', 'es2022', '--lib', lib);
        words.push('--module', module, '--moduleResolution', names, ...others);
        const tsc = join(js, 'node_modules/typescript/bin/tsc');
        return new Promise((resolve) => {
            execFile(process.execPath, [tsc, ...words], (error, printed) => {
                console.log(`${name}: ${error ? `failed\n${printed}` : 'ok'}`);
                if (error) process.exitCode = 1;
                resolve();
            });
        });
    }));
} finally {
    rmSync(folder, { recursive: true });
}
