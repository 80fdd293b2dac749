/** The build in use: which can run here, which is chosen, and how it is loaded. */
import { checkOptions, quoted, type Bytes } from './bytes.js';
import type { Build, Engine } from './engine.js';
import { PalladionError } from './errors.js';
import { Native, type Addon } from './native.js';
import {
    compile,
    instantiate,
    supportedWasm,
    WASM_BUILDS,
    type WasmBuild,
    type WasmSource,
} from './wasm.js';

/** All builds, the fastest first. */
export const BUILDS: readonly Build[] = Object.freeze(['native', ...WASM_BUILDS] as const);

/** What Node, Deno and Bun have besides. */
interface Surroundings {
    /** Returns the addon. Throws an error that says why there is none. */
    addon(): Addon;
    /** The build that the environment asks for, if any. */
    wish(): string | undefined;
}

let surroundings: Surroundings | undefined;
let native: Native | Error | undefined;

/** Called by the entries for Node, Deno and Bun. */
export function useSurroundings(those: Surroundings): void {
    surroundings ??= those;
}

/** The addon, or why it cannot be used. */
function addon(): Native | Error {
    if (native === undefined) {
        try {
            if (surroundings === undefined) throw new Error('it is for Node, Deno and Bun');
            native = new Native(surroundings.addon());
        } catch (error) {
            native = error instanceof Error ? error : new Error(String(error));
        }
    }
    return native;
}

/** The builds that can run here, the fastest first. */
export function supportedBuilds(): Build[] {
    const wasm = supportedWasm();
    return addon() instanceof Native ? ['native', ...wasm] : wasm;
}

/** Why a wish cannot be fulfilled. */
function reason(wish: string): string {
    const native = addon();
    if (wish === 'native') return native instanceof Native ? '' : `: ${native.message}`;
    return supportedWasm().length === 0 ? ': this engine has no WebAssembly' : '';
}

/** Finds the build for a wish, which is `wasm` for the fastest of the WebAssembly. */
function choose(wish: string | undefined): Build {
    const from = wish === undefined ? 'PALLADION_BUILD asks for' : '';
    wish ??= surroundings?.wish() || undefined;
    const supported = supportedBuilds();
    if (supported.length === 0) {
        throw new PalladionError(
            'UNSUPPORTED',
            'this engine has no WebAssembly, ' +
                `and the native addon cannot be used${reason('native')}`,
            "browsers turn WebAssembly off in Lockdown Mode, and Node does with '--jitless'",
        );
    }
    if (wish === undefined) return supported[0]!;
    const said = `${from} the build ${quoted(wish)}`.trimStart();
    if (wish !== 'wasm' && !(BUILDS as readonly string[]).includes(wish)) {
        throw new PalladionError(
            'WRONG_VALUE',
            `${said}, which does not exist; expected one of ${BUILDS.join(', ')}, wasm`,
        );
    }
    const found = supported.find((build) =>
        wish === 'wasm' ? build !== 'native' : build === wish,
    );
    if (found === undefined) {
        throw new PalladionError(
            'UNSUPPORTED',
            `${said}, which cannot run here${reason(wish)}; ` +
                `those that can: ${supported.join(', ')}`,
        );
    }
    return found;
}

/** Where an entry has the modules. */
interface Modules {
    /** A module, for the first call of a function. */
    now?(build: WasmBuild): Bytes;
    /** A module, for `init`. */
    later(build: WasmBuild): WasmSource;
}

let modules: Modules | undefined;

/** Called by the entries. Modules that are there at once have precedence. */
export function useModules(those: Modules): void {
    if (modules?.now === undefined) modules = those;
}

let current: Engine | undefined;

/** The instance in use. The first call creates it if the entry contains the modules. */
export function engine(): Engine {
    return current ?? begin();
}

function begin(): Engine {
    if (modules?.now === undefined) {
        throw new PalladionError(
            'NOT_READY',
            'the WebAssembly module is not loaded',
            'call `await init()` once at the start',
        );
    }
    const build = choose(undefined);
    return (current =
        build === 'native'
            ? (addon() as Native)
            : instantiate(modules.now(build)));
}

/** What to load. */
export interface InitOptions {
    /**
     * The build, or `wasm` for the fastest of the WebAssembly. By default the fastest that can run
     * here; in Node, Deno and Bun, the environment variable `PALLADION_BUILD` sets another default.
     */
    build?: Build | 'wasm';
    /** The source of the module, if not the package: a URL, a response, bytes, a compiled module, a
     * promise of one of these, or a function from the build to one of these. A response is compiled
     * while it arrives.
     */
    wasm?:
        | WasmSource
        | Promise<WasmSource>
        | ((build: WasmBuild) => WasmSource | Promise<WasmSource>);
}

/** Loads the native addon, or the WebAssembly module without blocking the thread.
 * `@palladion/aegis/slim` needs this once. `@palladion/aegis` loads what it needs at the first use,
 * so there call `init` only to choose another build or another source.
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
    const chosen = choose(build ?? (wasm === undefined ? undefined : 'wasm'));
    if (chosen === 'native') {
        if (wasm !== undefined) {
            throw new PalladionError(
                'WRONG_VALUE',
                'the build "native" needs no WebAssembly module; leave out one of the two options',
            );
        }
        current = addon() as Native;
    } else {
        current = await compile(() =>
            wasm === undefined
                ? modules!.later(chosen)
                : typeof wasm === 'function'
                  ? wasm(chosen)
                  : wasm,
        );
    }
    return current.build;
}

/** The build in use. */
export function currentBuild(): Build {
    return engine().build;
}
