// Measures the speed in this Node (see measure.mjs) and prints tables in Markdown.
//
//   node [--experimental-wasm-relaxed-simd] bench/node.mjs [relaxed-simd|simd128|scalar ...] Node
// 20 needs the option for relaxed SIMD.
import { readFile } from 'node:fs/promises';
import { supportedBuilds } from '@palladion/aegis/slim';
import { markdown, measure } from './measure.mjs';

const builds = process.argv.length > 2 ? process.argv.slice(2) : supportedBuilds();
const modules = {};
for (const build of builds)
    modules[build] = await WebAssembly.compile(
        await readFile(new URL(import.meta.resolve(`@palladion/aegis/wasm/${build}.wasm`))),
    );
console.log(
    `Node ${process.versions.node}, ${process.arch}; ` +
        'in brackets, times the speed of AES-256-GCM of @noble/ciphers\n',
);
console.log(markdown(await measure(modules)));
