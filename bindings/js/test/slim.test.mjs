// The entry without WebAssembly, which must load it first.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as slim from '@palladion/aegis/slim';

test('slim', async () => {
    const sealing = () => slim.seal(slim.generateKey(), new Uint8Array(5));
    // Nothing else in this process has loaded a module.
    assert.throws(sealing, { code: 'NOT_READY', hint: /await init/ });
    for (const build of slim.supportedBuilds()) {
        assert.equal(await slim.init({ build }), build);
        assert.equal(sealing().length, 32 + 5 + 32);
    }
    assert.equal(await slim.init(), 'scalar');
    await slim.init({ build: 'wasm' });
    assert.equal(await slim.init(), slim.currentBuild());
});
