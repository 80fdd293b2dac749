/*
 * How long calls take: the last library beside the best of the others, in turns.
 *
 *   calls [-r ROUNDS] [-s SIZE,SIZE...] [-v VARIANT,...] THEIRS.so... OURS.so
 *
 * For each variant and size: nanoseconds of a call of ours (the fastest of many samples of some 20
 * microseconds), and that divided by the best of the others. "MAC" is mac_init, mac_update and
 * mac_final. 16-byte tags, no associated data, other buffers for input and output.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LIBRARIES = 8, SIZES = 16, LONGEST = 1 << 20 };
static const char *const variants[] = { "aegis128l", "aegis128x2", "aegis128x4", "aegis256",
    "aegis256x2", "aegis256x4" };
static const char *const operations[] = { "encrypt", "decrypt", "MAC" };
enum { VARIANTS = 6, OPERATIONS = 3 };

typedef int (*detached)(uint8_t *, uint8_t *, size_t, const uint8_t *, size_t, const uint8_t *,
    size_t, const uint8_t *, const uint8_t *);
typedef int (*opened)(uint8_t *, const uint8_t *, size_t, const uint8_t *, size_t, const uint8_t *,
    size_t, const uint8_t *, const uint8_t *);
typedef struct {
    detached encrypt;
    opened   decrypt;
    void (*mac_init)(void *, const uint8_t *, const uint8_t *);
    int (*mac_update)(void *, const uint8_t *, size_t);
    int (*mac_final)(void *, uint8_t *, size_t);
} functions;

static functions library[LIBRARIES][VARIANTS];
static _Alignas(64) uint8_t message[LONGEST], sealed[LONGEST + 2048], output[LONGEST + 4096],
    state[2048];
static uint8_t key[32] = { 1 }, nonce[32] = { 2 }, tag[16], other_tag[16];

static void load(int which, const char *path)
{
    static const char *const names[] = { "encrypt_detached", "decrypt_detached", "mac_init",
        "mac_update", "mac_final" };
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (int v = 0; handle && v < VARIANTS; v++)
        for (int i = 0; i < 5; i++) {
            char name[64];
            snprintf(name, sizeof name, "%s_%s", variants[v], names[i]);
            void *found = dlsym(handle, name);
            memcpy((char *) &library[which][v] + i * sizeof found, &found, sizeof found);
            if (!found)
                handle = NULL;
        }
    if (!handle) {
        fprintf(stderr, "%s: %s\n", path, dlerror());
        exit(1);
    }
}

static int failed;

static void call(const functions *f, int operation, size_t len)
{
    switch (operation) {
    case 0:
        failed |= f->encrypt(output + 2048, other_tag, 16, message, len, NULL, 0, nonce, key);
        break;
    case 1: failed |= f->decrypt(output + 2048, sealed, len, tag, 16, NULL, 0, nonce, key); break;
    default:
        f->mac_init(state, key, nonce);
        failed |= f->mac_update(state, message, len) | f->mac_final(state, other_tag, 16);
        break;
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec * 1e9 + (double) t.tv_nsec;
}

static double sample(const functions *f, int operation, size_t len, long times)
{
    double started = now();
    for (long i = 0; i < times; i++)
        call(f, operation, len);
    return (now() - started) / (double) times;
}

int main(int argc, char **argv)
{
    size_t sizes[SIZES] = { 0, 16, 64, 256, 576, 1500, 4096, 16384, 65536 };
    int rounds = 200, count = 9, faster = 0, same = 0, slower = 0, option;
    const char *only = NULL;
    while ((option = getopt(argc, argv, "r:s:v:")) != -1) {
        switch (option) {
        case 'r': rounds = atoi(optarg); break;
        case 'v': only = optarg; break;
        case 's':
            count = 0;
            for (char *word = strtok(optarg, ","); word && count < SIZES; word = strtok(NULL, ","))
                sizes[count++] = strtoul(word, NULL, 10) % LONGEST;
            break;
        default: return 2;
        }
    }
    int libraries = argc - optind;
    if (libraries < 2 || libraries > LIBRARIES) {
        fprintf(stderr, "usage: %s [-r ROUNDS] [-s SIZES] [-v VARIANTS] THEIRS.so... OURS.so\n",
            argv[0]);
        return 2;
    }
    for (int i = 0; i < libraries; i++)
        load(i, argv[optind + i]);
    printf("%-20s", "ns of ours (ratio)");
    for (int s = 0; s < count; s++)
        printf(" %15zu", sizes[s]);
    for (int v = 0; v < VARIANTS; v++) {
        if (only && !strstr(only, variants[v] + 5))
            continue;
        for (int operation = 0; operation < OPERATIONS; operation++) {
            printf("\n%-11s %-8s", variants[v], operations[operation]);
            for (int s = 0; s < count; s++) {
                double best[LIBRARIES];
                library[0][v].encrypt(sealed, tag, 16, message, sizes[s], NULL, 0, nonce, key);
                long times = 1 + (long) (20000 / sample(&library[0][v], operation, sizes[s], 10));
                for (int i = 0; i < libraries; i++)
                    best[i] = 1e30;
                for (int round = 0; round < rounds; round++)
                    for (int i = 0; i < libraries; i++) {
                        double time = sample(&library[i][v], operation, sizes[s], times);
                        if (time < best[i])
                            best[i] = time;
                    }
                double theirs = best[0], ours = best[libraries - 1];
                for (int i = 1; i < libraries - 1; i++)
                    if (best[i] < theirs)
                        theirs = best[i];
                printf(" %8.1f (%.2f)", ours, ours / theirs);
                fflush(stdout);
                ours < 0.97 * theirs ? faster++ : ours <= 1.03 * theirs ? same++ : slower++;
            }
        }
    }
    printf("\nfaster by more than 3 %%: %d; within that: %d; slower by more: %d\n", faster, same,
        slower);
    return failed ? 1 : 0;
}
