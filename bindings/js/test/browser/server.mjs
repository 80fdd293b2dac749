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

/** Serves folders by the first part of the path. Returns the address, a function to stop, and a map
 * of further files, from paths to bytes, which it sends in ranges.
 */
export async function serve(folders) {
    const files = new Map();
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
            const file = files.get(request.url);
            const range = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range);
            if (file !== undefined && range !== null) {
                const part = file.subarray(Number(range[1]), Number(range[2]) + 1);
                const end = Number(range[1]) + part.length - 1;
                headers['Content-Range'] = `bytes ${range[1]}-${end}/${file.length}`;
                return response.writeHead(206, { ...headers, ETag: '"one"' }).end(part);
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
    const url = `http://127.0.0.1:${server.address().port}`;
    return { url, files, close: () => server.close() };
}
