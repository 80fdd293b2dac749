import './surroundings-node.js';

export * from './slim.js';
