/** The WebAssembly module: which build can run here, and its instances. */
import type { BytesLike } from './bytes.js';
import { Chunk, Engine, type Build, type Call, type Calls } from './engine.js';
import { PalladionError } from './errors.js';

/** The builds of the module, the fastest first. */
export type WasmBuild = Exclude<Build, 'native'>;

export const WASM_BUILDS: readonly WasmBuild[] = ['relaxed-simd', 'simd128', 'scalar'];

interface Exports extends Calls {
    readonly memory: WebAssembly.Memory;
    readonly pld_build: Call;
    readonly pld_place: Call;
    readonly pld_alloc: Call;
    readonly pld_free: Call;
    readonly pld_session_new_at: Call;
    readonly pld_sealer_chunk: Call;
    readonly pld_opener_chunk: Call;
}

/** An instance of the module. */
export class Wasm extends Engine {
    readonly build: WasmBuild;
    declare readonly call: Exports;
    readonly #module: WebAssembly.Module;
    #memory: Uint8Array;

    constructor(module: WebAssembly.Module) {
        const exports = new WebAssembly.Instance(module).exports as unknown as Exports;
        const place = exports.pld_place;
        super(exports, {
            key: place(0),
            nonce: place(1),
            tag: place(2),
            text: place(3),
            data: place(4),
            room: place(5),
        });
        this.#module = module;
        this.build = WASM_BUILDS[2 - exports.pld_build()]!;
        this.#memory = new Uint8Array(exports.memory.buffer);
    }

    memory(): Uint8Array {
        if (this.#memory.length === 0) this.#memory = new Uint8Array(this.call.memory.buffer);
        return this.#memory;
    }

    /** Creates another instance, because WebAssembly never returns memory. */
    another(): Wasm {
        return new Wasm(this.#module);
    }

    protected beginLong(id: number, ad: Uint8Array): number {
        const place = this.call.pld_alloc(ad.length) >>> 0;
        if (place === 0) {
            this.memory().fill(0, this.key, this.key + 32);
            throw new PalladionError(
                'OUT_OF_MEMORY',
                'there is not enough memory for the associated data',
            );
        }
        try {
            this.memory().set(ad, place);
            return this.check(this.call.pld_session_new_at(id, place, ad.length));
        } finally {
            this.call.pld_free(place, ad.length);
        }
    }

    chunk(file: number, kind: 'sealer' | 'opener'): Chunk {
        return new Chunk(this, this.check(this.call[`pld_${kind}_chunk`](file)));
    }
}

// Modules with one instruction of each kind.
const SIMD128 = [
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7b, 0x03,
    0x02, 0x01, 0x00,
    // i32.const 0, i8x16.splat
    0x0a, 0x08, 0x01, 0x06, 0x00, 0x41, 0x00, 0xfd, 0x0f, 0x0b,
];
const RELAXED_SIMD = [
    ...SIMD128.slice(0, 19),
    // the same twice, i8x16.relaxed_swizzle
    0x0a, 0x0f, 0x01, 0x0d, 0x00, 0x41, 0x00, 0xfd, 0x0f, 0x41, 0x00, 0xfd, 0x0f, 0xfd, 0x80, 0x02,
    0x0b,
];

/** The builds of the module that can run here, the fastest first. */
export function supportedWasm(): WasmBuild[] {
    const can = (module: number[]) => WebAssembly.validate(new Uint8Array(module));
    return WASM_BUILDS.filter(
        (build) => build === 'scalar' || can(build === 'simd128' ? SIMD128 : RELAXED_SIMD),
    );
}

/** A source of the module. */
export type WasmSource = URL | string | Response | BytesLike | WebAssembly.Module;

let readFile: ((url: URL) => Promise<BytesLike>) | undefined;

/** Sets a reader in Node, whose `fetch` does not accept `file:` URLs. */
export function useFileReader(reader: (url: URL) => Promise<BytesLike>): void {
    readFile = reader;
}

/** Compiles a module, while it arrives if it comes from a server. */
export async function compile(source: WasmSource): Promise<WebAssembly.Module> {
    if (source instanceof WebAssembly.Module) return source;
    if (typeof source === 'string' || source instanceof URL) {
        const url = source instanceof URL ? source : undefined;
        if (url?.protocol === 'file:' && readFile !== undefined)
            return compile(await readFile(url));
        source = await fetch(source);
    }
    if (typeof Response !== 'undefined' && source instanceof Response) {
        if (!source.ok)
            throw new PalladionError(
                'UNSUPPORTED',
                `the WebAssembly module cannot be loaded: ${source.status} from ${source.url}`,
            );
        // Engines compile a module while it arrives only if its type is right.
        if (source.headers.get('content-type')?.split(';')[0]?.trim() === 'application/wasm') {
            return WebAssembly.compileStreaming(source);
        }
        return WebAssembly.compile(await source.arrayBuffer());
    }
    return WebAssembly.compile(source as BufferSource);
}
