/* What palladion.h promises. */
#include <palladion.h>

#include <pthread.h>

#include "check.h"

typedef int encrypt_function(uint8_t *, uint8_t *, size_t, const uint8_t *, size_t, const uint8_t *,
    size_t, const uint8_t *, const uint8_t *);

/* By number, from 1. */
static encrypt_function *const encrypt_detached[] = { NULL, aegis128l_encrypt_detached,
    aegis128x2_encrypt_detached, aegis128x4_encrypt_detached, aegis256_encrypt_detached,
    aegis256x2_encrypt_detached, aegis256x4_encrypt_detached };

enum { MOST = 150, LONGEST = 1500, ROOM = LONGEST + 8 };

/* All kinds of messages: in place, separate, shifted; of one and of many lengths; with own keys. */
static void batches(int alg, size_t maclen, size_t count, int same_length)
{
    static uint8_t in[MOST][ROOM], out[MOST][ROOM], expected[MOST][ROOM], text[ROOM];
    static uint8_t mac[MOST][32], expected_mac[MOST][32], nonce[MOST][32], key[3][32];
    static palladion_message messages[MOST];
    CHECK(palladion_random(key, sizeof key) == 0 && palladion_random(nonce, sizeof nonce) == 0);
    CHECK(palladion_random(text, sizeof text) == 0);

    for (size_t i = 0; i < count; i++) {
        palladion_message *message = &messages[i];
        message->len = same_length ? 700 : (i * i * 37) % (LONGEST + 1);
        message->in = in[i];
        message->out = i % 4 == 0 ? in[i] : i % 4 == 1 ? in[i] + 3 : out[i];
        message->mac = mac[i];
        message->adlen = i % 3 == 0 ? 0 : i % 50;
        message->ad = message->adlen ? text : NULL;
        message->npub = nonce[i];
        message->k = key[i % 3];
        message->result = 77;
        memcpy(in[i], text + i % 8, message->len);
        CHECK(encrypt_detached[alg](expected[i], expected_mac[i], maclen, in[i], message->len,
                  message->ad, message->adlen, nonce[i], message->k) == 0);
    }
    errno = 0;
    CHECK(palladion_encrypt_batch(alg, maclen, messages, count) == 0);
    for (size_t i = 0; i < count; i++) {
        CHECK(messages[i].result == 0);
        CHECK(!memcmp(messages[i].out, expected[i], messages[i].len) &&
              !memcmp(mac[i], expected_mac[i], maclen));
        messages[i].in = messages[i].out;
        messages[i].out = i % 2 ? messages[i].out : out[i];
        messages[i].result = 77;
    }

    /* Every fifth is a forgery. */
    int result = 0;
    for (size_t i = 2; i < count; i += 5)
        mac[i][i % maclen] ^= 0x10, result = -1;
    CHECK(palladion_decrypt_batch(alg, maclen, messages, count) == result);
    CHECK(errno == 0);
    for (size_t i = 0; i < count; i++) {
        CHECK(messages[i].result == (i % 5 == 2 ? -1 : 0));
        for (size_t n = 0; n < messages[i].len; n++)
            CHECK(messages[i].out[n] == (i % 5 == 2 ? 0 : text[i % 8 + n]));
    }
}

static void batch_arguments(void)
{
    static const int wrong_alg[] = { -1, 0, 7, 1000 };
    static const size_t wrong_maclen[] = { 0, 15, 17, 31, 33, SIZE_MAX };
    uint8_t m[4] = { 1, 2, 3, 4 }, mac[32] = { 9 }, k[32] = { 5 }, c[4], tag[32], zeros[32] = { 0 };
    palladion_message message = { m, m, sizeof m, mac, NULL, 0, NULL, k, 77 };
    for (size_t i = 0; i < sizeof wrong_alg / sizeof *wrong_alg; i++) {
        FAILS(palladion_encrypt_batch(wrong_alg[i], 16, &message, 1));
        FAILS(palladion_decrypt_batch(wrong_alg[i], 16, &message, 1));
    }
    for (size_t i = 0; i < sizeof wrong_maclen / sizeof *wrong_maclen; i++) {
        FAILS(palladion_encrypt_batch(PALLADION_AEGIS256, wrong_maclen[i], &message, 1));
        FAILS(palladion_decrypt_batch(PALLADION_AEGIS256, wrong_maclen[i], &message, 1));
    }
    CHECK(message.result == 77 && m[0] == 1 && mac[0] == 9);
    CHECK(palladion_encrypt_batch(PALLADION_AEGIS256X2, 32, NULL, 0) == 0);
    CHECK(palladion_decrypt_batch(PALLADION_AEGIS256X2, 32, NULL, 0) == 0);

#if SIZE_MAX > UINT32_MAX
    /* More than the standard allows: the others are encrypted. */
    palladion_message too_long[2] = { message, message };
    uint8_t out[4];
    too_long[0].len = (size_t) 1 << 61, too_long[1].out = out;
    for (int i = 0; i < 2; i++) {
        FAILS(palladion_encrypt_batch(PALLADION_AEGIS128X2, 16, too_long, 2));
        CHECK(too_long[0].result == -1 && too_long[1].result == 0 && m[0] == 1);
        too_long[0].out = m + 1; /* overlaps */
    }
    FAILS(palladion_decrypt_batch(PALLADION_AEGIS128X2, 16, too_long, 2));
    CHECK(too_long[0].result == -1 && m[0] == 1);
    too_long[0].len = SIZE_MAX, too_long[0].out = NULL; /* only to be checked */
    FAILS(palladion_decrypt_batch(PALLADION_AEGIS128X2, 16, too_long, 2));
    CHECK(too_long[0].result == -1);
    too_long[0].len = 1, too_long[0].adlen = SIZE_MAX, too_long[0].ad = mac;
    FAILS(palladion_encrypt_batch(PALLADION_AEGIS128X2, 16, too_long, 1));
    FAILS(palladion_encrypt_batch(PALLADION_AEGIS128X2, 16, &message, SIZE_MAX));
    FAILS(palladion_decrypt_batch(PALLADION_AEGIS128X2, 16, &message, SIZE_MAX / 8));
    CHECK(message.result == 77);
    memset(mac, 0, sizeof mac);
#endif

    /* No nonce is one of zeros; a message may have no bytes, and then no buffers. */
    CHECK(aegis128l_encrypt_detached(c, tag, 16, m, sizeof m, NULL, 0, zeros, k) == 0);
    CHECK(
        palladion_encrypt_batch(PALLADION_AEGIS128L, 16, &message, 1) == 0 && message.result == 0);
    CHECK(!memcmp(m, c, sizeof m) && !memcmp(mac, tag, 16));
    message.in = NULL, message.out = NULL, message.len = 0;
    CHECK(palladion_encrypt_batch(PALLADION_AEGIS128L, 32, &message, 1) == 0);
    CHECK(palladion_decrypt_batch(PALLADION_AEGIS128L, 32, &message, 1) == 0);
    mac[31] ^= 1;
    CHECK(palladion_decrypt_batch(PALLADION_AEGIS128L, 32, &message, 1) == -1 &&
          message.result == -1);
}

/* Messages among others whose outputs cover their own key, nonce or associated data, or that have
   no output. */
static void outputs_over_inputs(int alg, size_t maclen)
{
    enum { COUNT = 70, LEN = 300, PLACE = 50, AD = 20 };
    static uint8_t out[COUNT][LEN], expected[COUNT][LEN], text[LEN], key[32], nonce[32];
    static uint8_t mac[COUNT][32], expected_mac[32];
    static palladion_message messages[COUNT];
    CHECK(palladion_random(key, sizeof key) == 0 && palladion_random(nonce, sizeof nonce) == 0);
    for (int decrypt = 0; decrypt <= 1; decrypt++) {
        CHECK(palladion_random(text, sizeof text) == 0);
        for (size_t i = 0; i < COUNT; i++) {
            uint8_t *place = out[i] + PLACE;
            const uint8_t *inputs[] = { key, nonce, text };
            if (i % 5 < 3)
                memcpy(place, inputs[i % 5], 32), inputs[i % 5] = place;
            palladion_message message = { text, i % 5 < 4 || !decrypt ? out[i] : NULL, LEN, mac[i],
                inputs[2], AD, inputs[1], inputs[0], 77 };
            messages[i] = message;
            memcpy(expected[i], text, LEN);
            CHECK(encrypt_detached[alg](expected[i], expected_mac, maclen, text, LEN, text, AD,
                      nonce, key) == 0);
            if (decrypt) {
                memcpy(mac[i], expected_mac, maclen);
                messages[i].in = expected[i];
            }
        }
        errno = 0;
        CHECK((decrypt ? palladion_decrypt_batch : palladion_encrypt_batch)(
                  alg, maclen, messages, COUNT) == 0);
        for (size_t i = 0; i < COUNT; i++) {
            CHECK(messages[i].result == 0 && errno == 0);
            CHECK(!memcmp(mac[i], expected_mac, maclen));
            CHECK(!messages[i].out || !memcmp(out[i], decrypt ? text : expected[i], LEN));
        }
    }
    /* One of them is forged. */
    mac[3][0] ^= 1, mac[69][5] ^= 1;
    for (size_t i = 0; i < COUNT; i++)
        messages[i].ad = text, messages[i].npub = nonce, messages[i].k = key;
    memcpy(out[0] + PLACE, key, sizeof key);
    messages[0].k = out[0] + PLACE;
    CHECK(palladion_decrypt_batch(alg, maclen, messages, COUNT) == -1 && errno == 0);
    for (size_t i = 0; i < COUNT; i++)
        CHECK(messages[i].result == (i == 3 || i == 69 ? -1 : 0));
    for (size_t i = 0; i < LEN; i++)
        CHECK(out[3][i] == 0 && out[0][i] == text[i]);
}

/* Packets of 9 + 91 + maclen bytes, the last one shorter; the second one is forged. */
static void packets(int alg, size_t maclen)
{
    enum { COUNT = 20, HEADER = 9, LAST = 5 };
    static uint8_t buf[COUNT * 132], expected[COUNT * 132], text[COUNT * 132], iv[32], key[32];
    const uint64_t first = 0xfffffffff8;
    const size_t packet = 100 + maclen, len = (COUNT - 1) * packet + HEADER + LAST + maclen;
    int results[COUNT];
    CHECK(palladion_random(key, sizeof key) == 0 && palladion_random(iv, sizeof iv) == 0);
    CHECK(palladion_random(text, sizeof text) == 0);
    memcpy(buf, text, len);
    memcpy(expected, text, len);
    size_t nonce_len = alg < PALLADION_AEGIS256 ? 16 : 32;
    for (size_t i = 0; i < COUNT; i++) {
        uint8_t nonce[32], *header = expected + i * packet;
        size_t size = i < COUNT - 1 ? 91 : LAST;
        memcpy(nonce, iv, sizeof nonce);
        for (size_t n = 0; n < 8; n++)
            nonce[nonce_len - 1 - n] ^= (uint8_t) ((first + i) >> (8 * n));
        CHECK(encrypt_detached[alg](header + HEADER, header + HEADER + size, maclen,
                  header + HEADER, size, header, HEADER, nonce, key) == 0);
    }
    errno = 0;
    CHECK(palladion_seal_packets(alg, maclen, buf, len, packet, HEADER, first, iv, key) == 0);
    CHECK(!memcmp(buf, expected, len));
    CHECK(palladion_open_packets(alg, maclen, buf, len, packet, HEADER, first, iv, key, NULL) == 0);
    memcpy(buf, expected, len);
    buf[packet + 3] ^= 1;
    CHECK(palladion_open_packets(alg, maclen, buf, len, packet, HEADER, first, iv, key, results) ==
              -1 &&
          errno == 0);
    for (size_t i = 0; i < COUNT; i++) {
        CHECK(results[i] == (i == 1 ? -1 : 0));
        for (size_t n = HEADER; n < (i < COUNT - 1 ? 100 : HEADER + LAST); n++)
            CHECK(buf[i * packet + n] == (i == 1 ? 0 : text[i * packet + n]));
    }

    /* The nonce or the key lies in the message of a packet. Others need them too. */
    for (int which = 0; which < 2; which++) {
        uint8_t *place = buf + packet + 20;
        memcpy(text + packet + 20, which ? key : iv, 32);
        memcpy(buf, text, len);
        memcpy(expected, text, len);
        CHECK(palladion_seal_packets(
                  alg, maclen, expected, len, packet, HEADER, first, iv, key) == 0);
        CHECK(palladion_seal_packets(alg, maclen, buf, len, packet, HEADER, first,
                  which ? iv : place, which ? place : key) == 0);
        CHECK(!memcmp(buf, expected, len));
    }
    FAILS(palladion_seal_packets(0, maclen, buf, len, packet, HEADER, 0, iv, key));
    FAILS(palladion_seal_packets(alg, 17, buf, len, packet, HEADER, 0, iv, key));
    FAILS(palladion_seal_packets(alg, maclen, buf, len, 0, 0, 0, iv, key));
    FAILS(palladion_seal_packets(alg, maclen, buf, len, packet, SIZE_MAX, 0, iv, key));
    FAILS(palladion_seal_packets(alg, maclen, buf, SIZE_MAX, packet, HEADER, 0, iv, key));
    FAILS(palladion_open_packets(alg, maclen, buf, SIZE_MAX, packet, HEADER, 0, iv, key, results));
    FAILS(palladion_seal_packets(alg, maclen, buf, packet + 1, packet, HEADER, 0, iv, key));
    FAILS(palladion_seal_packets(alg, maclen, buf, len, packet, HEADER, UINT64_MAX, iv, key));
    FAILS(
        palladion_open_packets(alg, maclen, buf, packet + 1, packet, HEADER, 0, iv, key, results));
    CHECK(results[0] == -1 && results[1] == -1 && !memcmp(buf, expected, len));
    CHECK(palladion_open_packets(alg, maclen, NULL, 0, packet, HEADER, 0, NULL, key, NULL) == 0);
}

/* Messages with a random nonce: apart, in place, shifted, and over key and associated data. */
static void with_random_nonces(int alg, size_t maclen)
{
    enum { LEN = 100, AD = 20, PLACES = 4 };
    const size_t nonce_len = alg < PALLADION_AEGIS256 ? 16 : 32;
    const size_t len = LEN + PALLADION_SEALBYTES(alg, maclen);
    uint8_t text[LEN], ad[AD], key[32], sealed[LEN + 64 + 64], expected[LEN + 32], first[32];
    palladion_random_or_abort(text, sizeof text);
    palladion_random_or_abort(ad, sizeof ad);
    palladion_random_or_abort(key, sizeof key);
    CHECK(len == nonce_len + LEN + maclen);
    for (int place = -1; place < PLACES; place++) {
        static const size_t at[PLACES] = { 0, 5, 32, 64 };
        memset(first, 0, sizeof first);
        for (int again = 0; again < 2; again++) {
            const uint8_t *m = text, *k = key, *a = ad;
            if (place >= 0)
                m = (uint8_t *) memcpy(sealed + at[place], text, LEN);
            if (place == 3) /* before the message, where the nonce goes */
                k = (uint8_t *) memcpy(sealed, key, 32),
                a = (uint8_t *) memcpy(sealed + 40, ad, AD);
            errno = 0;
            CHECK(palladion_seal(alg, maclen, sealed, m, LEN, a, AD, k) == 0 && errno == 0);
            CHECK(memcmp(first, sealed, nonce_len) != 0);
            memcpy(first, sealed, nonce_len);
            CHECK(encrypt_detached[alg](expected, expected + LEN, maclen, text, LEN, ad, AD, sealed,
                      key) == 0);
            CHECK(!memcmp(sealed + nonce_len, expected, LEN + maclen));
        }
        uint8_t copy[sizeof sealed], *m = place < 0 ? expected : copy + at[place];
        memcpy(copy, sealed, sizeof copy);
        CHECK(palladion_open(alg, maclen, NULL, copy, len, ad, AD, key) == 0);
        CHECK(palladion_open(alg, maclen, m, copy, len, ad, AD, key) == 0);
        CHECK(!memcmp(m, text, LEN) && errno == 0);
    }
    for (size_t i = 0; i < len; i++) {
        sealed[i] ^= 4;
        CHECK(palladion_open(alg, maclen, expected, sealed, len, ad, AD, key) == -1);
        for (size_t n = 0; n < LEN; n++)
            CHECK(expected[n] == 0);
        sealed[i] ^= 4;
        CHECK(palladion_open(alg, maclen, expected, sealed, i, ad, AD, key) == -1 && errno == 0);
    }
    CHECK(palladion_open(alg, maclen, expected, sealed, len, ad, AD - 1, key) == -1 && errno == 0);
    CHECK(palladion_seal(alg, maclen, sealed, NULL, 0, NULL, 0, key) == 0);
    CHECK(palladion_open(alg, maclen, NULL, sealed, len - LEN, NULL, 0, key) == 0);

    memset(sealed, 7, sizeof sealed);
    FAILS(palladion_seal(alg, maclen + 1, sealed, text, LEN, ad, AD, key));
    FAILS(palladion_seal(0, maclen, sealed, text, LEN, ad, AD, key));
    FAILS(palladion_seal(7, maclen, sealed, text, LEN, ad, AD, key));
#if SIZE_MAX > UINT32_MAX
    static const size_t too_long[] = { (size_t) 1 << 61, SIZE_MAX / 2 + 1, SIZE_MAX };
    for (size_t i = 0; i < sizeof too_long / sizeof *too_long; i++) {
        FAILS(palladion_seal(alg, maclen, sealed, text, too_long[i], ad, AD, key));
        FAILS(palladion_seal(alg, maclen, sealed, text, LEN, ad, too_long[i], key));
        FAILS(palladion_open(alg, maclen, expected, sealed, too_long[i] | 64, ad, AD, key));
        FAILS(palladion_open(alg, maclen, NULL, sealed, too_long[i] | 64, ad, AD, key));
        FAILS(palladion_open(alg, maclen, expected, sealed, len, ad, too_long[i], key));
        FAILS(palladion_open(alg, maclen, NULL, sealed, len, ad, too_long[i], key));
    }
#endif
    FAILS(palladion_open(alg, 0, expected, sealed, len, ad, AD, key));
    FAILS(palladion_open(-1, maclen, expected, sealed, len, ad, AD, key));
    for (size_t i = 0; i < sizeof sealed; i++)
        CHECK(sealed[i] == 7);
}

static void every_batch(void)
{
    for (int alg = PALLADION_AEGIS128L; alg <= PALLADION_AEGIS256X4; alg++)
        for (size_t maclen = 16; maclen <= 32; maclen += 16) {
            batches(alg, maclen, MOST, 0);
            batches(alg, maclen, 7, 1);
            outputs_over_inputs(alg, maclen);
            packets(alg, maclen);
            with_random_nonces(alg, maclen);
        }
}

static void backends(int quick)
{
    const char *best = palladion_backend();
    int count = 0, found = 0;
    static const char *const wrong[] = { "", "no such thing", "portable ", "PORTABLE", "\xff\xfe",
        NULL };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        FAILS(palladion_set_backend(wrong[i]));
        CHECK(!strcmp(palladion_backend(), best));
    }
    for (const char *const *name = palladion_backends(); *name; name++, count++) {
        found += !strcmp(*name, best);
        errno = 0;
        CHECK(palladion_set_backend(*name) == 0 && errno == 0);
        CHECK(!strcmp(palladion_backend(), *name));
        if (!quick)
            every_batch();
    }
    CHECK(found == 1 && count >= 1);
    CHECK(!strcmp(palladion_backends()[count - 1], "portable"));
    /* One that is for another machine. */
    FAILS(palladion_set_backend(
        !strncmp(palladion_backends()[0], "armv8", 5) ? "aesni" : "armv8-aes"));
    CHECK(palladion_set_backend(best) == 0);
    every_batch();
}

/* Between two backends, which each call has to look up again. */
static void *calls(void *nothing)
{
    uint8_t key[32] = { 1 }, nonce[32] = { 2 }, mac[32], text[40] = { 3 };
    (void) nothing;
    for (int i = 0; i < 20000; i++) {
        errno = 0;
        CHECK(aegis128l_encrypt_detached(text, mac, 32, text, sizeof text, NULL, 0, nonce, key) ==
                  0 &&
              errno == 0);
        mac[i % 32] ^= 1;
        CHECK(aegis128l_decrypt_detached(NULL, text, sizeof text, mac, 32, NULL, 0, nonce, key) ==
                  -1 &&
              errno == 0);
        mac[i % 32] ^= 1;
        CHECK(aegis128l_decrypt_detached(text, text, sizeof text, mac, 32, NULL, 0, nonce, key) ==
                  0 &&
              errno == 0);
    }
    return NULL;
}

/* Threads that wait for one another leave a number in errno; calls do not wait. */
static void errno_while_the_backend_changes(void)
{
    const char *best = palladion_backend();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, calls, NULL) == 0);
    for (int i = 0; i < 50000; i++)
        CHECK(palladion_set_backend(i % 2 ? best : "portable") == 0);
    CHECK(palladion_set_backend(best) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
}

/* With an argument: batches on one backend only, and no threads. */
int main(int argc, char **argv)
{
    (void) argv;
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", PALLADION_VERSION_MAJOR, PALLADION_VERSION_MINOR,
        PALLADION_VERSION_PATCH);
    CHECK(!strcmp(palladion_version(), PALLADION_VERSION));
    CHECK(!strncmp(version, PALLADION_VERSION, strlen(version)));

    uint8_t a[64] = { 0 }, b[64] = { 0 };
    CHECK(palladion_random(a, 63) == 0 && palladion_random(b, 63) == 0 && memcmp(a, b, 63));
    CHECK(a[63] == 0 && palladion_random(NULL, 0) == 0);
    FAILS(palladion_random(a, SIZE_MAX));
    palladion_random_or_abort(b, 63);
    CHECK(memcmp(a, b, 63) && b[63] == 0);
    palladion_random_or_abort(NULL, 0);
    b[63] = 1;
    palladion_wipe(b, 63);
    for (int i = 0; i < 63; i++)
        CHECK(b[i] == 0);
    CHECK(b[63] == 1);
    palladion_wipe(NULL, 0);

    batch_arguments();
    backends(argc > 1);
    if (argc <= 1)
        errno_while_the_backend_changes();
    printf("palladion.h is as it says, on %s\n", palladion_backend());
    return 0;
}
