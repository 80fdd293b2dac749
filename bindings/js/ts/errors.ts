/**
 * The code of a {@link PalladionError}. Codes stay the same in later releases; messages may change.
 */
export type ErrorCode =
    // Messages, MACs
    | 'VERIFICATION_FAILED'
    | 'TOO_LONG'
    // Encrypted files
    | 'NOT_PALLADION'
    | 'HEADER_DAMAGED'
    | 'UNSUPPORTED_VERSION'
    | 'UNSUPPORTED_HEADER'
    | 'WRONG_KEY'
    | 'WRONG_PASSPHRASE'
    | 'NEEDS_KEY'
    | 'NEEDS_PASSPHRASE'
    | 'BOUND'
    | 'NOT_BOUND'
    | 'WRONG_PLACE'
    | 'KDF_TOO_COSTLY'
    | 'KDF_MEMORY'
    | 'TRUNCATED'
    | 'DAMAGED'
    | 'TRAILING_DATA'
    // Sources of encrypted files
    | 'READ_FAILED'
    | 'NO_RANGES'
    | 'FILE_CHANGED'
    // Files that are written
    | 'FILE_EXISTS'
    | 'WRITE_FAILED'
    // Key files
    | 'NO_KEY'
    | 'NOT_ONE_KEY'
    | 'KEY_NOT_HEX'
    | 'KEY_DAMAGED'
    // Mistakes of the caller
    | 'WRONG_TYPE'
    | 'WRONG_LENGTH'
    | 'WRONG_VALUE'
    | 'WRONG_STATE'
    | 'OVERLAP'
    | 'UNKNOWN_OPTION'
    | 'UNKNOWN_ALGORITHM'
    // The environment
    | 'NOT_READY'
    | 'UNSUPPORTED'
    | 'NO_RANDOMNESS'
    | 'OUT_OF_MEMORY'
    | 'INTERNAL';

/** The class of all errors that this package throws. `cause` has the engine's own error, if any. */
export class PalladionError extends Error {
    override readonly name = 'PalladionError';
    /** The code, for programs. */
    readonly code: ErrorCode;
    /** What the error means for the user, or what to do about it, if there is more to say. */
    readonly hint: string | undefined;

    constructor(code: ErrorCode, message: string, hint?: string, options?: { cause?: unknown }) {
        super(message, options);
        this.code = code;
        this.hint = hint;
    }
}
