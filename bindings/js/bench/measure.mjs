// Measures, in Node or in a page, every build that can run here, and AES-256-GCM of @noble/ciphers
// and of WebCrypto. @noble/ciphers is JavaScript, which a page uses if it needs synchronous calls.
// WebCrypto uses the CPU's instructions, and its calls are asynchronous.
//
// The times include everything that a call costs: checks, copies to and from the module, and a new
// array for the result. Samples take turns; the result is the fastest.
import { gcm } from '@noble/ciphers/aes.js';
import { ALGORITHMS, Cipher, generateKey, generateNonce, init, mac } from '@palladion/aegis/slim';

export const SIZES = [['64 B', 64], ['1 KiB', 1024], ['16 KiB', 16384], ['1 MiB', 1 << 20]];
export const NOBLE = '@noble/ciphers AES-256-GCM';
export const WEB_CRYPTO = 'WebCrypto AES-256-GCM';
const ROUNDS = 12;
const SAMPLE = 6; // milliseconds

function sample({ call, repeat }) {
    const start = performance.now();
    for (let n = 0; n < repeat; n++) call();
    return (performance.now() - start) / repeat;
}

async function sampleAsync({ call, repeat }) {
    const start = performance.now();
    for (let n = 0; n < repeat; n++) await call();
    return (performance.now() - start) / repeat;
}

async function tasksFor(length, builds) {
    const message = new Uint8Array(length).fill(7);
    const key = generateKey('AEGIS-256');
    const nonce = new Uint8Array(12);
    const tasks = [
        { name: NOBLE, operation: 'encrypt', call: () => gcm(key, nonce).encrypt(message) },
    ];
    const subtle = globalThis.crypto?.subtle;
    if (subtle !== undefined) {
        const aes = await subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt']);
        tasks.push({
            name: WEB_CRYPTO,
            operation: 'encrypt',
            asynchronous: true,
            call: () => subtle.encrypt({ name: 'AES-GCM', iv: nonce }, aes, message),
        });
    }
    for (const build of builds) {
        for (const algorithm of ALGORITHMS) {
            const key = generateKey(algorithm);
            const nonce = generateNonce(algorithm);
            const cipher = new Cipher(key, { algorithm });
            tasks.push({
                name: algorithm,
                build,
                operation: 'encrypt',
                call: () => cipher.encrypt(nonce, message),
            });
            tasks.push({
                name: algorithm,
                build,
                operation: 'MAC',
                call: () => mac(key, message, { algorithm }),
            });
        }
    }
    return tasks;
}

/** Measures everything. Returns the nanoseconds of a call by size, name, build and operation.
 * @param modules the compiled modules by build. They are compiled in advance, because a module that
 *   was just compiled starts slowly.
 */
export async function measure(modules, progress = () => {}) {
    const results = [];
    const builds = Object.keys(modules);
    let current;
    const use = async (build) => {
        if (build !== undefined && build !== current) await init({ wasm: modules[build] });
        current = build ?? current;
    };
    await use(builds[0]);
    for (const [size, length] of SIZES) {
        const tasks = await tasksFor(length, builds);
        for (const task of tasks) {
            await use(task.build);
            task.take = task.asynchronous ? sampleAsync : sample;
            task.best = Infinity;
            // Find how many calls take a sample's time, after the engine's best compiler has
            // optimised the code, which takes longer for JavaScript.
            task.repeat = 1;
            for (let warm = 0; warm < (task.build === undefined ? 500 : 60); ) {
                const time = await task.take(task);
                warm += time * task.repeat;
                task.repeat = Math.max(
                    1,
                    Math.min(1e6, Math.round(SAMPLE / Math.max(time, 1e-5)), 4 * task.repeat),
                );
            }
        }
        for (let round = 0; round < ROUNDS; round++) {
            for (const task of tasks) {
                await use(task.build);
                task.best = Math.min(task.best, await task.take(task));
            }
            progress(size, (round + 1) / ROUNDS);
            await new Promise((resolve) => setTimeout(resolve));
        }
        for (const { name, build, operation, best } of tasks)
            results.push({ size, length, name, build, operation, ns: best * 1e6 });
    }
    return results;
}

/** GB/s (10^9 bytes per second). */
export const rate = ({ length, ns }) => length / ns;

export const digits = (number) => number.toFixed(number < 0.0995 ? 3 : 2);

/** Formats tables with a row for each implementation, and its factor to @noble/ciphers. */
export function tables(results) {
    const made = [];
    const find = (size, like) =>
        results.find(
            (result) =>
                result.size === size &&
                Object.keys(like).every((name) => result[name] === like[name]),
        );
    const heads = SIZES.map(([size]) => size);
    for (const build of [...new Set(results.map((result) => result.build))].filter(
        (build) => build !== undefined,
    )) {
        for (const operation of ['encrypt', 'MAC']) {
            const rows = ALGORITHMS.map((name) => [
                name,
                heads.map((size) => find(size, { name, build, operation })),
            ]);
            if (operation === 'encrypt') {
                for (const name of [NOBLE, WEB_CRYPTO])
                    if (find(heads[0], { name }))
                        rows.push([name, heads.map((size) => find(size, { name }))]);
            }
            made.push({
                title: `${build}, ${operation === 'MAC' ? 'MAC' : 'encryption'}`,
                heads: ['GB/s', ...heads],
                rows: rows.map(([name, cells]) => [
                    name,
                    ...cells.map((cell) => {
                        const times = find(cell.size, { name: NOBLE }).ns / cell.ns;
                        return (
                            digits(rate(cell)) +
                            (operation === 'encrypt' && cell.build
                                ? ` (${times < 9.95 ? times.toFixed(1) : times.toFixed(0)}×)`
                                : '')
                        );
                    }),
                ]),
            });
        }
    }
    return made;
}

export function markdown(results) {
    return tables(results)
        .map(({ title, heads, rows }) =>
            [
                `| ${title}: ${heads.join(' | ')} |`,
                `|---|${heads
                    .slice(1)
                    .map(() => '---:|')
                    .join('')}`,
                ...rows.map((row) => `| ${row.join(' | ')} |`),
            ].join('\n'),
        )
        .join('\n\n');
}
