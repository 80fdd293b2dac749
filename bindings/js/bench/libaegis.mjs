// Compares our modules with libaegis's WebAssembly, which is part of the crate `aegis`. JavaScript
// calls the exported functions directly, in turns; the result is the fastest sample of each.
//
//     node build.mjs && node bench/libaegis.mjs
//     node --experimental-wasm-relaxed-simd bench/libaegis.mjs       # for Node 20
//
// Builds crates/palladion-bench/peer-aegis for wasm32-unknown-unknown, with rustup's target or with
// Debian's rustc-web, like build-wasm.sh.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const NAMES = [
    'AEGIS-128L',
    'AEGIS-128X2',
    'AEGIS-128X4',
    'AEGIS-256',
    'AEGIS-256X2',
    'AEGIS-256X4',
];
const SIZES = [64, 1024, 16384];
const ROUNDS = 60;
const SAMPLE = 2; // milliseconds
const TAG = 16;
const target = 'wasm32-unknown-unknown';
const path = (relative) => fileURLToPath(new URL(relative, import.meta.url));

function buildPeer(build) {
    const folder = path(`../../../target/js/libaegis-${build}`);
    const installed = execFileSync(
        'sh',
        ['-c', 'rustup target list --installed 2>/dev/null || true'],
        { encoding: 'utf8' },
    );
    const debian = !installed.split('\n').includes(target);
    const simd = build === 'simd128' ? '+simd128' : '+simd128,+relaxed-simd';
    execFileSync(
        debian ? '/usr/bin/cargo' : 'cargo',
        [
            'build',
            '--quiet',
            '--release',
            '--target',
            target,
            '--features',
            `wasm-${build}`,
            '--manifest-path',
            path('../../../crates/palladion-bench/peer-aegis/Cargo.toml'),
            ...(debian ? ['-Zbuild-std=std,panic_abort', '-Zbuild-std-features='] : []),
        ],
        {
            stdio: 'inherit',
            env: {
                ...process.env,
                CARGO_TARGET_DIR: folder,
                CARGO_PROFILE_RELEASE_PANIC: 'abort',
                RUSTFLAGS: `-Ctarget-feature=${simd}`,
                ...(debian
                    ? {
                          RUSTC: '/usr/bin/rustc',
                          RUSTC_BOOTSTRAP: '1',
                          CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER: 'wasm-ld-19',
                      }
                    : {}),
            },
        },
    );
    return readFileSync(`${folder}/${target}/release/palladion_bench_peer_aegis.wasm`);
}

// libaegis: the job is in new memory, past all that the module uses.
function theirs(bytes) {
    const module = new WebAssembly.Module(bytes);
    const refuse = (name) => () => {
        throw new Error(`${name} is called`);
    };
    const imports = {};
    for (const { module: from, name } of WebAssembly.Module.imports(module))
        (imports[from] ??= {})[name] = refuse(name);
    const { memory, palladion_bench_aegis_run: run } = new WebAssembly.Instance(module, imports)
        .exports;
    const base = memory.grow(8) * 65536;
    const [key, nonce, tag, data] = [base + 64, base + 128, base + 192, base + 256];
    return (variant, operation, length) => {
        new Uint32Array(memory.buffer, base, 8).set([key, nonce, 0, 0, data, data, length, tag]);
        return {
            call: () => {
                if (run(variant, operation, 1n, base) !== 0) throw new Error('it failed');
            },
            memory: () => new Uint8Array(memory.buffer),
            places: { key, nonce, tag, data },
        };
    };
}

function ours(bytes) {
    const {
        memory,
        pld_place: place,
        pld_encrypt: encrypt,
        pld_mac: mac,
    } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {}).exports;
    const [key, nonce, tag, , data] = [0, 1, 2, 3, 4].map((which) => place(which));
    return (variant, operation, length) => ({
        call: () => {
            const failed =
                operation === 0
                    ? encrypt(variant + 1, TAG, 0, length)
                    : mac(variant + 1, TAG, length);
            if (failed !== 0) throw new Error('it failed');
        },
        memory: () => new Uint8Array(memory.buffer),
        // Ciphertexts are followed by their tags.
        places: { key, nonce, tag: operation === 0 ? data + length : tag, data },
    });
}

// Both must give the same result for the same key, nonce and message. A call wipes our key and the
// input of a MAC, so the timed calls use zeros, which take as long as any other.
function agree(subjects, operation, length) {
    const results = subjects.map(({ call, memory, places }) => {
        memory().fill(1, places.key, places.key + 32);
        memory().fill(2, places.nonce, places.nonce + 32);
        memory().fill(3, places.data, places.data + length);
        call();
        return Buffer.concat([
            memory().slice(places.tag, places.tag + TAG),
            memory().slice(places.data, places.data + (operation === 0 ? length : 0)),
        ]);
    });
    if (!results[0].equals(results[1])) throw new Error('not the same result');
}

function sample({ call }, repeat) {
    const start = performance.now();
    for (let n = 0; n < repeat; n++) call();
    return (performance.now() - start) / repeat;
}

function compare(subjects) {
    const best = subjects.map(() => Infinity);
    const repeats = subjects.map((subject) => {
        sample(subject, 2000); // until the engine has optimised the code
        return Math.max(1, Math.round(SAMPLE / sample(subject, 200)));
    });
    for (let round = 0; round < ROUNDS; round++) {
        subjects.forEach((subject, i) => {
            best[i] = Math.min(best[i], sample(subject, repeats[i]));
        });
    }
    return best[1] / best[0];
}

console.log(
    `Node ${process.versions.node}; our speed divided by that of libaegis (crate aegis 0.9.20), ` +
        `tags of ${TAG} bytes`,
);
for (const build of ['simd128', 'relaxed-simd']) {
    const mine = readFileSync(path(`../wasm/${build}.wasm`));
    if (!WebAssembly.validate(mine)) {
        console.log(`\n${build}: not supported here`);
        continue;
    }
    const make = [ours(mine), theirs(buildPeer(build))];
    console.log(`\n| ${build} | ${NAMES.join(' | ')} |\n|---|${'---:|'.repeat(NAMES.length)}`);
    for (const [operation, what] of [
        [0, 'encryption'],
        [2, 'MAC'],
    ]) {
        for (const length of SIZES) {
            const row = NAMES.map((_, variant) => {
                const subjects = make.map((subject) => subject(variant, operation, length));
                agree(subjects, operation, length);
                return compare(subjects).toFixed(2);
            });
            console.log(`| ${what}, ${length} bytes | ${row.join(' | ')} |`);
        }
    }
}
