import { PalladionError, type ErrorCode } from './errors.js';
import { checkOptions, type BytesLike } from './bytes.js';

/**
 * The builds of the WebAssembly module, the fastest first. All give the same bytes in constant
 * time.
 */
export type Build = 'relaxed-simd' | 'simd128' | 'scalar';

/** All builds, the fastest first. */
export const BUILDS: readonly Build[] = Object.freeze(['relaxed-simd', 'simd128', 'scalar']);

type Call = (...numbers: number[]) => number;

type Function =
    | 'build'
    | 'place'
    | 'alloc'
    | 'free'
    | 'encrypt'
    | 'decrypt'
    | 'mac'
    | 'mac_verify'
    | 'session_new'
    | 'session_encrypt'
    | 'session_decrypt'
    | 'session_finalize'
    | 'session_verify'
    | 'session_free'
    | 'mac_new'
    | 'mac_update'
    | 'mac_clone'
    | 'mac_finalize'
    | 'mac_compare'
    | 'mac_free'
    | 'sealer_new'
    | 'sealer_chunk'
    | 'sealer_seal'
    | 'sealer_free'
    | 'opener_new'
    | 'opener_chunk'
    | 'opener_frame'
    | 'opener_open'
    | 'opener_complete'
    | 'opener_free'
    | 'needs_passphrase'
    | 'key_parse'
    | 'key_format';

type Exports = { readonly [name in `pld_${Function}`]: Call } & {
    readonly memory: WebAssembly.Memory;
};

/**
 * An instance of the module. It holds all state, so an object keeps using the instance it started
 * with.
 */
export class Engine {
    readonly module: WebAssembly.Module;
    readonly call: Exports;
    readonly build: Build;
    /** The addresses of the arguments in its memory. */
    readonly key: number;
    readonly nonce: number;
    readonly tag: number;
    readonly data: number;
    /** The number of bytes that fit in one call. */
    readonly room: number;
    readonly #text: number;
    #memory: Uint8Array;

    constructor(module: WebAssembly.Module) {
        this.module = module;
        this.call = new WebAssembly.Instance(module).exports as unknown as Exports;
        this.build = BUILDS[2 - this.call.pld_build()]!;
        const place = this.call.pld_place;
        this.key = place(0);
        this.nonce = place(1);
        this.tag = place(2);
        this.#text = place(3);
        this.data = place(4);
        this.room = place(5);
        this.#memory = new Uint8Array(this.call.memory.buffer);
    }

    /** Its memory. Get it again after each call that may allocate: it moves when it grows. */
    memory(): Uint8Array {
        if (this.#memory.length === 0) this.#memory = new Uint8Array(this.call.memory.buffer);
        return this.#memory;
    }

    /** Returns the result of a call, or throws if the call failed. */
    check(result: number): number {
        if (result === -1) throw this.failure();
        return result >>> 0;
    }

    /** The error of the last call. */
    failure(): PalladionError {
        const memory = this.memory();
        const end = memory.indexOf(0, this.#text);
        const [code, message, hint] = new TextDecoder()
            .decode(memory.slice(this.#text, end))
            .split('\n');
        return new PalladionError(code as ErrorCode, message ?? '', hint || undefined);
    }

    /** Whether the last call failed because of a tag. */
    wrongTag(): boolean {
        return this.memory()[this.#text] === 0x56; // "V" of VERIFICATION_FAILED alone
    }

    /** Creates another instance of the same module. */
    another(): Engine {
        return new Engine(this.module);
    }
}

const SIMD128 = [
    0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x05, 0x01, 0x60, 0x00, 0x01, 0x7b, 0x03,
    0x02, 0x01, 0x00,
    // i32.const 0, i8x16.splat
    0x0a, 0x08, 0x01, 0x06, 0x00, 0x41, 0x00, 0xfd, 0x0f, 0x0b,
];
const RELAXED_SIMD = [
    ...SIMD128.slice(0, 19),
    // the same twice, i8x16.relaxed_swizzle
    0x0a,
    0x0f,
    0x01,
    0x0d,
    0x00,
    0x41,
    0x00,
    0xfd,
    0x0f,
    0x41,
    0x00,
    0xfd,
    0x0f,
    0xfd,
    0x80,
    0x02,
    0x0b,
];

/** The builds that can run here, the fastest first. */
export function supportedBuilds(): Build[] {
    const can = (module: number[]) => WebAssembly.validate(new Uint8Array(module));
    return BUILDS.filter(
        (build) => build === 'scalar' || can(build === 'simd128' ? SIMD128 : RELAXED_SIMD),
    );
}

function choose(wish: Build | undefined): Build {
    const supported = supportedBuilds();
    if (wish === undefined) return supported[0]!;
    if (!BUILDS.includes(wish)) {
        throw new PalladionError(
            'WRONG_VALUE',
            `unknown build ${JSON.stringify(wish)}; expected one of ${BUILDS.join(', ')}`,
        );
    }
    if (!supported.includes(wish)) {
        throw new PalladionError(
            'UNSUPPORTED',
            `the build "${wish}" cannot run here; those that can: ${supported.join(', ')}`,
        );
    }
    return wish;
}

function fromBase64(base64: string): BufferSource {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
}

let embedded: { readonly [build in Build]: string } | undefined;

/** Called by the entries that contain all builds. */
export function embed(builds: { readonly [build in Build]: string }): void {
    embedded = builds;
}

let current: Engine | undefined;

/** The instance in use. The first call creates it if the entry contains the builds. */
export function engine(): Engine {
    return current ?? begin();
}

function begin(): Engine {
    if (embedded === undefined) {
        throw new PalladionError(
            'NOT_READY',
            'the WebAssembly module is not loaded',
            'call `await init()` once at the start',
        );
    }
    return (current = new Engine(new WebAssembly.Module(fromBase64(embedded[choose(undefined)]))));
}

/** A source of the module. */
export type WasmSource = URL | string | Response | BytesLike | WebAssembly.Module;

/** How to load the module. */
export interface InitOptions {
    /** The build. By default the fastest that can run here. */
    build?: Build;
    /** The source of the module, if not the package: a URL, a response, bytes, a compiled module, a
     * promise of one of these, or a function from the build to one of these. A response is compiled
     * while it arrives.
     */
    wasm?: WasmSource | Promise<WasmSource> | ((build: Build) => WasmSource | Promise<WasmSource>);
}

let readFile: ((url: URL) => Promise<BytesLike>) | undefined;

/** Sets a reader in Node, whose `fetch` does not accept `file:` URLs. */
export function useFileReader(reader: (url: URL) => Promise<BytesLike>): void {
    readFile = reader;
}

async function load(source: WasmSource): Promise<WebAssembly.Module> {
    if (source instanceof WebAssembly.Module) return source;
    if (typeof source === 'string' || source instanceof URL) {
        const url = source instanceof URL ? source : undefined;
        if (url?.protocol === 'file:' && readFile !== undefined) return load(await readFile(url));
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

async function included(build: Build): Promise<WebAssembly.Module> {
    let base64 = embedded?.[build];
    if (base64 === undefined) {
        // Name each one, so that bundlers find it.
        switch (build) {
            case 'relaxed-simd': base64 = (await import('./wasm/relaxed-simd.js')).default; break;
            case 'simd128': base64 = (await import('./wasm/simd128.js')).default; break;
            case 'scalar': base64 = (await import('./wasm/scalar.js')).default; break;
        }
    }
    return WebAssembly.compile(fromBase64(base64));
}

/** Loads the WebAssembly module without blocking the thread. `@palladion/aegis/slim` needs this
 * once. `@palladion/aegis` loads its module at the first use, so there call `init` only to choose
 * another build or another source.
 *
 * A second call without options does nothing. With options it loads a new module, for objects
 * created from then on.
 *
 * @returns the build in use.
 */
export async function init(options: InitOptions = {}): Promise<Build> {
    checkOptions(options, ['build', 'wasm']);
    const { build, wasm } = options;
    if (current !== undefined && build === undefined && wasm === undefined) return current.build;
    const chosen = choose(build);
    const module =
        wasm === undefined
            ? await included(chosen)
            : await load(await (typeof wasm === 'function' ? wasm(chosen) : wasm));
    current = new Engine(module);
    return current.build;
}

/** The build in use. */
export function currentBuild(): Build {
    return engine().build;
}

/** Frees the memory of objects that were garbage-collected. */
const forgotten = new FinalizationRegistry<() => void>((free) => free());

/** An object in the memory of an engine. It is freed once, by its owner or after its owner. */
export class Handle {
    readonly engine: Engine;
    #address: number;
    readonly #free: Call;

    constructor(owner: object, engine: Engine, address: number, free: Call) {
        this.engine = engine;
        this.#address = address;
        this.#free = free;
        forgotten.register(owner, () => this.free(), this);
    }

    /** The address. Throws if the object was freed. */
    get address(): number {
        if (this.#address === 0)
            throw new PalladionError('WRONG_STATE', 'this object is already finished');
        return this.#address;
    }

    get live(): boolean {
        return this.#address !== 0;
    }

    /** Returns the address. The caller must free the object. */
    take(): number {
        const address = this.address;
        this.#address = 0;
        forgotten.unregister(this);
        return address;
    }

    free(): void {
        if (this.live) this.#free(this.take());
    }
}
