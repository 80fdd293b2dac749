/** Connects what browsers have as globals and Node, Deno and Bun in modules. */
import { webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Buffer } from 'node:buffer';

import { useSurroundings } from './builds.js';
import { useAllocation } from './bytes.js';
import type { Addon } from './native.js';
import { useRandomSource } from './random.js';
import { useFileReader } from './wasm.js';

interface Permissions {
    querySync(wanted: { name: 'env' | 'ffi'; variable?: string }): { state: string };
}

/** Deno would stop and ask for a permission that it was not given. */
const denied = (wanted: { name: 'env' | 'ffi'; variable?: string }) => {
    const { Deno } = globalThis as { Deno?: { permissions: Permissions } };
    return Deno !== undefined && Deno.permissions.querySync(wanted).state !== 'granted';
};

/** Loads the addon from the package for this platform, which npm installs if there is one. */
function addon(): Addon {
    if (denied({ name: 'ffi' })) throw new Error('Deno needs the option --allow-ffi for it');
    const require = createRequire(import.meta.url);
    const { version } = require('../package.json') as { version: string };
    // A program does not know its C library; only one of the two loads.
    const names =
        process.platform === 'linux' ? ['linux-%-gnu', 'linux-%-musl'] : [`${process.platform}-%`];
    const reasons: string[] = [];
    for (const name of names.map((name) => `@palladion/aegis-${name.replace('%', process.arch)}`)) {
        try {
            const addon = require(name) as Addon;
            if (addon.version === version && typeof addon.pld_key_format === 'function')
                return addon;
            reasons.push(`${name} has version ${addon.version} instead of ${version}`);
        } catch (error) {
            const { code, message } = error as NodeJS.ErrnoException;
            reasons.push(
                code === 'MODULE_NOT_FOUND' ? `${name} is not installed` : `${name}: ${message}`,
            );
        }
    }
    throw new Error(reasons.join('; '));
}

useRandomSource(webcrypto);
// Filling a large array with zeros would take longer than encrypting it.
useAllocation((length) => new Uint8Array(Buffer.allocUnsafeSlow(length).buffer as ArrayBuffer));
useFileReader((url) => readFile(url));
useSurroundings({
    addon,
    wish: () =>
        denied({ name: 'env', variable: 'PALLADION_BUILD' })
            ? undefined
            : process.env.PALLADION_BUILD,
});
