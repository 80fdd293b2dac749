/** Connects what browsers have as globals and Node in modules. */
import { webcrypto } from 'node:crypto';
import { readFile } from 'node:fs/promises';

import { useFileReader } from './engine.js';
import { useRandomSource } from './random.js';

useRandomSource(webcrypto);
useFileReader((url) => readFile(url));
