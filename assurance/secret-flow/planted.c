/* `planted_` functions have one leak each, which the checks must report. `sound_` functions must
   pass. Arguments are public and point to secrets. Functions with `open` in their names get a
   message, which is public pointers and lengths; those whose names end in `batch` get pointers to
   messages. */
typedef unsigned char byte;
typedef __SIZE_TYPE__ size;
typedef byte vector __attribute__((vector_size(16), aligned(1), may_alias));

static const byte box[256] = {1, 2, 3};
static byte shared[256] = {1};
struct message { const vector *key, *nonce, *tag; byte *dst; size len; };

/* Branches. */
void planted_branch(const byte *key, volatile byte *out) {
    if (key[0] & 1) out[0] = out[1] = 1;
}
int planted_open_early_exit(struct message *m) {
    vector computed = *m->key + *m->nonce;
    for (size i = 0; i < 16; i++)
        if (((volatile byte *) &computed)[i] != ((byte *) m->tag)[i]) return 0;
    return 1;
}
int planted_batch(struct message **m) { return m[1]->dst[0] ? 1 : box[m[1]->len & 255]; }
int planted_switch(const byte *key) {
    switch (key[0]) {
    case 0: return key[3] * 5;
    case 1: return key[2] + 7;
    case 2: return key[5] ^ 3;
    case 3: return key[9] - 1;
    default: return key[1] | 6;
    }
}

/* Addresses and lengths. */
byte planted_load_address(const byte *key) { return box[key[3]]; }
void planted_store_address(const byte *key, byte *out) { out[key[3]] = 1; }
void planted_length(byte *out, const byte *key) { __builtin_memset(out, 0, key[0]); }

/* Instructions that take longer for some numbers. */
unsigned planted_division(const unsigned *key) { return 1000 / key[0]; }
float planted_float(const float *key) { return key[0] * key[1]; }

/* A secret where every function finds it. */
void planted_static(const byte *key, size at) { ((volatile byte *) shared)[at] = key[0]; }

/* Secrets that go over the stack, where zeros were. */
static __attribute__((noinline)) void write(volatile byte *to, const byte *key, size at) {
    to[at] = key[0];
}
byte planted_array(const byte *key, size at) {
    volatile byte slot[16] = {0};
    write(slot, key, at);
    return box[slot[3]];
}
byte planted_copy(const byte *key, size len) {
    byte slot[16] = {0};
    __builtin_memcpy(slot, key, len);
    return box[((volatile byte *) slot)[3]];
}

#include <wasm_simd128.h>
#define ANY(v) wasm_v128_any_true((v128_t) (v))
int planted_select(const int *key, int a, int b) { return key[0] ? a : b; }
void planted_lane(const byte *key, byte *out) {
    wasm_v128_store8_lane(out + key[0], wasm_v128_load(key), 3);
}

/* Lengths and pointers on the stack, beside secrets that come there. */
byte sound_stack(const byte *key, size len) {
    volatile size at = len;
    const byte *volatile from = key;
    volatile byte slot[16] = {0};
    for (size i = 0; i < 16; i += 4) slot[i] = key[i];
    write(slot, from, at & 15);
    return box[at] ^ slot[3] ^ from[0];
}
/* A flag on the stack, beside secrets that go to computed places. */
int sound_flag(const byte *key, size len) {
    volatile int full = 0;
    volatile byte slot[64] = {0};
    for (size i = 0; i < len; i++) {
        write(slot, key, i & 63);
        if (full) full = 0; else full = 1;
    }
    return slot[3];
}
/* Whether a tag is right. Only the caller branches on that. */
int sound_open(struct message *m) {
    vector difference = (m->tag[0] ^ *m->key) | (m->tag[1] ^ *m->nonce);
    return !ANY(difference);
}
/* A length decides, and the result is a secret. */
int sound_batch(struct message **m) { return m[1]->len ? m[1]->dst[0] : 0; }
