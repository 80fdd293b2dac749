/*
 * Encrypted files and streams of any size: the format of the command palladion and of its packages
 * for Rust, Python and JavaScript (docs/file-format.md).
 *
 *  - Only verified bytes come out. What comes out before an error is the beginning of the original.
 *  - A wrong key, a damaged file, one that was cut off and one that was extended give distinct
 *    errors.
 *  - All memory for secrets and plaintext is wiped when it is freed.
 *
 * Functions that return int return 0 for success, or one of the negative numbers below. Functions
 * that return a pointer return null for failure, with errno. Successful calls may change errno.
 * Several threads may use one secret or one reader at once, but only one at a time may use a
 * stream.
 */
#ifndef palladion_file_H
#define palladion_file_H

#include <stddef.h>
#include <stdint.h>

#include "aegis_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** errno says what failed: the system, or EINVAL for an argument. */
#define PALLADION_FILE_ERRNO (-1)
/** The input does not begin like an encrypted file. */
#define PALLADION_FILE_NOT_PALLADION (-2)
/** The file needs a newer release of this library. */
#define PALLADION_FILE_UNSUPPORTED (-3)
/** The file was changed, or parts of it were moved. */
#define PALLADION_FILE_DAMAGED (-4)
/** The file was cut off. */
#define PALLADION_FILE_TRUNCATED (-5)
/** Bytes were added to the end of the file. */
#define PALLADION_FILE_EXTENDED (-6)
/** The file was encrypted with another key or passphrase. */
#define PALLADION_FILE_WRONG_SECRET (-7)
/** The secret is a passphrase, but the file needs a key. */
#define PALLADION_FILE_NEEDS_KEY (-8)
/** The secret is a key, but the file needs a passphrase. */
#define PALLADION_FILE_NEEDS_PASSPHRASE (-9)
/** Checking the passphrase would take more memory or time than is allowed. */
#define PALLADION_FILE_TOO_COSTLY (-10)

/** Returns what such a number means, a line of English. Never null. */
const char *palladion_file_message(int result);

/** A key or a passphrase. */
typedef struct palladion_secret palladion_secret;

/** Bytes in a key. palladion_random_or_abort makes one. */
#define PALLADION_FILE_KEYBYTES 32

/** Takes a copy of a key, PALLADION_FILE_KEYBYTES bytes. */
AEGIS_WARN_UNUSED_RESULT
palladion_secret *palladion_secret_from_key(const uint8_t *k);

/**
 * Reads a key file, which `palladion keygen` writes. No output may replace it while this secret is
 * used.
 *
 * @param path its name; names like /dev/fd/3 mean open descriptors
 * @return null with errno EBADMSG if it is not a key file or damaged; with errno EACCES if other
 *         users can use it (`chmod 600`) or the system refuses; or with another errno
 */
AEGIS_WARN_UNUSED_RESULT
palladion_secret *palladion_secret_from_key_file(const char *path);

/**
 * Takes a copy of a passphrase. Files get keys from it by Argon2id, which takes about a tenth of a
 * second and 64 MiB of memory for each file.
 *
 * Files that need more than 1 GiB, 16 passes or 4 GiB of memory times passes are refused with
 * PALLADION_FILE_TOO_COSTLY, unless memory_kib and passes are higher.
 *
 * @param passphrase len bytes, taken as they are; no new file may have an empty one
 * @param memory_kib memory for a new file, in KiB, at least 32; 0 for 64 MiB
 * @param passes     passes over it for a new file; 0 for 3
 * @return null with errno EINVAL if Argon2id does not allow these costs
 */
AEGIS_WARN_UNUSED_RESULT
palladion_secret *palladion_secret_from_passphrase(const char *passphrase, size_t len,
    uint32_t memory_kib, uint32_t passes);

/** Wipes and frees a secret. Null is allowed. */
void palladion_secret_free(palladion_secret *secret);

/** An encryption or a decryption, piece by piece. It reads and writes nothing. */
typedef struct palladion_stream palladion_stream;

/**
 * Begins an encryption.
 *
 * @param secret may be freed after this call
 * @param alg    a variant's number in palladion.h; 0 for AEGIS-256X2
 * @param chunk  bytes that are authenticated together, a power of two from 1 KiB to 16 MiB; 0 for 1
 *               MiB. Both sides hold so many bytes back; each chunk adds 36 bytes to the file.
 * @return null with errno EINVAL for a wrong argument or an empty passphrase, ENOMEM, or the
 *         system's errno if it has no random bytes
 */
AEGIS_WARN_UNUSED_RESULT
palladion_stream *palladion_sealer_new(const palladion_secret *secret, int alg, size_t chunk);

/**
 * Begins a decryption. The file itself tells variant and chunk.
 *
 * @param secret may be freed after this call
 * @return null with errno EINVAL for a null secret
 */
AEGIS_WARN_UNUSED_RESULT
palladion_stream *palladion_opener_new(const palladion_secret *secret);

/**
 * Takes the next bytes, any number of them, and gives those that are ready: of the encrypted file,
 * or of the original, verified.
 *
 * @param in     len bytes
 * @param last   whether the input ends with them. Without that, a sealer's file counts as cut off,
 *               and an opener cannot tell whether the file is complete.
 * @param out    is set to the bytes that are ready, also if the call fails; they remain until the
 *               next call
 * @param outlen is set to their number
 * @return 0 or one of the numbers above. After a failure or the last bytes, further calls fail.
 */
AEGIS_WARN_UNUSED_RESULT
int palladion_stream_push(palladion_stream *stream, const uint8_t *in, size_t len, int last,
    const uint8_t **out, size_t *outlen);

/** Wipes and frees a stream, at any time. Null is allowed. */
void palladion_stream_free(palladion_stream *stream);

/** Flag: replace a file that has the name of the output. */
#define PALLADION_FILE_REPLACE 1

/**
 * Encrypts a file, on all cores if it is large. The output gets its name once it is complete and
 * on disk, so a failure leaves what was there before. If the program ends meanwhile, a file with a
 * name like .palladion-*.tmp remains, readable by its owner alone. A new file gets the permissions
 * of the input as far as the umask allows; a replaced one keeps its own. Devices and FIFOs are
 * written directly. Names like /dev/stdout and /dev/fd/3 mean open descriptors.
 *
 * @param from  the name of the input; on Windows in UTF-8
 * @param to    the name of the output
 * @param flags 0 or PALLADION_FILE_REPLACE
 * @return 0 or one of the numbers above; errno is EEXIST if there is such a file, EINVAL if the
 *         output is also the input or the key file
 */
AEGIS_WARN_UNUSED_RESULT
int palladion_encrypt_file(const char *from, const char *to, const palladion_secret *secret,
    int flags);

/** Decrypts a file, like palladion_encrypt_file. */
AEGIS_WARN_UNUSED_RESULT
int palladion_decrypt_file(const char *from, const char *to, const palladion_secret *secret,
    int flags);

/**
 * Encrypts from one descriptor to another, each from its position on, up to the end of the input.
 * They stay open, and must be blocking. What was written before a failure is not a complete file.
 * Fails with errno EINVAL if both are one file, or the output is the key file. Not on Windows,
 * where it fails with errno ENOTSUP.
 */
AEGIS_WARN_UNUSED_RESULT
int palladion_encrypt_fd(int from, int to, const palladion_secret *secret);

/** Decrypts, like palladion_encrypt_fd. What was written before a failure is verified. */
AEGIS_WARN_UNUSED_RESULT
int palladion_decrypt_fd(int from, int to, const palladion_secret *secret);

/** An encrypted file that is open for reading at any place. */
typedef struct palladion_reader palladion_reader;

/**
 * Where the bytes of an encrypted file are, if that is not a file of the system. Both functions
 * return 0 for success, or -1 with errno. They are called by the threads that call
 * palladion_reader_read, so by several at once if you let several threads read at once.
 */
typedef struct palladion_source {
    /** Handed to both functions. */
    void *user;
    /** Fills buf with the len bytes that begin at off; fewer are a failure. */
    int (*read_at)(void *user, uint8_t *buf, size_t len, uint64_t off);
    /** Tells how many bytes there are. */
    int (*get_size)(void *user, uint64_t *size);
} palladion_source;

/**
 * Opens an encrypted file, to read parts of it without decrypting the rest. Verifies the header and
 * the last chunk: a file that was cut off or extended is an error, and the length is authentic.
 *
 * A read decrypts whole chunks, so files that are read in small parts should have small chunks:
 * see palladion_sealer_new.
 *
 * @param reader is set to the open file, or to null after a failure
 * @param path   its name; names like /dev/fd/3 mean open descriptors. It must be a file, not a pipe
 * @param secret may be freed after this call
 * @return 0 or one of the numbers above
 */
AEGIS_WARN_UNUSED_RESULT
int palladion_reader_open(palladion_reader **reader, const char *path,
    const palladion_secret *secret);

/** Opens an encrypted file behind functions, like palladion_reader_open. The struct is copied. */
AEGIS_WARN_UNUSED_RESULT
int palladion_reader_open_source(palladion_reader **reader, const palladion_source *source,
    const palladion_secret *secret);

/** Returns the length of the original in bytes. */
uint64_t palladion_reader_size(const palladion_reader *reader);

/**
 * Reads a part of the original, verified. Long parts of a file that was opened by name are read on
 * all cores. Several threads may read at once.
 *
 * @param out    room for len bytes; zeroed after a failure
 * @param off    where the part begins in the original
 * @param outlen is set to the bytes read: fewer than len only where the original ends
 * @return 0 or one of the numbers above, for what is wrong in the chunks that were read
 */
AEGIS_WARN_UNUSED_RESULT
int palladion_reader_read(const palladion_reader *reader, uint8_t *out, size_t len, uint64_t off,
    size_t *outlen);

/** Wipes what was decrypted, closes the file and frees the reader. Null is allowed. */
void palladion_reader_free(palladion_reader *reader);

#ifdef __cplusplus
}
#endif

#endif
