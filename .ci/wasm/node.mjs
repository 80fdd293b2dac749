// Runs a WASI program in Node: node node.mjs PROGRAM [ARGUMENT...]
import { readFile } from 'node:fs/promises';
import { argv, env } from 'node:process';
import { WASI } from 'node:wasi';

const args = argv.slice(2);
const preopens = { '/': '/' };
const wasi = new WASI({ version: 'preview1', args, env, preopens, returnOnExit: true });
const module = await WebAssembly.compile(await readFile(args[0]));
process.exitCode = wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
