/*
 * AEGIS-256X2 (RFC 10032 section 5.5): authenticated encryption, streaming, key stream and MAC.
 *
 * What holds for all functions here:
 *  - Sizes are in bytes. Functions that return int return 0 for success and -1 for failure.
 *  - A tag has 16 or 32 bytes. With any other length functions fail with errno EINVAL and do
 *    nothing. A tag that is wrong makes them fail with errno as it was.
 *  - Input and output may be the same buffer. If they overlap otherwise, the input is moved first.
 *  - A null pointer will do for data of no bytes. Keys must be given. A null nonce stands for one
 *    of zeros.
 *  - Never encrypt two messages with the same key and nonce.
 *    Random nonces are safe for any number of messages.
 *  - Functions on different objects may run at the same time in several threads.
 */
#ifndef aegis256x2_H
#define aegis256x2_H

#include <stddef.h>
#include <stdint.h>

#include "aegis_common.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Bytes in a key. */
#define aegis256x2_KEYBYTES 32
/** Bytes in a nonce. */
#define aegis256x2_NPUBBYTES 32
/** Bytes in the shorter tag. */
#define aegis256x2_ABYTES_MIN 16
/** Bytes in the longer tag. */
#define aegis256x2_ABYTES_MAX 32
/** Of old: no function keeps bytes back. */
#define aegis256x2_TAILBYTES_MAX 31

/**
 * A message in the middle. Its contents are private. It needs no alignment, and a copy of it (by
 * assignment or memcpy) is another message in the same state. It is wiped when its tag is made or
 * verified; wipe it yourself if you give up before.
 */
typedef struct aegis256x2_state {
    CRYPTO_ALIGN(32) uint8_t opaque[320];
} aegis256x2_state;

/** Data to be authenticated, in the middle. Likewise, but that key and nonce stay in it, for aegis256x2_mac_reset. */
typedef struct aegis256x2_mac_state {
    CRYPTO_ALIGN(32) uint8_t opaque[512];
} aegis256x2_mac_state;

/** The constants above, for programs that bind at run time. */
size_t aegis256x2_keybytes(void);
size_t aegis256x2_npubbytes(void);
size_t aegis256x2_abytes_min(void);
size_t aegis256x2_abytes_max(void);
size_t aegis256x2_tailbytes_max(void);

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
int aegis256x2_encrypt_detached(uint8_t *c, uint8_t *mac, size_t maclen, const uint8_t *m, size_t mlen, const uint8_t *ad,
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
int aegis256x2_decrypt_detached(uint8_t *m, const uint8_t *c, size_t clen, const uint8_t *mac, size_t maclen, const uint8_t *ad,
    size_t adlen, const uint8_t *npub, const uint8_t *k);

/**
 * Encrypts a message and puts the tag behind the ciphertext.
 *
 * @param c where both go, mlen + maclen bytes
 * @return 0, or -1 for a wrong maclen
 */
int aegis256x2_encrypt(uint8_t *c, size_t maclen, const uint8_t *m, size_t mlen, const uint8_t *ad, size_t adlen,
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
int aegis256x2_decrypt(uint8_t *m, const uint8_t *c, size_t clen, size_t maclen, const uint8_t *ad, size_t adlen,
    const uint8_t *npub, const uint8_t *k);

/**
 * Begins a message that comes in pieces, in either direction. What the state held before does not
 * matter.
 *
 * @param ad all of the associated data
 */
void aegis256x2_state_init(aegis256x2_state *st_, const uint8_t *ad, size_t adlen, const uint8_t *npub, const uint8_t *k);

/**
 * Encrypts the next piece, of any size.
 *
 * @param c where its ciphertext goes, mlen bytes
 * @return 0
 */
int aegis256x2_state_encrypt_update(aegis256x2_state *st_, uint8_t *c, const uint8_t *m, size_t mlen);

/**
 * Makes the tag. The message has ended.
 *
 * @return 0, or -1 for a wrong maclen
 */
int aegis256x2_state_encrypt_final(aegis256x2_state *st_, uint8_t *mac, size_t maclen);

/**
 * Decrypts the next piece, of any size. The result is NOT VERIFIED: do not act on it before
 * aegis256x2_state_decrypt_final has succeeded, and throw it away if that fails.
 *
 * @param m where the piece goes, clen bytes, or null
 * @return 0
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x2_state_decrypt_update(aegis256x2_state *st_, uint8_t *m, const uint8_t *c, size_t clen);

/**
 * Tells whether the tag is right. The message has ended.
 *
 * @return 0; or -1 if the tag is wrong, or for a wrong maclen
 */
AEGIS_WARN_UNUSED_RESULT
int aegis256x2_state_decrypt_final(aegis256x2_state *st_, const uint8_t *mac, size_t maclen);

/**
 * Writes len bytes of key stream: the ciphertext of zeros (RFC 10032 section 7).
 *
 * @param npub the nonce, or null for one of zeros
 */
void aegis256x2_stream(uint8_t *out, size_t len, const uint8_t *npub, const uint8_t *k);

/** Writes the XOR of len bytes and the key stream. Not authenticated: anybody can flip any bit. */
void aegis256x2_stream_xor(uint8_t *out, const uint8_t *in, size_t len, const uint8_t *npub, const uint8_t *k);

/** Encrypts as aegis256x2_encrypt_detached does without associated data, and makes no tag: anybody can flip any bit. */
void aegis256x2_encrypt_unauthenticated(uint8_t *c, const uint8_t *m, size_t mlen, const uint8_t *npub, const uint8_t *k);

/** Decrypts what aegis256x2_encrypt_unauthenticated has made. Whether it was changed is not known. */
void aegis256x2_decrypt_unauthenticated(uint8_t *m, const uint8_t *c, size_t clen, const uint8_t *npub, const uint8_t *k);

/**
 * Begins a MAC (RFC 10032 section 8). Do not use the key for encryption too. The same key and nonce
 * may serve any number of messages.
 *
 * @param k    the key, which comes first here
 * @param npub the nonce, or null for one of zeros
 */
void aegis256x2_mac_init(aegis256x2_mac_state *st_, const uint8_t *k, const uint8_t *npub);

/**
 * Takes more data, of any size.
 *
 * @return 0
 */
int aegis256x2_mac_update(aegis256x2_mac_state *st_, const uint8_t *m, size_t mlen);

/**
 * Makes the tag of all the data. Before the state is used again it has to be reset, or begun anew.
 *
 * @return 0, or -1 for a wrong maclen
 */
int aegis256x2_mac_final(aegis256x2_mac_state *st_, uint8_t *mac, size_t maclen);

/**
 * Tells whether the tag of all the data is the one given. Likewise.
 *
 * @return 0; or -1 if it is another, or for a wrong maclen
 */
int aegis256x2_mac_verify(aegis256x2_mac_state *st_, const uint8_t *mac, size_t maclen);

/** Forgets all data; key and nonce stay. */
void aegis256x2_mac_reset(aegis256x2_mac_state *st_);

/** Makes dst another state like src. */
void aegis256x2_mac_state_clone(aegis256x2_mac_state *dst, const aegis256x2_mac_state *src);

#ifdef __cplusplus
}
#endif

#endif
