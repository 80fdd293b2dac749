// A web server for tests and benchmarks: folders under names.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const types = {
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript',
    '.mjs': 'text/javascript',
    '.json': 'application/json',
    '.wasm': 'application/wasm',
    '.css': 'text/css',
    '.txt': 'text/plain; charset=utf-8',
};

/** Serves folders by the first part of the path. Returns the address and a function to stop. */
export async function serve(folders) {
    const server = createServer(async (request, response) => {
        // Pages need these headers for SharedArrayBuffer.
        const headers = {
            'Cross-Origin-Opener-Policy': 'same-origin',
            'Cross-Origin-Embedder-Policy': 'require-corp',
            'Cache-Control': 'no-store',
        };
        try {
            const [, first, ...rest] = decodeURIComponent(
                new URL(request.url, 'http://localhost').pathname,
            ).split('/');
            if (first === 'sha256') {
                const hash = createHash('sha256');
                for await (const piece of request) hash.update(piece);
                return response.writeHead(200, headers).end(hash.digest('hex'));
            }
            const folder = folders[first];
            const path = normalize(rest.join('/'));
            if (folder === undefined || path.startsWith('..'))
                throw new Error('unknown folder');
            const body = await readFile(join(folder, path));
            response
                .writeHead(200, {
                    ...headers,
                    'Content-Type': types[extname(path)] ?? 'application/octet-stream',
                })
                .end(body);
        } catch {
            response.writeHead(404, headers).end();
        }
    });
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
