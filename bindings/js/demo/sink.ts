/** Where a result goes. Neither keeps it in the page's memory, and neither shows it before it is complete. */

export interface Sink {
    write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
    /** The result, if it has yet to be saved. */
    close(): Promise<Blob | undefined>;
    abort(): Promise<void>;
}

/** Collects a blob. Browsers move large ones to the disk, if they are told soon enough. */
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
        this.#whole = new Blob([this.#whole, ...this.#pieces], { type: 'application/octet-stream' });
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

/** Writes to a file, which has its contents only once it is closed. */
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

/** From here on it is worth a question where to save the result: blobs of this size take their time. */
const LARGE = 64_000_000;

type Picker = (options: { suggestedName: string }) => Promise<FileSystemFileHandle>;

/** A place for a result; nothing if the user does not want to name one. To be called while the browser still knows of a click. */
export async function openSink(length: number, suggestedName: string): Promise<Sink | undefined> {
    const pick = (globalThis as { showSaveFilePicker?: Picker }).showSaveFilePicker;
    if (length < LARGE || pick === undefined) return new BlobSink();
    try {
        const handle = await pick.call(globalThis, { suggestedName });
        return new FileSink(await handle.createWritable());
    } catch (error) {
        if ((error as Error).name === 'AbortError') return undefined;
        // Not allowed here (in a frame, say, or by a policy).
        return new BlobSink();
    }
}

/** Has the browser save something, as if a link to it had been followed. */
export function save(link: HTMLAnchorElement, result: Blob, name: string): void {
    if (link.href.startsWith('blob:')) URL.revokeObjectURL(link.href);
    link.href = URL.createObjectURL(result);
    link.download = name;
    link.click();
}
