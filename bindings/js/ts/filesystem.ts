/** The file system of Node, Deno and Bun, which browsers lack. */
import { typeName, type BytesLike } from './bytes.js';
import { PalladionError } from './errors.js';
import type { FilePath } from './types.js';

/** A file that is read. */
export interface Input {
    /** The same for all names of a file. */
    readonly identity?: string;
    /** Of a file with a name. */
    readonly permissions?: { readonly mode: number; readonly gid: number };
    next(): Promise<{ done?: boolean; value?: BytesLike }>;
    /** Ends the reading. What gives the bytes is told the error, if there was one. */
    close(error?: unknown): unknown;
}

/** A file that is written under another name, until it is complete. */
export interface Output {
    write(bytes: Uint8Array): Promise<void>;
    /** Writes what the system still keeps in memory, and closes the file. */
    finish(): Promise<void>;
    /** Gives the file its name. */
    commit(): Promise<void>;
    /** Removes the file. */
    discard(): Promise<void>;
}

/** What this uses of a `FileHandle` of Node. */
export interface FileToRead {
    readonly fd: number;
    stat(): Promise<{ isFile(): boolean; isDirectory(): boolean; size: number; mtimeMs: number }>;
    read(
        into: Uint8Array,
        at: number,
        length: number,
        position: number,
    ): Promise<{ bytesRead: number }>;
    close(): Promise<void>;
}

export interface FileSystem {
    /** The absolute name of a file. */
    nameOf(path: FilePath): string;
    openFile(name: string): Promise<FileToRead>;
    openInput(name: string): Promise<Input>;
    /** Takes a stream of Node, or nothing if it is none. */
    takeStream(stream: unknown): Input | undefined;
    /** Checks the target, which must not be the input, and creates a file. */
    createOutput(name: string, overwrite: boolean, input: Input): Promise<Output>;
}

/** The file system, if there is one. */
export let files: FileSystem | undefined;

/** Called by the entries for Node, Deno and Bun. */
export function useFileSystem(those: FileSystem): void {
    files = those;
}

export const isPath = (value: unknown): value is FilePath =>
    typeof value === 'string' || typeName(value) === 'URL';

/** Whether this is a path or a `file:` URL, and not another address. */
export const namesFile = (path: FilePath): boolean =>
    typeof path === 'string'
        ? !/^[a-z][a-z+.-]+:\/\//i.test(path)
        : String(path).startsWith('file:');

/** Refuses a stream that was read: what is left of it is not the whole file. */
export function checkUnused(used: unknown): void {
    if (!used) return;
    throw new PalladionError(
        'WRONG_STATE',
        'the source was read already, or is in use',
        'pass a new stream; for the rest of a stream of Node, source.pipe(new PassThrough())',
    );
}
