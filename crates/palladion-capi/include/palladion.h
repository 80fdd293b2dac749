/*
 * What Palladion has beyond the interface of libaegis: its version, the choice of a backend, many
 * messages in one call, random keys and nonces, wiping. It is in libpalladion, not in the library
 * that takes libaegis's place.
 *
 * As in the other headers, functions that return int return 0 for success and -1 for failure, and
 * all may be called in several threads at once.
 */
#ifndef palladion_H
#define palladion_H

#include <stddef.h>
#include <stdint.h>

#include "aegis.h"

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

/** The name of the backend now in use: the instructions that the ciphers run on. Never null. */
const char *palladion_backend(void);

/** The names of all backends that this machine can run, the best first. A null pointer ends the list. */
const char *const *palladion_backends(void);

/**
 * Chooses a backend for the whole process, for tests and measurements. States that exist already
 * may keep the one that they began with.
 *
 * @param name one of palladion_backends
 * @return 0; or -1 with errno EINVAL if there is none of this name here, and all stays as it was
 */
int palladion_set_backend(const char *name);

/**
 * Fills a buffer with random bytes from the operating system, fit for keys and nonces:
 * palladion_random(key, sizeof key).
 *
 * @return 0; or -1 with the system's errno if it has none to give: then the buffer is zeroed, and must not be used
 */
int palladion_random(void *out, size_t len);

/** Overwrites memory with zeros, also if the compiler thinks that nobody will look: keys, and states that were given up. */
void palladion_wipe(void *memory, size_t len);

/** The variants, by number: the same numbers as those of libaegis's encrypted files. */
#define PALLADION_AEGIS128L 1
#define PALLADION_AEGIS128X2 2
#define PALLADION_AEGIS128X4 3
#define PALLADION_AEGIS256 4
#define PALLADION_AEGIS256X2 5
#define PALLADION_AEGIS256X4 6

/** A message of a batch. */
typedef struct palladion_message {
    const uint8_t *in;   /**< the message to be encrypted, or the ciphertext to be decrypted: len bytes */
    uint8_t       *out;  /**< where the result goes, len bytes: the same buffer, or another that does not overlap */
    size_t         len;  /**< bytes */
    uint8_t       *mac;  /**< the tag: written by encryption, read by decryption */
    const uint8_t *ad;   /**< associated data, adlen bytes; null if there are none */
    size_t         adlen; /**< bytes */
    const uint8_t *npub; /**< the nonce; null for one of zeros */
    const uint8_t *k;    /**< the key; messages may have different ones */
    int            result; /**< what became of it: 0 or -1 */
} palladion_message;

/**
 * Encrypts many messages, each as <variant>_encrypt_detached would alone. On CPUs with wide AES
 * instructions that is faster than one after another, for messages of up to some kilobytes and
 * similar lengths. No memory is allocated.
 *
 * What one message writes must not overlap what another reads or writes.
 *
 * @param alg    the variant, one of the numbers above
 * @param maclen bytes in each tag, 16 or 32
 * @param count  how many messages there are; none is fine
 * @return 0; or -1 with errno EINVAL for a wrong alg or maclen, and nothing is done
 */
int palladion_encrypt_batch(int alg, size_t maclen, palladion_message *messages, size_t count);

/**
 * Decrypts many messages, each as <variant>_decrypt_detached would alone.
 *
 * @return 0 if all tags are right; -1 if not, and the result of each message tells; where that is -1, its out is zeroed. Or -1
 *         with errno EINVAL for a wrong alg or maclen, and nothing is done
 */
AEGIS_WARN_UNUSED_RESULT
int palladion_decrypt_batch(int alg, size_t maclen, palladion_message *messages, size_t count);

#ifdef __cplusplus
}
#endif

#endif
