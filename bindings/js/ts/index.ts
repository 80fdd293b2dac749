/** AEGIS (RFC 10032): authenticated encryption, MACs and encrypted files. This entry contains the
 * WebAssembly.
 */
import './embedded.js';

export * from './api.js';
