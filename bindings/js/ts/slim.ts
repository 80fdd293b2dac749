/**
 * AEGIS (RFC 10032): authenticated encryption, MACs and encrypted files.
 * This entry does not contain the WebAssembly. Call `await init()` once, which fetches the one
 * build that fits. Everything else is the same as in `@palladion/aegis`.
 */
import './fetched.js';

export * from './api.js';
