/* Calls the C functions with buffers of exactly the needed length, for AddressSanitizer
 * (assurance/asan.sh): all lengths up to some steps, both tags, each variant, and states at
 * malloc's addresses and one byte after them. With an argument it reads one byte too many, which
 * the sanitizer must report.
 */
#include "aegis.h"
#include "check.h"

#include <stdint.h>

static uint8_t *exact(size_t len, uint8_t first)
{
    uint8_t *p = malloc(len);
    size_t   i;

    CHECK(p != NULL || len == 0);
    for (i = 0; i < len; i++) {
        p[i] = (uint8_t) (first + 7 * i);
    }
    return p;
}

#define VARIANT(v, V)                                                                              \
    static void v##_exact(size_t len, size_t maclen)                                               \
    {                                                                                              \
        uint8_t *k = exact(V##_KEYBYTES, 1), *n = exact(V##_NPUBBYTES, 2);                         \
        uint8_t *ad = exact(len / 3, 3), *back = exact(len, 9);                                    \
        uint8_t *m = exact(len, 4), *c = exact(len, 0), *mac = exact(maclen, 0);                   \
        uint8_t *joined = exact(len + maclen, 0), *pieces = exact(len, 0);                         \
        uint8_t *mac2 = exact(maclen, 0), *place = malloc(sizeof(v##_state) + 1);                  \
        uint8_t *mac_place = malloc(sizeof(v##_mac_state) + 1);                                    \
        size_t   cut   = len / 2 + len % 5 % (len / 2 + 1);                                        \
        size_t   shift;                                                                            \
        CHECK(v##_encrypt_detached(c, mac, maclen, m, len, ad, len / 3, n, k) == 0);               \
        CHECK(v##_decrypt_detached(back, c, len, mac, maclen, ad, len / 3, n, k) == 0);            \
        CHECK(len == 0 || memcmp(back, m, len) == 0);                                              \
        CHECK(v##_decrypt_detached(NULL, c, len, mac, maclen, ad, len / 3, n, k) == 0);            \
        CHECK(v##_encrypt(joined, maclen, m, len, ad, len / 3, n, k) == 0);                        \
        CHECK(len == 0 || memcmp(joined, c, len) == 0);                                            \
        CHECK(memcmp(joined + len, mac, maclen) == 0);                                             \
        CHECK(v##_decrypt(back, joined, len + maclen, maclen, ad, len / 3, n, k) == 0);            \
        joined[len] ^= 1;                                                                          \
        CHECK(v##_decrypt(back, joined, len + maclen, maclen, ad, len / 3, n, k) == -1);           \
        for (shift = 0; shift < 2; shift++) {                                                      \
            /* A state needs no alignment: put it at the start and at the end of the memory. */    \
            v##_state *st = (v##_state *) (void *) (place + shift);                                \
            v##_mac_state *ms = (v##_mac_state *) (void *) (mac_place + shift);                    \
            v##_state_init(st, ad, len / 3, n, k);                                                 \
            CHECK(v##_state_encrypt_update(st, pieces, m, cut) == 0);                              \
            CHECK(v##_state_encrypt_update(st, pieces + cut, m + cut, len - cut) == 0);            \
            CHECK(v##_state_encrypt_final(st, mac2, maclen) == 0);                                 \
            CHECK(len == 0 || memcmp(pieces, c, len) == 0);                                        \
            CHECK(memcmp(mac2, mac, maclen) == 0);                                                 \
            v##_state_init(st, ad, len / 3, n, k);                                                 \
            CHECK(v##_state_decrypt_update(st, back, c, cut) == 0);                                \
            CHECK(v##_state_decrypt_update(st, back + cut, c + cut, len - cut) == 0);              \
            CHECK(v##_state_decrypt_final(st, mac, maclen) == 0);                                  \
            v##_mac_init(ms, k, n);                                                                \
            CHECK(v##_mac_update(ms, m, cut) == 0);                                                \
            CHECK(v##_mac_update(ms, m + cut, len - cut) == 0);                                    \
            CHECK(v##_mac_final(ms, mac2, maclen) == 0);                                           \
            v##_mac_reset(ms);                                                                     \
            CHECK(v##_mac_update(ms, m, len) == 0);                                                \
            CHECK(v##_mac_verify(ms, mac2, maclen) == 0);                                          \
        }                                                                                          \
        v##_stream(back, len, n, k);                                                               \
        v##_stream_xor(back, m, len, NULL, k);                                                     \
        v##_encrypt_unauthenticated(pieces, m, len, n, k);                                         \
        v##_decrypt_unauthenticated(back, pieces, len, n, k);                                      \
        CHECK(len == 0 || memcmp(back, m, len) == 0);                                              \
        free(k), free(n), free(ad), free(m), free(c), free(mac), free(back), free(joined);         \
        free(pieces), free(mac2), free(place), free(mac_place);                                    \
    }

VARIANT(aegis128l, aegis128l)
VARIANT(aegis128x2, aegis128x2)
VARIANT(aegis128x4, aegis128x4)
VARIANT(aegis256, aegis256)
VARIANT(aegis256x2, aegis256x2)
VARIANT(aegis256x4, aegis256x4)

int main(int argc, char **argv)
{
    static void (*const variants[])(size_t, size_t) = {
        aegis128l_exact, aegis128x2_exact, aegis128x4_exact,
        aegis256_exact,  aegis256x2_exact, aegis256x4_exact,
    };
    static const size_t longer[] = { 511, 512, 513, 1023, 1025, 4095, 4097, 5000, 8193, 20001 };
    size_t              i, len;

    (void) argv;
    CHECK(aegis_init() == 0);
    if (argc > 1) {
        uint8_t *k = exact(16, 1), *n = exact(16, 2), *m = exact(31, 3), *c = exact(32, 0);
        uint8_t *mac = exact(16, 0);
        return aegis128l_encrypt_detached(c, mac, 16, m, 32, NULL, 0, n, k);
    }
    for (i = 0; i < sizeof variants / sizeof *variants; i++) {
        for (len = 0; len < 300; len++) {
            variants[i](len, len % 2 ? 16 : 32);
        }
        for (len = 0; len < sizeof longer / sizeof *longer; len++) {
            variants[i](longer[len], 16);
            variants[i](longer[len], 32);
        }
    }
    return 0;
}
