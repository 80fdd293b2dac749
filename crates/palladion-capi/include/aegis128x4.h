/*
 * AEGIS-128X4 (RFC 10032 section 5.4): authenticated encryption, streaming, key stream and MAC.
 *
 * What holds for all functions here:
 *  - Sizes are in bytes. Functions that return int return 0 for success and -1 for failure.
 *  - A tag has 16 or 32 bytes. With any other length functions fail with errno EINVAL and do
 *    nothing. A tag that is wrong makes them fail with errno as it was.
 *  - Messages, associated data and the input of a MAC have at most 2^61 - 1 bytes each. Functions
 *    that return int fail with errno EINVAL if there is more. A state that cannot begin for that
 *    reason has ended. Other functions call abort.
 *  - A state ends when its tag is computed or compared. After that, functions that return int fail
 *    with errno EINVAL and write nothing.
 *  - Input and output may be the same buffer. If they overlap otherwise, the input is moved first.
 *    The output may cover the key, the nonce, the associated data and a tag to compare.
 *  - A null pointer will do for data of no bytes. Keys must be given. A null nonce stands for one
 *    of zeros.
 *  - Never encrypt two messages with the same key and nonce.
 *    Random nonces are safe for up to 2^48 messages with a key; or count.
 *  - Functions on different objects may run at the same time in several threads.
 */
#ifndef aegis128x4_H
#define aegis128x4_H

#include <stddef.h>
#include <stdint.h>

#include "aegis_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes in a key. */
#define aegis128x4_KEYBYTES 16
/** Bytes in a nonce. */
#define aegis128x4_NPUBBYTES 16
/** Bytes in the shorter tag. */
#define aegis128x4_ABYTES_MIN 16
/** Bytes in the longer tag. */
#define aegis128x4_ABYTES_MAX 32
/** Kept for libaegis: no function holds bytes back. */
#define aegis128x4_TAILBYTES_MAX 127

/**
 * The state of a message that is processed in pieces. Its contents are private and need no
 * alignment. A copy (by assignment or memcpy) continues independently. Computing or verifying the
 * tag wipes it; wipe it yourself if you stop before.
 */
typedef struct aegis128x4_state {
    CRYPTO_ALIGN(64) uint8_t opaque[832];
} aegis128x4_state;

/**
 * The state of a MAC. Its contents are private and need no alignment. It keeps key and nonce for
 * aegis128x4_mac_reset; wipe it yourself.
 */
typedef struct aegis128x4_mac_state {
    CRYPTO_ALIGN(64) uint8_t opaque[1344];
} aegis128x4_mac_state;

/** The constants above, for programs that bind at run time. */
size_t aegis128x4_keybytes(void);
size_t aegis128x4_npubbytes(void);
size_t aegis128x4_abytes_min(void);
size_t aegis128x4_abytes_max(void);
size_t aegis128x4_tailbytes_max(void);

/**
 * Encrypts a message and writes the tag separately.
 *
 * @param c      where the ciphertext goes, mlen bytes
 * @param mac    where the tag goes, maclen bytes
 * @param maclen 16 or 32
 * @param m      the message, mlen bytes
 * @param ad     associated data, adlen bytes: authenticated, not encrypted
 * @param npub   the nonce
 * @param k      the key
 * @return 0, or -1 for a wrong maclen
 */
int aegis128x4_encrypt_detached(uint8_t *c, uint8_t *mac, size_t maclen, const uint8_t *m,
    size_t mlen, const uint8_t *ad, size_t adlen, const uint8_t *npub, const uint8_t *k);

/**
 * Decrypts a message if its tag is right.
 *
 * @param m      where the message goes, clen bytes; or null, to learn only whether the tag is right
 * @param c      the ciphertext, clen bytes
 * @param mac    the tag, maclen bytes
 * @return 0; or -1 if the tag is wrong, and m is zeroed; or -1 for a wrong maclen
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_decrypt_detached(uint8_t *m, const uint8_t *c, size_t clen, const uint8_t *mac,
    size_t maclen, const uint8_t *ad, size_t adlen, const uint8_t *npub, const uint8_t *k);

/**
 * Encrypts a message and writes the tag after the ciphertext.
 *
 * @param c where both go, mlen + maclen bytes
 * @return 0, or -1 for a wrong maclen
 */
int aegis128x4_encrypt(uint8_t *c, size_t maclen, const uint8_t *m, size_t mlen, const uint8_t *ad,
    size_t adlen, const uint8_t *npub, const uint8_t *k);

/**
 * Decrypts a message if the tag after the ciphertext is right.
 *
 * @param m    where the message goes, clen - maclen bytes, or null
 * @param c    ciphertext and tag
 * @param clen bytes of both
 * @return 0; or -1 if the tag is wrong, and m is zeroed; or -1 if clen is less than maclen, or for
 *         a wrong maclen
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_decrypt(uint8_t *m, const uint8_t *c, size_t clen, size_t maclen, const uint8_t *ad,
    size_t adlen, const uint8_t *npub, const uint8_t *k);

/**
 * Begins a message that is processed in pieces, for encryption or decryption. The state need not be
 * initialised.
 *
 * @param ad all of the associated data
 */
void aegis128x4_state_init(aegis128x4_state *st_, const uint8_t *ad, size_t adlen,
    const uint8_t *npub, const uint8_t *k);

/**
 * Encrypts the next piece, of any size.
 *
 * @param c where its ciphertext goes, mlen bytes
 * @return 0; or -1 if the state has ended
 */
int aegis128x4_state_encrypt_update(aegis128x4_state *st_, uint8_t *c, const uint8_t *m,
    size_t mlen);

/**
 * Ends the message and writes its tag.
 *
 * @return 0; or -1 for a wrong maclen, or if the state has ended
 */
int aegis128x4_state_encrypt_final(aegis128x4_state *st_, uint8_t *mac, size_t maclen);

/**
 * Decrypts the next piece, of any size. The result is NOT VERIFIED: do not act on it before
 * aegis128x4_state_decrypt_final has succeeded, and discard it if that fails.
 *
 * @param m where the piece goes, clen bytes, or null
 * @return 0; or -1 if the state has ended
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_state_decrypt_update(aegis128x4_state *st_, uint8_t *m, const uint8_t *c,
    size_t clen);

/**
 * Ends the message and tells whether the tag is right.
 *
 * @return 0; or -1 if the tag is wrong, for a wrong maclen, or if the state has ended
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_state_decrypt_final(aegis128x4_state *st_, const uint8_t *mac, size_t maclen);

/**
 * Writes len bytes of key stream: the ciphertext of zeros (RFC 10032 section 7).
 *
 * @param npub the nonce, or null for one of zeros
 */
void aegis128x4_stream(uint8_t *out, size_t len, const uint8_t *npub, const uint8_t *k);

/** Writes the XOR of len bytes and the key stream. Not authenticated: anyone can flip any bit. */
void aegis128x4_stream_xor(uint8_t *out, const uint8_t *in, size_t len, const uint8_t *npub,
    const uint8_t *k);

/**
 * Encrypts like aegis128x4_encrypt_detached, without associated data and without a tag.
 * Not authenticated: anyone can flip any bit.
 */
void aegis128x4_encrypt_unauthenticated(uint8_t *c, const uint8_t *m, size_t mlen,
    const uint8_t *npub, const uint8_t *k);

/** Decrypts the output of aegis128x4_encrypt_unauthenticated. Changes to it are not noticed. */
void aegis128x4_decrypt_unauthenticated(uint8_t *m, const uint8_t *c, size_t clen,
    const uint8_t *npub, const uint8_t *k);

/**
 * Begins a MAC (RFC 10032 section 8). Do not use the key for encryption too. The same key and nonce
 * may serve any number of messages.
 *
 * @param k    the key, which comes first here
 * @param npub the nonce, or null for one of zeros
 */
void aegis128x4_mac_init(aegis128x4_mac_state *st_, const uint8_t *k, const uint8_t *npub);

/**
 * Takes more data, of any size.
 *
 * @return 0; or -1 if the state has ended
 */
int aegis128x4_mac_update(aegis128x4_mac_state *st_, const uint8_t *m, size_t mlen);

/**
 * Writes the tag of all the data. Reset or initialise the state before you use it again.
 *
 * @return 0; or -1 for a wrong maclen, or if the state has ended
 */
int aegis128x4_mac_final(aegis128x4_mac_state *st_, uint8_t *mac, size_t maclen);

/**
 * Compares the tag of all the data with the one given. Reset or initialise the state before you use
 * it again.
 *
 * @return 0; or -1 if they differ, for a wrong maclen, or if the state has ended
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128x4_mac_verify(aegis128x4_mac_state *st_, const uint8_t *mac, size_t maclen);

/** Starts over with the same key and nonce. */
void aegis128x4_mac_reset(aegis128x4_mac_state *st_);

/** Copies src to dst; the two continue independently. */
void aegis128x4_mac_state_clone(aegis128x4_mac_state *dst, const aegis128x4_mac_state *src);

#ifdef __cplusplus
}
#endif

#endif
