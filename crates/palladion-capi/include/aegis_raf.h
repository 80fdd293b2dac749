/*
 * Encrypted files with random access: RAF, version 1, with each of the six variants of AEGIS.
 *
 * A file is a header of 64 bytes and chunks that are encrypted and authenticated one by one, under
 * a fresh random nonce each time they are written. Where its bytes are kept is up to you: you give
 * functions that read and write them. Memory is yours too: a scratch buffer of a little more than
 * two chunks, and nothing else is allocated, however large the file.
 *
 *  - What is read is authentic, or the call fails with EBADMSG and the buffer is zeroed.
 *  - Anyone who can write to the file can restore older versions of chunks or of the whole file.
 *    Only a Merkle tree's commitment, kept elsewhere, reveals that.
 *  - There is no journal. If the program dies during a change, the size and each chunk are old or
 *    new. A record that your storage wrote only in part is damaged (EBADMSG).
 *  - If a call fails in the middle of a change, the size and each chunk are old or new, and the
 *    file can be used further. A chunk is damaged if your `write_at` failed when it had written a
 *    part of its record: write the chunk as a whole again. The next change, sync or close first
 *    writes again what your storage may have written in part of the header, discards what was to be
 *    discarded, and makes the storage as short as it can be; it fails if that does. Only the
 *    commitment of a Merkle tree is refused with EIO until the tree has been rebuilt.
 *  - Nothing locks your storage. Let only one context write to it, and none read it meanwhile.
 *  - With the variants of aegis128, whose random nonces have 16 bytes, write at most 2^48 chunks to
 *    a file.
 *
 * Functions return 0 for success, or -1 with errno; if one of your functions fails, with its errno.
 * One thread at a time can use a context. Do not move or copy a context while it is open.
 *
 * The interface is that of libaegis. See docs/raf.md for the format.
 */
#ifndef aegis_raf_H
#define aegis_raf_H

#include <stddef.h>
#include <stdint.h>

#include "aegis_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The variants' numbers in the header of a file. */
#define AEGIS_RAF_ALG_128L 1
#define AEGIS_RAF_ALG_128X2 2
#define AEGIS_RAF_ALG_128X4 3
#define AEGIS_RAF_ALG_256 4
#define AEGIS_RAF_ALG_256X2 5
#define AEGIS_RAF_ALG_256X4 6

/** Flag: create the file if it has no contents. */
#define AEGIS_RAF_CREATE 0x01
/** Flag: discard existing contents. */
#define AEGIS_RAF_TRUNCATE 0x02

/** Bytes in the smallest chunk; all are a multiple of 16. */
#define AEGIS_RAF_CHUNK_MIN 1024
/** Bytes in the largest chunk. */
#define AEGIS_RAF_CHUNK_MAX (1 << 20)

/** Bytes in the header, in the file's random id, in a chunk's tag. */
#define AEGIS_RAF_HEADER_SIZE 64
#define AEGIS_RAF_FILE_ID_BYTES 24
#define AEGIS_RAF_TAG_BYTES 16

/** Scratch buffers begin at a multiple of this. */
#define AEGIS_RAF_SCRATCH_ALIGN 64
/** x rounded up to a multiple of a, a power of 2. */
#define AEGIS_RAF_ALIGN_UP(x, a) (((x) + ((a) - 1)) & ~((size_t) (a) - 1))

/** Bytes in the shortest and the longest hash of a Merkle tree. */
#define AEGIS_RAF_MERKLE_HASH_MIN 8
#define AEGIS_RAF_MERKLE_HASH_MAX 64
/**
 * Bytes in the context of a commitment: version (1), variant (1), chunk size (4, little-endian),
 * file id (24), zeros (2).
 */
#define AEGIS_RAF_COMMITMENT_CONTEXT_BYTES 32

/**
 * Working memory; the functions v_raf_scratch_size give its size. It must remain until the file is
 * closed, which zeroes it.
 */
typedef struct aegis_raf_scratch {
    uint8_t *buf;
    size_t   len;
} aegis_raf_scratch;

/**
 * Where the bytes of a file are kept. All functions return 0 for success, or -1 with errno. `sync`
 * may be null; the others are needed even if the file is only read.
 */
typedef struct aegis_raf_io {
    /** Handed to all functions. */
    void *user;
    /** Fills buf with the len bytes that begin at off; fewer are a failure. */
    int (*read_at)(void *user, uint8_t *buf, size_t len, uint64_t off);
    /** Writes all len bytes from off on. */
    int (*write_at)(void *user, const uint8_t *buf, size_t len, uint64_t off);
    /** Tells how many bytes there are. */
    int (*get_size)(void *user, uint64_t *size);
    /** Sets the size in bytes; new bytes are zero. */
    int (*set_size)(void *user, uint64_t size);
    /** Makes everything written survive a loss of power. */
    int (*sync)(void *user);
} aegis_raf_io;

/** Where random numbers come from: they must be fit for keys. */
typedef struct aegis_raf_rng {
    void *user;
    /** Fills out with len random bytes. Returns 0, or -1 with errno. */
    int (*random)(void *user, uint8_t *out, size_t len);
} aegis_raf_rng;

/**
 * A Merkle tree over the contents of a file, kept in memory of yours and up to date while the file
 * changes.
 *
 * The four functions are one hash function that must differ in the way it is used: no input of one
 * may give the hash of another. They fill out (out_len is hash_len) and return 0, or -1 with errno.
 * Level 0 is that of leaves; a parent's level is that of its children.
 */
typedef struct aegis_raf_merkle_config {
    /** Of a chunk: its contents, as far as the file goes, and its index. */
    int (*hash_leaf)(void *user, uint8_t *out, size_t out_len, const uint8_t *chunk,
                     size_t chunk_len, uint64_t chunk_idx);
    /** Of two nodes. */
    int (*hash_parent)(void *user, uint8_t *out, size_t out_len, const uint8_t *left,
                       const uint8_t *right, uint32_t level, uint64_t node_idx);
    /** Of an empty place. */
    int (*hash_empty)(void *user, uint8_t *out, size_t out_len, uint32_t level, uint64_t node_idx);
    /** Of the whole tree: its root, a context unique to the file, and the size of the file. */
    int (*hash_commitment)(void *user, uint8_t *out, size_t out_len,
                           const uint8_t *structural_root, const uint8_t *ctx, size_t ctx_len,
                           uint64_t file_size);
    /** Handed to all functions. */
    void *user;
    /** Memory for aegis_raf_merkle_buffer_size bytes of nodes, until the file is closed. */
    uint8_t *buf;
    size_t   len;
    /** The most chunks a file can have. Trees with a different maximum have other commitments. */
    uint64_t max_chunks;
    /** Bytes in a hash. */
    uint32_t hash_len;
} aegis_raf_merkle_config;

/** How to make or open a file. */
typedef struct aegis_raf_config {
    /** Needed. */
    const aegis_raf_scratch *scratch;
    /** Null for none. */
    const aegis_raf_merkle_config *merkle;
    /** Bytes in a chunk, for a new file. */
    uint32_t chunk_size;
    /** AEGIS_RAF_CREATE, AEGIS_RAF_TRUNCATE, or both, for a new file. */
    uint8_t flags;
} aegis_raf_config;

/** What the header of a file says. */
typedef struct aegis_raf_info {
    /** Bytes in the file, for those who have the key. */
    uint64_t file_size;
    /** Bytes in a chunk. */
    uint32_t chunk_size;
    /** The variant's number. */
    uint8_t alg_id;
} aegis_raf_info;

/** The constants above, for programs that bind at run time. */
size_t aegis_raf_chunk_min(void);
size_t aegis_raf_chunk_max(void);
size_t aegis_raf_header_size(void);
size_t aegis_raf_scratch_align(void);

/**
 * Reads the header of a file, without its key: what it says is not verified. Of `io` only `read_at`
 * is used.
 *
 * @return 0; or -1 with errno EINVAL if this library does not know the header, or an argument is
 *         null
 */
AEGIS_WARN_UNUSED_RESULT
int aegis_raf_probe(const aegis_raf_io *io, aegis_raf_info *info);

/**
 * Bytes that the nodes of a Merkle tree take. Only `max_chunks` and `hash_len` need to be set.
 *
 * @return 0 if one of them is 0, SIZE_MAX if there is no such memory
 */
size_t aegis_raf_merkle_buffer_size(const aegis_raf_merkle_config *cfg);

/**
 * Derives a master key for one purpose from a key that serves several.
 *
 * @param out         where it goes; it has as many bytes as the key
 * @param master_key  the key, 16 or 32 bytes
 * @param context     the purpose, at most 120 bytes with a key of 16, 72 with one of 32
 * @return 0, or -1 with errno EINVAL
 */
AEGIS_WARN_UNUSED_RESULT
int aegis_raf_derive_master_key(uint8_t *out, size_t out_len, const uint8_t *master_key,
                                size_t master_key_len, const uint8_t *context, size_t context_len);

/* AEGIS-128L */

/** Bytes in a nonce, in a record (what a chunk takes in the file) and in a scratch buffer. */
#define AEGIS128L_RAF_NPUBBYTES 16
#define AEGIS128L_RAF_RECORD_SIZE(chunk_size) \
    ((size_t) AEGIS128L_RAF_NPUBBYTES + (size_t) (chunk_size) + AEGIS_RAF_TAG_BYTES)
#define AEGIS128L_RAF_SCRATCH_SIZE(chunk_size) \
    (AEGIS_RAF_ALIGN_UP(AEGIS128L_RAF_RECORD_SIZE(chunk_size), AEGIS_RAF_SCRATCH_ALIGN) + \
     AEGIS_RAF_ALIGN_UP((size_t) (chunk_size), AEGIS_RAF_SCRATCH_ALIGN))

/** An open file. Its contents are private. It needs no alignment, but must not be moved. */
typedef struct aegis128l_raf_ctx {
    CRYPTO_ALIGN(32) uint8_t opaque[512];
} aegis128l_raf_ctx;

/** Returns the size of the scratch buffer for chunks of a size: AEGIS128L_RAF_SCRATCH_SIZE. */
size_t aegis128l_raf_scratch_size(uint32_t chunk_size);

/**
 * Checks a scratch buffer.
 *
 * @return 0; or -1 with errno EINVAL if the chunk size is invalid or the buffer too small for it
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_raf_scratch_validate(const aegis_raf_scratch *scratch, uint32_t chunk_size);

/**
 * Creates an empty file. The arguments are copied, except for the memory of the scratch buffer and
 * of the Merkle tree.
 *
 * @param ctx         need not be initialised; do not use it if this fails
 * @param master_key  16 bytes
 * @return 0; or -1 with errno EINVAL (an argument, callback or buffer is null or invalid), EEXIST
 *         (the file has contents, and AEGIS_RAF_TRUNCATE is not set), ENOENT (it has none, and
 *         AEGIS_RAF_CREATE is not set), or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_raf_create(aegis128l_raf_ctx *ctx, const aegis_raf_io *io, const aegis_raf_rng *rng,
                   const aegis_raf_config *cfg, const uint8_t *master_key);

/**
 * Opens a file. Chunks are verified when they are read. The chunk size and the flags of `cfg` are
 * ignored. A Merkle tree starts empty: call aegis128l_raf_merkle_rebuild.
 *
 * @return 0; or -1 with errno EBADMSG (the key is wrong, or the header was changed), EINVAL (this
 *         is not such a file, its end is missing, or an argument, callback or buffer is null or
 *         invalid), EOVERFLOW (the Merkle tree is too small), or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_raf_open(aegis128l_raf_ctx *ctx, const aegis_raf_io *io, const aegis_raf_rng *rng,
                 const aegis_raf_config *cfg, const uint8_t *master_key);

/**
 * Reads up to len bytes from an offset.
 *
 * @param bytes_read  the number of bytes read: less than len only at the end of the file
 * @return 0; or -1 with errno EBADMSG (a chunk is damaged), EINVAL, or a callback's errno. On
 *         failure nothing is read and out is zeroed
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_raf_read(aegis128l_raf_ctx *ctx, uint8_t *out, size_t *bytes_read, size_t len,
    uint64_t offset);

/**
 * Writes all of the data at an offset. The file grows if necessary; a gap between its old end and
 * the offset is filled with zeros. Does nothing if len is 0.
 *
 * @return 0; or -1 with errno EBADMSG (a chunk that would change in part is damaged), EOVERFLOW
 *         (too large for the format or for the Merkle tree), EINVAL, or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_raf_write(aegis128l_raf_ctx *ctx, size_t *bytes_written, const uint8_t *in,
                  size_t len, uint64_t offset);

/**
 * Sets the size of the file, in bytes. Data past the new end is discarded; new bytes are zero.
 *
 * @return as aegis128l_raf_write
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_raf_truncate(aegis128l_raf_ctx *ctx, uint64_t size);

/**
 * Gets the size of the file, in bytes.
 *
 * @return 0; or -1 with errno EINVAL
 */
int aegis128l_raf_get_size(const aegis128l_raf_ctx *ctx, uint64_t *size);

/**
 * Makes everything written survive a loss of power, if there is a callback for it. If the callback
 * fails, it is called again next time. Linux forgets what fsync could not write, and the next fsync
 * succeeds without it: let the callback fail for ever then.
 *
 * @return 0; or -1 with errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_raf_sync(aegis128l_raf_ctx *ctx);

/**
 * Syncs and closes the file, and wipes the context and the scratch buffer. Does nothing if the
 * pointer is null or the file could not be opened.
 */
void aegis128l_raf_close(aegis128l_raf_ctx *ctx);

/**
 * Computes the Merkle tree again from the whole file.
 *
 * @return 0; or -1 with errno ENOTSUP (there is no tree), or as aegis128l_raf_read
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_raf_merkle_rebuild(aegis128l_raf_ctx *ctx);

/**
 * Reads the whole file and checks that it matches the Merkle tree.
 *
 * @param corrupted_chunk  the first chunk that is unreadable or different; UINT64_MAX if the tree
 *                         itself was changed. May be null
 * @return 0; or -1 with errno EBADMSG (something was changed), ENOTSUP (there is no tree), EIO (an
 *         earlier change failed: rebuild the tree), or as aegis128l_raf_read
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_raf_merkle_verify(aegis128l_raf_ctx *ctx, uint64_t *corrupted_chunk);

/**
 * Computes the commitment, which stands for the whole contents of the file. Writes hash_len bytes.
 *
 * @return 0; or -1 with errno EINVAL (out_len is less), ENOTSUP (there is no tree), or EIO (an
 *         earlier change failed: rebuild the tree)
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_raf_merkle_commitment(const aegis128l_raf_ctx *ctx, uint8_t *out, size_t out_len);

/* AEGIS-128X2 */

/** Bytes in a nonce, in a record (what a chunk takes in the file) and in a scratch buffer. */
#define AEGIS128X2_RAF_NPUBBYTES 16
#define AEGIS128X2_RAF_RECORD_SIZE(chunk_size) \
    ((size_t) AEGIS128X2_RAF_NPUBBYTES + (size_t) (chunk_size) + AEGIS_RAF_TAG_BYTES)
#define AEGIS128X2_RAF_SCRATCH_SIZE(chunk_size) \
    (AEGIS_RAF_ALIGN_UP(AEGIS128X2_RAF_RECORD_SIZE(chunk_size), AEGIS_RAF_SCRATCH_ALIGN) + \
     AEGIS_RAF_ALIGN_UP((size_t) (chunk_size), AEGIS_RAF_SCRATCH_ALIGN))

/** An open file. Its contents are private. It needs no alignment, but must not be moved. */
typedef struct aegis128x2_raf_ctx {
    CRYPTO_ALIGN(32) uint8_t opaque[512];
} aegis128x2_raf_ctx;

/** Returns the size of the scratch buffer for chunks of a size: AEGIS128X2_RAF_SCRATCH_SIZE. */
size_t aegis128x2_raf_scratch_size(uint32_t chunk_size);

/**
 * Checks a scratch buffer.
 *
 * @return 0; or -1 with errno EINVAL if the chunk size is invalid or the buffer too small for it
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x2_raf_scratch_validate(const aegis_raf_scratch *scratch, uint32_t chunk_size);

/**
 * Creates an empty file. The arguments are copied, except for the memory of the scratch buffer and
 * of the Merkle tree.
 *
 * @param ctx         need not be initialised; do not use it if this fails
 * @param master_key  16 bytes
 * @return 0; or -1 with errno EINVAL (an argument, callback or buffer is null or invalid), EEXIST
 *         (the file has contents, and AEGIS_RAF_TRUNCATE is not set), ENOENT (it has none, and
 *         AEGIS_RAF_CREATE is not set), or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x2_raf_create(aegis128x2_raf_ctx *ctx, const aegis_raf_io *io, const aegis_raf_rng *rng,
                   const aegis_raf_config *cfg, const uint8_t *master_key);

/**
 * Opens a file. Chunks are verified when they are read. The chunk size and the flags of `cfg` are
 * ignored. A Merkle tree starts empty: call aegis128x2_raf_merkle_rebuild.
 *
 * @return 0; or -1 with errno EBADMSG (the key is wrong, or the header was changed), EINVAL (this
 *         is not such a file, its end is missing, or an argument, callback or buffer is null or
 *         invalid), EOVERFLOW (the Merkle tree is too small), or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x2_raf_open(aegis128x2_raf_ctx *ctx, const aegis_raf_io *io, const aegis_raf_rng *rng,
                 const aegis_raf_config *cfg, const uint8_t *master_key);

/**
 * Reads up to len bytes from an offset.
 *
 * @param bytes_read  the number of bytes read: less than len only at the end of the file
 * @return 0; or -1 with errno EBADMSG (a chunk is damaged), EINVAL, or a callback's errno. On
 *         failure nothing is read and out is zeroed
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x2_raf_read(aegis128x2_raf_ctx *ctx, uint8_t *out, size_t *bytes_read, size_t len,
    uint64_t offset);

/**
 * Writes all of the data at an offset. The file grows if necessary; a gap between its old end and
 * the offset is filled with zeros. Does nothing if len is 0.
 *
 * @return 0; or -1 with errno EBADMSG (a chunk that would change in part is damaged), EOVERFLOW
 *         (too large for the format or for the Merkle tree), EINVAL, or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x2_raf_write(aegis128x2_raf_ctx *ctx, size_t *bytes_written, const uint8_t *in,
                  size_t len, uint64_t offset);

/**
 * Sets the size of the file, in bytes. Data past the new end is discarded; new bytes are zero.
 *
 * @return as aegis128x2_raf_write
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x2_raf_truncate(aegis128x2_raf_ctx *ctx, uint64_t size);

/**
 * Gets the size of the file, in bytes.
 *
 * @return 0; or -1 with errno EINVAL
 */
int aegis128x2_raf_get_size(const aegis128x2_raf_ctx *ctx, uint64_t *size);

/**
 * Makes everything written survive a loss of power, if there is a callback for it. If the callback
 * fails, it is called again next time. Linux forgets what fsync could not write, and the next fsync
 * succeeds without it: let the callback fail for ever then.
 *
 * @return 0; or -1 with errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x2_raf_sync(aegis128x2_raf_ctx *ctx);

/**
 * Syncs and closes the file, and wipes the context and the scratch buffer. Does nothing if the
 * pointer is null or the file could not be opened.
 */
void aegis128x2_raf_close(aegis128x2_raf_ctx *ctx);

/**
 * Computes the Merkle tree again from the whole file.
 *
 * @return 0; or -1 with errno ENOTSUP (there is no tree), or as aegis128x2_raf_read
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x2_raf_merkle_rebuild(aegis128x2_raf_ctx *ctx);

/**
 * Reads the whole file and checks that it matches the Merkle tree.
 *
 * @param corrupted_chunk  the first chunk that is unreadable or different; UINT64_MAX if the tree
 *                         itself was changed. May be null
 * @return 0; or -1 with errno EBADMSG (something was changed), ENOTSUP (there is no tree), EIO (an
 *         earlier change failed: rebuild the tree), or as aegis128x2_raf_read
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x2_raf_merkle_verify(aegis128x2_raf_ctx *ctx, uint64_t *corrupted_chunk);

/**
 * Computes the commitment, which stands for the whole contents of the file. Writes hash_len bytes.
 *
 * @return 0; or -1 with errno EINVAL (out_len is less), ENOTSUP (there is no tree), or EIO (an
 *         earlier change failed: rebuild the tree)
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x2_raf_merkle_commitment(const aegis128x2_raf_ctx *ctx, uint8_t *out, size_t out_len);

/* AEGIS-128X4 */

/** Bytes in a nonce, in a record (what a chunk takes in the file) and in a scratch buffer. */
#define AEGIS128X4_RAF_NPUBBYTES 16
#define AEGIS128X4_RAF_RECORD_SIZE(chunk_size) \
    ((size_t) AEGIS128X4_RAF_NPUBBYTES + (size_t) (chunk_size) + AEGIS_RAF_TAG_BYTES)
#define AEGIS128X4_RAF_SCRATCH_SIZE(chunk_size) \
    (AEGIS_RAF_ALIGN_UP(AEGIS128X4_RAF_RECORD_SIZE(chunk_size), AEGIS_RAF_SCRATCH_ALIGN) + \
     AEGIS_RAF_ALIGN_UP((size_t) (chunk_size), AEGIS_RAF_SCRATCH_ALIGN))

/** An open file. Its contents are private. It needs no alignment, but must not be moved. */
typedef struct aegis128x4_raf_ctx {
    CRYPTO_ALIGN(64) uint8_t opaque[512];
} aegis128x4_raf_ctx;

/** Returns the size of the scratch buffer for chunks of a size: AEGIS128X4_RAF_SCRATCH_SIZE. */
size_t aegis128x4_raf_scratch_size(uint32_t chunk_size);

/**
 * Checks a scratch buffer.
 *
 * @return 0; or -1 with errno EINVAL if the chunk size is invalid or the buffer too small for it
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_raf_scratch_validate(const aegis_raf_scratch *scratch, uint32_t chunk_size);

/**
 * Creates an empty file. The arguments are copied, except for the memory of the scratch buffer and
 * of the Merkle tree.
 *
 * @param ctx         need not be initialised; do not use it if this fails
 * @param master_key  16 bytes
 * @return 0; or -1 with errno EINVAL (an argument, callback or buffer is null or invalid), EEXIST
 *         (the file has contents, and AEGIS_RAF_TRUNCATE is not set), ENOENT (it has none, and
 *         AEGIS_RAF_CREATE is not set), or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_raf_create(aegis128x4_raf_ctx *ctx, const aegis_raf_io *io, const aegis_raf_rng *rng,
                   const aegis_raf_config *cfg, const uint8_t *master_key);

/**
 * Opens a file. Chunks are verified when they are read. The chunk size and the flags of `cfg` are
 * ignored. A Merkle tree starts empty: call aegis128x4_raf_merkle_rebuild.
 *
 * @return 0; or -1 with errno EBADMSG (the key is wrong, or the header was changed), EINVAL (this
 *         is not such a file, its end is missing, or an argument, callback or buffer is null or
 *         invalid), EOVERFLOW (the Merkle tree is too small), or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_raf_open(aegis128x4_raf_ctx *ctx, const aegis_raf_io *io, const aegis_raf_rng *rng,
                 const aegis_raf_config *cfg, const uint8_t *master_key);

/**
 * Reads up to len bytes from an offset.
 *
 * @param bytes_read  the number of bytes read: less than len only at the end of the file
 * @return 0; or -1 with errno EBADMSG (a chunk is damaged), EINVAL, or a callback's errno. On
 *         failure nothing is read and out is zeroed
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_raf_read(aegis128x4_raf_ctx *ctx, uint8_t *out, size_t *bytes_read, size_t len,
    uint64_t offset);

/**
 * Writes all of the data at an offset. The file grows if necessary; a gap between its old end and
 * the offset is filled with zeros. Does nothing if len is 0.
 *
 * @return 0; or -1 with errno EBADMSG (a chunk that would change in part is damaged), EOVERFLOW
 *         (too large for the format or for the Merkle tree), EINVAL, or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_raf_write(aegis128x4_raf_ctx *ctx, size_t *bytes_written, const uint8_t *in,
                  size_t len, uint64_t offset);

/**
 * Sets the size of the file, in bytes. Data past the new end is discarded; new bytes are zero.
 *
 * @return as aegis128x4_raf_write
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_raf_truncate(aegis128x4_raf_ctx *ctx, uint64_t size);

/**
 * Gets the size of the file, in bytes.
 *
 * @return 0; or -1 with errno EINVAL
 */
int aegis128x4_raf_get_size(const aegis128x4_raf_ctx *ctx, uint64_t *size);

/**
 * Makes everything written survive a loss of power, if there is a callback for it. If the callback
 * fails, it is called again next time. Linux forgets what fsync could not write, and the next fsync
 * succeeds without it: let the callback fail for ever then.
 *
 * @return 0; or -1 with errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_raf_sync(aegis128x4_raf_ctx *ctx);

/**
 * Syncs and closes the file, and wipes the context and the scratch buffer. Does nothing if the
 * pointer is null or the file could not be opened.
 */
void aegis128x4_raf_close(aegis128x4_raf_ctx *ctx);

/**
 * Computes the Merkle tree again from the whole file.
 *
 * @return 0; or -1 with errno ENOTSUP (there is no tree), or as aegis128x4_raf_read
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_raf_merkle_rebuild(aegis128x4_raf_ctx *ctx);

/**
 * Reads the whole file and checks that it matches the Merkle tree.
 *
 * @param corrupted_chunk  the first chunk that is unreadable or different; UINT64_MAX if the tree
 *                         itself was changed. May be null
 * @return 0; or -1 with errno EBADMSG (something was changed), ENOTSUP (there is no tree), EIO (an
 *         earlier change failed: rebuild the tree), or as aegis128x4_raf_read
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_raf_merkle_verify(aegis128x4_raf_ctx *ctx, uint64_t *corrupted_chunk);

/**
 * Computes the commitment, which stands for the whole contents of the file. Writes hash_len bytes.
 *
 * @return 0; or -1 with errno EINVAL (out_len is less), ENOTSUP (there is no tree), or EIO (an
 *         earlier change failed: rebuild the tree)
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_raf_merkle_commitment(const aegis128x4_raf_ctx *ctx, uint8_t *out, size_t out_len);

/* AEGIS-256 */

/** Bytes in a nonce, in a record (what a chunk takes in the file) and in a scratch buffer. */
#define AEGIS256_RAF_NPUBBYTES 32
#define AEGIS256_RAF_RECORD_SIZE(chunk_size) \
    ((size_t) AEGIS256_RAF_NPUBBYTES + (size_t) (chunk_size) + AEGIS_RAF_TAG_BYTES)
#define AEGIS256_RAF_SCRATCH_SIZE(chunk_size) \
    (AEGIS_RAF_ALIGN_UP(AEGIS256_RAF_RECORD_SIZE(chunk_size), AEGIS_RAF_SCRATCH_ALIGN) + \
     AEGIS_RAF_ALIGN_UP((size_t) (chunk_size), AEGIS_RAF_SCRATCH_ALIGN))

/** An open file. Its contents are private. It needs no alignment, but must not be moved. */
typedef struct aegis256_raf_ctx {
    CRYPTO_ALIGN(16) uint8_t opaque[512];
} aegis256_raf_ctx;

/** Returns the size of the scratch buffer for chunks of a size: AEGIS256_RAF_SCRATCH_SIZE. */
size_t aegis256_raf_scratch_size(uint32_t chunk_size);

/**
 * Checks a scratch buffer.
 *
 * @return 0; or -1 with errno EINVAL if the chunk size is invalid or the buffer too small for it
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256_raf_scratch_validate(const aegis_raf_scratch *scratch, uint32_t chunk_size);

/**
 * Creates an empty file. The arguments are copied, except for the memory of the scratch buffer and
 * of the Merkle tree.
 *
 * @param ctx         need not be initialised; do not use it if this fails
 * @param master_key  32 bytes
 * @return 0; or -1 with errno EINVAL (an argument, callback or buffer is null or invalid), EEXIST
 *         (the file has contents, and AEGIS_RAF_TRUNCATE is not set), ENOENT (it has none, and
 *         AEGIS_RAF_CREATE is not set), or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256_raf_create(aegis256_raf_ctx *ctx, const aegis_raf_io *io, const aegis_raf_rng *rng,
                   const aegis_raf_config *cfg, const uint8_t *master_key);

/**
 * Opens a file. Chunks are verified when they are read. The chunk size and the flags of `cfg` are
 * ignored. A Merkle tree starts empty: call aegis256_raf_merkle_rebuild.
 *
 * @return 0; or -1 with errno EBADMSG (the key is wrong, or the header was changed), EINVAL (this
 *         is not such a file, its end is missing, or an argument, callback or buffer is null or
 *         invalid), EOVERFLOW (the Merkle tree is too small), or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256_raf_open(aegis256_raf_ctx *ctx, const aegis_raf_io *io, const aegis_raf_rng *rng,
                 const aegis_raf_config *cfg, const uint8_t *master_key);

/**
 * Reads up to len bytes from an offset.
 *
 * @param bytes_read  the number of bytes read: less than len only at the end of the file
 * @return 0; or -1 with errno EBADMSG (a chunk is damaged), EINVAL, or a callback's errno. On
 *         failure nothing is read and out is zeroed
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256_raf_read(aegis256_raf_ctx *ctx, uint8_t *out, size_t *bytes_read, size_t len,
    uint64_t offset);

/**
 * Writes all of the data at an offset. The file grows if necessary; a gap between its old end and
 * the offset is filled with zeros. Does nothing if len is 0.
 *
 * @return 0; or -1 with errno EBADMSG (a chunk that would change in part is damaged), EOVERFLOW
 *         (too large for the format or for the Merkle tree), EINVAL, or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256_raf_write(aegis256_raf_ctx *ctx, size_t *bytes_written, const uint8_t *in,
                  size_t len, uint64_t offset);

/**
 * Sets the size of the file, in bytes. Data past the new end is discarded; new bytes are zero.
 *
 * @return as aegis256_raf_write
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256_raf_truncate(aegis256_raf_ctx *ctx, uint64_t size);

/**
 * Gets the size of the file, in bytes.
 *
 * @return 0; or -1 with errno EINVAL
 */
int aegis256_raf_get_size(const aegis256_raf_ctx *ctx, uint64_t *size);

/**
 * Makes everything written survive a loss of power, if there is a callback for it. If the callback
 * fails, it is called again next time. Linux forgets what fsync could not write, and the next fsync
 * succeeds without it: let the callback fail for ever then.
 *
 * @return 0; or -1 with errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256_raf_sync(aegis256_raf_ctx *ctx);

/**
 * Syncs and closes the file, and wipes the context and the scratch buffer. Does nothing if the
 * pointer is null or the file could not be opened.
 */
void aegis256_raf_close(aegis256_raf_ctx *ctx);

/**
 * Computes the Merkle tree again from the whole file.
 *
 * @return 0; or -1 with errno ENOTSUP (there is no tree), or as aegis256_raf_read
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256_raf_merkle_rebuild(aegis256_raf_ctx *ctx);

/**
 * Reads the whole file and checks that it matches the Merkle tree.
 *
 * @param corrupted_chunk  the first chunk that is unreadable or different; UINT64_MAX if the tree
 *                         itself was changed. May be null
 * @return 0; or -1 with errno EBADMSG (something was changed), ENOTSUP (there is no tree), EIO (an
 *         earlier change failed: rebuild the tree), or as aegis256_raf_read
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256_raf_merkle_verify(aegis256_raf_ctx *ctx, uint64_t *corrupted_chunk);

/**
 * Computes the commitment, which stands for the whole contents of the file. Writes hash_len bytes.
 *
 * @return 0; or -1 with errno EINVAL (out_len is less), ENOTSUP (there is no tree), or EIO (an
 *         earlier change failed: rebuild the tree)
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256_raf_merkle_commitment(const aegis256_raf_ctx *ctx, uint8_t *out, size_t out_len);

/* AEGIS-256X2 */

/** Bytes in a nonce, in a record (what a chunk takes in the file) and in a scratch buffer. */
#define AEGIS256X2_RAF_NPUBBYTES 32
#define AEGIS256X2_RAF_RECORD_SIZE(chunk_size) \
    ((size_t) AEGIS256X2_RAF_NPUBBYTES + (size_t) (chunk_size) + AEGIS_RAF_TAG_BYTES)
#define AEGIS256X2_RAF_SCRATCH_SIZE(chunk_size) \
    (AEGIS_RAF_ALIGN_UP(AEGIS256X2_RAF_RECORD_SIZE(chunk_size), AEGIS_RAF_SCRATCH_ALIGN) + \
     AEGIS_RAF_ALIGN_UP((size_t) (chunk_size), AEGIS_RAF_SCRATCH_ALIGN))

/** An open file. Its contents are private. It needs no alignment, but must not be moved. */
typedef struct aegis256x2_raf_ctx {
    CRYPTO_ALIGN(32) uint8_t opaque[512];
} aegis256x2_raf_ctx;

/** Returns the size of the scratch buffer for chunks of a size: AEGIS256X2_RAF_SCRATCH_SIZE. */
size_t aegis256x2_raf_scratch_size(uint32_t chunk_size);

/**
 * Checks a scratch buffer.
 *
 * @return 0; or -1 with errno EINVAL if the chunk size is invalid or the buffer too small for it
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x2_raf_scratch_validate(const aegis_raf_scratch *scratch, uint32_t chunk_size);

/**
 * Creates an empty file. The arguments are copied, except for the memory of the scratch buffer and
 * of the Merkle tree.
 *
 * @param ctx         need not be initialised; do not use it if this fails
 * @param master_key  32 bytes
 * @return 0; or -1 with errno EINVAL (an argument, callback or buffer is null or invalid), EEXIST
 *         (the file has contents, and AEGIS_RAF_TRUNCATE is not set), ENOENT (it has none, and
 *         AEGIS_RAF_CREATE is not set), or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x2_raf_create(aegis256x2_raf_ctx *ctx, const aegis_raf_io *io, const aegis_raf_rng *rng,
                   const aegis_raf_config *cfg, const uint8_t *master_key);

/**
 * Opens a file. Chunks are verified when they are read. The chunk size and the flags of `cfg` are
 * ignored. A Merkle tree starts empty: call aegis256x2_raf_merkle_rebuild.
 *
 * @return 0; or -1 with errno EBADMSG (the key is wrong, or the header was changed), EINVAL (this
 *         is not such a file, its end is missing, or an argument, callback or buffer is null or
 *         invalid), EOVERFLOW (the Merkle tree is too small), or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x2_raf_open(aegis256x2_raf_ctx *ctx, const aegis_raf_io *io, const aegis_raf_rng *rng,
                 const aegis_raf_config *cfg, const uint8_t *master_key);

/**
 * Reads up to len bytes from an offset.
 *
 * @param bytes_read  the number of bytes read: less than len only at the end of the file
 * @return 0; or -1 with errno EBADMSG (a chunk is damaged), EINVAL, or a callback's errno. On
 *         failure nothing is read and out is zeroed
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x2_raf_read(aegis256x2_raf_ctx *ctx, uint8_t *out, size_t *bytes_read, size_t len,
    uint64_t offset);

/**
 * Writes all of the data at an offset. The file grows if necessary; a gap between its old end and
 * the offset is filled with zeros. Does nothing if len is 0.
 *
 * @return 0; or -1 with errno EBADMSG (a chunk that would change in part is damaged), EOVERFLOW
 *         (too large for the format or for the Merkle tree), EINVAL, or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x2_raf_write(aegis256x2_raf_ctx *ctx, size_t *bytes_written, const uint8_t *in,
                  size_t len, uint64_t offset);

/**
 * Sets the size of the file, in bytes. Data past the new end is discarded; new bytes are zero.
 *
 * @return as aegis256x2_raf_write
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x2_raf_truncate(aegis256x2_raf_ctx *ctx, uint64_t size);

/**
 * Gets the size of the file, in bytes.
 *
 * @return 0; or -1 with errno EINVAL
 */
int aegis256x2_raf_get_size(const aegis256x2_raf_ctx *ctx, uint64_t *size);

/**
 * Makes everything written survive a loss of power, if there is a callback for it. If the callback
 * fails, it is called again next time. Linux forgets what fsync could not write, and the next fsync
 * succeeds without it: let the callback fail for ever then.
 *
 * @return 0; or -1 with errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x2_raf_sync(aegis256x2_raf_ctx *ctx);

/**
 * Syncs and closes the file, and wipes the context and the scratch buffer. Does nothing if the
 * pointer is null or the file could not be opened.
 */
void aegis256x2_raf_close(aegis256x2_raf_ctx *ctx);

/**
 * Computes the Merkle tree again from the whole file.
 *
 * @return 0; or -1 with errno ENOTSUP (there is no tree), or as aegis256x2_raf_read
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x2_raf_merkle_rebuild(aegis256x2_raf_ctx *ctx);

/**
 * Reads the whole file and checks that it matches the Merkle tree.
 *
 * @param corrupted_chunk  the first chunk that is unreadable or different; UINT64_MAX if the tree
 *                         itself was changed. May be null
 * @return 0; or -1 with errno EBADMSG (something was changed), ENOTSUP (there is no tree), EIO (an
 *         earlier change failed: rebuild the tree), or as aegis256x2_raf_read
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x2_raf_merkle_verify(aegis256x2_raf_ctx *ctx, uint64_t *corrupted_chunk);

/**
 * Computes the commitment, which stands for the whole contents of the file. Writes hash_len bytes.
 *
 * @return 0; or -1 with errno EINVAL (out_len is less), ENOTSUP (there is no tree), or EIO (an
 *         earlier change failed: rebuild the tree)
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x2_raf_merkle_commitment(const aegis256x2_raf_ctx *ctx, uint8_t *out, size_t out_len);

/* AEGIS-256X4 */

/** Bytes in a nonce, in a record (what a chunk takes in the file) and in a scratch buffer. */
#define AEGIS256X4_RAF_NPUBBYTES 32
#define AEGIS256X4_RAF_RECORD_SIZE(chunk_size) \
    ((size_t) AEGIS256X4_RAF_NPUBBYTES + (size_t) (chunk_size) + AEGIS_RAF_TAG_BYTES)
#define AEGIS256X4_RAF_SCRATCH_SIZE(chunk_size) \
    (AEGIS_RAF_ALIGN_UP(AEGIS256X4_RAF_RECORD_SIZE(chunk_size), AEGIS_RAF_SCRATCH_ALIGN) + \
     AEGIS_RAF_ALIGN_UP((size_t) (chunk_size), AEGIS_RAF_SCRATCH_ALIGN))

/** An open file. Its contents are private. It needs no alignment, but must not be moved. */
typedef struct aegis256x4_raf_ctx {
    CRYPTO_ALIGN(64) uint8_t opaque[512];
} aegis256x4_raf_ctx;

/** Returns the size of the scratch buffer for chunks of a size: AEGIS256X4_RAF_SCRATCH_SIZE. */
size_t aegis256x4_raf_scratch_size(uint32_t chunk_size);

/**
 * Checks a scratch buffer.
 *
 * @return 0; or -1 with errno EINVAL if the chunk size is invalid or the buffer too small for it
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x4_raf_scratch_validate(const aegis_raf_scratch *scratch, uint32_t chunk_size);

/**
 * Creates an empty file. The arguments are copied, except for the memory of the scratch buffer and
 * of the Merkle tree.
 *
 * @param ctx         need not be initialised; do not use it if this fails
 * @param master_key  32 bytes
 * @return 0; or -1 with errno EINVAL (an argument, callback or buffer is null or invalid), EEXIST
 *         (the file has contents, and AEGIS_RAF_TRUNCATE is not set), ENOENT (it has none, and
 *         AEGIS_RAF_CREATE is not set), or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x4_raf_create(aegis256x4_raf_ctx *ctx, const aegis_raf_io *io, const aegis_raf_rng *rng,
                   const aegis_raf_config *cfg, const uint8_t *master_key);

/**
 * Opens a file. Chunks are verified when they are read. The chunk size and the flags of `cfg` are
 * ignored. A Merkle tree starts empty: call aegis256x4_raf_merkle_rebuild.
 *
 * @return 0; or -1 with errno EBADMSG (the key is wrong, or the header was changed), EINVAL (this
 *         is not such a file, its end is missing, or an argument, callback or buffer is null or
 *         invalid), EOVERFLOW (the Merkle tree is too small), or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x4_raf_open(aegis256x4_raf_ctx *ctx, const aegis_raf_io *io, const aegis_raf_rng *rng,
                 const aegis_raf_config *cfg, const uint8_t *master_key);

/**
 * Reads up to len bytes from an offset.
 *
 * @param bytes_read  the number of bytes read: less than len only at the end of the file
 * @return 0; or -1 with errno EBADMSG (a chunk is damaged), EINVAL, or a callback's errno. On
 *         failure nothing is read and out is zeroed
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x4_raf_read(aegis256x4_raf_ctx *ctx, uint8_t *out, size_t *bytes_read, size_t len,
    uint64_t offset);

/**
 * Writes all of the data at an offset. The file grows if necessary; a gap between its old end and
 * the offset is filled with zeros. Does nothing if len is 0.
 *
 * @return 0; or -1 with errno EBADMSG (a chunk that would change in part is damaged), EOVERFLOW
 *         (too large for the format or for the Merkle tree), EINVAL, or a callback's errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x4_raf_write(aegis256x4_raf_ctx *ctx, size_t *bytes_written, const uint8_t *in,
                  size_t len, uint64_t offset);

/**
 * Sets the size of the file, in bytes. Data past the new end is discarded; new bytes are zero.
 *
 * @return as aegis256x4_raf_write
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x4_raf_truncate(aegis256x4_raf_ctx *ctx, uint64_t size);

/**
 * Gets the size of the file, in bytes.
 *
 * @return 0; or -1 with errno EINVAL
 */
int aegis256x4_raf_get_size(const aegis256x4_raf_ctx *ctx, uint64_t *size);

/**
 * Makes everything written survive a loss of power, if there is a callback for it. If the callback
 * fails, it is called again next time. Linux forgets what fsync could not write, and the next fsync
 * succeeds without it: let the callback fail for ever then.
 *
 * @return 0; or -1 with errno
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x4_raf_sync(aegis256x4_raf_ctx *ctx);

/**
 * Syncs and closes the file, and wipes the context and the scratch buffer. Does nothing if the
 * pointer is null or the file could not be opened.
 */
void aegis256x4_raf_close(aegis256x4_raf_ctx *ctx);

/**
 * Computes the Merkle tree again from the whole file.
 *
 * @return 0; or -1 with errno ENOTSUP (there is no tree), or as aegis256x4_raf_read
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x4_raf_merkle_rebuild(aegis256x4_raf_ctx *ctx);

/**
 * Reads the whole file and checks that it matches the Merkle tree.
 *
 * @param corrupted_chunk  the first chunk that is unreadable or different; UINT64_MAX if the tree
 *                         itself was changed. May be null
 * @return 0; or -1 with errno EBADMSG (something was changed), ENOTSUP (there is no tree), EIO (an
 *         earlier change failed: rebuild the tree), or as aegis256x4_raf_read
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x4_raf_merkle_verify(aegis256x4_raf_ctx *ctx, uint64_t *corrupted_chunk);

/**
 * Computes the commitment, which stands for the whole contents of the file. Writes hash_len bytes.
 *
 * @return 0; or -1 with errno EINVAL (out_len is less), ENOTSUP (there is no tree), or EIO (an
 *         earlier change failed: rebuild the tree)
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x4_raf_merkle_commitment(const aegis256x4_raf_ctx *ctx, uint8_t *out, size_t out_len);

#ifdef __cplusplus
}
#endif

#endif
