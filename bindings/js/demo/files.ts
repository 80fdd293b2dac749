/** The files that the user chose or dropped. */
import type { Failure } from './core.js';

export interface Chosen {
    file: File;
    /** The name, after the names of the folders that were chosen with it. */
    path: string[];
}

export const isSealed = ({ file }: Chosen) => /\.pld$/i.test(file.name);

export function fromList(list: FileList): Chosen[] {
    return [...list].map((file) => ({
        file,
        path: (file.webkitRelativePath || file.name).split('/'),
    }));
}

/** Returns what was dropped, with everything in its folders. Call it while the event is handled. */
export function fromDrop(items: DataTransferItemList): Promise<Chosen[]> {
    const dropped = [...items].map((item) => {
        const entry = item.webkitGetAsEntry?.();
        if (entry?.isDirectory) return walk(entry as FileSystemDirectoryEntry);
        const file = item.getAsFile();
        return file === null ? [] : [{ file, path: [file.name] }];
    });
    return Promise.all(dropped).then((lists) => lists.flat());
}

async function walk(folder: FileSystemDirectoryEntry): Promise<Chosen[]> {
    const found: Chosen[] = [];
    const reader = folder.createReader();
    try {
        for (;;) {
            // At most 100 at a time.
            const entries = await new Promise<FileSystemEntry[]>((resolve, reject) =>
                reader.readEntries(resolve, reject),
            );
            if (entries.length === 0) return found;
            for (const entry of entries) {
                if (entry.isDirectory) {
                    for (const below of await walk(entry as FileSystemDirectoryEntry))
                        found.push(below);
                    continue;
                }
                const file = await new Promise<File>((resolve, reject) =>
                    (entry as FileSystemFileEntry).file(resolve, reject),
                );
                found.push({ file, path: entry.fullPath.split('/').slice(1) });
            }
        }
    } catch {
        // Chromium refuses it to pages from the disk.
        throw {
            code: 'FOLDER',
            message: `the browser does not show this page what is in the folder ${folder.name}`,
            hint: 'press “Choose a folder”',
        } satisfies Failure;
    }
}
