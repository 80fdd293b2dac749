/**
 * Types of browsers and of Node. A program need not have the declarations of either, so each of
 * them may be unknown to TypeScript. Then it is `any`, and `Known` replaces it.
 */
import type { Bytes, BytesLike } from './bytes.js';

type Known<Type, Otherwise> = [0] extends [1 & Type] ? Otherwise : Type;

/** @ts-ignore */
type GlobalUrl = URL;
/** @ts-ignore */
type GlobalResponse = Response;
/** @ts-ignore */
type GlobalModule = WebAssembly.Module;
/** @ts-ignore */
type GlobalTransform = TransformStream<BytesLike, Bytes>;
/** @ts-ignore */
type GlobalReadable = ReadableStream<Bytes>;
/** @ts-ignore */
type GlobalBlob = Blob;
/** @ts-ignore */
type GlobalInit = RequestInit;
/** @ts-ignore */
type GlobalSignal = AbortSignal;
/** @ts-ignore */
type NodeHandle = import('node:fs/promises').FileHandle;
/** @ts-ignore */
type NodeReadable = import('node:stream').Readable;

/** An address, a server's answer or a compiled module, with the WebAssembly. */
export type ModuleSource =
    Known<GlobalUrl, never> | Known<GlobalResponse, never> | Known<GlobalModule, never>;

/** The type of a function from a stream to its pieces, where there is Node. */
type Piped = [0] extends [1 & NodeReadable] ? unknown : (source: any) => AsyncIterable<Bytes>;

/**
 * A `TransformStream` that encrypts or decrypts, for `pipeThrough` and, in Node, for `pipeline`.
 * Before version 24, the declarations of Node lack that `pipeline` takes such a stream, but have
 * that it takes a function. So this has the type of a function too, but is none.
 */
export type FileTransform = Known<GlobalTransform, unknown> & Piped;

/** A stream of bytes. */
export type ByteStream = Known<GlobalReadable, unknown>;

/** What has the bytes of a file: a `Blob` or `File`, a `FileHandle` of Node, an address. */
export type FileObject =
    Known<GlobalBlob, never> | Known<NodeHandle, never> | Known<GlobalUrl, never>;

/** A path, or a `file:` URL. */
export type FilePath = string | Known<GlobalUrl, never>;

/** A file that is read to its end: a path, a `file:` URL, a `Blob`, or a stream of bytes, such as a
 * `ReadableStream` or a `Readable` of Node.
 */
export type AnyFile =
    | FilePath
    | Known<GlobalBlob, never>
    | Known<GlobalReadable, never>
    | AsyncIterable<BytesLike>;

/** An `AbortSignal`. Its reason, by default an `AbortError`, is the error of what it ends. */
export type Signal = Known<GlobalSignal, any>;

/** The options of `fetch`. */
export type FetchOptions = Known<GlobalInit, object>;
