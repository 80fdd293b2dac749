/** Files that appear only once they are complete, with the file system of Node, Deno and Bun. */
import { constants, unlinkSync } from 'node:fs';
import {
    link,
    lstat,
    open,
    readlink,
    realpath,
    rename,
    stat,
    unlink,
} from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { PassThrough, pipeline, type Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

import { PalladionError } from './errors.js';
import { checkUnused, namesFile, type FileToRead, type Input, type Output } from './filesystem.js';
import { randomBytes } from './random.js';
import { guarded } from './source.js';
import type { FilePath } from './types.js';

/** How much is read from a file at once. */
const PIECE = 1 << 20;
const WINDOWS = process.platform === 'win32';

const refused = (message: string, hint?: string) =>
    new PalladionError('WRONG_VALUE', message, hint);

/** The name of a file in the file system, whatever the working directory is later. */
export function nameOf(path: FilePath): string {
    if (!namesFile(path)) {
        throw refused(
            'the source and the target must be paths or file: URLs, not other addresses',
            'of a server, pass the body of its answer as the source; of a file, new URL(text)',
        );
    }
    const name = typeof path === 'string' ? path : fromUrl(path);
    if (name === '') throw refused('a path must not be empty');
    if (name.includes('\0')) throw refused('a path must not contain a null character');
    return absolute(name);
}

function fromUrl(url: URL): string {
    try {
        return fileURLToPath(url.href);
    } catch (error) {
        throw refused(`the URL is not that of a file: ${(error as Error).message}`);
    }
}

function absolute(name: string): string {
    if (WINDOWS) return resolve(name) + (/[\\/]$/.test(name) ? '\\' : '');
    // `resolve` would remove `link/..`, which may be elsewhere.
    return isAbsolute(name) ? name : `${process.cwd()}/${name}`;
}

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code ?? '';

/** Passes errors of a target on as ours. */
async function writing<Result>(name: string, run: () => Promise<Result>): Promise<Result> {
    try {
        return await run();
    } catch (cause) {
        if (cause instanceof PalladionError) throw cause;
        // Without the name of the temporary file.
        const message = `"${name}" cannot be written: ${(cause as Error).message.split(',')[0]}`;
        throw new PalladionError('WRITE_FAILED', message, undefined, { cause });
    }
}

const identityOf = ({ dev, ino }: { dev: bigint; ino: bigint }) => `${dev} ${ino}`;

export async function openInput(name: string): Promise<Input> {
    const reading = <Result>(run: () => Promise<Result>) => guarded(`"${name}"`, run);
    const handle = await reading(() => open(name, 'r'));
    const buffer = new Uint8Array(PIECE);
    const found = await reading(() => handle.stat({ bigint: true }));
    return {
        identity: identityOf(found),
        ...(found.isFile() && { permissions: permissionsOf(found) }),
        next: () =>
            reading(async () => {
                const { bytesRead } = await handle.read(buffer, 0, PIECE, null);
                return { done: bytesRead === 0, value: buffer.subarray(0, bytesRead) };
            }),
        close: () => handle.close(),
    };
}

/** Opens a file of which parts will be read, without waiting if it is a pipe. */
export const openFile = (name: string): Promise<FileToRead> =>
    open(name, constants.O_RDONLY | constants.O_NONBLOCK);

/**
 * Others may listen to the stream too, such as the pipe to a hash: each gets all the bytes. No
 * error of the stream is missed, not even before the first piece is wanted.
 */
export function takeStream(stream: unknown): Input | undefined {
    const from = stream as Readable | null;
    if (typeof from?.pipe !== 'function' || typeof from.destroy !== 'function') return undefined;
    const reads = from.listenerCount('readable') > 0; // such a listener decides when to read
    // One that failed says why when it is read.
    checkUnused(from.readableDidRead || (from.destroyed && !from.errored) || reads);
    const own = new PassThrough({ objectMode: true, highWaterMark: 1 });
    pipeline(from, own, () => {}); // an error of one destroys the other with it
    const pieces = own[Symbol.asyncIterator]();
    return { next: () => pieces.next(), close: (error) => own.destroy(error as Error) };
}

/** Files that are not complete. They are removed if the program calls `process.exit`. */
const unfinished = new Set<string>();

function removeUnfinished(): void {
    for (const name of unfinished) {
        try {
            unlinkSync(name);
        } catch {
            // It is gone, or open in Windows.
        }
    }
}

/** What is under the name of a target, or nothing. */
async function existing(name: string, overwrite: boolean, input: Input) {
    let found;
    try {
        found = await stat(name, { bigint: true });
    } catch (error) {
        if ((WINDOWS ? /[\\/]$/ : /\/$/).test(name))
            throw refused(`"${name}" ends with a slash, so it is not the name of a file`);
        if (codeOf(error) !== 'ENOENT') throw error;
        const dangling = await lstat(name).catch(() => undefined);
        if (dangling === undefined) return undefined;
        throw refused(`"${name}" is a symbolic link to a file that does not exist`);
    }
    if (found.isDirectory()) throw refused(`"${name}" is a directory, not a file`);
    const hint = 'pipe encryptStream or decryptStream to it, or to process.stdout';
    if (!found.isFile()) throw refused(`"${name}" is not a regular file`, hint);
    // What is there would be replaced, and not continued.
    if (await isDescriptor(name)) throw refused(`"${name}" is an open descriptor`, hint);
    if (identityOf(found) === input.identity)
        throw refused(`the source and the target "${name}" are the same file`);
    if (!overwrite) throw exists(name);
    return permissionsOf(found);
}

/** Whether a name means a descriptor of a process, such as /dev/stdout, also by symbolic links. */
async function isDescriptor(name: string): Promise<boolean> {
    // The system would follow the last link too, to the file behind the descriptor.
    for (let at: string | undefined = name; at !== undefined; ) {
        const folder = dirname(at);
        if (/^\/(dev|proc\/.+)\/fd$/.test(await realpath(folder))) return true;
        const link: string | undefined = await readlink(at).catch(() => undefined);
        at = link === undefined || isAbsolute(link) ? link : `${folder}/${link}`;
    }
    return false;
}

interface Permissions {
    readonly uid: number;
    readonly gid: number;
    readonly mode: number;
}

const permissionsOf = ({ mode, uid, gid }: { mode: bigint; uid: bigint; gid: bigint }) => ({
    mode: Number(mode) & 0o777,
    uid: Number(uid),
    gid: Number(gid),
});

/** What is left of a mode if the file has another group: everybody's permissions. */
const withoutGroup = (mode: number) => mode & (~0o070 | ((mode & 0o007) << 3));

/**
 * The permissions that the system gives a new file. It is removed again: somebody may have opened
 * it, who must not read what is written later.
 */
async function allowed(name: string, mode: number): Promise<Permissions> {
    const file = await open(name, 'wx', mode);
    try {
        return permissionsOf(await file.stat({ bigint: true }));
    } finally {
        await file.close();
        await unlink(name);
    }
}

const exists = (name: string) =>
    new PalladionError(
        'FILE_EXISTS',
        `"${name}" exists already`,
        'choose another name, or pass { overwrite: true } to replace it',
    );

export async function createOutput(
    name: string,
    overwrite: boolean,
    input: Input,
): Promise<Output> {
    return writing(name, async () => {
        const old = await existing(name, overwrite, input);
        const own = old === undefined ? name : await realpath(name);
        const letters = Array.from(randomBytes(8), (byte) => byte.toString(16).padStart(2, '0'));
        const temporary = join(dirname(own), `.palladion-${letters.join('')}.tmp`);
        if (!process.listeners('exit').includes(removeUnfinished))
            process.on('exit', removeUnfinished);
        unfinished.add(temporary);
        let handle: Awaited<ReturnType<typeof open>> | undefined;
        const discard = async () => {
            await handle?.close().catch(() => {});
            await unlink(temporary).catch(() => {});
            unfinished.delete(temporary);
        };
        try {
            const source = input.permissions;
            const made = await allowed(temporary, source?.mode ?? 0o666);
            const sameGroup = source === undefined || source.gid === made.gid;
            const usual = sameGroup ? made.mode : withoutGroup(made.mode);
            const file = (handle = await open(temporary, 'wx', 0o600));
            return {
                write: (bytes) =>
                    writing(name, async () => {
                        for (let at = 0; at < bytes.length; )
                            at += (await file.write(bytes, at, bytes.length - at)).bytesWritten;
                    }),
                finish: () =>
                    writing(name, async () => {
                        if (old === undefined) await file.chmod(usual);
                        else await keepPermissions(file, made, old);
                        await file.sync().catch(ignore('EINVAL', 'ENOTSUP', 'ENOSYS'));
                        await file.close();
                    }),
                commit: () =>
                    writing(name, async () => {
                        if (overwrite) await rename(temporary, own);
                        else await giveNewName(temporary, own);
                        unfinished.delete(temporary);
                        await syncFolder(dirname(own));
                    }),
                discard,
            };
        } catch (error) {
            await discard();
            throw error;
        }
    });
}

const ignore =
    (...codes: string[]) =>
    (error: unknown) => {
        if (!codes.includes(codeOf(error))) throw error;
    };

/** Gives a file the permissions of another one; where its group cannot be kept, fewer. */
async function keepPermissions(
    file: Awaited<ReturnType<typeof open>>,
    made: Permissions,
    { uid, gid, mode }: Permissions,
): Promise<void> {
    if (!WINDOWS && (uid !== made.uid || gid !== made.gid)) {
        try {
            await file.chown(uid, gid).catch(() => file.chown(made.uid, gid));
        } catch {
            if (gid !== made.gid) mode = withoutGroup(mode);
        }
    }
    await file.chmod(mode);
}

/** Gives a file a name that no file has. */
async function giveNewName(temporary: string, name: string): Promise<void> {
    try {
        await link(temporary, name);
    } catch (error) {
        if (codeOf(error) === 'EEXIST') throw exists(name);
        // The file system has no hard links.
        if ((await lstat(name).catch(() => undefined)) !== undefined) throw exists(name);
        return rename(temporary, name);
    }
    await unlink(temporary).catch(() => {});
}

/** Makes a new name durable, where the system can. */
async function syncFolder(name: string): Promise<void> {
    try {
        const folder = await open(name, 'r');
        await folder.sync().finally(() => folder.close());
    } catch {
        // Windows cannot, and the file itself is on the disk.
    }
}
