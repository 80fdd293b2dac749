import './surroundings-node.js';

export * from './index.js';
