// The README's examples work.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { decryptFile } from '@palladion/aegis';
import { build, root, text } from './common.mjs';

const skip = [undefined, 'simd128', 'native'].includes(build) ? false : 'tested with simd128';
const here = dirname(fileURLToPath(import.meta.url));
// Those for other programs are marked as "javascript".
const examples = [
    ...readFileSync(join(root, 'bindings/js/README.md'), 'utf8').matchAll(/^```js\n(.*?)^```$/gms),
].map((match) => match[1]);

/** How each example starts, what it needs, and what it prints besides what its comments say. */
const needs = [
    [
        'Encrypt a file, in a browser',
        /file\.stream\(\)/,
        "const file = new Blob(['a file']);\n",
        ['a file'],
    ],
];

test('the README\'s examples', { skip }, () => {
    assert.equal(examples.length, 11);
    // Write them beside this file, so that they find the package.
    const folder = mkdtempSync(join(here, 'readme-'));
    try {
        writeFileSync(join(folder, 'notes.txt'), 'notes');
        examples.forEach((example, i) => {
            const [, , before = '', printed = []] =
                needs.find(([, pattern]) => pattern.test(example)) ?? [];
            // `console.log(...); // what it prints`
            const expected = [...example.matchAll(/^ *console\.log\(.*\); \/\/ (.*)$/gm)].map(
                (match) => match[1],
            );
            writeFileSync(join(folder, `${i}.mjs`), before + example);
            const output = execFileSync(process.execPath, [join(folder, `${i}.mjs`)], {
                cwd: folder,
                encoding: 'utf8',
            });
            assert.equal(output, [...expected, ...printed].map((line) => `${line}\n`).join(''));
        });
        const key = readFileSync(join(folder, 'my.key'), 'utf8');
        assert.equal(text(decryptFile(readFileSync(join(folder, 'notes.pld')), { key })), 'notes');
        assert.equal(readFileSync(join(folder, 'notes.back.txt'), 'utf8'), 'notes');
    } finally {
        rmSync(folder, { recursive: true });
    }
});
