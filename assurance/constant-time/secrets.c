/*
 * Handles secrets in every way that the C API has, while valgrind reports each branch and address
 * that depends on one. assurance/constant-time.sh runs it; main.rs says what is secret.
 *
 *     secrets [--plant table|comparison] BACKEND
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

/* Checks that a failed call has left zeros. */
static void wiped(const uint8_t *bytes, size_t len)
{
    (void) VALGRIND_MAKE_MEM_DEFINED(bytes, len);
    for (size_t i = 0; i < len; i++)
        CHECK(bytes[i] == 0);
}

/* A file in memory. */
enum { MOST = 1 << 14, CHUNK = 1024, HASH = 16, LEAVES = 4 };
typedef struct {
    uint8_t bytes[MOST];
    size_t  len;
} memory;

static int read_at(void *user, uint8_t *buf, size_t len, uint64_t off)
{
    memory *m = (memory *) user;
    CHECK(off <= m->len && len <= m->len - off);
    memcpy(buf, m->bytes + off, len);
    return 0;
}

static int write_at(void *user, const uint8_t *buf, size_t len, uint64_t off)
{
    memory *m = (memory *) user;
    CHECK(off <= m->len && len <= m->len - off);
    memcpy(m->bytes + off, buf, len);
    return 0;
}

static int get_size(void *user, uint64_t *size)
{
    *size = ((memory *) user)->len;
    return 0;
}

static int set_size(void *user, uint64_t size)
{
    memory *m = (memory *) user;
    CHECK(size <= MOST);
    if (size > m->len)
        memset(m->bytes + m->len, 0, (size_t) size - m->len);
    m->len = (size_t) size;
    return 0;
}

static int numbers(void *user, uint8_t *out, size_t len)
{
    (void) user;
    hide(out, len);
    return 0;
}

/* A hash for this test alone. */
static int hash(uint8_t *out, size_t out_len, const uint8_t *in, size_t len, uint64_t x)
{
    uint64_t state = x * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i < len; i++)
        state = (state ^ in[i]) * 0x100000001b3u;
    for (size_t i = 0; i < out_len; i++, state = state * 0x5851f42d4c957f2du + 1)
        out[i] = (uint8_t) (state >> 56);
    return 0;
}

static int hash_leaf(void *user, uint8_t *out, size_t out_len, const uint8_t *chunk, size_t len,
                     uint64_t index)
{
    (void) user;
    return hash(out, out_len, chunk, len, index);
}

static int hash_parent(void *user, uint8_t *out, size_t out_len, const uint8_t *left,
                       const uint8_t *right, uint32_t level, uint64_t index)
{
    uint8_t both[2 * HASH];
    (void) user;
    memcpy(both, left, HASH);
    memcpy(both + HASH, right, HASH);
    return hash(out, out_len, both, sizeof both, index + level);
}

static int hash_empty(void *user, uint8_t *out, size_t out_len, uint32_t level, uint64_t index)
{
    (void) user;
    return hash(out, out_len, NULL, 0, index + level + 99);
}

static int hash_commitment(void *user, uint8_t *out, size_t out_len, const uint8_t *root,
                           const uint8_t *ctx, size_t ctx_len, uint64_t file_size)
{
    (void) user, (void) ctx, (void) ctx_len;
    return hash(out, out_len, root, HASH, file_size);
}

#define V(name)   aegis128l_##name
#define ALGORITHM PALLADION_AEGIS128L
#include "secrets.inc"
#define V(name)   aegis128x2_##name
#define ALGORITHM PALLADION_AEGIS128X2
#include "secrets.inc"
#define V(name)   aegis128x4_##name
#define ALGORITHM PALLADION_AEGIS128X4
#include "secrets.inc"
#define V(name)   aegis256_##name
#define ALGORITHM PALLADION_AEGIS256
#include "secrets.inc"
#define V(name)   aegis256x2_##name
#define ALGORITHM PALLADION_AEGIS256X2
#include "secrets.inc"
#define V(name)   aegis256x4_##name
#define ALGORITHM PALLADION_AEGIS256X4
#include "secrets.inc"

static void others(void)
{
    uint8_t x[32], y[32], key[32], other[32];
    hide(x, sizeof x);
    memcpy(y, x, sizeof y);
    CHECK(aegis_verify_16(x, y) == 0 && aegis_verify_32(x, y) == 0);
    y[0] ^= 1;
    CHECK(aegis_verify_16(x, y) == -1 && aegis_verify_32(x, y) == -1);
    for (size_t len = 16; len <= 32; len += 16) {
        hide(key, sizeof key);
        CHECK(aegis_raf_derive_master_key(other, len, key, len, x, 20) == 0);
    }
    palladion_wipe(x, sizeof x);
    wiped(x, sizeof x);
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
    aegis128l_all(), aegis128x2_all(), aegis128x4_all();
    aegis256_all(), aegis256x2_all(), aegis256x4_all();
    others();
    return 0;
}
