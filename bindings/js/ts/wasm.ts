/** The WebAssembly module: which build can run here, and its instances. */
import { toBytes, typeName, type Bytes, type BytesLike } from './bytes.js';
import { Chunk, Engine, type Build, type Call, type Calls } from './engine.js';
import { PalladionError } from './errors.js';
import type { ModuleSource } from './types.js';
import { VERSION } from './version.js';

/** The builds of the module, the fastest first. */
export type WasmBuild = Exclude<Build, 'native'>;

export const WASM_BUILDS: readonly WasmBuild[] = ['relaxed-simd', 'simd128', 'scalar'];

interface Exports extends Calls {
    readonly memory: { readonly buffer: ArrayBuffer };
    readonly pld_build: Call;
    readonly pld_version: Call;
    readonly pld_place: Call;
    readonly pld_alloc: Call;
    readonly pld_free: Call;
    readonly pld_session_new_at: Call;
    readonly pld_coder_room: Call;
    readonly pld_coder_filled: Call;
    readonly pld_coder_bytes: Call;
    readonly pld_coder_consume: Call;
    readonly pld_reader_chunk: Call;
}

/** The version of the package, as the module has it. */
const NUMBER = VERSION.split('.').reduce((number, part) => number * 1024 + parseInt(part), 0);

/** An instance of the module. */
export class Wasm extends Engine {
    readonly build: WasmBuild;
    declare readonly call: Exports;
    readonly #module: object;
    #memory: Uint8Array;

    constructor(module: object) {
        const exports = new WebAssembly.Instance(module).exports as unknown as Exports;
        if (exports.pld_version?.() !== NUMBER)
            throw new Error(`it is not the module of version ${VERSION} of this package`);
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
        // The addon checks itself.
        if (!this.isRight()) {
            throw new PalladionError(
                'UNSUPPORTED',
                `this engine computes wrong results with the build "${this.build}"`,
                this.build === 'scalar'
                    ? 'use another version of the engine'
                    : "choose another build: PALLADION_BUILD=scalar, or init({ build: 'scalar' })",
            );
        }
    }

    memory(): Uint8Array {
        if (this.#memory.length === 0) this.#memory = new Uint8Array(this.call.memory.buffer);
        return this.#memory;
    }

    /** Creates another instance, because WebAssembly never returns memory. */
    another(): Wasm {
        try {
            return new Wasm(this.#module);
        } catch (cause) {
            if (cause instanceof PalladionError) throw cause;
            throw new PalladionError(
                'OUT_OF_MEMORY',
                'there is not enough memory for another instance of the WebAssembly',
                undefined,
                { cause },
            );
        }
    }

    protected beginLong(id: number, ad: Uint8Array): number {
        // A longer one would wrap.
        const place = ad.length < 2 ** 32 ? this.call.pld_alloc(ad.length) >>> 0 : 0;
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

    push(file: number, bytes: Uint8Array): [number, number] {
        let at = 0;
        while (at < bytes.length) {
            const room = this.check(this.call.pld_coder_room(file));
            if (room === 0) break;
            const piece = bytes.subarray(at, at + room);
            this.memory().set(piece, this.long);
            this.check(this.call.pld_coder_filled(file, piece.length));
            at += piece.length;
        }
        return [at, this.check(this.call.pld_coder_ready(file))];
    }

    take(file: number, length: number): Bytes {
        const start = this.check(this.call.pld_coder_bytes(file));
        const bytes = this.read(start, start + length) as Bytes;
        this.call.pld_coder_consume(file);
        return bytes;
    }

    chunk(file: number): Chunk {
        return new Chunk(this, this.check(this.call.pld_reader_chunk(file)));
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
    if (typeof WebAssembly === 'undefined') return [];
    const can = (module: number[]) => WebAssembly.validate(new Uint8Array(module));
    return WASM_BUILDS.filter(
        (build) => build === 'scalar' || can(build === 'simd128' ? SIMD128 : RELAXED_SIMD),
    );
}

/** A source of the module. */
export type WasmSource = string | BytesLike | ModuleSource;

let readFile: ((url: string) => Promise<BytesLike>) | undefined;

/** Sets a reader in Node, whose `fetch` does not accept `file:` URLs. */
export function useFileReader(reader: (url: string) => Promise<BytesLike>): void {
    readFile = reader;
}

/** The error for a module that cannot be used. `otherwise` is the hint if the reason has none. */
function unusable(cause: unknown, from: string, otherwise?: string): PalladionError {
    if (cause instanceof PalladionError) return cause;
    const { message = String(cause) } = (cause ?? {}) as { message?: string };
    const hint = /polic|CSP/i.test(message)
        ? "the page's Content-Security-Policy must have 'wasm-unsafe-eval' in script-src"
        : /main thread/i.test(message)
          ? 'call `await init()` once at the start, which compiles it elsewhere'
          : /embedder/i.test(message)
            ? 'in a Cloudflare Worker, import the .wasm file: see "With a bundler" in the README'
            : otherwise;
    return new PalladionError(
        'UNSUPPORTED',
        `the WebAssembly module${from} cannot be loaded: ${message}`,
        hint,
        { cause },
    );
}

/** Compiles a module at once. */
export function instantiate(module: Bytes): Wasm {
    try {
        return new Wasm(new WebAssembly.Module(module));
    } catch (error) {
        throw unusable(error, '');
    }
}

/** Gets and compiles a module, while it arrives if it comes from a server. */
export async function compile(get: () => WasmSource | Promise<WasmSource>): Promise<Wasm> {
    let from = '';
    try {
        let source: unknown = await get();
        // These know the types by name, because an object may be of another realm.
        if (typeof source === 'string' || typeName(source) === 'URL') {
            const address = String(source);
            from = ` from ${address}`;
            source =
                address.startsWith('file:') && readFile !== undefined
                    ? await readFile(address)
                    : await fetch(address);
        }
        if (typeName(source) === 'Response') {
            const response = source as Response;
            if (response.url !== '') from = ` from ${response.url}`;
            if (!response.ok) throw new Error(`the server answers ${response.status}`);
            // Engines compile a module while it arrives only if its type is right.
            const type = response.headers.get('content-type')?.split(';')[0]?.trim();
            if (type === 'application/wasm' && response instanceof Response)
                return new Wasm(await WebAssembly.compileStreaming(response));
            source = await response.arrayBuffer();
        }
        if (typeName(source) !== 'WebAssembly.Module') {
            const bytes = toBytes(source as BytesLike, 'WebAssembly module');
            source = await WebAssembly.compile(bytes as BufferSource);
        }
        return new Wasm(source as object);
    } catch (error) {
        throw unusable(
            error,
            from,
            'if a bundler made this program, see "With a bundler" in the README',
        );
    }
}
