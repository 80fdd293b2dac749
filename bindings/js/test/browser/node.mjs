// The parts of Node that the tests use, for a page, so that the same tests run in a browser.

// Tests are collected and then run one after another.
export const tests = [];

export function test(name, ...rest) {
    const run = rest.pop();
    if (!rest[0]?.skip) tests.push({ name, run });
}

/** Runs all tests. Returns what those threw that failed. */
export async function runTests() {
    const failures = [];
    for (const { name, run } of tests) {
        try {
            await run();
        } catch (error) {
            failures.push(`${name}: ${error.stack ?? error}`);
        }
    }
    return failures;
}

// node:assert

function check(good, message) {
    if (!good) throw new Error(`assertion failed: ${message ?? 'see the line'}`);
}

const show = (value) => JSON.stringify(value)?.slice(0, 200) ?? String(value);

function same(a, b) {
    if (Object.is(a, b)) return true;
    if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
    if (Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    if (a instanceof Uint8Array) return globalThis.Buffer.compare(a, b) === 0;
    const names = Object.keys(a);
    return names.length === Object.keys(b).length && names.every((name) => same(a[name], b[name]));
}

function matches(error, expected) {
    for (const [name, value] of Object.entries(expected)) {
        const good = value instanceof RegExp ? value.test(error[name]) : same(error[name], value);
        check(good, `${name} is ${show(error[name])}, not ${value}`);
    }
}

const assert = Object.assign((value, message) => check(value, message), {
    equal: (a, b, message) =>
        check(Object.is(a, b), `${message ?? ''} ${show(a)} is not ${show(b)}`),
    notEqual: (a, b) => check(!Object.is(a, b), `${show(a)} is not another`),
    deepEqual: (a, b) => check(same(a, b), `${show(a)} is not like ${show(b)}`),
    match: (text, pattern) => check(pattern.test(text), `${show(text)} does not match ${pattern}`),
    throws(call, expected) {
        try {
            call();
        } catch (error) {
            return matches(error, expected);
        }
        throw new Error('it did not throw');
    },
    async rejects(promise, expected) {
        try {
            await (typeof promise === 'function' ? promise() : promise);
        } catch (error) {
            return matches(error, expected);
        }
        throw new Error('it was not rejected');
    },
});
export default assert;

// node:fs, node:path, node:url: read files from the server.

/** Sends a synchronous request, because modules read files while they load. */
function request(method, url, body) {
    const call = new XMLHttpRequest();
    call.open(method, url, false);
    call.send(body);
    if (call.status !== 200) throw new Error(`${url}: ${call.status}`);
    return call.responseText;
}

export const readFileSync = (path) => request('GET', path);
export const readFile = async (url) => new Uint8Array(await (await fetch(url)).arrayBuffer());
export const existsSync = () => false;
export const join = (...parts) => parts.join('/');
export const dirname = (path) => path.replace(/\/[^/]*$/, '');
export const fileURLToPath = (url) => new URL(url).pathname;
export const tmpdir = () => '/';

// A page cannot run programs.
export const execFileSync = undefined,
    spawnSync = undefined,
    mkdtempSync = undefined,
    rmSync = undefined,
    writeFileSync = undefined;

export const createHash = () => ({
    update(bytes) {
        this.bytes = bytes;
        return this;
    },
    digest() {
        return globalThis.Buffer.from(request('POST', '/sha256', this.bytes), 'hex');
    },
});

const digits = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

globalThis.Buffer = class Buffer extends Uint8Array {
    static from(value, second, length) {
        if (second === 'hex')
            return super.from({ length: value.length / 2 }, (_, i) =>
                parseInt(value.slice(2 * i, 2 * i + 2), 16),
            );
        if (second !== undefined) return new Buffer(value, second, length);
        return super.from(value);
    }

    static concat(arrays) {
        const whole = new Buffer(arrays.reduce((length, array) => length + array.length, 0));
        let at = 0;
        for (const array of arrays) {
            whole.set(array, at);
            at += array.length;
        }
        return whole;
    }

    static compare(a, b) {
        if (a.length !== b.length) return 1;
        for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return 1;
        return 0;
    }

    toString(encoding) {
        if (encoding !== 'hex') return new TextDecoder().decode(this);
        let text = '';
        for (let i = 0; i < this.length; i++) text += digits[this[i]];
        return text;
    }
};
