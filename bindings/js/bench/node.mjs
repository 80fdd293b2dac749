// Speed in this Node: the build in use beside AES-256-GCM of @noble/ciphers, which is JavaScript, as pages have it where calls must not
// be asynchronous. Rounds take turns, and the fastest counts.
//
//   node bench/node.mjs [relaxed-simd|simd128|scalar]
//
// Figures are with everything that a caller pays for: checks, copies to the module and back, a new array for the result.
import { gcm } from '@noble/ciphers/aes.js';
import { ALGORITHMS, Cipher, currentBuild, generateKey, generateNonce, init, mac } from '@palladion/aegis';

if (process.argv[2]) await init({ build: process.argv[2] });

const ROUNDS = 15;
const sizes = [['64 B', 64], ['16 KiB', 16384], ['1 MiB', 1 << 20]];

/** Nanoseconds of one call of each, the fastest of all rounds. */
function measure(calls, length) {
    const best = calls.map(() => Infinity);
    const times = calls.map((call) => {
        // As many calls as take 10 ms or so.
        call();
        const start = performance.now();
        let n = 0;
        while (performance.now() - start < 10) for (let i = 0; i < 4; i++, n++) call();
        return Math.max(1, n);
    });
    for (let round = 0; round < ROUNDS; round++) {
        calls.forEach((call, i) => {
            const start = performance.now();
            for (let n = 0; n < times[i]; n++) call();
            best[i] = Math.min(best[i], ((performance.now() - start) / times[i]) * 1e6);
        });
    }
    return best.map((time) => ({ time, rate: (8 * length) / time }));
}

console.log(`Node ${process.versions.node}, ${process.arch}, build ${currentBuild()}; ns for a call, Gb/s, times the speed of noble's AES-256-GCM\n`);
const show = ({ time, rate }, noble) =>
    `${time.toFixed(0).padStart(9)} ${rate.toFixed(2).padStart(6)} ${noble === undefined ? '' : `${(noble.time / time).toFixed(1)} x`.padStart(8)}`;
for (const [name, length] of sizes) {
    const message = new Uint8Array(length).fill(7);
    const aesKey = generateKey('AEGIS-256');
    const aesNonce = new Uint8Array(12);
    const calls = [() => gcm(aesKey, aesNonce).encrypt(message)];
    const names = ['noble AES-256-GCM'];
    for (const algorithm of ALGORITHMS) {
        const key = generateKey(algorithm);
        const nonce = generateNonce(algorithm);
        const cipher = new Cipher(key, { algorithm });
        calls.push(() => cipher.encrypt(nonce, message), () => mac(key, message, { algorithm }));
        names.push(`${algorithm}, encrypt`, `${algorithm}, MAC`);
    }
    const results = measure(calls, length);
    console.log(`${name}\n`);
    results.forEach((result, i) => console.log(`  ${names[i].padEnd(22)} ${show(result, i > 0 ? results[0] : undefined)}`));
    console.log();
}
