/** Connects what browsers have as globals and Node, Deno and Bun in modules. */
import { webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import module from 'node:module';
import { Buffer } from 'node:buffer';

import { useSurroundings } from './builds.js';
import { useAllocation } from './bytes.js';
import { PalladionError } from './errors.js';
import { useFileSystem } from './filesystem.js';
import type { Addon } from './native.js';
import { useRandomSource } from './random.js';
import * as fileSystem from './output-node.js';
import { VERSION } from './version.js';
import { useFileReader } from './wasm.js';

type Permission =
    { name: 'env'; variable: string } | { name: 'ffi' } | { name: 'read'; path: URL };

interface Permissions {
    querySync(wanted: Permission): { state: string };
}

/** Deno would stop and ask for a permission that it was not given. */
const denied = (wanted: Permission) => {
    const { Deno } = globalThis as { Deno?: { permissions: Permissions } };
    return Deno !== undefined && Deno.permissions.querySync(wanted).state !== 'granted';
};

/** The names of the packages that may have the addon for this machine. */
function names(): string[] {
    const name = `@palladion/aegis-${process.platform}-${process.arch}`;
    // A program does not know its C library; only one of the two loads.
    return process.platform === 'linux' ? [`${name}-gnu`, `${name}-musl`] : [name];
}

/** Loads a package from where this module is. Each name is written out, so that tools that collect
 * the files of a program find the addon. webpack would fail to read it, and does not look for it
 * because `createRequire` is not imported by its name.
 */
function load(name: string): unknown {
    const require = module.createRequire(import.meta.url);
    switch (name) {
        case '@palladion/aegis-linux-x64-gnu': return require('@palladion/aegis-linux-x64-gnu');
        case '@palladion/aegis-linux-x64-musl': return require('@palladion/aegis-linux-x64-musl');
        case '@palladion/aegis-linux-arm64-gnu': return require('@palladion/aegis-linux-arm64-gnu');
        case '@palladion/aegis-linux-arm64-musl':
            return require('@palladion/aegis-linux-arm64-musl');
        case '@palladion/aegis-darwin-x64': return require('@palladion/aegis-darwin-x64');
        case '@palladion/aegis-darwin-arm64': return require('@palladion/aegis-darwin-arm64');
        case '@palladion/aegis-win32-x64': return require('@palladion/aegis-win32-x64');
        default: throw new Error('there is no such package');
    }
}

/** Loads a package from where the bundle is that contains this module. */
function loadForBundle(name: string): unknown {
    // Only a CommonJS module has a `__filename`. webpack says that all have, so `typeof` does not
    // help.
    return module.createRequire(__filename)(name);
}

/** Loads a package from where the program is. */
function loadForProgram(name: string): unknown {
    return module.createRequire(process.argv[1]!)(name);
}

/** Loads the addon from the package for this platform, which npm installs if there is one. */
function addon(): Addon {
    if (denied({ name: 'ffi' })) throw new Error('Deno needs the option --allow-ffi for it');
    const reasons = new Set<string>();
    for (const from of [load, loadForBundle, loadForProgram]) {
        for (const name of names()) {
            try {
                const addon = from(name) as Addon;
                if (addon.version === VERSION && typeof addon.pld_key_format === 'function')
                    return addon;
                reasons.add(`${name} has version ${addon.version} instead of ${VERSION}`);
            } catch (error) {
                const { code, message } = error as NodeJS.ErrnoException;
                // There is no such file to look from.
                if (code === 'ERR_INVALID_ARG_VALUE' || error instanceof ReferenceError) continue;
                const absent = code === 'MODULE_NOT_FOUND';
                const why = 'is not installed beside the package or the program';
                reasons.add(absent ? `${name} ${why}` : `${name}: ${message}`);
            }
        }
    }
    throw new Error([...reasons].join('; '));
}

useRandomSource(webcrypto);
// Filling a large array with zeros would take longer than encrypting it.
useAllocation((length) => new Uint8Array(Buffer.allocUnsafeSlow(length).buffer as ArrayBuffer));
useFileReader(async (url) => {
    const path = new URL(url);
    if (denied({ name: 'read', path })) {
        throw new PalladionError(
            'UNSUPPORTED',
            `the WebAssembly module from ${url} cannot be loaded`,
            'Deno needs the option --allow-read for it',
        );
    }
    return readFile(path);
});
useFileSystem(fileSystem);
useSurroundings({
    addon,
    wish: () =>
        denied({ name: 'env', variable: 'PALLADION_BUILD' })
            ? undefined
            : process.env.PALLADION_BUILD,
});
