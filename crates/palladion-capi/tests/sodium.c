/* What palladion_sodium.h promises: libsodium's names for the functions of aegis.h. */
#include <stddef.h>

/* As <sodium.h> declares it. No such function is linked. */
int crypto_aead_aegis256_encrypt(unsigned char *c, unsigned long long *clen_p,
    const unsigned char *m, unsigned long long mlen, const unsigned char *ad,
    unsigned long long adlen, const unsigned char *nsec, const unsigned char *npub,
    const unsigned char *k);

#include <palladion_sodium.h>

#include "check.h"

enum { LEN = 100, AD = 7 };

#define TEST(v)                                                                                   \
    static void test_##v(void)                                                                    \
    {                                                                                             \
        unsigned char k[v##_KEYBYTES], n[v##_NPUBBYTES], m[LEN], c[LEN + 32], mac[32];            \
        unsigned char expected[LEN + 32], out[LEN];                                               \
        unsigned long long len = 9;                                                               \
        memset(k, 0, sizeof k);                                                                   \
        crypto_aead_##v##_keygen(k);                                                              \
        memset(n, 0, sizeof n);                                                                   \
        CHECK(memcmp(k, n, sizeof k));                                                            \
        palladion_random_or_abort(n, sizeof n);                                                   \
        palladion_random_or_abort(m, sizeof m);                                                   \
        CHECK(v##_encrypt(expected, 32, m, LEN, m, AD, n, k) == 0);                               \
                                                                                                  \
        CHECK(crypto_aead_##v##_encrypt(c, &len, m, LEN, m, AD, NULL, n, k) == 0);                \
        CHECK(len == LEN + 32 && !memcmp(c, expected, sizeof c));                                 \
        CHECK(crypto_aead_##v##_decrypt(out, &len, NULL, c, LEN + 32, m, AD, n, k) == 0);         \
        CHECK(len == LEN && !memcmp(out, m, LEN));                                                \
        CHECK(crypto_aead_##v##_decrypt(NULL, NULL, NULL, c, LEN + 32, m, AD, n, k) == 0);        \
        CHECK(crypto_aead_##v##_encrypt_detached(out, mac, &len, m, LEN, m, AD, NULL, n, k) ==    \
              0);                                                                                 \
        CHECK(len == 32 && !memcmp(out, c, LEN) && !memcmp(mac, c + LEN, 32));                    \
        CHECK(crypto_aead_##v##_decrypt_detached(out, NULL, c, LEN, mac, m, AD, n, k) == 0);      \
        CHECK(!memcmp(out, m, LEN));                                                              \
        CHECK(crypto_aead_##v##_encrypt(c, NULL, NULL, 0, NULL, 0, NULL, n, k) == 0);             \
        CHECK(crypto_aead_##v##_decrypt(out, &len, NULL, c, 32, NULL, 0, n, k) == 0);             \
        CHECK(len == 0);                                                                          \
                                                                                                  \
        for (size_t cut = 0; cut < sizeof expected; cut++) {                                      \
            len = 9;                                                                              \
            CHECK(crypto_aead_##v##_decrypt(out, &len, NULL, expected, cut, m, AD, n, k) == -1);  \
            CHECK(len == 0);                                                                      \
        }                                                                                         \
        mac[31] ^= 1;                                                                             \
        memset(out, 1, LEN);                                                                      \
        CHECK(crypto_aead_##v##_decrypt_detached(                                                 \
                  out, NULL, expected, LEN, mac, m, AD, n, k) == -1);                             \
        CHECK(out[0] == 0 && out[LEN - 1] == 0);                                                  \
                                                                                                  \
        const unsigned long long most = crypto_aead_##v##_MESSAGEBYTES_MAX;                       \
        CHECK(crypto_aead_##v##_messagebytes_max() == most && most >= 0xffffffdf);                \
        CHECK(crypto_aead_##v##_encrypt(c, &len, m, most + 1, m, AD, NULL, n, k) == -1);          \
        CHECK(len == 0);                                                                          \
        CHECK(crypto_aead_##v##_decrypt(out, &len, NULL, c, most + 33, m, AD, n, k) == -1);       \
        CHECK(crypto_aead_##v##_keybytes() == crypto_aead_##v##_KEYBYTES);                        \
        CHECK(crypto_aead_##v##_nsecbytes() == crypto_aead_##v##_NSECBYTES);                      \
        CHECK(crypto_aead_##v##_npubbytes() == crypto_aead_##v##_NPUBBYTES);                      \
        CHECK(crypto_aead_##v##_abytes() == crypto_aead_##v##_ABYTES);                            \
    }

TEST(aegis128l)
TEST(aegis256)

int main(void)
{
    test_aegis128l();
    test_aegis256();
    printf("palladion_sodium.h is as it says\n");
    return 0;
}
