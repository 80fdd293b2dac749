/*
 * Makes the same random calls of two libraries and compares all that can be seen: bytes, also
 * beside the buffers, return values and errno.
 *
 *   differential OURS.so THEIRS.so [ROUNDS [SEED]]
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aegis.h"

typedef struct {
    const char *name;
    size_t key_len, rate, state_len, mac_state_len;
} variant;

static const variant variants[] = {
    { "aegis128l", 16, 32, sizeof(aegis128l_state), sizeof(aegis128l_mac_state) },
    { "aegis128x2", 16, 64, sizeof(aegis128x2_state), sizeof(aegis128x2_mac_state) },
    { "aegis128x4", 16, 128, sizeof(aegis128x4_state), sizeof(aegis128x4_mac_state) },
    { "aegis256", 32, 16, sizeof(aegis256_state), sizeof(aegis256_mac_state) },
    { "aegis256x2", 32, 32, sizeof(aegis256x2_state), sizeof(aegis256x2_mac_state) },
    { "aegis256x4", 32, 64, sizeof(aegis256x4_state), sizeof(aegis256x4_mac_state) },
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* The functions of a variant; the order is that of `names`. */
typedef struct {
    size_t (*constant[5])(void);
    int (*encrypt_detached)(uint8_t *, uint8_t *, size_t, const uint8_t *, size_t, const uint8_t *,
        size_t, const uint8_t *, const uint8_t *);
    int (*decrypt_detached)(uint8_t *, const uint8_t *, size_t, const uint8_t *, size_t,
        const uint8_t *, size_t, const uint8_t *, const uint8_t *);
    int (*encrypt)(uint8_t *, size_t, const uint8_t *, size_t, const uint8_t *, size_t,
        const uint8_t *, const uint8_t *);
    int (*decrypt)(uint8_t *, const uint8_t *, size_t, size_t, const uint8_t *, size_t,
        const uint8_t *, const uint8_t *);
    void (*state_init)(void *, const uint8_t *, size_t, const uint8_t *, const uint8_t *);
    int (*state_encrypt_update)(void *, uint8_t *, const uint8_t *, size_t);
    int (*state_encrypt_final)(void *, uint8_t *, size_t);
    int (*state_decrypt_update)(void *, uint8_t *, const uint8_t *, size_t);
    int (*state_decrypt_final)(void *, const uint8_t *, size_t);
    void (*stream)(uint8_t *, size_t, const uint8_t *, const uint8_t *);
    void (*stream_xor)(uint8_t *, const uint8_t *, size_t, const uint8_t *, const uint8_t *);
    void (*encrypt_unauthenticated)(
        uint8_t *, const uint8_t *, size_t, const uint8_t *, const uint8_t *);
    void (*decrypt_unauthenticated)(
        uint8_t *, const uint8_t *, size_t, const uint8_t *, const uint8_t *);
    void (*mac_init)(void *, const uint8_t *, const uint8_t *);
    int (*mac_update)(void *, const uint8_t *, size_t);
    int (*mac_final)(void *, uint8_t *, size_t);
    int (*mac_verify)(void *, const uint8_t *, size_t);
    void (*mac_reset)(void *);
    void (*mac_state_clone)(void *, const void *);
} functions;

static const char *const names[] = { "keybytes", "npubbytes", "abytes_min", "abytes_max",
    "tailbytes_max", "encrypt_detached", "decrypt_detached", "encrypt", "decrypt", "state_init",
    "state_encrypt_update", "state_encrypt_final", "state_decrypt_update", "state_decrypt_final",
    "stream", "stream_xor", "encrypt_unauthenticated", "decrypt_unauthenticated", "mac_init",
    "mac_update", "mac_final", "mac_verify", "mac_reset", "mac_state_clone" };

enum { OURS, THEIRS };
static functions library[2][VARIANTS];
static int (*verify[2][2])(const uint8_t *, const uint8_t *);

static void *symbol(void *handle, const char *name)
{
    void *found = dlsym(handle, name);
    if (!found) {
        fprintf(stderr, "no %s: %s\n", name, dlerror());
        exit(2);
    }
    return found;
}

static void load(int which, const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    for (int v = 0; v < VARIANTS; v++) {
        char *at = (char *) &library[which][v];
        for (size_t i = 0; i < sizeof names / sizeof *names; i++, at += sizeof(void *)) {
            char name[64];
            snprintf(name, sizeof name, "%s_%s", variants[v].name, names[i]);
            void *found = symbol(handle, name);
            memcpy(at, &found, sizeof found);
        }
    }
    for (int i = 0; i < 2; i++) {
        void *found = symbol(handle, i ? "aegis_verify_32" : "aegis_verify_16");
        memcpy(&verify[which][i], &found, sizeof found);
    }
    int (*init)(void);
    void *found = symbol(handle, "aegis_init");
    memcpy(&init, &found, sizeof found);
    if (init() != 0 || init() != 0) {
        fprintf(stderr, "aegis_init failed in %s\n", path);
        exit(1);
    }
}

static uint64_t seed = 1;

static uint64_t number(void) /* SplitMix64 */
{
    uint64_t z = (seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(size_t n)
{
    return (size_t) (number() % n);
}

static void fill(uint8_t *at, size_t len)
{
    while (len--)
        *at++ = (uint8_t) number();
}

/* A length at which something may change. */
static size_t length(const variant *v)
{
    switch (below(8)) {
    case 0: return 0;
    case 1: return below(2 * v->rate + 2);
    case 2: return v->rate * (1 + below(4)) + below(3) - 1;
    case 3: return 4096 + below(2 * v->rate);
    case 4: return below(20000);
    default: return below(400);
    }
}

static size_t tag_length(void)
{
    static const size_t wrong[] = { 0, 1, 15, 17, 24, 31, 33, 64 };
    return below(16) ? (below(2) ? 16 : 32) : wrong[below(8)];
}

enum { ROOM = 24000, AROUND = 200 };

static long calls;

/* What a library may write to: all of it is compared. */
static uint8_t out[2][ROOM + 2 * AROUND], tag[2][64 + 2 * AROUND];
static int result[2], error[2];

static void compare(const char *what, const variant *v)
{
    calls++;
    int same = result[0] == result[1] && error[0] == error[1] &&
               !memcmp(out[0], out[1], sizeof *out) && !memcmp(tag[0], tag[1], sizeof *tag);
    if (same)
        return;
    fprintf(stderr, "%s_%s differs after %ld calls: result %d and %d, errno %d and %d\n", v->name,
        what, calls, result[0], result[1], error[0], error[1]);
    exit(1);
}

#define BOTH(call)                        \
    for (int w = 0; w < 2; w++) {         \
        const functions *f = &library[w][i]; \
        uint8_t *o = out[w] + AROUND, *t = tag[w] + AROUND; \
        (void) f, (void) o, (void) t;     \
        errno = 0;                        \
        call;                             \
        error[w] = errno;                 \
    }

static uint8_t key[32], nonce[32], ad[ROOM], message[ROOM];

/* The same contents for both: of the outputs, and of what is around them. */
static void prepare(size_t len)
{
    fill(out[0], AROUND + len + AROUND);
    memcpy(out[1], out[0], sizeof *out);
    fill(tag[0], sizeof *tag);
    memcpy(tag[1], tag[0], sizeof *tag);
    result[0] = result[1] = 0;
}

static void one_shot(int i, const variant *v)
{
    size_t len = length(v), ad_len = length(v), tag_len = tag_length(), shift = below(70);
    fill(key, sizeof key), fill(nonce, sizeof nonce), fill(ad, ad_len), fill(message, len);
    const uint8_t *a = ad_len ? ad : NULL, *m = message;

    prepare(len + 64 + shift);
    BOTH(result[w] = f->encrypt_detached(o + shift, t, tag_len, m, len, a, ad_len, nonce, key));
    compare("encrypt_detached", v);
    for (int w = 0; w < 2; w++)
        memcpy(out[w] + AROUND + shift, message, len);
    BOTH(result[w] =
             f->encrypt_detached(o + shift, t, tag_len, o + shift, len, a, ad_len, nonce, key));
    compare("encrypt_detached (in place)", v);

    if (tag_len == 16 || tag_len == 32) {
        static uint8_t sealed[ROOM + 64], forged[ROOM + 64];
        prepare(len + 64);
        BOTH(result[w] = f->encrypt(o, tag_len, m, len, a, ad_len, nonce, key));
        compare("encrypt", v);
        memcpy(sealed, out[0] + AROUND, len + tag_len);
        memcpy(forged, sealed, len + tag_len);
        forged[below(len + tag_len)] ^= (uint8_t) (1 << below(8));
        for (int right = 0; right < 2; right++) {
            const uint8_t *c = right ? sealed : forged;
            prepare(len + 64);
            BOTH(result[w] = f->decrypt(o, c, len + tag_len, tag_len, a, ad_len, nonce, key));
            compare("decrypt", v);
            if (result[0] != (right ? 0 : -1))
                fprintf(stderr, "both are wrong\n"), exit(1);
            BOTH(result[w] = f->decrypt(NULL, c, len + tag_len, tag_len, a, ad_len, nonce, key));
            compare("decrypt (to nowhere)", v);
            BOTH(result[w] =
                     f->decrypt_detached(o, c, len, c + len, tag_len, a, ad_len, nonce, key));
            compare("decrypt_detached", v);
            for (int w = 0; w < 2; w++)
                memcpy(out[w] + AROUND, c, len);
            BOTH(result[w] =
                     f->decrypt_detached(o, o, len, c + len, tag_len, a, ad_len, nonce, key));
            compare("decrypt_detached (in place)", v);
        }
    } else {
        BOTH(result[w] = f->decrypt_detached(o, m, len, t, tag_len, a, ad_len, nonce, key));
        compare("decrypt_detached (wrong length of tag)", v);
        BOTH(result[w] = f->encrypt(o, tag_len, m, len, a, ad_len, nonce, key));
        compare("encrypt (wrong length of tag)", v);
    }
    size_t short_len = below(40);
    BOTH(result[w] =
             f->decrypt(o, m, short_len < tag_len ? short_len : 0, tag_len, a, ad_len, nonce, key));
    compare("decrypt (too short)", v);
}

/* At any address, and now and then at another one. */
typedef struct {
    uint8_t memory[2][2048];
    size_t offset[2];
} place;

static uint8_t *at(place *p, int w)
{
    return p->memory[w] + p->offset[w];
}

/* Ours moves; theirs has to stay aligned. */
static void move(place *p, size_t len)
{
    size_t offset = below(2) ? 64 * below(2) : below(130);
    memmove(p->memory[OURS] + offset, at(p, OURS), len);
    p->offset[OURS] = offset;
}

static void settle(place *p)
{
    p->offset[OURS] = below(130);
    p->offset[THEIRS] = (size_t) (64 - (uintptr_t) p->memory[THEIRS] % 64) % 64;
}

static void streaming(int i, const variant *v)
{
    size_t len = length(v), ad_len = length(v), tag_len = tag_length();
    static uint8_t ciphertext[ROOM], expected[64];
    fill(key, sizeof key), fill(nonce, sizeof nonce), fill(ad, ad_len), fill(message, len);
    static place state;
    const char *names_of[2] = { "state_decrypt", "state_encrypt" };

    for (int encrypt = 1; encrypt >= 0; encrypt--) {
        const uint8_t *input = encrypt ? message : ciphertext;
        int to_nowhere = !encrypt && !below(4);
        settle(&state);
        BOTH(f->state_init(at(&state, w), ad_len ? ad : NULL, ad_len, nonce, key));
        prepare(len);
        for (size_t done = 0, n; done < len || !below(3); done += n) {
            n = below(3) ? below(len - done + 1) : below(2 * v->rate);
            if (n > len - done)
                n = len - done;
            int in_place = (int) below(2) && !to_nowhere;
            if (in_place)
                for (int w = 0; w < 2; w++)
                    memcpy(out[w] + AROUND + done, input + done, n);
            BOTH(uint8_t *to = to_nowhere ? NULL : o + done;
                const uint8_t *from = in_place ? to : input + done;
                result[w] = encrypt ? f->state_encrypt_update(at(&state, w), to, from, n)
                                    : f->state_decrypt_update(at(&state, w), to, from, n));
            compare(names_of[encrypt], v);
            move(&state, v->state_len);
        }
        if (encrypt) {
            memcpy(ciphertext, out[0] + AROUND, len);
            BOTH(result[w] = f->state_encrypt_final(at(&state, w), t, tag_len));
            compare("state_encrypt_final", v);
            if (result[0])
                return;
            memcpy(expected, tag[0] + AROUND, sizeof expected);
        } else {
            int right = (int) below(2);
            if (!right)
                expected[below(tag_len)] ^= (uint8_t) (1 << below(8));
            BOTH(result[w] = f->state_decrypt_final(at(&state, w), expected, tag_len));
            compare("state_decrypt_final", v);
            if (result[0] != (right ? 0 : -1) ||
                (!to_nowhere && memcmp(out[0] + AROUND, message, len)))
                fprintf(stderr, "both are wrong\n"), exit(1);
            settle(&state);
            BOTH(f->state_init(at(&state, w), NULL, 0, nonce, key));
            size_t wrong = 16 + 1 + below(15);
            BOTH(result[w] = f->state_decrypt_final(at(&state, w), expected, wrong));
            compare("state_decrypt_final (wrong length of tag)", v);
        }
    }
}

static void macs(int i, const variant *v)
{
    size_t len = length(v), tag_len = tag_length();
    int zero = !below(4);
    fill(key, sizeof key), fill(nonce, sizeof nonce), fill(message, len);
    static place state, other;
    settle(&state), settle(&other);
    prepare(64);
    BOTH(f->mac_init(at(&state, w), key, zero ? NULL : nonce));
    for (int round = 0; round < 2; round++) {
        for (size_t done = 0, n; done < len || !below(3); done += n) {
            n = below(3) ? below(len - done + 1) : below(2 * v->rate);
            if (n > len - done)
                n = len - done;
            BOTH(result[w] = f->mac_update(at(&state, w), message + done, n));
            compare("mac_update", v);
            if (!below(3)) {
                BOTH(f->mac_state_clone(at(&other, w), at(&state, w)));
                BOTH(result[w] = f->mac_final(at(&other, w), t, tag_len));
                compare("mac_final (of a clone)", v);
            }
            move(&state, v->mac_state_len);
        }
        BOTH(f->mac_state_clone(at(&other, w), at(&state, w)));
        BOTH(result[w] = f->mac_final(at(&state, w), t, tag_len));
        compare("mac_final", v);
        uint8_t given[64];
        memcpy(given, tag[0] + AROUND, sizeof given);
        if (below(2))
            given[below(tag_len ? tag_len : 1)] ^= (uint8_t) (1 << below(8));
        BOTH(result[w] = f->mac_verify(at(&other, w), given, tag_len));
        compare("mac_verify", v);
        BOTH(f->mac_reset(at(&state, w)));
    }
}

static void streams(int i, const variant *v)
{
    size_t len = length(v);
    /* Theirs of 0.10.3 is wrong for a null nonce and 32 bytes; that of crate `aegis` is not. */
    int zero = !below(4);
    fill(key, sizeof key), fill(nonce, sizeof nonce), fill(message, len);
    prepare(len);
    BOTH(f->stream(o, len, zero ? NULL : nonce, key));
    compare("stream", v);
    BOTH(f->stream_xor(o, message, len, nonce, key));
    compare("stream_xor", v);
    BOTH(f->stream_xor(o, o, len, nonce, key));
    compare("stream_xor (in place)", v);
    BOTH(f->encrypt_unauthenticated(o, message, len, nonce, key));
    compare("encrypt_unauthenticated", v);
    BOTH(f->decrypt_unauthenticated(o, o, len, nonce, key));
    compare("decrypt_unauthenticated (in place)", v);
    BOTH(f->encrypt_unauthenticated(o, o, len, nonce, key));
    compare("encrypt_unauthenticated (in place)", v);
    BOTH(f->decrypt_unauthenticated(o, message, len, nonce, key));
    compare("decrypt_unauthenticated", v);
}

static void globals(void)
{
    uint8_t x[32], y[32];
    fill(x, sizeof x), memcpy(y, x, sizeof y);
    if (below(2))
        y[below(32)] ^= (uint8_t) (1 << below(8));
    prepare(0);
    for (int long_ = 0; long_ < 2; long_++) {
        for (int w = 0; w < 2; w++)
            result[w] = verify[w][long_](x, y);
        compare("verify", &(variant){ "aegis", 0, 0, 0, 0 });
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: differential OURS.so THEIRS.so [ROUNDS [SEED]]\n");
        return 2;
    }
    load(OURS, argv[1]), load(THEIRS, argv[2]);
    long rounds = argc > 3 ? atol(argv[3]) : 2000;
    seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 1;
    for (int i = 0; i < VARIANTS; i++)
        for (int n = 0; n < 5; n++)
            if (library[OURS][i].constant[n]() != library[THEIRS][i].constant[n]())
                return fprintf(stderr, "%s_%s differs\n", variants[i].name, names[n]), 1;
    for (long round = 0; round < rounds; round++) {
        for (int i = 0; i < VARIANTS; i++) {
            one_shot(i, &variants[i]), streaming(i, &variants[i]), macs(i, &variants[i]),
                streams(i, &variants[i]);
        }
        globals();
    }
    printf("%ld calls: the same\n", calls);
    return calls > 0 ? 0 : 1;
}
