/*
 * Makes the same random calls of two libraries on files of their own, whose random numbers are the
 * same, and compares results, errno, sizes, contents and commitments; in the end each opens the
 * other's file.
 *
 *   differential-raf OURS.so THEIRS.so [ROUNDS [SEED]]
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aegis.h"

static const char *const variants[] = { "aegis128l", "aegis128x2", "aegis128x4", "aegis256",
    "aegis256x2", "aegis256x4" };
enum { VARIANTS = sizeof variants / sizeof *variants, OURS = 0, THEIRS = 1 };

typedef struct {
    size_t (*scratch_size)(uint32_t);
    int (*scratch_validate)(const aegis_raf_scratch *, uint32_t);
    int (*create)(void *, const aegis_raf_io *, const aegis_raf_rng *, const aegis_raf_config *,
        const uint8_t *);
    int (*open)(void *, const aegis_raf_io *, const aegis_raf_rng *, const aegis_raf_config *,
        const uint8_t *);
    int (*read)(void *, uint8_t *, size_t *, size_t, uint64_t);
    int (*write)(void *, size_t *, const uint8_t *, size_t, uint64_t);
    int (*truncate)(void *, uint64_t);
    int (*get_size)(const void *, uint64_t *);
    int (*sync)(void *);
    void (*close)(void *);
    int (*merkle_rebuild)(void *);
    int (*merkle_verify)(void *, uint64_t *);
    int (*merkle_commitment)(const void *, uint8_t *, size_t);
} functions;

static const char *const names[] = { "scratch_size", "scratch_validate", "create", "open", "read",
    "write", "truncate", "get_size", "sync", "close", "merkle_rebuild", "merkle_verify",
    "merkle_commitment" };

static functions library[2][VARIANTS];
static int (*probe[2])(const aegis_raf_io *, aegis_raf_info *);
static size_t (*merkle_buffer_size[2])(const aegis_raf_merkle_config *);
static int (*derive[2])(uint8_t *, size_t, const uint8_t *, size_t, const uint8_t *, size_t);

static void symbol(void *handle, const char *prefix, const char *name, void *to)
{
    char full[64];
    snprintf(full, sizeof full, "%s_raf_%s", prefix, name);
    void *found = dlsym(handle, full);
    if (!found) {
        fprintf(stderr, "no %s: %s\n", full, dlerror());
        exit(2);
    }
    memcpy(to, &found, sizeof found);
}

static void load(int which, const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        fprintf(stderr, "%s\n", dlerror());
        exit(2);
    }
    for (int v = 0; v < VARIANTS; v++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            symbol(handle, variants[v], names[i], (char *) &library[which][v] + i * sizeof(void *));
    symbol(handle, "aegis", "probe", &probe[which]);
    symbol(handle, "aegis", "merkle_buffer_size", &merkle_buffer_size[which]);
    symbol(handle, "aegis", "derive_master_key", &derive[which]);
}

static uint64_t next(uint64_t *seed) /* SplitMix64 */
{
    uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t seed = 1;

static size_t below(size_t n)
{
    return (size_t) (next(&seed) % n);
}

static void fill(uint8_t *at, size_t len)
{
    while (len--)
        *at++ = (uint8_t) next(&seed);
}

/* A file in memory, and which of its functions fail. */
enum {
    FAIL_READ = 1,
    FAIL_WRITE = 2,
    FAIL_SIZE = 4,
    FAIL_RESIZE = 8,
    FAIL_SYNC = 16,
    FAIL_RANDOM = 32,
    FAIL_HASH = 64
};
enum { MOST = 1 << 18, LEAVES = 40 };
typedef struct {
    uint8_t  bytes[MOST];
    size_t   len;
    unsigned fail;
    uint64_t random;
} memory;

static int failing(const memory *m, unsigned what)
{
    if (m->fail & what)
        errno = 100 + (int) what;
    return (m->fail & what) != 0;
}

static int read_at(void *user, uint8_t *buf, size_t len, uint64_t off)
{
    memory *m = (memory *) user;
    if (failing(m, FAIL_READ))
        return -1;
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
    if (failing(m, FAIL_WRITE))
        return -1;
    if (off > m->len || len > m->len - off) {
        fprintf(stderr, "written behind the end\n");
        exit(1);
    }
    memcpy(m->bytes + off, buf, len);
    return 0;
}

static int get_size(void *user, uint64_t *size)
{
    const memory *m = (memory *) user;
    *size = m->len;
    return failing(m, FAIL_SIZE) ? -1 : 0;
}

static int set_size(void *user, uint64_t size)
{
    memory *m = (memory *) user;
    if (failing(m, FAIL_RESIZE))
        return -1;
    if (size > MOST) {
        errno = ENOSPC;
        return -1;
    }
    if (size > m->len)
        memset(m->bytes + m->len, 0, size - m->len);
    m->len = size;
    return 0;
}

static int sync_it(void *user)
{
    return failing((memory *) user, FAIL_SYNC) ? -1 : 0;
}

static int random_bytes(void *user, uint8_t *out, size_t len)
{
    memory *m = (memory *) user;
    if (failing(m, FAIL_RANDOM))
        return -1;
    while (len--)
        *out++ = (uint8_t) next(&m->random);
    return 0;
}

/* A hash that is none, but depends on all it is given. */
static int hash(void *user, uint8_t *out, size_t out_len, uint64_t kind, const uint8_t *a,
    size_t a_len, const uint8_t *b, size_t b_len, uint64_t x, uint64_t y)
{
    if (failing((memory *) user, FAIL_HASH))
        return -1;
    uint64_t state = kind ^ (x * 31) ^ (y * 1000003) ^ (a_len << 40) ^ (b_len << 48);
    for (size_t i = 0; i < a_len; i++)
        state = (state ^ a[i]) * 0x100000001b3u;
    for (size_t i = 0; i < b_len; i++)
        state = (state ^ b[i]) * 0x100000001b3u;
    while (out_len--)
        *out++ = (uint8_t) next(&state);
    return 0;
}

static int hash_leaf(
    void *user, uint8_t *out, size_t out_len, const uint8_t *chunk, size_t len, uint64_t index)
{
    return hash(user, out, out_len, 1, chunk, len, NULL, 0, index, 0);
}

static uint32_t hash_len;

static int hash_parent(void *user, uint8_t *out, size_t out_len, const uint8_t *left,
    const uint8_t *right, uint32_t level, uint64_t index)
{
    return hash(user, out, out_len, 2, left, hash_len, right, hash_len, level, index);
}

static int hash_empty(void *user, uint8_t *out, size_t out_len, uint32_t level, uint64_t index)
{
    return hash(user, out, out_len, 3, NULL, 0, NULL, 0, level, index);
}

static int hash_commitment(void *user, uint8_t *out, size_t out_len, const uint8_t *root,
    const uint8_t *context, size_t len, uint64_t size)
{
    return hash(user, out, out_len, 4, root, hash_len, context, len, size, 0);
}

static memory file[2];
static _Alignas(64) uint8_t scratch_memory[2][1 << 14];
static uint8_t nodes[2][64 * 128], context[2][512 + 64], out[2][1 << 17], key[32], data[1 << 17];
static unsigned long calls;

static void differ(const char *what, int v, long long ours, long long theirs)
{
    fprintf(stderr, "%s, %s: ours %lld, theirs %lld (call %lu)\n", variants[v], what, ours, theirs,
        calls);
    exit(1);
}

#define SAME(what, a, b)                                            \
    do {                                                            \
        calls++;                                                    \
        if ((a) != (b))                                             \
            differ(what, v, (long long) (a), (long long) (b));      \
    } while (0)

/* Calls both and compares result and errno; tells the result. */
#define BOTH(what, call)                                \
    do {                                                \
        int number[2];                                  \
        for (int w = 0; w < 2; w++) {                   \
            const functions *f = &library[w][v];        \
            void *ctx = context[w] + shift;             \
            (void) f, (void) ctx;                       \
            errno = 0;                                  \
            result[w] = (call);                         \
            number[w] = result[w] ? errno : 0;          \
        }                                               \
        SAME(what, result[0], result[1]);               \
        SAME(what " (errno)", number[0], number[1]);    \
    } while (0)

static void compare_files(int v)
{
    SAME("bytes of storage", file[0].len, file[1].len);
    SAME("headers", memcmp(file[0].bytes, file[1].bytes, 64), 0);
}

/* A place or a length at which something may change. */
static size_t place(size_t chunk)
{
    switch (below(4)) {
    case 0: return chunk * below(8);
    case 1: return chunk * (1 + below(7)) + below(3) - 1;
    case 2: return below(64);
    default: return below(8 * chunk);
    }
}

static void one_round(int v)
{
    int result[2] = { 0, 0 };
    size_t shift = below(16) * 4; /* anywhere */
    uint32_t chunk = 1024 + 16 * (uint32_t) below(40);
    fill(key, sizeof key);
    uint64_t random = next(&seed);
    aegis_raf_io io[2];
    aegis_raf_rng rng[2];
    aegis_raf_scratch scratch[2];
    aegis_raf_merkle_config merkle[2];
    aegis_raf_config config[2];
    int tree = below(2) != 0;
    hash_len = 8 + (uint32_t) below(57);
    for (int w = 0; w < 2; w++) {
        memset(&file[w], 0, sizeof file[w]);
        memset(context[w], 0, sizeof context[w]);
        file[w].random = random;
        io[w] = (aegis_raf_io){ &file[w], read_at, write_at, get_size, set_size,
            below(8) ? sync_it : NULL };
        rng[w] = (aegis_raf_rng) { &file[w], random_bytes };
        scratch[w] = (aegis_raf_scratch) { scratch_memory[w], sizeof scratch_memory[w] };
        merkle[w] = (aegis_raf_merkle_config){ hash_leaf, hash_parent, hash_empty, hash_commitment,
            &file[w], nodes[w], sizeof nodes[w], 1 + 0 * w, hash_len };
        config[w] =
            (aegis_raf_config){ &scratch[w], tree ? &merkle[w] : NULL, chunk, AEGIS_RAF_CREATE };
    }
    io[1].sync = io[0].sync ? sync_it : NULL;
    merkle[0].max_chunks = merkle[1].max_chunks = 1 + below(LEAVES);

    /* What may be wrong with the arguments, one at a time. */
    switch (below(16)) {
    case 0: config[0].chunk_size = config[1].chunk_size = chunk + 8; break;
    case 1: config[0].chunk_size = config[1].chunk_size = 1008; break;
    case 2: config[0].chunk_size = config[1].chunk_size = (1 << 20) + 16; break;
    case 3: config[0].scratch = config[1].scratch = NULL; break;
    case 4: scratch[0].len = scratch[1].len = library[1][v].scratch_size(chunk) - 1; break;
    case 5: scratch[0].buf++, scratch[1].buf++; break;
    case 6: scratch[0].buf = scratch[1].buf = NULL; break;
    case 7: config[0].flags = config[1].flags = (uint8_t) below(4); break;
    case 8: file[0].len = file[1].len = below(100); break;
    case 9: file[0].fail = file[1].fail = 1u << below(7); break;
    case 10: hash_len = merkle[0].hash_len = merkle[1].hash_len = (uint32_t) below(80); break;
    case 11: merkle[0].len = merkle[1].len = below(600); break;
    case 12:
        merkle[0].max_chunks = merkle[1].max_chunks = below(3) ? 0 : UINT64_MAX >> below(3);
        break;
    case 13: {
        unsigned which = (unsigned) below(8);
        for (int w = 0; w < 2; w++) {
            switch (which) {
            case 0: io[w].read_at = NULL; break;
            case 1: io[w].write_at = NULL; break;
            case 2: io[w].get_size = NULL; break;
            case 3: io[w].set_size = NULL; break;
            case 4: rng[w].random = NULL; break;
            case 5: merkle[w].hash_leaf = NULL; break;
            case 6: merkle[w].hash_commitment = NULL; break;
            default: merkle[w].buf = NULL; break;
            }
        }
        break;
    }
    default: break;
    }
    BOTH("scratch_size", (int) f->scratch_size(chunk));
    BOTH("scratch_validate", f->scratch_validate(&scratch[w], config[w].chunk_size));
    SAME(
        "merkle_buffer_size", merkle_buffer_size[0](&merkle[0]), merkle_buffer_size[1](&merkle[1]));
    BOTH("create", f->create(ctx, &io[w], &rng[w], &config[w], key));
    if (result[0] != 0)
        return;
    compare_files(v);

    int comparable = 1;
    for (size_t steps = 1 + below(24); steps--;) {
        size_t offset = place(chunk), len = place(chunk);
        int failed = 0;
        switch (below(12)) {
        case 0:
        case 1:
        case 2:
        case 3: {
            fill(data, len);
            size_t written[2] = { 1, 1 };
            /* A chunk that is written in part must be read. Ours reads none that is replaced
             * completely, so only writes fail here. */
            unsigned fail = below(10) ? 0 : tree && below(2) ? FAIL_HASH : 1u << (1 + 2 * below(2));
            if (!fail && !below(20))
                fail = FAIL_RANDOM;
            /* Ours hashes first and writes then; theirs the other way round. */
            comparable = fail != FAIL_HASH;
            file[0].fail = file[1].fail = fail;
            BOTH("write", f->write(ctx, &written[w], data, len, offset));
            file[0].fail = file[1].fail = 0;
            failed = result[0] != 0;
            SAME("bytes_written", written[0], written[1]);
            if (!fail)
                compare_files(v);
            break;
        }
        case 4:
        case 5: {
            file[0].fail = file[1].fail = below(12) ? 0 : 1u << (1 + 2 * below(2));
            uint64_t to = below(30) ? offset : UINT64_MAX - below(3);
            BOTH("truncate", f->truncate(ctx, to));
            failed = result[0] != 0;
            file[0].fail = file[1].fail = 0;
            if (!failed)
                compare_files(v);
            break;
        }
        case 6:
        case 7:
        case 8: {
            size_t n[2] = { 1, 1 };
            file[0].fail = file[1].fail = below(10) ? 0 : FAIL_READ;
            /* Or a byte of a chunk is another. */
            size_t at = file[0].len > 64 && !below(4) ? 64 + below(file[0].len - 64) : 0;
            if (at)
                file[0].bytes[at] ^= 1, file[1].bytes[at] ^= 1;
            memset(out, 0xee, sizeof out);
            BOTH("read", f->read(ctx, out[w], &n[w], len, offset));
            SAME("bytes_read", n[0], n[1]);
            SAME("what was read", result[0] == 0 && memcmp(out[0], out[1], sizeof out[0]) != 0, 0);
            if (tree) {
                uint64_t bad[2] = { 77, 77 };
                if (below(2))
                    BOTH("merkle_verify", f->merkle_verify(ctx, &bad[w]));
                else
                    BOTH("merkle_verify", f->merkle_verify(ctx, NULL));
                SAME("corrupted_chunk", bad[0], bad[1]);
            }
            if (at)
                file[0].bytes[at] ^= 1, file[1].bytes[at] ^= 1;
            file[0].fail = file[1].fail = 0;
            break;
        }
        case 9: {
            /* Closed and opened, perhaps with something wrong. */
            uint8_t other[32];
            memcpy(other, key, 32);
            size_t at = 0, cut = 0;
            switch (below(8)) {
            case 0: other[below(16)] ^= 1; break;
            case 1: at = below(64) + 1; break;
            case 2: cut = below(file[0].len); break;
            case 3: file[0].fail = file[1].fail = 1u << below(7); break;
            default: break;
            }
            for (int w = 0; w < 2; w++) {
                library[w][v].close(context[w] + shift);
                size_t i = 0;
                while (i < library[1][v].scratch_size(chunk) && scratch_memory[w][i] == 0)
                    i++;
                SAME("scratch that is zeroed", i, library[1][v].scratch_size(chunk));
                if (at)
                    file[w].bytes[at - 1] ^= 0x10;
                file[w].len -= cut;
            }
            aegis_raf_info info[2];
            memset(info, 0, sizeof info);
            BOTH("probe", probe[w](&io[w], &info[w]));
            SAME("info", memcmp(&info[0], &info[1], sizeof info[0]), 0);
            BOTH("open", f->open(ctx, &io[w], &rng[w], &config[w], other));
            file[0].fail = file[1].fail = 0;
            if (result[0] != 0) {
                if (at || cut)
                    return;
                BOTH("open", f->open(ctx, &io[w], &rng[w], &config[w], key));
                SAME("open with the right key", result[0], 0);
            }
            if (tree && below(2))
                BOTH("merkle_rebuild", f->merkle_rebuild(ctx));
            break;
        }
        case 10: {
            file[0].fail = file[1].fail = below(4) ? 0 : FAIL_SYNC;
            BOTH("sync", f->sync(ctx));
            file[0].fail = file[1].fail = 0;
            break;
        }
        default: {
            size_t room = below(3) ? 64 : below(64);
            memset(out, 0, 128);
            memset(out[1], 0, 128);
            BOTH("merkle_commitment", f->merkle_commitment(ctx, out[w], room));
            SAME("commitment", memcmp(out[0], out[1], 128), 0);
            if (tree && !below(4)) {
                size_t i = below(merkle_buffer_size[1](&merkle[1]));
                uint64_t bad[2] = { 77, 77 };
                nodes[0][i] ^= 1, nodes[1][i] ^= 1;
                BOTH("merkle_verify", f->merkle_verify(ctx, &bad[w]));
                SAME("corrupted_chunk", bad[0], bad[1]);
                nodes[0][i] ^= 1, nodes[1][i] ^= 1;
            }
            if (!below(4))
                BOTH("merkle_rebuild", f->merkle_rebuild(ctx));
            break;
        }
        }
        if (failed) {
            /* Ours can be used further, and finishes with the next sync what must not stay as it
             * is. Theirs refuses every call until it is opened again, and leaves the storage as
             * long as it is. */
            SAME("sync after a failure", library[OURS][v].sync(context[OURS] + shift), 0);
            library[THEIRS][v].close(context[THEIRS] + shift);
            SAME("open after a failure",
                library[THEIRS][v].open(
                    context[THEIRS] + shift, &io[THEIRS], &rng[THEIRS], &config[THEIRS], key),
                0);
            if (file[THEIRS].len > file[OURS].len)
                file[THEIRS].len = file[OURS].len;
            if (tree)
                BOTH("merkle_rebuild", f->merkle_rebuild(ctx));
            compare_files(v);
        }
        uint64_t sizes[2] = { 0, 0 };
        BOTH("get_size", f->get_size(ctx, &sizes[w]));
        SAME("size", sizes[0], sizes[1]);
        if (!comparable)
            break;
        if (tree)
            SAME("nodes", memcmp(nodes[0], nodes[1], merkle_buffer_size[1](&merkle[1])), 0);
    }

    /* Each opens the other's. */
    size_t read[2] = { 0, 0 };
    for (int w = 0; w < 2; w++)
        library[w][v].close(context[w] + shift);
    config[0].merkle = config[1].merkle = NULL;
    BOTH("open the other's", f->open(ctx, &io[!w], &rng[!w], &config[w], key));
    if (result[0] != 0)
        return;
    BOTH("read the other's", f->read(ctx, out[w], &read[w], sizeof out[w], 0));
    SAME("bytes_read", read[0], read[1]);
    SAME("contents", comparable && result[0] == 0 && memcmp(out[0], out[1], read[0]) != 0, 0);
    for (int w = 0; w < 2; w++)
        library[w][v].close(context[w] + shift);
}

static void keys(void)
{
    int v = 0;
    for (int i = 0; i < 200; i++) {
        static const size_t lens[] = { 0, 15, 16, 17, 31, 32, 33, 64 };
        uint8_t derived[2][64];
        int result[2], number[2];
        size_t key_len = lens[below(8)], out_len = below(3) ? key_len : lens[below(8)],
               len = below(130);
        if (below(4))
            key_len = out_len = 16u << below(2);
        fill(data, 200);
        for (int w = 0; w < 2; w++) {
            memset(derived[w], 0, 64);
            errno = 0;
            result[w] = derive[w](derived[w], out_len, data, key_len, data + 64, len);
            number[w] = errno;
        }
        SAME("derive_master_key", result[0], result[1]);
        SAME("errno", number[0], number[1]);
        SAME("derived keys", memcmp(derived[0], derived[1], 64), 0);
    }
    for (int i = 0; i < 300; i++) {
        aegis_raf_merkle_config config;
        memset(&config, 0, sizeof config);
        config.max_chunks = next(&seed) >> below(64);
        config.hash_len = (uint32_t) below(100);
        SAME("merkle_buffer_size", merkle_buffer_size[0](&config), merkle_buffer_size[1](&config));
    }
    SAME("merkle_buffer_size", merkle_buffer_size[0](NULL), merkle_buffer_size[1](NULL));
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s OURS.so THEIRS.so [ROUNDS [SEED]]\n", argv[0]);
        return 2;
    }
    long rounds = argc > 3 ? atol(argv[3]) : 200;
    seed = argc > 4 ? strtoull(argv[4], NULL, 0) : 1;
    printf("files, %ld rounds, seed %llu: ", rounds, (unsigned long long) seed);
    fflush(stdout);
    load(OURS, argv[1]);
    load(THEIRS, argv[2]);
    keys();
    for (long i = 0; i < rounds; i++)
        for (int v = 0; v < VARIANTS; v++)
            one_round(v);
    printf("%lu results the same\n", calls);
    return 0;
}
