/** Makes all builds available to the first call. */
import { embed } from './engine.js';
import relaxed from './wasm/relaxed-simd.js';
import scalar from './wasm/scalar.js';
import simd from './wasm/simd128.js';

embed({ 'relaxed-simd': relaxed, simd128: simd, scalar });
