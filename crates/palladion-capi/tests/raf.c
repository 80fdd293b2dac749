/*
 * Tests what aegis_raf.h promises, as a program that includes it and links the library. With the
 * argument `libaegis` it is linked with that library, and leaves out what that does differently.
 */
#include <aegis.h>

#include <stdint.h>

#include "check.h"

static int is_ours;

/* A file in memory. When `left` has run out, all that changes it fails. */
enum { MOST = 1 << 17, CHUNK = 1024, LEAVES = 8 };
typedef struct {
    uint8_t  bytes[MOST];
    size_t   len, left, syncs;
    unsigned char random;
} memory;

static int change(memory *m)
{
    if (m->left == 0) {
        errno = ENOSPC;
        return -1;
    }
    m->left--;
    return 0;
}

static int read_at(void *user, uint8_t *buf, size_t len, uint64_t off)
{
    memory *m = (memory *) user;
    if (off > m->len || len > m->len - off) {
        errno = EIO;
        return -1;
    }
    memcpy(buf, m->bytes + off, len);
    return 0;
}

static int write_at(void *user, const uint8_t *buf, size_t len, uint64_t off)
{
    memory *m = (memory *) user;
    if (change(m) != 0)
        return -1;
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
    if (change(m) != 0)
        return -1;
    CHECK(size <= MOST);
    if (size > m->len)
        memset(m->bytes + m->len, 0, (size_t) size - m->len);
    m->len = (size_t) size;
    return 0;
}

static int sync_it(void *user)
{
    ((memory *) user)->syncs++;
    return 0;
}

static int numbers(void *user, uint8_t *out, size_t len) /* not random at all */
{
    memory *m = (memory *) user;
    while (len--)
        *out++ = m->random++;
    return 0;
}

static int no_numbers(void *user, uint8_t *out, size_t len)
{
    (void) user, (void) out, (void) len;
    errno = EAGAIN;
    return -1;
}

/* A hash for the tests alone. */
static int hash(uint8_t *out, size_t out_len, const uint8_t *a, size_t a_len, const uint8_t *b,
    size_t b_len, uint64_t x)
{
    uint64_t state = x * 0x9e3779b97f4a7c15u + 1;
    for (size_t i = 0; i < a_len; i++)
        state = (state ^ a[i]) * 0x100000001b3u;
    for (size_t i = 0; i < b_len; i++)
        state = (state ^ b[i]) * 0x100000001b3u;
    for (; out_len--; state = state * 6364136223846793005u + 1)
        *out++ = (uint8_t) (state >> 56);
    return 0;
}

enum { HASH = 20 };

static int hash_leaf(
    void *user, uint8_t *out, size_t out_len, const uint8_t *chunk, size_t len, uint64_t index)
{
    (void) user;
    CHECK(out_len == HASH && len > 0 && len <= CHUNK && index < LEAVES);
    return hash(out, out_len, chunk, len, NULL, 0, 4 * index);
}

static int hash_parent(void *user, uint8_t *out, size_t out_len, const uint8_t *left,
    const uint8_t *right, uint32_t level, uint64_t index)
{
    (void) user;
    return hash(out, out_len, left, HASH, right, HASH, 64 * level + 4 * index + 1);
}

static int hash_empty(void *user, uint8_t *out, size_t out_len, uint32_t level, uint64_t index)
{
    (void) user;
    return hash(out, out_len, NULL, 0, NULL, 0, 64 * level + 4 * index + 2);
}

static int hash_commitment(void *user, uint8_t *out, size_t out_len, const uint8_t *root,
    const uint8_t *context, size_t len, uint64_t size)
{
    (void) user;
    CHECK(len == AEGIS_RAF_COMMITMENT_CONTEXT_BYTES && context[0] == 1);
    return hash(out, out_len, root, HASH, context, len, 4 * size + 3);
}

/* The structures of the interface, on machines with 64 bits. */
static void structures(void)
{
    if (sizeof(void *) != 8)
        return;
    CHECK(sizeof(aegis_raf_scratch) == 16 && sizeof(aegis_raf_io) == 48 &&
          sizeof(aegis_raf_rng) == 16);
    CHECK(sizeof(aegis_raf_merkle_config) == 72 && sizeof(aegis_raf_config) == 24 &&
          sizeof(aegis_raf_info) == 16);
    CHECK(aegis_raf_chunk_min() == AEGIS_RAF_CHUNK_MIN &&
          aegis_raf_chunk_max() == AEGIS_RAF_CHUNK_MAX);
    CHECK(aegis_raf_header_size() == AEGIS_RAF_HEADER_SIZE &&
          aegis_raf_scratch_align() == AEGIS_RAF_SCRATCH_ALIGN);
}

/* Derives keys as in the format's description. A key of zeros without a context changes too. */
static void derived_keys(void)
{
    uint8_t key[32] = { 0 }, other[32], same[32];
    static const uint8_t context[121] = { 'a' };
    CHECK(aegis_raf_derive_master_key(other, 16, key, 16, NULL, 0) == 0 &&
          memcmp(other, key, 16) != 0);
    CHECK(aegis_raf_derive_master_key(same, 16, key, 16, context, 0) == 0 &&
          memcmp(other, same, 16) == 0);
    CHECK(aegis_raf_derive_master_key(same, 16, key, 16, context, 120) == 0 &&
          memcmp(other, same, 16) != 0);
    CHECK(aegis_raf_derive_master_key(other, 32, key, 32, context, 72) == 0);
    memcpy(same, key, 32);
    CHECK(aegis_raf_derive_master_key(same, 32, same, 32, context, 72) == 0 &&
          memcmp(other, same, 32) == 0);
    FAILS_WITH(EINVAL, aegis_raf_derive_master_key(other, 16, key, 16, context, 121));
    FAILS_WITH(EINVAL, aegis_raf_derive_master_key(other, 32, key, 32, context, 73));
    FAILS_WITH(EINVAL, aegis_raf_derive_master_key(other, 32, key, 16, context, 1));
    FAILS_WITH(EINVAL, aegis_raf_derive_master_key(other, 24, key, 24, context, 1));
    FAILS_WITH(EINVAL, aegis_raf_derive_master_key(NULL, 16, key, 16, context, 1));
    FAILS_WITH(EINVAL, aegis_raf_derive_master_key(other, 16, NULL, 16, context, 1));
    FAILS_WITH(EINVAL, aegis_raf_derive_master_key(other, 16, key, 16, NULL, 1));
    FAILS_WITH(EINVAL, aegis_raf_derive_master_key(other, 16, key, 16, context, (size_t) -1));
}

#define V(name) aegis128l_raf_##name
#define U(name) AEGIS128L_RAF_##name
#define ALGORITHM AEGIS_RAF_ALG_128L
#include "raf.inc"
#define V(name) aegis128x2_raf_##name
#define U(name) AEGIS128X2_RAF_##name
#define ALGORITHM AEGIS_RAF_ALG_128X2
#include "raf.inc"
#define V(name) aegis128x4_raf_##name
#define U(name) AEGIS128X4_RAF_##name
#define ALGORITHM AEGIS_RAF_ALG_128X4
#include "raf.inc"
#define V(name) aegis256_raf_##name
#define U(name) AEGIS256_RAF_##name
#define ALGORITHM AEGIS_RAF_ALG_256
#include "raf.inc"
#define V(name) aegis256x2_raf_##name
#define U(name) AEGIS256X2_RAF_##name
#define ALGORITHM AEGIS_RAF_ALG_256X2
#include "raf.inc"
#define V(name) aegis256x4_raf_##name
#define U(name) AEGIS256X4_RAF_##name
#define ALGORITHM AEGIS_RAF_ALG_256X4
#include "raf.inc"

int main(int argc, char **argv)
{
    is_ours = argc < 2 || strcmp(argv[1], "libaegis") != 0;
    structures();
    derived_keys();
    aegis128l_raf_test();
    aegis128x2_raf_test();
    aegis128x4_raf_test();
    aegis256_raf_test();
    aegis256x2_raf_test();
    aegis256x4_raf_test();
    puts("files: as the header says");
    return 0;
}
