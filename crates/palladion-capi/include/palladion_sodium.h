/*
 * libsodium's names for AEGIS-128L and AEGIS-256, with the same bytes and results, for programs
 * that call crypto_aead_aegis128l_… or crypto_aead_aegis256_…: include this after <sodium.h>, or
 * instead of it. Those calls then go to this library, and all others still to libsodium.
 *
 * One thing differs: a message of more than …_MESSAGEBYTES_MAX bytes fails instead of ending the
 * program.
 */
#ifndef palladion_sodium_H
#define palladion_sodium_H

#include "palladion.h"

#ifndef crypto_aead_aegis256_KEYBYTES
#    define crypto_aead_aegis128l_KEYBYTES 16U
#    define crypto_aead_aegis128l_NSECBYTES 0U
#    define crypto_aead_aegis128l_NPUBBYTES 16U
#    define crypto_aead_aegis128l_ABYTES 32U
#    define crypto_aead_aegis128l_MESSAGEBYTES_MAX PALLADION_SODIUM_MOST
#    define crypto_aead_aegis256_KEYBYTES 32U
#    define crypto_aead_aegis256_NSECBYTES 0U
#    define crypto_aead_aegis256_NPUBBYTES 32U
#    define crypto_aead_aegis256_ABYTES 32U
#    define crypto_aead_aegis256_MESSAGEBYTES_MAX PALLADION_SODIUM_MOST
#endif

/* Bytes in the longest message, where its tag must have room too. */
#define PALLADION_SODIUM_MOST                                                                     \
    (SIZE_MAX - 32U < (1ULL << 61) - 1 ? (unsigned long long) SIZE_MAX - 32U : (1ULL << 61) - 1)

#define PALLADION_SODIUM(v)                                                                       \
    static inline size_t palladion_sodium_##v##_keybytes(void) { return v##_KEYBYTES; }           \
    static inline size_t palladion_sodium_##v##_nsecbytes(void) { return 0; }                     \
    static inline size_t palladion_sodium_##v##_npubbytes(void) { return v##_NPUBBYTES; }         \
    static inline size_t palladion_sodium_##v##_abytes(void) { return 32; }                       \
    static inline size_t palladion_sodium_##v##_messagebytes_max(void)                            \
    {                                                                                             \
        return (size_t) PALLADION_SODIUM_MOST;                                                    \
    }                                                                                             \
    static inline void palladion_sodium_##v##_keygen(unsigned char *k)                            \
    {                                                                                             \
        palladion_random_or_abort(k, v##_KEYBYTES);                                               \
    }                                                                                             \
    static inline int palladion_sodium_##v##_encrypt_detached(unsigned char *c,                   \
        unsigned char *mac, unsigned long long *maclen_p, const unsigned char *m,                 \
        unsigned long long mlen, const unsigned char *ad, unsigned long long adlen,               \
        const unsigned char *nsec, const unsigned char *npub, const unsigned char *k)             \
    {                                                                                             \
        (void) nsec;                                                                              \
        if (maclen_p)                                                                             \
            *maclen_p = 32;                                                                       \
        if (mlen > PALLADION_SODIUM_MOST || adlen > PALLADION_SODIUM_MOST)                        \
            return -1;                                                                            \
        return v##_encrypt_detached(c, mac, 32, m, (size_t) mlen, ad, (size_t) adlen, npub, k);   \
    }                                                                                             \
    AEGIS_WARN_UNUSED_RESULT                                                                      \
    static inline int palladion_sodium_##v##_decrypt_detached(unsigned char *m,                   \
        unsigned char *nsec, const unsigned char *c, unsigned long long clen,                     \
        const unsigned char *mac, const unsigned char *ad, unsigned long long adlen,              \
        const unsigned char *npub, const unsigned char *k)                                        \
    {                                                                                             \
        (void) nsec;                                                                              \
        if (clen > PALLADION_SODIUM_MOST || adlen > PALLADION_SODIUM_MOST)                        \
            return -1;                                                                            \
        return v##_decrypt_detached(m, c, (size_t) clen, mac, 32, ad, (size_t) adlen, npub, k);   \
    }                                                                                             \
    static inline int palladion_sodium_##v##_encrypt(unsigned char *c,                            \
        unsigned long long *clen_p, const unsigned char *m, unsigned long long mlen,              \
        const unsigned char *ad, unsigned long long adlen, const unsigned char *nsec,             \
        const unsigned char *npub, const unsigned char *k)                                        \
    {                                                                                             \
        int result = mlen > PALLADION_SODIUM_MOST                                                 \
            ? -1                                                                                  \
            : palladion_sodium_##v##_encrypt_detached(                                            \
                  c, c + mlen, NULL, m, mlen, ad, adlen, nsec, npub, k);                          \
        if (clen_p)                                                                               \
            *clen_p = result == 0 ? mlen + 32 : 0;                                                \
        return result;                                                                            \
    }                                                                                             \
    AEGIS_WARN_UNUSED_RESULT                                                                      \
    static inline int palladion_sodium_##v##_decrypt(unsigned char *m,                            \
        unsigned long long *mlen_p, unsigned char *nsec, const unsigned char *c,                  \
        unsigned long long clen, const unsigned char *ad, unsigned long long adlen,               \
        const unsigned char *npub, const unsigned char *k)                                        \
    {                                                                                             \
        int result = clen < 32 || clen - 32 > PALLADION_SODIUM_MOST                               \
            ? -1                                                                                  \
            : palladion_sodium_##v##_decrypt_detached(                                            \
                  m, nsec, c, clen - 32, c + (clen - 32), ad, adlen, npub, k);                    \
        if (mlen_p)                                                                               \
            *mlen_p = result == 0 ? clen - 32 : 0;                                                \
        return result;                                                                            \
    }

PALLADION_SODIUM(aegis128l)
PALLADION_SODIUM(aegis256)

#define crypto_aead_aegis128l_keybytes palladion_sodium_aegis128l_keybytes
#define crypto_aead_aegis128l_nsecbytes palladion_sodium_aegis128l_nsecbytes
#define crypto_aead_aegis128l_npubbytes palladion_sodium_aegis128l_npubbytes
#define crypto_aead_aegis128l_abytes palladion_sodium_aegis128l_abytes
#define crypto_aead_aegis128l_messagebytes_max palladion_sodium_aegis128l_messagebytes_max
#define crypto_aead_aegis128l_keygen palladion_sodium_aegis128l_keygen
#define crypto_aead_aegis128l_encrypt palladion_sodium_aegis128l_encrypt
#define crypto_aead_aegis128l_decrypt palladion_sodium_aegis128l_decrypt
#define crypto_aead_aegis128l_encrypt_detached palladion_sodium_aegis128l_encrypt_detached
#define crypto_aead_aegis128l_decrypt_detached palladion_sodium_aegis128l_decrypt_detached

#define crypto_aead_aegis256_keybytes palladion_sodium_aegis256_keybytes
#define crypto_aead_aegis256_nsecbytes palladion_sodium_aegis256_nsecbytes
#define crypto_aead_aegis256_npubbytes palladion_sodium_aegis256_npubbytes
#define crypto_aead_aegis256_abytes palladion_sodium_aegis256_abytes
#define crypto_aead_aegis256_messagebytes_max palladion_sodium_aegis256_messagebytes_max
#define crypto_aead_aegis256_keygen palladion_sodium_aegis256_keygen
#define crypto_aead_aegis256_encrypt palladion_sodium_aegis256_encrypt
#define crypto_aead_aegis256_decrypt palladion_sodium_aegis256_decrypt
#define crypto_aead_aegis256_encrypt_detached palladion_sodium_aegis256_encrypt_detached
#define crypto_aead_aegis256_decrypt_detached palladion_sodium_aegis256_decrypt_detached

#endif
