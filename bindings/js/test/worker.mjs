// A thread of native.test.mjs.
import { parentPort } from 'node:worker_threads';
import { currentBuild, Encryptor, Mac } from '@palladion/aegis';

const zeros = new Uint8Array(32);
const kept = Array.from({ length: 50 }, () => new Mac(zeros));
for (let i = 0; i < 2000; i++) {
    const encryptor = new Encryptor(zeros, zeros);
    encryptor.update(new Uint8Array((i * 37) % 6000));
    encryptor.finalize();
}
parentPort.postMessage([currentBuild(), kept[7].update(zeros).finalize()]);
