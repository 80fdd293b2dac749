// Compares the package with AES-GCM of node:crypto: nanoseconds for a call that encrypts, in turns,
// the fastest sample of each; with the addon, also into an array of the caller's. Takes about 15
// seconds.
//
//   npm ci && node build.mjs && node build.mjs addon && npm install --no-save ./npm/PLATFORM
//   node bench/crypto.mjs
import { createCipheriv, randomBytes } from 'node:crypto';
import { Cipher, generateKey, generateNonce, init, supportedBuilds } from '@palladion/aegis';

const SIZES = [64, 1024, 16384, 1 << 20];
const subjects = [];
for (const build of supportedBuilds()) {
    await init({ build });
    for (const algorithm of ['AEGIS-128L', 'AEGIS-128X2', 'AEGIS-256', 'AEGIS-256X2']) {
        const cipher = new Cipher(generateKey(algorithm), { algorithm });
        const nonce = generateNonce(algorithm);
        const encrypt = (message) => cipher.encrypt(nonce, message);
        subjects.push([`${build}, ${algorithm}`, build, encrypt]);
        if (build !== 'native') continue;
        const arrays = new Map(SIZES.map((size) => [size, new Uint8Array(size + 32)]));
        const encryptInto = (message) =>
            cipher.encrypt(nonce, message, { into: arrays.get(message.length) });
        subjects.push([`${build}, ${algorithm}, \`into\``, build, encryptInto]);
    }
}
for (const bits of [128, 256]) {
    const [key, nonce] = [randomBytes(bits / 8), randomBytes(12)];
    subjects.push([`node:crypto, AES-${bits}-GCM`, undefined, (message) => {
        const cipher = createCipheriv(`aes-${bits}-gcm`, key, nonce);
        const text = cipher.update(message);
        cipher.final();
        return [text, cipher.getAuthTag()];
    }]);
}
console.log(`| Node ${process.versions.node} | ${SIZES.join(' | ')} |`);
console.log(`|---|${'---:|'.repeat(SIZES.length)}`);
const best = subjects.map(() => SIZES.map(() => Infinity));
for (let round = 0; round < 12; round++) {
    for (const [i, [, build, call]] of subjects.entries()) {
        if (build !== undefined) await init({ build });
        for (const [j, size] of SIZES.entries()) {
            const message = new Uint8Array(size).fill(7);
            const repeat = Math.max(10, Math.round(5e6 / (1000 + size)));
            const start = performance.now();
            for (let n = 0; n < repeat; n++) call(message);
            best[i][j] = Math.min(best[i][j], (1e6 * (performance.now() - start)) / repeat);
        }
    }
}
for (const [i, [name]] of subjects.entries())
    console.log(`| ${name} | ${best[i].map((time) => time.toFixed(0)).join(' | ')} |`);
