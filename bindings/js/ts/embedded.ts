/** Makes all builds of the WebAssembly available to the first call. */
import { useModules } from './builds.js';
import relaxed from './wasm/relaxed-simd.js';
import scalar from './wasm/scalar.js';
import simd from './wasm/simd128.js';
import type { WasmBuild } from './wasm.js';

const BASE64 = { 'relaxed-simd': relaxed, simd128: simd, scalar };

function module(build: WasmBuild): Uint8Array<ArrayBuffer> {
    const text = atob(BASE64[build]);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
}

useModules({ now: module, later: module });
