/** Waiting that an AbortSignal ends, and tasks that take turns. */
import { describe } from './bytes.js';
import { PalladionError } from './errors.js';
import type { Signal } from './types.js';

/** Checks the option `signal`, and throws its reason if it was aborted. */
export function checkSignal(signal: Signal | undefined): AbortSignal | undefined {
    if (signal === undefined) return undefined;
    if (typeof signal?.addEventListener !== 'function') {
        throw new PalladionError(
            'WRONG_TYPE',
            `the signal must be an AbortSignal, not ${describe(signal)}`,
        );
    }
    if (signal.aborted) throw signal.reason;
    return signal as AbortSignal;
}

/** Calls a function if a signal is or will be aborted. Returns a function that stops this. */
export function onAbort(
    signal: AbortSignal | null | undefined,
    abort: (reason: unknown) => void,
): () => void {
    if (signal == null) return () => {};
    const listen = () => abort(signal.reason);
    if (signal.aborted) listen();
    else signal.addEventListener('abort', listen);
    return () => signal.removeEventListener('abort', listen);
}

/** Settles like a promise, or rejects with the signal's reason as soon as it is aborted. */
export function until<Result>(
    promise: Result | PromiseLike<Result>,
    signal: AbortSignal | undefined,
): Promise<Result> {
    return new Promise<Result>((resolve, reject) => {
        const stop = onAbort(signal, reject);
        Promise.resolve(promise).then(resolve, reject).finally(stop);
    });
}

/** Waits for what is being opened. After an abort, disposes of it once it is there. */
export function opening<Result>(
    promise: Promise<Result>,
    signal: AbortSignal | undefined,
    dispose: (late: Result) => unknown,
): Promise<Result> {
    return until(promise, signal).catch((error) => {
        void promise.then(dispose).catch(() => {});
        throw error;
    });
}

/** Runs at most some tasks at the same time. The others wait. */
export class Turns {
    #free: number;
    readonly #waiting: (() => void)[] = [];

    constructor(most: number) {
        this.#free = most;
    }

    /** Runs a task, at once if it need not wait. */
    async run<Result>(task: () => Result | Promise<Result>): Promise<Result> {
        if (this.#free > 0) this.#free--;
        else await new Promise<void>((resolve) => this.#waiting.push(resolve));
        try {
            return await task();
        } finally {
            const next = this.#waiting.shift();
            if (next === undefined) this.#free++;
            else next();
        }
    }
}
