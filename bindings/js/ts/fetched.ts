/** Lets `init` fetch the one build of the WebAssembly that fits. */
import { useModules } from './builds.js';

useModules({
    later(build) {
        // Each is written out, so that bundlers find the files.
        switch (build) {
            case 'relaxed-simd': return new URL('./wasm/relaxed-simd.wasm', import.meta.url);
            case 'simd128': return new URL('./wasm/simd128.wasm', import.meta.url);
            case 'scalar': return new URL('./wasm/scalar.wasm', import.meta.url);
        }
    },
});
