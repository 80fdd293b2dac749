import './surroundings-node.js';

export * from './compat.js';
