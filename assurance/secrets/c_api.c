/*
 * Passes secrets to the functions of the C API, while valgrind reports each branch and address that
 * depends on one. assurance/constant-time.sh runs it. constant_time.rs says what is secret, and
 * tries other algorithms and lengths, and files, to which this layer passes pointers.
 *
 *     c-api [--plant table|comparison] BACKEND
 */
#include <palladion.h>
#include <valgrind/memcheck.h>

#include "check.h"

/* Fills the bytes with secrets. */
static void hide(uint8_t *bytes, size_t len)
{
    static uint8_t next;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t) (3 * i * i + next);
    next = (uint8_t) (next + 7);
    (void) VALGRIND_MAKE_MEM_UNDEFINED(bytes, len);
}

static void messages(size_t len, size_t maclen)
{
    enum { MAX = 600, ADLEN = 77 };
    uint8_t k[16], n[16], ad[ADLEN], m[MAX], c[MAX + 48], out[MAX], mac[32], forged[32];
    const size_t cut = len / 3;
    hide(k, sizeof k), hide(n, sizeof n), hide(ad, ADLEN), hide(m, len);

    CHECK(aegis128l_encrypt_detached(c, mac, maclen, m, len, ad, ADLEN, n, k) == 0);
    memcpy(forged, mac, maclen);
    forged[maclen - 1] ^= 0x80;
    for (int right = 0; right < 2; right++) {
        const uint8_t *tag = right ? mac : forged;
        CHECK(aegis128l_decrypt_detached(out, c, len, tag, maclen, ad, ADLEN, n, k) == right - 1);
        CHECK(aegis128l_decrypt_detached(NULL, c, len, tag, maclen, ad, ADLEN, n, k) == right - 1);
    }
    /* In buffers that overlap, and without a nonce. */
    memcpy(c, m, len);
    CHECK(aegis128l_encrypt_detached(c + 5, mac, maclen, c, len, ad, ADLEN, NULL, k) == 0);
    CHECK(aegis128l_decrypt_detached(c, c + 5, len, mac, maclen, ad, ADLEN, NULL, k) == 0);

    CHECK(aegis128l_encrypt(c, maclen, m, len, ad, ADLEN, n, k) == 0);
    CHECK(aegis128l_decrypt(out, c, len + maclen, maclen, ad, ADLEN, n, k) == 0);
    c[len] ^= 1;
    CHECK(aegis128l_decrypt(out, c, len + maclen, maclen, ad, ADLEN, n, k) == -1);

    const int alg = PALLADION_AEGIS128L;
    const size_t sealed = len + PALLADION_SEALBYTES(PALLADION_AEGIS128L, maclen);
    CHECK(palladion_seal(alg, maclen, c, m, len, ad, ADLEN, k) == 0);
    CHECK(palladion_open(alg, maclen, out, c, sealed, ad, ADLEN, k) == 0);
    c[sealed - 1] ^= 1;
    CHECK(palladion_open(alg, maclen, out, c, sealed, ad, ADLEN, k) == -1);

    /* In pieces, with a copied state. */
    aegis128l_state st, copy;
    aegis128l_state_init(&st, ad, ADLEN, n, k);
    CHECK(aegis128l_state_encrypt_update(&st, c, m, cut) == 0);
    copy = st;
    CHECK(aegis128l_state_encrypt_update(&copy, c + cut, m + cut, len - cut) == 0);
    CHECK(aegis128l_state_encrypt_final(&copy, mac, maclen) == 0);
    memcpy(forged, mac, maclen);
    forged[0] ^= 1;
    for (int right = 0; right < 2; right++) {
        aegis128l_state_init(&st, ad, ADLEN, n, k);
        CHECK(aegis128l_state_decrypt_update(&st, out, c, cut) == 0);
        CHECK(aegis128l_state_decrypt_update(&st, right ? out + cut : NULL, c + cut, len - cut) ==
              0);
        CHECK(aegis128l_state_decrypt_final(&st, right ? mac : forged, maclen) == right - 1);
    }

    /* Without tags. */
    aegis128l_stream(out, len, n, k);
    aegis128l_stream_xor(out, m, len, NULL, k);
    aegis128l_encrypt_unauthenticated(c, m, len, n, k);
    aegis128l_decrypt_unauthenticated(out, c, len, n, k);

    aegis128l_mac_state ms, other;
    aegis128l_mac_init(&ms, k, n);
    CHECK(aegis128l_mac_update(&ms, m, len) == 0);
    aegis128l_mac_state_clone(&other, &ms);
    CHECK(aegis128l_mac_final(&ms, mac, maclen) == 0);
    CHECK(aegis128l_mac_verify(&other, mac, maclen) == 0);
    aegis128l_mac_reset(&ms);
    mac[maclen / 2] ^= 1;
    CHECK(aegis128l_mac_update(&ms, m, len) == 0 && aegis128l_mac_verify(&ms, mac, maclen) == -1);

    /* A batch with one forgery. */
    enum { COUNT = 3 };
    uint8_t texts[COUNT][MAX], macs[COUNT][32];
    palladion_message batch[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        palladion_message message = { m, texts[i], len, macs[i], ad, ADLEN, i ? n : NULL, k, 1 };
        batch[i] = message;
    }
    CHECK(palladion_encrypt_batch(alg, maclen, batch, COUNT) == 0);
    macs[2][3] ^= 2;
    for (size_t i = 0; i < COUNT; i++)
        batch[i].in = texts[i];
    CHECK(palladion_decrypt_batch(alg, maclen, batch, COUNT) == -1);
    for (size_t i = 0; i < COUNT; i++)
        CHECK(batch[i].result == (i == 2 ? -1 : 0));

    /* Packets with headers of 5 bytes, one of them forged. */
    const size_t packet = 5 + 50 + maclen, all = 2 * packet;
    int results[2];
    hide(c, all);
    CHECK(palladion_seal_packets(alg, maclen, c, all, packet, 5, 3, n, k) == 0);
    c[packet] ^= 1;
    CHECK(palladion_open_packets(alg, maclen, c, all, packet, 5, 3, n, k, results) == -1);
    CHECK(results[0] == 0 && results[1] == -1);
}

static void tags(void)
{
    uint8_t x[32], y[32];
    hide(x, sizeof x);
    memcpy(y, x, sizeof y);
    CHECK(aegis_verify_16(x, y) == 0 && aegis_verify_32(x, y) == 0);
    y[0] ^= 1;
    CHECK(aegis_verify_16(x, y) == -1 && aegis_verify_32(x, y) == -1);
    palladion_wipe(x, sizeof x);
}

/* Defects that the tool must find. They depend on a tag that the library has computed. */
static void plant(const char *defect)
{
    static volatile uint8_t table[256]; /* not known to the compiler */
    uint8_t k[16], n[16], tag[16], came[16] = { 0 };
    hide(k, sizeof k);
    hide(n, sizeof n);
    CHECK(aegis128l_encrypt_detached(NULL, tag, 16, NULL, 0, NULL, 0, n, k) == 0);
    if (!strcmp(defect, "table"))
        palladion_wipe(&came[table[tag[3]]], 1); /* valgrind ignores unused results */
    else if (!strcmp(defect, "comparison"))
        for (volatile size_t i = 0; i < sizeof tag && tag[i] == came[i]; i++)
            ;
    else
        CHECK(!"unknown defect");
}

int main(int argc, char **argv)
{
    const char *planted = argc == 4 && !strcmp(argv[1], "--plant") ? argv[2] : NULL;
    CHECK(RUNNING_ON_VALGRIND && (planted || argc == 2));
    CHECK(palladion_set_backend(argv[argc - 1]) == 0);
    if (planted) {
        plant(planted);
        return 0;
    }
    messages(0, 16);
    messages(555, 32);
    tags();
    return 0;
}
