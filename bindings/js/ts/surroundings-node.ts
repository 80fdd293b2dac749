/** Connects what browsers have as globals and Node, Deno and Bun in modules. */
import { webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Buffer } from 'node:buffer';

import { useSurroundings } from './builds.js';
import { useAllocation } from './bytes.js';
import type { Addon } from './native.js';
import { useRandomSource } from './random.js';
import { VERSION } from './version.js';
import { useFileReader } from './wasm.js';

type Permission = { name: 'env'; variable: string } | { name: 'ffi' } | { name: 'read' };

interface Permissions {
    querySync(wanted: Permission): { state: string };
}

/** Deno would stop and ask for a permission that it was not given. */
const denied = (wanted: Permission) => {
    const { Deno } = globalThis as { Deno?: { permissions: Permissions } };
    return Deno !== undefined && Deno.permissions.querySync(wanted).state !== 'granted';
};

/** The packages with the addon. Each name is written out, so that tools that collect the files of a
 * program find it.
 */
const packages = (require: NodeJS.Require): Record<string, [string, () => unknown][]> => ({
    'linux-x64': [
        // A program does not know its C library; only one of the two loads.
        ['@palladion/aegis-linux-x64-gnu', () => require('@palladion/aegis-linux-x64-gnu')],
        ['@palladion/aegis-linux-x64-musl', () => require('@palladion/aegis-linux-x64-musl')],
    ],
    'linux-arm64': [
        ['@palladion/aegis-linux-arm64-gnu', () => require('@palladion/aegis-linux-arm64-gnu')],
        ['@palladion/aegis-linux-arm64-musl', () => require('@palladion/aegis-linux-arm64-musl')],
    ],
    'darwin-x64': [['@palladion/aegis-darwin-x64', () => require('@palladion/aegis-darwin-x64')]],
    'darwin-arm64': [
        ['@palladion/aegis-darwin-arm64', () => require('@palladion/aegis-darwin-arm64')],
    ],
    'win32-x64': [['@palladion/aegis-win32-x64', () => require('@palladion/aegis-win32-x64')]],
});

/** The places from which to look for the packages: this module or, in a bundle, the bundle and the
 * program. A bundle as a CommonJS module has no `import.meta`, others have no `__filename`.
 */
function places(): string[] {
    const bundle = typeof __filename === 'string' ? __filename : undefined;
    const all = [import.meta.url as string | undefined, bundle, process.argv[1]];
    return all.filter((place) => place !== undefined && /^(file:|\/|[A-Za-z]:)/.test(place)) as
        string[];
}

/** Loads the addon from the package for this platform, which npm installs if there is one. */
function addon(): Addon {
    if (denied({ name: 'ffi' })) throw new Error('Deno needs the option --allow-ffi for it');
    if (denied({ name: 'read' })) throw new Error('Deno needs the option --allow-read for it');
    const platform = `${process.platform}-${process.arch}`;
    const reasons = new Set<string>();
    for (const place of places()) {
        for (const [name, load] of packages(createRequire(place))[platform] ?? []) {
            try {
                const addon = load() as Addon;
                if (addon.version === VERSION && typeof addon.pld_key_format === 'function')
                    return addon;
                reasons.add(`${name} has version ${addon.version} instead of ${VERSION}`);
            } catch (error) {
                const { code, message } = error as NodeJS.ErrnoException;
                const absent = code === 'MODULE_NOT_FOUND';
                reasons.add(absent ? `${name} is not installed` : `${name}: ${message}`);
            }
        }
    }
    throw new Error([...reasons].join('; ') || `there is none for ${platform}`);
}

useRandomSource(webcrypto);
// Filling a large array with zeros would take longer than encrypting it.
useAllocation((length) => new Uint8Array(Buffer.allocUnsafeSlow(length).buffer as ArrayBuffer));
useFileReader(async (url) => {
    if (denied({ name: 'read' })) throw new Error('Deno needs the option --allow-read for it');
    return readFile(url);
});
useSurroundings({
    addon,
    wish: () =>
        denied({ name: 'env', variable: 'PALLADION_BUILD' })
            ? undefined
            : process.env.PALLADION_BUILD,
});
