// Loads a module and what it imports from a server, as a page does.
//
//   node --experimental-vm-modules page.mjs URL
import { SourceTextModule } from 'node:vm';

const modules = new Map();

/** The module at an address, of which there is one. */
function at(url) {
    if (!modules.has(url)) modules.set(url, get(url));
    return modules.get(url);
}

async function get(url) {
    const response = await fetch(url);
    if (!response.ok) throw new Error(`${url}: ${response.status}`);
    return new SourceTextModule(await response.text(), {
        identifier: url,
        initializeImportMeta: (meta) => (meta.url = url),
        importModuleDynamically: (name) => start(new URL(name, url).href),
    });
}

async function start(url) {
    const module = await at(url);
    if (module.status === 'unlinked')
        await module.link((name, { identifier }) => at(new URL(name, identifier).href));
    await module.evaluate();
    return module;
}

await start(process.argv[2]);
