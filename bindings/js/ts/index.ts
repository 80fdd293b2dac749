/**
 * AEGIS (RFC 10032): authenticated encryption, MACs and encrypted files, with all that it needs
 * within it.
 */
import './embedded.js';

export * from './slim.js';
