/*
 * Palladion's additions to the interface of libaegis: random keys and nonces, wiping, messages with
 * a random nonce, many messages in one call, the version, the choice of a backend. They are in
 * libpalladion, not in the drop-in replacement for libaegis. Files are in palladion_file.h.
 *
 * As in the other headers, functions that return int return 0 for success and -1 for failure. With
 * a length that no memory has, of 2^61 bytes and more, they fail with errno EINVAL, and functions
 * that return nothing call abort. Several threads may call all functions at once.
 */
#ifndef palladion_H
#define palladion_H

#include <stddef.h>
#include <stdint.h>

#include "aegis.h"

/* The compiler warns if one of these arguments, counted from 1, is null. */
#ifndef PALLADION_NONNULL
#    ifdef __GNUC__
#        define PALLADION_NONNULL(...) __attribute__((nonnull(__VA_ARGS__)))
#    else
#        define PALLADION_NONNULL(...)
#    endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The version of this header. */
#define PALLADION_VERSION "0.1.0"
#define PALLADION_VERSION_MAJOR 0
#define PALLADION_VERSION_MINOR 1
#define PALLADION_VERSION_PATCH 0

/** The version of the library, written like PALLADION_VERSION. */
const char *palladion_version(void);

/** Returns the name of the backend in use, that is, of the CPU instructions. Never null. */
const char *palladion_backend(void);

/** Returns the names of the backends this machine can run, the best first, and a null pointer. */
const char *const *palladion_backends(void);

/**
 * Chooses a backend for the whole process, for tests and measurements. Existing states may keep
 * theirs.
 *
 * @param name one of palladion_backends
 * @return 0; or -1 with errno EINVAL if no such backend is available; the choice does not change
 */
int palladion_set_backend(const char *name);

/**
 * Fills a buffer with random bytes from the operating system, fit for keys and nonces:
 * palladion_random_or_abort(key, sizeof key). If the system has none, which is rare, it prints that
 * to standard error and calls abort: the buffer never holds anything else.
 */
void palladion_random_or_abort(void *out, size_t len);

/**
 * Fills a buffer like palladion_random_or_abort, for programs that can do without.
 *
 * @return 0; or -1 with the system's errno if it has none; the buffer is then zeroed: do not use it
 */
AEGIS_WARN_UNUSED_RESULT
int palladion_random(void *out, size_t len);

/** Overwrites memory with zeros, even if the compiler considers that unnecessary. */
void palladion_wipe(void *memory, size_t len);

/** The variants, by number: the same numbers as those of libaegis's encrypted files. */
#define PALLADION_AEGIS128L 1
#define PALLADION_AEGIS128X2 2
#define PALLADION_AEGIS128X4 3
#define PALLADION_AEGIS256 4
#define PALLADION_AEGIS256X2 5
#define PALLADION_AEGIS256X4 6

/** Bytes that palladion_seal adds: a nonce and a tag. */
#define PALLADION_SEALBYTES(alg, maclen) (((alg) < PALLADION_AEGIS256 ? 16 : 32) + (maclen))

/**
 * Encrypts a message with a random nonce, and writes nonce, ciphertext and tag. With the variants
 * of aegis256, a key is good for any number of messages; with those of aegis128, for 2^48.
 *
 * @param alg    the variant, one of the numbers above
 * @param maclen bytes in the tag, 16 or 32
 * @param sealed where the result goes, mlen + PALLADION_SEALBYTES(alg, maclen) bytes; it may
 *               overlap the inputs
 * @param m      the message, mlen bytes
 * @param ad     associated data, adlen bytes: authenticated, not encrypted
 * @param k      the key
 * @return 0; or -1 with errno EINVAL for a wrong alg or maclen or 2^61 bytes and more; or -1 with
 *         the system's errno if it has no random bytes. Nothing is written then.
 */
AEGIS_WARN_UNUSED_RESULT PALLADION_NONNULL(3, 8)
int palladion_seal(int alg, size_t maclen, uint8_t *sealed, const uint8_t *m, size_t mlen,
                   const uint8_t *ad, size_t adlen, const uint8_t *k);

/**
 * Decrypts what palladion_seal wrote.
 *
 * @param m         where the message goes, sealedlen - PALLADION_SEALBYTES(alg, maclen) bytes; or
 *                  null, to learn only whether the tag is right; it may overlap the inputs
 * @param sealedlen bytes of nonce, ciphertext and tag
 * @return 0; or -1 if the tag is wrong, and m is zeroed; or -1 if sealedlen is too short; or -1
 *         with errno EINVAL as for palladion_seal
 */
AEGIS_WARN_UNUSED_RESULT PALLADION_NONNULL(4, 8)
int palladion_open(int alg, size_t maclen, uint8_t *m, const uint8_t *sealed, size_t sealedlen,
                   const uint8_t *ad, size_t adlen, const uint8_t *k);

/** A message of a batch. */
typedef struct palladion_message {
    const uint8_t *in;   /**< the message to encrypt or the ciphertext to decrypt, len bytes */
    uint8_t       *out;  /**< the output, len bytes; null for a decryption that only checks */
    size_t         len;  /**< bytes */
    uint8_t       *mac;  /**< the tag: written by encryption, read by decryption */
    const uint8_t *ad;   /**< associated data, adlen bytes; null if there are none */
    size_t         adlen; /**< bytes */
    const uint8_t *npub; /**< the nonce; null for one of zeros */
    const uint8_t *k;    /**< the key; messages may have different ones */
    int            result; /**< 0 for success or -1 */
} palladion_message;

/**
 * Encrypts many messages, each like <variant>_encrypt_detached. On CPUs with wide AES instructions
 * this is faster than one call for each, if the messages have up to a few kilobytes and similar
 * lengths. It allocates no memory.
 *
 * The memory that one message writes must not overlap what another reads or writes. What it reads
 * itself may overlap its output.
 *
 * @param alg    the variant, one of the numbers above
 * @param maclen bytes in each tag, 16 or 32
 * @param count  the number of messages; may be 0
 * @return 0; or -1 with errno EINVAL for a wrong alg or maclen; then nothing is encrypted; or -1
 *         with errno EINVAL if a message has 2^61 bytes or more; then its result tells
 */
AEGIS_WARN_UNUSED_RESULT
int palladion_encrypt_batch(int alg, size_t maclen, palladion_message *messages, size_t count);

/**
 * Decrypts many messages, each like <variant>_decrypt_detached.
 *
 * @return 0 if all tags are right; -1 if not: then each message's result tells, and if that is -1
 *         its out is zeroed; or -1 with errno EINVAL for a wrong alg or maclen, and nothing is
 *         decrypted
 */
AEGIS_WARN_UNUSED_RESULT
int palladion_decrypt_batch(int alg, size_t maclen, palladion_message *messages, size_t count);

/**
 * Encrypts packets that follow each other in one buffer, in place, as senders of UDP with
 * segmentation offload have them. Each packet has a header, a message, and maclen bytes where its
 * tag is written. Packet i has the number first + i; its nonce is iv XOR that number, in big-endian
 * order at the end, as in TLS 1.3 and QUIC. Never use a number twice with the same key and iv. The
 * result is that of <variant>_encrypt with each header as the associated data.
 *
 * @param alg    the variant, one of the numbers above
 * @param maclen bytes in each tag, 16 or 32
 * @param len    bytes in buf: all packets
 * @param packet bytes in each packet; only the last packet may be shorter
 * @param header bytes in each header: authenticated, not encrypted
 * @param first  the number of the first packet
 * @param iv     as many bytes as a nonce; null for zeros
 * @param k      the key
 * @return 0; or -1 with errno EINVAL for a wrong alg or maclen, a packet without room for its
 *         header and tag, or numbers of 2^64 and more; then nothing is encrypted
 */
AEGIS_WARN_UNUSED_RESULT PALLADION_NONNULL(9)
int palladion_seal_packets(int alg, size_t maclen, uint8_t *buf, size_t len, size_t packet,
                           size_t header, uint64_t first, const uint8_t *iv, const uint8_t *k);

/**
 * Decrypts packets that palladion_seal_packets encrypted, in place.
 *
 * @param results null, or room for a number for each packet: 0; or -1 if its tag is wrong, and then
 *                its message is zeroed
 * @return 0 if all tags are right; -1 if not; or -1 with errno EINVAL as for
 *         palladion_seal_packets, and then nothing is decrypted: ignore results
 */
AEGIS_WARN_UNUSED_RESULT PALLADION_NONNULL(9)
int palladion_open_packets(int alg, size_t maclen, uint8_t *buf, size_t len, size_t packet,
                           size_t header, uint64_t first, const uint8_t *iv, const uint8_t *k,
                           int *results);

#ifdef __cplusplus
}
#endif

#endif
