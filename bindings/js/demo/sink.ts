/**
 * The places where a result grows. Nobody sees the result before it is complete. Then the page
 * hands it to the browser, which saves it among the downloads and replaces no file there; or it
 * appears in a folder that the user chose, under a name that no file has there.
 *
 * The page does not ask for a file with `showSaveFilePicker`. Chromium (seen with 156) truncates
 * the chosen file in place, before the page learns which one it is. So the page could not keep the
 * old contents until the result is complete, and not refuse the source or the key file as a target.
 * In a folder, the page chooses the name. The stream of `createWritable` is safe: it writes to
 * NAME.crswap, which replaces the file when the stream is closed.
 */

import type { Failure } from './core.js';

/** The length from which on a piece goes to the disk. */
const PIECE = 16 << 20;

const STORE = 'pieces';

/** The failure if the browser closes the database, or deletes pieces that it kept. */
const LOST: Failure = {
    code: 'LOST',
    message: 'the browser lost a part of the result',
    hint: 'it may have deleted its data for this page: try again',
};

/**
 * The database that moves pieces to the disk. IndexedDB is there in pages from the disk as well,
 * where browsers refuse the private file system, and blobs in memory may not hold much: Chromium
 * (seen with 156) silently breaks blobs of more than 500 MiB in all. The connection stays open as
 * long as the page, because Firefox (seen with 153) deletes the pieces of a closed one.
 */
let database: Promise<IDBDatabase> | undefined;

function openDatabase(): Promise<IDBDatabase> {
    return new Promise((resolve, reject) => {
        const request = indexedDB.open('palladion', 1);
        request.onupgradeneeded = () => request.result.createObjectStore(STORE);
        request.onsuccess = () => {
            // The browser closes it when the user deletes the data of the page.
            request.result.onclose = () => (database = undefined);
            resolve(request.result);
        };
        request.onerror = () => reject(request.error);
    });
}

/** Runs a transaction. Returns the result of the request once the transaction is complete. */
function transact<T>(
    database: IDBDatabase,
    run: (store: IDBObjectStore) => IDBRequest<T>,
): Promise<T> {
    return new Promise((resolve, reject) => {
        const transaction = database.transaction(STORE, 'readwrite');
        const request = run(transaction.objectStore(STORE));
        transaction.oncomplete = () => resolve(request.result);
        transaction.onabort = () => reject(transaction.error);
    });
}

/** Deletes pieces from an hour ago or earlier, which are left if a page or the browser crashed. */
export async function deleteLeftovers(): Promise<void> {
    database ??= openDatabase();
    const old = IDBKeyRange.upperBound([Date.now() - 60 * 60 * 1000]);
    await transact(await database, (store) => store.delete(old));
}

/** Throws if a blob cannot be read. Creating it succeeds even if there is no space for it. */
async function check(blob: Blob): Promise<void> {
    try {
        await blob.slice(-1).arrayBuffer();
    } catch {
        throw new DOMException('the browser has no room for a part', 'QuotaExceededError');
    }
}

/**
 * Moves a blob to the disk. The browser deletes the file with the last blob that refers to it,
 * because the record is deleted at once. So nothing is left when the page is closed.
 */
async function toDisk(blob: Blob): Promise<Blob> {
    database ??= openDatabase();
    const opened = await database;
    const key = [Date.now(), Math.random()];
    await transact(opened, (store) => store.put(blob, key));
    const stored: Blob = await transact(opened, (store) => {
        const request = store.get(key);
        store.delete(key);
        return request;
    });
    await check(stored);
    return stored;
}

async function toMemory(blob: Blob): Promise<Blob> {
    await check(blob);
    return blob;
}

/**
 * Returns how many bytes the browser has room for, and at most `length`, which is all that anyone
 * asked for. Chromium (seen with 156) tells everyone that it has 10 GiB, so that no page learns
 * that it is in a private window, where it has much less. But it refuses to make a file longer than
 * that. Where files are not to be had, as in a page from the disk, the answer is what it tells.
 */
export async function room(length: number): Promise<number> {
    if (length <= PIECE) return length;
    const told = await navigator.storage?.estimate?.().catch(() => undefined);
    let least = length;
    if (told?.quota !== undefined && !('showDirectoryPicker' in globalThis))
        least = Math.min(length, told.quota - (told.usage ?? 0));
    const name = `room ${Math.random()}`;
    let folder: FileSystemDirectoryHandle | undefined;
    try {
        folder = await navigator.storage.getDirectory();
        const file = await folder.getFileHandle(name, { create: true });
        // A refusal takes no time. In private windows, success does: a second for each GB.
        while (least > PIECE && !(await fits(file, least))) least = Math.floor(least * 0.9);
    } catch {
        // No files here, or no streams to them.
    }
    await folder?.removeEntry(name).catch(() => {});
    return least;
}

async function fits(file: FileSystemFileHandle, length: number): Promise<boolean> {
    const stream = await file.createWritable();
    try {
        await stream.truncate(length);
        return true;
    } catch (error) {
        if ((error as Error).name === 'QuotaExceededError') return false;
        throw error;
    } finally {
        await stream.abort().catch(() => {}); // a refusal breaks the stream
    }
}

/** Where a result goes. */
export interface Output {
    write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
    /** Completes the result. Returns it, unless it is in a folder. */
    close(): Promise<Blob | undefined>;
    /** Removes what was written. */
    abort(): Promise<void>;
}

/** Reports errors of the chosen folder, which have the same names as errors of the source. */
const writing = <T>(work: Promise<T>): Promise<T> =>
    work.catch((error: Error) => {
        throw {
            code: 'WRITE',
            message: `the result cannot be written into the folder: ${error.message}`,
            hint: 'the folder may be full, protected or gone',
        } satisfies Failure;
    });

/** A new file in a folder that the user chose. Until it is complete, it is empty. */
export class FolderFile implements Output {
    private constructor(
        private readonly folder: FileSystemDirectoryHandle,
        /** The name, with a number if it was taken. */
        readonly name: string,
        private readonly stream: FileSystemWritableFileStream,
    ) {}

    /** Creates a file, and the folders above it. The path is relative to the chosen folder. */
    static create(chosen: FileSystemDirectoryHandle, path: string[]): Promise<FolderFile> {
        const create = async () => {
            let folder = chosen;
            for (const part of path.slice(0, -1))
                folder = await folder.getDirectoryHandle(part, { create: true });
            let name = path.at(-1)!;
            for (let number = 1; await exists(folder, name); number++)
                name = path.at(-1)!.replace(/(\.[^.]*)?$/, ` (${number})$1`);
            const file = await folder.getFileHandle(name, { create: true });
            try {
                return new FolderFile(folder, name, await file.createWritable());
            } catch (error) {
                await folder.removeEntry(name).catch(() => {});
                throw error;
            }
        };
        return writing(create());
    }

    write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
        return writing(this.stream.write(bytes));
    }

    async close(): Promise<undefined> {
        await writing(this.stream.close());
    }

    async abort(): Promise<void> {
        await this.stream.abort().catch(() => {}); // it may have failed already
        await this.folder.removeEntry(this.name).catch(() => {});
    }
}

async function exists(folder: FileSystemDirectoryHandle, name: string): Promise<boolean> {
    try {
        await folder.getFileHandle(name);
        return true;
    } catch (error) {
        if ((error as Error).name === 'NotFoundError') return false;
        if ((error as Error).name === 'TypeMismatchError') return true; // a folder
        throw error;
    }
}

export class Sink implements Output {
    #keep = toDisk;
    #kept: Blob[] = [];
    #pieces: Uint8Array<ArrayBuffer>[] = [];
    #length = 0;

    async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
        this.#pieces.push(bytes);
        this.#length += bytes.length;
        if (this.#length < PIECE) return;
        const piece = new Blob(this.#pieces);
        this.#pieces = [];
        this.#length = 0;
        try {
            this.#kept.push(await this.#keep(piece));
        } catch (error) {
            if ((error as Error | null)?.name === 'QuotaExceededError') throw error;
            if (this.#kept.length > 0) throw LOST;
            // Some browsers have no IndexedDB in some pages, or keep no blobs in it.
            this.#keep = toMemory;
            this.#kept.push(await toMemory(piece));
        }
    }

    /** Returns the result, all of which can be read. */
    async close(): Promise<Blob> {
        try {
            for (const piece of this.#kept) await check(piece);
        } catch (error) {
            throw this.#keep === toDisk ? LOST : error;
        }
        const rest = new Blob(this.#pieces);
        await check(rest);
        return new Blob([...this.#kept, rest], { type: 'application/octet-stream' });
    }

    async abort(): Promise<void> {
        this.#kept = this.#pieces = [];
    }
}

/** Makes the browser save a blob, like a click on a link to it. */
export function save(link: HTMLAnchorElement, result: Blob, name: string): void {
    if (link.href.startsWith('blob:')) URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(result);
    link.download = name;
    link.click();
}
