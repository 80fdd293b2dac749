#!/usr/bin/env bash
# Proves of the machine code of the x86-64 kernels, compiled as anybody would, that no branch and no address in it depends on a
# secret: scripts/check-machine-code.py, on the C library, which has all of them. Shows first that it finds what is planted.
#
#   scripts/check-machine-code.sh
#
# Needs gcc, binutils, python3-venv, and PyPI for iced-x86, which decodes instructions.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(uname -m)" = x86_64 ] || { echo "skipped: not on x86-64"; exit 0; }
target=$(realpath -m "${CARGO_TARGET_DIR:-target}/machine-code")
mkdir -p "$target"
python=$target/venv/bin/python
"$python" -c "import iced_x86" 2>/dev/null || {
    python3 -m venv "$target/venv"
    "$target/venv/bin/pip" install --quiet --disable-pip-version-check iced-x86==1.21.0
}

# `key` and `tag` are secret, as everything behind a pointer is.
cat >"$target/common.h" <<'END'
#include <immintrin.h>
#include <stddef.h>
#include <string.h>
typedef unsigned char byte;
static const byte box[256] = {1, 2, 3};
/* Memory on the stack where zeros are. */
#define ZEROED(slot) volatile byte slot[16] = {0}
/* What a kernel gets that opens messages. `wrong` stands for what it does with a forgery. */
#define OPEN byte *dst, const byte *src, size_t len, const __m128i *tag, size_t tag_len, const byte *ad, size_t ad_len, \
    const __m128i *nonce, const __m128i *key
#define SSE __attribute__((target("sse4.1,aes")))
static inline int wrong(volatile byte *dst) { dst[0] = 0; return -1; }
END
cat >"$target/planted.c" <<'END'
#include "common.h"
byte planted_table(const byte *key) { return box[key[3]]; }
int planted_branch(const byte *key, byte *out) { if (key[0] & 1) out[0] = 1; return 0; }
int planted_comparison(const byte *tag, const byte *came, size_t len) {
    for (size_t i = 0; i < len; i++) if (tag[i] != came[i]) return -1;
    return 0;
}
unsigned planted_division(const unsigned *key) { return 1000u / key[0]; }
__attribute__((target("avx2"))) void planted_gather(const int *key, int *out) {
    _mm256_storeu_si256((void *) out, _mm256_i32gather_epi32((const int *) box, _mm256_loadu_si256((const void *) key), 1));
}
__attribute__((target("avx512f"))) void planted_mask(const int *key, int *out) {
    _mm512_mask_storeu_epi32(out, _mm512_movepi32_mask(_mm512_loadu_si512(key)), _mm512_setzero_si512());
}
void planted_length(byte *out, const byte *key) { memset(out, 0, key[0]); }
/* Secrets that go over the stack, where there were zeros. */
#define HIDE(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")
byte planted_copied(const byte *key, size_t len) {
    ZEROED(slot);
    memcpy((byte *) slot, key, len);
    return box[slot[3]];
}
byte planted_copied16(const byte *key) {
    ZEROED(slot);
    memcpy((byte *) slot, key, 16);
    return box[slot[3]];
}
byte planted_moved(const byte *key, byte *out, size_t len) {
    ZEROED(slot);
    volatile byte other[16] = {0};
    memmove((byte *) slot, key, len);
    memcpy((byte *) other, (byte *) slot, 16);
    return box[other[3]];
}
byte planted_indexed(const byte *key, size_t at) {
    ZEROED(slot);
    slot[at] = key[0];
    return box[slot[3]];
}
byte planted_string(const byte *key, size_t len) {
    ZEROED(slot);
    byte *to = (byte *) slot;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(key), "+c"(len) : : "memory");
    return box[slot[3]];
}
byte planted_string16(const byte *key) {
    ZEROED(slot);
    byte *to = (byte *) slot;
    size_t count = 2;
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(key), "+c"(count) : : "memory");
    return box[slot[12]];
}
byte planted_stored(const byte *key) {
    ZEROED(slot);
    byte *to = (byte *) slot;
    __asm__ volatile("stosb" : "+D"(to) : "a"(key[0]) : "memory");
    return box[slot[0]];
}
size_t planted_repetition(const byte *key, const byte *other, size_t len) {
    __asm__ volatile("repe cmpsb" : "+S"(key), "+D"(other), "+c"(len) : : "memory", "cc");
    return 0;
}
byte planted_pushed(const size_t *key) {
    size_t popped;
    __asm__ volatile("pushq $0\n\tpopq %0\n\tpushq %1\n\tpopq %0" : "=&r"(popped) : "m"(*key) : "memory");
    return box[popped];
}
byte planted_alias(const byte *key) {
    ZEROED(slot);
    byte *other = (byte *) slot + 3;
    byte *volatile kept = other;
    *kept = key[0];
    return box[slot[3]];
}
/* One or the other of two pointers into the frame, and of one into it and one elsewhere. */
byte planted_either(const byte *key, byte *out, size_t len) {
    ZEROED(slot);
    volatile byte *to = len ? slot + 3 : (volatile byte *) out;
    HIDE(to);
    *to = key[0];
    return box[slot[3]];
}
static __attribute__((noinline)) void write(volatile byte *to, const byte *key, size_t at) { to[at] = key[0]; }
byte planted_called(const byte *key, size_t at) {
    ZEROED(slot);
    write(slot, key, at);
    return box[slot[3]];
}
static __attribute__((noinline)) byte *middle(byte *of) { return of + 3; }
byte planted_returned(const byte *key) {
    ZEROED(slot);
    *middle((byte *) slot) = key[0];
    return box[slot[3]];
}
/* A public byte over a secret: the others are secret still. */
byte planted_byte(const size_t *key) {
    volatile size_t slot = key[0];
    *(volatile byte *) &slot = 0;
    return box[slot];
}
byte planted_register(const size_t *key) {
    size_t word = key[0];
    __asm__ volatile("movb $0, %b0" : "+q"(word));
    return box[word];
}
static byte kept[16];
byte planted_static(const byte *key) { kept[0] = key[0]; return box[((volatile byte *) kept)[0]]; }
SSE int planted_open_key(OPEN) {
    __m128i k = _mm_loadu_si128(key);
    return _mm_testz_si128(k, k) ? 0 : wrong(dst);
}
/* Key and tag, but no cipher between them. */
SSE int planted_open_early(OPEN) {
    __m128i k = _mm_xor_si128(_mm_xor_si128(_mm_loadu_si128(key), _mm_loadu_si128(nonce)), _mm_loadu_si128(tag));
    return _mm_testz_si128(k, k) ? 0 : wrong(dst);
}
/* The tag that it should be, but not the one that came. */
SSE int planted_open_alone(OPEN) {
    __m128i k = _mm_aesenc_si128(_mm_loadu_si128(key), _mm_loadu_si128(nonce));
    return _mm_testz_si128(k, k) ? 0 : wrong(dst);
}
/* A bit of all that is needed. */
SSE int planted_open_bit(OPEN) {
    __m128i k = _mm_xor_si128(_mm_aesenc_si128(_mm_loadu_si128(key), _mm_loadu_si128(nonce)), _mm_loadu_si128(tag));
    return _mm_cvtsi128_si32(k) & 1 ? 0 : wrong(dst);
}
/* On one way the tag, on the other the key. */
SSE int planted_open_ways(OPEN) {
    __m128i k = _mm_loadu_si128(key);
    if (len) k = _mm_xor_si128(_mm_aesenc_si128(k, _mm_loadu_si128(nonce)), _mm_loadu_si128(tag));
    return _mm_testz_si128(k, k) ? 0 : wrong(dst);
}
/* Half a tag, then the other half. */
SSE int planted_open_halves(OPEN) {
    __m128i k = _mm_aesenc_si128(_mm_loadu_si128(key), _mm_loadu_si128(nonce));
    __m128i low = _mm_xor_si128(k, _mm_loadu_si128(tag)), high = _mm_xor_si128(k, _mm_loadu_si128(tag + 1));
    if (!_mm_testz_si128(low, low)) return wrong(dst);
    return _mm_testz_si128(high, high) ? 0 : wrong(dst);
}
END
cat >"$target/sound.c" <<'END'
#include "common.h"
int planted_sound(const byte *tag, const byte *came, size_t len) {
    byte difference = 0;
    for (size_t i = 0; i < len; i++) difference |= tag[i] ^ came[i];
    return -((difference + 255u) >> 8);
}
/* Lengths and pointers on the stack beside secrets that come there in all these ways. */
byte planted_copied(const byte *key, size_t len) {
    volatile size_t at = len;
    ZEROED(slot);
    memcpy((byte *) slot, key, len & 15);
    slot[1] ^= slot[2];
    return box[at] ^ slot[3];
}
byte planted_indexed(const byte *key, size_t len) {
    volatile size_t at = len;
    ZEROED(slot);
    for (size_t i = 0; i < 16; i += 4) slot[i] = key[i];
    return box[at] ^ slot[3];
}
static __attribute__((noinline)) void write(volatile byte *to, const byte *key) { for (int i = 0; i < 16; i += 2) to[i] = key[i]; }
byte planted_called(const byte *key, size_t len) {
    struct { volatile byte slot[16]; volatile size_t at; } all = { {0}, len };
    write(all.slot, key);
    return box[all.at] ^ all.slot[3];
}
struct list { const byte *from; volatile byte *to; size_t at; };
static __attribute__((noinline)) void follow(struct list *volatile const *list) { (*list)->to[(*list)->at] = (*list)->from[0]; }
byte planted_list(const byte *key, size_t len) {
    ZEROED(slot);
    struct list list = { key, slot, 3 }, *volatile place = &list;
    volatile size_t at = len;
    follow(&place);
    return box[at] ^ slot[3];
}
byte planted_string(const byte *key, size_t len) {
    volatile size_t at = len;
    ZEROED(slot);
    byte *to = (byte *) slot;
    size_t count = 16;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(key), "+c"(count) : : "memory");
    return box[at] ^ slot[3];
}
SSE int planted_open(OPEN) {
    __m128i k = _mm_aesenc_si128(_mm_loadu_si128(key), _mm_loadu_si128(nonce));
    __m128i low = _mm_xor_si128(k, _mm_loadu_si128(tag)), high = _mm_xor_si128(k, _mm_loadu_si128(tag + 1));
    __m128i both = _mm_or_si128(low, high);
    return _mm_testz_si128(both, both) ? 0 : wrong(dst);
}
SSE int planted_open_bytes(OPEN) {
    __m128i k = _mm_aesenc_si128(_mm_loadu_si128(key), _mm_loadu_si128(nonce));
    return _mm_movemask_epi8(_mm_cmpeq_epi8(k, _mm_loadu_si128(tag))) == 0xffff ? 0 : wrong(dst);
}
END
for file in planted sound; do
    gcc -O1 -mavx512dq -mno-vzeroupper -fno-builtin -fno-stack-protector -fPIC -shared -o "$target/$file.so" "$target/$file.c"
done
check=("$python" scripts/check-machine-code.py)
"${check[@]}" --expect "planted:8:2" "$target/sound.so" >"$target/report" || {
    cat "$target/report"
    echo "what is sound is refused" >&2
    exit 1
}
report=$("${check[@]}" "$target/planted.so" || true)
defects=$(grep -o '\bplanted_[a-z0-9_]*(' "$target/planted.c")
for defect in $defects; do
    grep -q "in ${defect%(}:" <<<"$report" || { echo "$report"; echo "${defect%(} was not found" >&2; exit 1; }
done
# A backend that is gone, one that is new, kernels and decisions about tags that are.
for table in "planted:8:2 gone:1:0" "other:1:0" "planted:9:2" "planted:8:3" "planted:8:1"; do
    if "${check[@]}" --expect "$table" "$target/sound.so" >/dev/null; then
        echo "where $table should be, this passed" >&2
        exit 1
    fi
done
echo "$(wc -w <<<"$defects") planted defects were found, and 5 wrong tables"

cargo build --quiet --release --locked -p palladion-capi
# Kernels are compiled again for each type; how many there are of functions that these call is up to the compiler.
"${check[@]}" --expect "aesni:90:9 aesni_avx:90:9 vaes_avx2:100:7 vaes_avx512:106:6 ssse3:18:0 avx2:54:0 portable:54:0 bitsliced:1:0
    raw:9:3 crypt:24:0 verify:2:0" "${CARGO_TARGET_DIR:-target}/release/libaegis.so"
