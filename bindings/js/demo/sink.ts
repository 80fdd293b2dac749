/**
 * A place for a result. Neither kind keeps the result in the page's memory or shows it before it is
 * complete.
 */

export interface Sink {
    write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
    /** Ends the result. Returns it if it still has to be saved. */
    close(): Promise<Blob | undefined>;
    abort(): Promise<void>;
}

/** Collects a blob. Browsers move large blobs to the disk if they get the pieces early. */
export class BlobSink implements Sink {
    #whole = new Blob([]);
    #pieces: Uint8Array<ArrayBuffer>[] = [];
    #length = 0;

    async write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
        this.#pieces.push(bytes);
        this.#length += bytes.length;
        if (this.#length >= 16 << 20) this.#fold();
    }

    #fold(): void {
        this.#whole = new Blob([this.#whole, ...this.#pieces], {
            type: 'application/octet-stream',
        });
        this.#pieces = [];
        this.#length = 0;
    }

    async close(): Promise<Blob> {
        this.#fold();
        return this.#whole;
    }

    async abort(): Promise<void> {
        this.#whole = new Blob([]);
        this.#pieces = [];
    }
}

/** Writes to a file, which changes only once it is closed. */
class FileSink implements Sink {
    constructor(readonly stream: FileSystemWritableFileStream) {}

    write(bytes: Uint8Array<ArrayBuffer>): Promise<void> {
        return this.stream.write(bytes);
    }

    async close(): Promise<undefined> {
        await this.stream.close();
    }

    abort(): Promise<void> {
        return this.stream.abort();
    }
}

/** From this size on, the page asks where to save the result, because large blobs are slow. */
const LARGE = 64_000_000;

type Picker = (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;

/**
 * Chooses a place for a result. Returns nothing if the user cancels. Call it while the browser
 * still accepts the user's click as permission.
 */
export async function openSink(length: number, suggestedName: string): Promise<Sink | undefined> {
    const pick = (globalThis as { showSaveFilePicker?: Picker }).showSaveFilePicker;
    if (length < LARGE || pick === undefined) return new BlobSink();
    try {
        const handle = await pick.call(globalThis, { suggestedName });
        return new FileSink(await handle.createWritable());
    } catch (error) {
        if ((error as Error).name === 'AbortError') return undefined;
        // Not allowed here, for example in a frame or by a policy.
        return new BlobSink();
    }
}

/** Makes the browser save a blob, like a click on a link to it. */
export function save(link: HTMLAnchorElement, result: Blob, name: string): void {
    if (link.href.startsWith('blob:')) URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(result);
    link.download = name;
    link.click();
}
