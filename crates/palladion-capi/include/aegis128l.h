/*
 * AEGIS-128L (RFC 10032 section 3): authenticated encryption, streaming, key stream and MAC.
 *
 * What holds for all functions here:
 *  - Sizes are in bytes. Functions that return int return 0 for success and -1 for failure.
 *  - A tag has 16 or 32 bytes. With any other length functions fail with errno EINVAL and do
 *    nothing. A tag that is wrong makes them fail with errno as it was.
 *  - Input and output may be the same buffer. If they overlap otherwise, the input is moved first.
 *  - A null pointer will do for data of no bytes. Keys must be given. A null nonce stands for one
 *    of zeros.
 *  - Never encrypt two messages with the same key and nonce.
 *    Random nonces are safe for up to 2^48 messages with a key; or count.
 *  - Functions on different objects may run at the same time in several threads.
 */
#ifndef aegis128l_H
#define aegis128l_H

#include <stddef.h>
#include <stdint.h>

#include "aegis_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes in a key. */
#define aegis128l_KEYBYTES 16
/** Bytes in a nonce. */
#define aegis128l_NPUBBYTES 16
/** Bytes in the shorter tag. */
#define aegis128l_ABYTES_MIN 16
/** Bytes in the longer tag. */
#define aegis128l_ABYTES_MAX 32
/** Of old: no function keeps bytes back. */
#define aegis128l_TAILBYTES_MAX 31

/**
 * A message in the middle. Its contents are private. It needs no alignment, and a copy of it (by
 * assignment or memcpy) is another message in the same state. It is wiped when its tag is made or
 * verified; wipe it yourself if you give up before.
 */
typedef struct aegis128l_state {
    CRYPTO_ALIGN(32) uint8_t opaque[256];
} aegis128l_state;

/** Data to be authenticated, in the middle. Likewise, but that key and nonce stay in it, for aegis128l_mac_reset. */
typedef struct aegis128l_mac_state {
    CRYPTO_ALIGN(32) uint8_t opaque[384];
} aegis128l_mac_state;

/** The constants above, for programs that bind at run time. */
size_t aegis128l_keybytes(void);
size_t aegis128l_npubbytes(void);
size_t aegis128l_abytes_min(void);
size_t aegis128l_abytes_max(void);
size_t aegis128l_tailbytes_max(void);

/**
 * Encrypts a message. The tag is put elsewhere.
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
int aegis128l_encrypt_detached(uint8_t *c, uint8_t *mac, size_t maclen, const uint8_t *m, size_t mlen, const uint8_t *ad,
    size_t adlen, const uint8_t *npub, const uint8_t *k);

/**
 * Decrypts a message if its tag is right.
 *
 * @param m      where the message goes, clen bytes; or null, to learn only whether the tag is right
 * @param c      the ciphertext, clen bytes
 * @param mac    the tag, maclen bytes
 * @return 0; or -1 if the tag is wrong, and m is zeroed; or -1 for a wrong maclen
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_decrypt_detached(uint8_t *m, const uint8_t *c, size_t clen, const uint8_t *mac, size_t maclen, const uint8_t *ad,
    size_t adlen, const uint8_t *npub, const uint8_t *k);

/**
 * Encrypts a message and puts the tag behind the ciphertext.
 *
 * @param c where both go, mlen + maclen bytes
 * @return 0, or -1 for a wrong maclen
 */
int aegis128l_encrypt(uint8_t *c, size_t maclen, const uint8_t *m, size_t mlen, const uint8_t *ad, size_t adlen,
    const uint8_t *npub, const uint8_t *k);

/**
 * Decrypts a message if the tag behind the ciphertext is right.
 *
 * @param m    where the message goes, clen - maclen bytes, or null
 * @param c    ciphertext and tag
 * @param clen bytes of both
 * @return 0; or -1 if the tag is wrong, and m is zeroed; or -1 if clen is less than maclen, or for a wrong maclen
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_decrypt(uint8_t *m, const uint8_t *c, size_t clen, size_t maclen, const uint8_t *ad, size_t adlen,
    const uint8_t *npub, const uint8_t *k);

/**
 * Begins a message that comes in pieces, in either direction. What the state held before does not
 * matter.
 *
 * @param ad all of the associated data
 */
void aegis128l_state_init(aegis128l_state *st_, const uint8_t *ad, size_t adlen, const uint8_t *npub, const uint8_t *k);

/**
 * Encrypts the next piece, of any size.
 *
 * @param c where its ciphertext goes, mlen bytes
 * @return 0
 */
int aegis128l_state_encrypt_update(aegis128l_state *st_, uint8_t *c, const uint8_t *m, size_t mlen);

/**
 * Makes the tag. The message has ended.
 *
 * @return 0, or -1 for a wrong maclen
 */
int aegis128l_state_encrypt_final(aegis128l_state *st_, uint8_t *mac, size_t maclen);

/**
 * Decrypts the next piece, of any size. The result is NOT VERIFIED: do not act on it before
 * aegis128l_state_decrypt_final has succeeded, and throw it away if that fails.
 *
 * @param m where the piece goes, clen bytes, or null
 * @return 0
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_state_decrypt_update(aegis128l_state *st_, uint8_t *m, const uint8_t *c, size_t clen);

/**
 * Tells whether the tag is right. The message has ended.
 *
 * @return 0; or -1 if the tag is wrong, or for a wrong maclen
 */
AEGIS_WARN_UNUSED_RESULT
int aegis128l_state_decrypt_final(aegis128l_state *st_, const uint8_t *mac, size_t maclen);

/**
 * Writes len bytes of key stream: the ciphertext of zeros (RFC 10032 section 7).
 *
 * @param npub the nonce, or null for one of zeros
 */
void aegis128l_stream(uint8_t *out, size_t len, const uint8_t *npub, const uint8_t *k);

/** Writes the XOR of len bytes and the key stream. Not authenticated: anybody can flip any bit. */
void aegis128l_stream_xor(uint8_t *out, const uint8_t *in, size_t len, const uint8_t *npub, const uint8_t *k);

/** Encrypts as aegis128l_encrypt_detached does without associated data, and makes no tag: anybody can flip any bit. */
void aegis128l_encrypt_unauthenticated(uint8_t *c, const uint8_t *m, size_t mlen, const uint8_t *npub, const uint8_t *k);

/** Decrypts what aegis128l_encrypt_unauthenticated has made. Whether it was changed is not known. */
void aegis128l_decrypt_unauthenticated(uint8_t *m, const uint8_t *c, size_t clen, const uint8_t *npub, const uint8_t *k);

/**
 * Begins a MAC (RFC 10032 section 8). Do not use the key for encryption too. The same key and nonce
 * may serve any number of messages.
 *
 * @param k    the key, which comes first here
 * @param npub the nonce, or null for one of zeros
 */
void aegis128l_mac_init(aegis128l_mac_state *st_, const uint8_t *k, const uint8_t *npub);

/**
 * Takes more data, of any size.
 *
 * @return 0
 */
int aegis128l_mac_update(aegis128l_mac_state *st_, const uint8_t *m, size_t mlen);

/**
 * Makes the tag of all the data. Before the state is used again it has to be reset, or begun anew.
 *
 * @return 0, or -1 for a wrong maclen
 */
int aegis128l_mac_final(aegis128l_mac_state *st_, uint8_t *mac, size_t maclen);

/**
 * Tells whether the tag of all the data is the one given. Likewise.
 *
 * @return 0; or -1 if it is another, or for a wrong maclen
 */
int aegis128l_mac_verify(aegis128l_mac_state *st_, const uint8_t *mac, size_t maclen);

/** Forgets all data; key and nonce stay. */
void aegis128l_mac_reset(aegis128l_mac_state *st_);

/** Makes dst another state like src. */
void aegis128l_mac_state_clone(aegis128l_mac_state *dst, const aegis128l_mac_state *src);

#ifdef __cplusplus
}
#endif

#endif
