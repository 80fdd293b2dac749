#!/usr/bin/env bash
# Proves of the kernels as WebAssembly that no branch and no address in them depends on a secret: scripts/check-wasm-code.py, on the
# three modules of the JavaScript package as they are published, but for the names. Shows first that it finds what is planted.
#
#   scripts/check-wasm-code.sh [all]
#
# With "all": also of all kernels of the crate, with those for certain degrees, as a program gets them that compiles the crate to
# WebAssembly by itself. That takes a few minutes.
#
# Needs (Debian): clang-19 lld-19 binutils python3, and what bindings/js/build-wasm.sh does (rustc-web cargo-web rust-web-src, or the
# target from rustup); for "all", rustc-web in any case. scripts/install-emulators.sh installs it. It is fast after scripts/test-js.sh,
# which makes the same modules.
set -euo pipefail
cd "$(dirname "$0")/.."
type clang-19 wasm-ld-19 c++filt python3 >/dev/null
target=$(realpath -m "${CARGO_TARGET_DIR:-target}/wasm-code")
mkdir -p "$target"
check=(python3 scripts/check-wasm-code.py)

# `key` and `tag` are secret, as everything behind a pointer is.
cat >"$target/planted.c" <<'END_OF_C'
#include <wasm_simd128.h>
typedef unsigned char byte;
typedef unsigned long size;
static const byte box[256] = {1, 2, 3};
void use(const void *);
byte planted_table(const byte *key) { return box[key[3]]; }
int planted_branch(const byte *key, byte *out) { if (key[0] & 1) use(out); return 0; }
int planted_comparison(const byte *tag, const byte *came, size len) {
    for (size i = 0; i < len; i++) if (tag[i] != came[i]) return -1;
    return 0;
}
unsigned planted_division(const unsigned *key) { return 1000u / key[0]; }
void planted_length(byte *out, const byte *key) { __builtin_memset(out, 0, key[0]); }
int planted_select(const int *key, int a, int b) { return key[0] ? a : b; }
void planted_switch(const int *key, byte *out) {
    switch (key[0]) {
    case 0: use(out); break;
    case 1: use(out + 1); use(out); break;
    case 2: use(out + 2); use(out + 5); break;
    case 3: use(out + 3); use(out + 6); use(out); break;
    }
}
/* When a loop goes round for the fourth time, and for the nineteenth. */
static volatile byte result;
void planted_trip(const byte *key) {
#pragma clang loop unroll(disable)
    for (int i = 0; i < 4; i++) result = box[i == 3 ? key[i] : i];
}
void planted_trips(const byte *key) {
#pragma clang loop unroll(disable)
    for (int i = 0; i < 20; i++) if (i == 18) result = box[key[i]]; else use(key);
}
typedef void called(const void *);
void planted_function(called *const *key, byte *out) { key[0](out); }
void planted_lane(const byte *key, byte *out) { wasm_v128_store8_lane(out + key[0], wasm_v128_load(key), 3); }
/* A secret that goes over the stack, where there were zeros, to a place that is computed. */
static __attribute__((noinline)) void write(volatile byte *to, const byte *key, size at) { to[at] = key[0]; }
byte planted_stack(const byte *key, size at) {
    volatile byte array[64] __attribute__((aligned(64)));
    __builtin_memset((void *) array, 0, 64);
    write(array, key, at);
    return box[array[32]];
}
/* Parts of constants that are not zero themselves. */
byte planted_pair(const byte *key) {
    volatile unsigned long long pair = 1;
    return ((volatile unsigned *) &pair)[1] == 0 ? box[key[0]] : 0;
}
byte planted_part(const byte *key) {
    volatile unsigned word = 256;
    return *(volatile byte *) &word == 0 ? box[key[0]] : 0;
}
byte planted_fill(const byte *key) {
    volatile unsigned array[1];
    size len = 4;
    __asm__("" : "+r"(len));
    __builtin_memset((void *) array, 1, len);
    return array[0] != 1 ? box[key[0]] : 0;
}
/* A secret that goes to a computed place where a constant, or a length, was before, and beside a byte that is written later. */
byte planted_over(const byte *key, size at, size len) {
    volatile unsigned array[16] __attribute__((aligned(64)));
    __builtin_memset((void *) array, 0, 64);
    array[8] = len;
    write((volatile byte *) array, key, at);
    return box[array[8] & 255];
}
byte planted_beside(const byte *key, size at) {
    volatile byte array[64] __attribute__((aligned(64)));
    write(array, key, at);
    array[8] = 0;
    return box[array[9]];
}
/* A pointer into the stack that is copied with what lies beside it, and some that are aligned. */
byte planted_copied(const byte *key, size len) {
    volatile byte array[16] __attribute__((aligned(16)));
    __builtin_memset((void *) array, 0, 16);
    struct list { volatile byte *to; size len; } from = { array, len }, to;
    *(volatile unsigned long long *) &to = *(volatile unsigned long long *) &from;
    *(volatile struct list *) &from = from;
    *(volatile unsigned long long *) &to = *(volatile unsigned long long *) &from;
    (*(volatile struct list *) &to).to[0] = key[0];
    return box[array[0]];
}
static inline __attribute__((always_inline)) byte aligned(const byte *key, size at, size multiple) {
    volatile byte array[64] __attribute__((aligned(16)));
    __builtin_memset((void *) array, 0, 64);
    volatile byte *to = array + at;
    __asm__("" : "+r"(to));
    *(volatile byte *) ((size) to & -multiple) = key[0];
    return box[array[at & -multiple]];
}
byte planted_aligned(const byte *key) { return aligned(key, 5, 4); }
byte planted_aligned_far(const byte *key) { return aligned(key, 37, 32); }
/* Secrets that go over memory which holds public values. */
static byte data[16] = {1, 2, 3};
byte planted_data(const byte *key) {
    ((volatile byte *) data)[2] = key[0];
    return box[((volatile byte *) data)[2]];
}
void planted_data_lane(const byte *key) { wasm_v128_store8_lane(data + 2, wasm_v128_load(key), 3); }
void planted_data_copy(const byte *key, size len) { __builtin_memcpy(data, key, len); }
byte planted_list_batch(volatile size *list, const byte *key) {
    list[2] = key[0];
    return box[list[2] & 255];
}
/* Pointers made of how far others are apart. */
byte planted_apart_batch(const byte *const *list, const byte *key) {
    const byte *const *last = list;
    while (*last) last++;
    __asm__("" : "+r"(last));
    return box[key[(size) last - (size) list]];
}
byte planted_apart(const byte *key, size len) {
    const byte *first = box, *last = box + len;
    __asm__("" : "+r"(first), "+r"(last));
    return box[key[(size) last - (size) first]];
}
byte planted_back(const byte *key, size len) {
    const byte *first = box, *last = box + len;
    __asm__("" : "+r"(first), "+r"(last));
    size apart = (size) key - (size) first;
    __asm__("" : "+r"(apart));
    return box[last[apart]];
}
/* What a function that is called through a table writes where a pointer leads that lies in what it gets. */
byte planted_behind_batch(called *const *list, byte *out, const byte *key) {
    struct { volatile byte *to; const byte *key; } volatile message __attribute__((aligned(16)));
    volatile byte array[32] __attribute__((aligned(16)));
    __builtin_memset((void *) array, 0, 32);
    message.to = array;
    message.key = key;
    list[0]((const void *) &message);
    return box[array[8]];
}
float planted_floating(const float *key) { return 1.0f / key[0]; }
v128_t planted_root(const v128_t *key) { return wasm_f32x4_sqrt(key[0]); }
byte planted_argument(v128_t key) { return box[wasm_u8x16_extract_lane(key, 0)]; }
/* Its name is that of a function that does not return. */
__attribute__((noinline)) int no_panic(void) { __asm__ volatile(""); return 0; }
byte planted_return(const byte *key) { no_panic(); return box[key[0]]; }
/* A kernel that opens messages gets all this; what follows stands for the cipher and for what is done with a forgery. */
#define OPEN byte *dst, const byte *src, size len, const v128_t *tag, size tag_len, const byte *ad, size ad_len, \
    const v128_t *nonce, const v128_t *key
#define COMPUTED wasm_i8x16_swizzle(wasm_v128_load(key), wasm_v128_load(nonce))
/* Half a tag, then the other half. */
int planted_open_halves(OPEN) {
    if (wasm_v128_any_true(wasm_v128_xor(tag[0], COMPUTED))) return use(tag), -1;
    if (wasm_v128_any_true(wasm_v128_xor(tag[1], COMPUTED))) return use(dst), -1;
    return 0;
}
/* The same in a loop. */
int planted_open_loop(OPEN) {
#pragma clang loop unroll(disable)
    for (int i = 0; i < 2; i++) if (wasm_v128_any_true(wasm_v128_xor(tag[i], COMPUTED))) return use(tag), -1;
    return 0;
}
/* The key; what it should be, without what came; a bit; on one way the tag, on the other the key. */
int planted_open_key(OPEN) { return wasm_v128_any_true(wasm_v128_load(key)) ? use(dst), -1 : 0; }
int planted_open_word(OPEN) { return *(const int *) key == 0 ? use(dst), -1 : 0; }
int planted_open_alone(OPEN) { return wasm_v128_any_true(COMPUTED) ? use(dst), -1 : 0; }
int planted_open_bit(OPEN) { return wasm_i32x4_extract_lane(wasm_v128_xor(tag[0], COMPUTED), 0) & 1 ? use(dst), -1 : 0; }
int planted_open_ways(OPEN) {
    v128_t k = wasm_v128_load(key);
    if (len) k = wasm_v128_xor(tag[0], COMPUTED);
    return wasm_v128_any_true(k) ? use(dst), -1 : 0;
}
/* On one way the pointer to the key, on the other the key. */
byte planted_open_pointer(OPEN) {
    size k = (size) key;
    if (len) *(volatile byte *) dst = 1, k = *(const size *) key;
    __asm__("" : "+r"(k));
    return box[k & 255];
}
/* Half a tag, then the other half, by a function. */
static __attribute__((noinline)) int half(byte *dst, const v128_t *tag, v128_t computed) {
    if (!wasm_v128_any_true(wasm_v128_xor(tag[0], computed))) return 0;
    *(volatile byte *) dst = 0;
    return -1;
}
int planted_open_calls(OPEN) {
    v128_t computed = COMPUTED;
    return half(dst, tag, computed) ? -1 : half(dst, tag + 1, computed);
}
int planted_open_call(OPEN) {
    v128_t computed = COMPUTED;
    if (half(dst, tag, computed)) return -1;
    return wasm_v128_any_true(wasm_v128_xor(tag[1], computed)) ? use(dst), -1 : 0;
}
/* A tag with another number in one lane; a tag that is no longer there; a difference that should be something else than zero. */
int planted_open_replaced(OPEN) {
    int word = *(const int *) key * *(const int *) nonce;
    return wasm_v128_any_true(wasm_i32x4_replace_lane(tag[0], 0, word)) ? use(dst), -1 : 0;
}
int planted_open_twice(OPEN) {
    volatile v128_t difference = wasm_v128_xor(tag[0], COMPUTED);
    return wasm_v128_any_true(wasm_v128_xor(difference, tag[0])) ? use(dst), -1 : 0;
}
int planted_open_other(OPEN) {
    return wasm_v128_any_true(wasm_v128_xor(wasm_v128_xor(tag[0], COMPUTED), wasm_i8x16_splat(5))) ? use(dst), -1 : 0;
}
/* Whether any byte is right; whether any pair of bytes has one that is right; whether any byte is wrong, in bits. */
int planted_open_any(OPEN) { return wasm_v128_any_true(wasm_i8x16_eq(tag[0], COMPUTED)) ? use(dst), -1 : 0; }
int planted_open_wide(OPEN) { return wasm_i16x8_all_true(wasm_i8x16_eq(tag[0], COMPUTED)) ? use(dst), -1 : 0; }
int planted_open_all(OPEN) { return wasm_i8x16_all_true(wasm_i8x16_ne(tag[0], COMPUTED)) ? use(dst), -1 : 0; }
int planted_open_none(OPEN) { return wasm_i8x16_bitmask(wasm_i8x16_eq(tag[0], COMPUTED)) == 0 ? use(dst), -1 : 0; }
int planted_open_bits(OPEN) { return wasm_i8x16_bitmask(wasm_i8x16_ne(tag[0], COMPUTED)) == 0xffff ? use(dst), -1 : 0; }
/* `-x | y` with another `y`; whether two decisions are the same; whether one of two halves is right. */
#define WORD(n) wasm_i32x4_extract_lane(difference, n)
int planted_open_negated(OPEN) {
    v128_t difference = wasm_v128_xor(tag[0], COMPUTED);
    int mixed = 0 - WORD(0);
    __asm__("" : "+r"(mixed));
    mixed |= WORD(1);
    __asm__("" : "+r"(mixed));
    return mixed < 0 ? use(dst), -1 : 0;
}
#define TWO int a = wasm_v128_any_true(wasm_v128_xor(tag[0], COMPUTED)), b = wasm_v128_any_true(wasm_v128_xor(tag[1], COMPUTED));
int planted_open_same(OPEN) {
    TWO
    int same = a ^ b;
    __asm__("" : "+r"(same));
    return same ? use(dst), -1 : 0;
}
int planted_open_both(OPEN) {
    TWO
    int both = a & b;
    __asm__("" : "+r"(both));
    return both ? use(dst), -1 : 0;
}
/* A key in an array at a computed place, where nothing was. */
int planted_open_unwritten(OPEN) {
    volatile v128_t array[4];
    array[len & 3] = key[0];
    v128_t k = array[2];
    if (len > 9) k = wasm_v128_xor(tag[0], COMPUTED);
    return wasm_v128_any_true(k) ? use(dst), -1 : 0;
}
int planted_open_computed(OPEN) {
    volatile v128_t array[4], difference = wasm_v128_xor(tag[0], COMPUTED);
    array[len & 3] = key[0];
    return wasm_v128_any_true(array[len & 3]) ? use(dst), -1 : 0;
}
END_OF_C
cat >"$target/sound.c" <<'END_OF_C'
#include <wasm_simd128.h>
typedef unsigned char byte;
typedef unsigned long size;
static const byte box[256] = {1, 2, 3};
int planted_sound(const byte *tag, const byte *came, size len) {
    byte difference = 0;
    for (size i = 0; i < len; i++) difference |= tag[i] ^ came[i];
    return -((difference + 255u) >> 8);
}
v128_t planted_swizzle(const v128_t *key, size at) {
    return wasm_i8x16_relaxed_swizzle(wasm_v128_load(box + at), wasm_v128_and(key[0], wasm_i8x16_splat(15)));
}
static __attribute__((noinline)) void write(volatile byte *to, const byte *key, size at) { to[at] = key[0]; }
byte planted_stack(const byte *key, size at) {
    volatile byte array[64] __attribute__((aligned(64)));
    struct { byte *volatile to; volatile size len; } list = { (byte *) array, at };
    write(list.to, key, list.len);
    return array[at];
}
#define OPEN volatile byte *dst, const byte *src, size len, const v128_t *tag, size tag_len, const byte *ad, size ad_len, \
    const v128_t *nonce, const v128_t *key
#define COMPUTED wasm_i8x16_swizzle(wasm_v128_load(key), wasm_v128_load(nonce))
int planted_open(OPEN) {
    v128_t difference = wasm_v128_or(wasm_v128_xor(tag[0], COMPUTED), wasm_v128_xor(tag[1], COMPUTED));
    if (!wasm_v128_any_true(difference)) return 0;
    dst[0] = 0;
    return -1;
}
/* A tag in an array that a loop fills. */
int planted_open_array(OPEN) {
    volatile v128_t array[4], difference = wasm_i8x16_splat(0);
#pragma clang loop unroll(disable)
    for (int i = 0; i < 4; i++) array[i] = wasm_i8x16_swizzle(wasm_v128_load(key), wasm_v128_load(nonce + i));
#pragma clang loop unroll(disable)
    for (int i = 0; i < 4; i++) difference = wasm_v128_or(difference, wasm_v128_xor(tag[i], array[i]));
    if (!wasm_v128_any_true(difference)) return 0;
    dst[0] = 0;
    return -1;
}
int planted_open_lanes(OPEN) {
    if (wasm_i8x16_all_true(wasm_i8x16_eq(COMPUTED, tag[0]))) return 0;
    dst[0] = 0;
    return -1;
}
int planted_open_bits(OPEN) {
    if (wasm_i8x16_bitmask(wasm_i8x16_eq(COMPUTED, tag[0])) == 0xffff) return 0;
    dst[0] = 0;
    return -1;
}
/* The halves of a tag, decided about in one branch; by a function, which is called once; bytes, by `x | -x`. */
int planted_open_two(OPEN) {
    int a = wasm_v128_any_true(wasm_v128_xor(tag[0], COMPUTED)), b = wasm_v128_any_true(wasm_v128_xor(tag[1], COMPUTED));
    int wrong = a | b;
    __asm__("" : "+r"(wrong));
    if (!wrong) return 0;
    dst[0] = 0;
    return -1;
}
static __attribute__((noinline)) int decide(volatile byte *dst, v128_t difference) {
    if (!wasm_v128_any_true(difference)) return 0;
    dst[0] = 0;
    return -1;
}
int planted_open_call(OPEN) { return decide(dst, wasm_v128_or(wasm_v128_xor(tag[0], COMPUTED), wasm_v128_xor(tag[1], COMPUTED))); }
int planted_open_bytes(OPEN) {
    int right = 1;
    v128_t computed = COMPUTED;
#pragma clang loop unroll(disable) vectorize(disable)
    for (size i = 0; i < tag_len; i++) {
        unsigned difference = ((const byte *) tag)[i] ^ ((volatile byte *) &computed)[i];
        right &= (signed char) (difference | -difference) >= 0;
        __asm__("" : "+r"(right));
    }
    if (right) return 0;
    dst[0] = 0;
    return -1;
}
/* How far two pointers to constants are apart, by a length from a frame that is aligned. */
byte planted_cursor(const byte *key, size len) {
    volatile size lengths[16] __attribute__((aligned(64)));
    lengths[3] = len;
    const byte *last = box + lengths[3];
    __asm__("" : "+r"(last));
    return box[(size) last - (size) box] ^ key[0];
}
END_OF_C
for file in planted sound; do
    clang-19 --target=wasm32 -O1 -ffreestanding -mbulk-memory -msimd128 -mrelaxed-simd -c -o "$target/$file.o" "$target/$file.c"
    wasm-ld-19 --no-entry --export-all --allow-undefined --stack-first -o "$target/$file.wasm" "$target/$file.o"
done
"${check[@]}" --expect sound.wasm:planted:11:7 "$target/sound.wasm" >"$target/report" || { cat "$target/report"; echo "what is sound is refused" >&2; exit 1; }
report=$("${check[@]}" "$target/planted.wasm" | grep -v "unknown function" || true)
defects=$(grep -o '\bplanted_[a-z0-9_]*(' "$target/planted.c")
for defect in $defects; do
    grep -q "in ${defect%(}:" <<<"$report" || { echo "$report"; echo "${defect%(} was not found" >&2; exit 1; }
done
# A module or backend that is gone, one that is new, kernels and decisions about tags that are.
for table in "sound.wasm:planted:11:7 sound.wasm:gone:1:0" "other.wasm:planted:1:0" "sound.wasm:planted:12:7" "sound.wasm:planted:11:8"; do
    if "${check[@]}" --expect "$table" "$target/sound.wasm" >/dev/null; then
        echo "where $table should be, this passed" >&2
        exit 1
    fi
done
echo "$(wc -w <<<"$defects") planted defects were found, and 4 wrong tables"

bindings/js/build-wasm.sh >/dev/null
"${check[@]}" --expect "scalar.wasm:portable:18:0 scalar.wasm:raw:6:3 simd128.wasm:simd128:18:0 simd128.wasm:raw:6:3
    relaxed-simd.wasm:relaxed:18:0 relaxed-simd.wasm:raw:6:3" bindings/js/wasm/{scalar,simd128,relaxed-simd}.wasm
modules=()

if [ "${1:-}" = all ]; then
    # The core as it is without the standard library; names that tell a kernel's type. All of it is linked, used or not.
    for build in scalar: simd128:+simd128 relaxed-simd:+simd128,+relaxed-simd; do
        made=$target/wasm32-unknown-unknown/release
        RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$target RUSTFLAGS="-C symbol-mangling-version=v0" \
            /usr/bin/cargo rustc --quiet --release --locked --target wasm32-unknown-unknown -p palladion --lib --no-default-features \
            --crate-type rlib -Zbuild-std=core -Zbuild-std-features= -Zprofile-rustflags \
            --config "profile.release.package.palladion.rustflags=[\"-Ctarget-feature=${build#*:}\"]"
        module=$target/all-${build%%:*}.wasm
        wasm-ld-19 --no-entry --no-gc-sections --stack-first --allow-undefined -o "$module" --whole-archive "$made/libpalladion.rlib" \
            --no-whole-archive "$made"/deps/lib{subtle,zeroize,core,compiler_builtins}-*.rlib
        modules+=("$module")
    done
    portable=portable:36:0
    "${check[@]}" --expect "all-scalar.wasm:$portable all-scalar.wasm:raw:6:3 all-simd128.wasm:$portable all-simd128.wasm:raw:6:3
        all-simd128.wasm:simd128:84:6 all-relaxed-simd.wasm:$portable all-relaxed-simd.wasm:raw:6:3
        all-relaxed-simd.wasm:simd128:84:6 all-relaxed-simd.wasm:relaxed:90:10" "${modules[@]}"
fi
