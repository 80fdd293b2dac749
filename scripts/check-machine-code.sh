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
/* The difference between the tag that came and what it should be; where that stands is `came`. */
#define DIFFERENCE(came) _mm_xor_si128(_mm_aesenc_si128(_mm_loadu_si128(key), _mm_loadu_si128(nonce)), _mm_loadu_si128(came))
/* A function of instructions alone: `key`, and what else it gets, in %rdi, %rsi, %rdx. The last ones look up what is in %rax, or jump. */
#define ASM __attribute__((naked))
#define LOOK "; lea box(%rip), %rdx; movzbl (%rdx,%rax), %eax; ret"
#define JUMP(kind) "; " kind " 1f; nop; 1: ret"
#define ZEROS "movq $0, -8(%rsp); movq $0, -16(%rsp); movq $0, -24(%rsp); "
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
/* Half a tag each, in a function that is called twice; and called, and then the other half. */
SSE static __attribute__((noinline)) int half(const __m128i *tag, const __m128i *nonce, const __m128i *key) {
    __m128i k = DIFFERENCE(tag);
    if (_mm_testz_si128(k, k)) return 0;
    __asm__ volatile("");
    return -1;
}
SSE int planted_open_calls(OPEN) { return half(tag, nonce, key) || half(tag + 1, nonce, key) ? wrong(dst) : 0; }
SSE int planted_open_call(OPEN) {
    if (half(tag, nonce, key)) return wrong(dst);
    __m128i k = DIFFERENCE(tag + 1);
    return _mm_testz_si128(k, k) ? 0 : wrong(dst);
}
/* Half a tag, and then without a jump the other half. */
SSE int planted_open_set(OPEN) {
    __m128i k = DIFFERENCE(tag);
    long low = _mm_cvtsi128_si64(k), high = _mm_cvtsi128_si64(_mm_shuffle_epi32(k, 0xee));
    if (low) return wrong(dst);
    int result;
    __asm__("xor %%eax, %%eax; test %1, %1; sete %%al" : "=&a"(result) : "r"(high));
    return result;
}
/* The other half first. */
SSE int planted_open_kept(OPEN) {
    __m128i k = DIFFERENCE(tag);
    long low = _mm_cvtsi128_si64(k), high = _mm_cvtsi128_si64(_mm_shuffle_epi32(k, 0xee));
    int result;
    __asm__ volatile("xor %%eax, %%eax; test %1, %1; sete %%al" : "=&a"(result) : "r"(high));
    return low ? wrong(dst) : result;
}
/* Of the difference one byte, one byte from the stack, of the bytes that are equal one half, and whether it is a number. */
SSE int planted_open_low(OPEN) {
    __asm__ goto("movd %0, %%eax; test %%al, %%al; jne %l1" : : "x"(DIFFERENCE(tag)) : "eax", "cc" : bad);
    return 0;
bad:
    return wrong(dst);
}
SSE int planted_open_byte(OPEN) {
    volatile __m128i slot = DIFFERENCE(tag);
    return ((volatile byte *) &slot)[5] ? wrong(dst) : 0;
}
SSE int planted_open_mask(OPEN) {
    int mask = _mm_movemask_epi8(_mm_cmpeq_epi8(DIFFERENCE(tag), _mm_setzero_si128()));
    __asm__ goto("mov %0, %%eax; xor $0xffff, %%eax; test %%al, %%al; jne %l1" : : "r"(mask) : "eax", "cc" : bad);
    return 0;
bad:
    return wrong(dst);
}
SSE int planted_open_number(OPEN) {
    __asm__ goto("movd %0, %%eax; cmp $5, %%eax; jne %l1" : : "x"(DIFFERENCE(tag)) : "eax", "cc" : bad);
    return 0;
bad:
    return wrong(dst);
}
/* A vector that the caller left: on one way it decides. */
SSE int planted_open_vector(OPEN, __m128i k) {
    if (len) k = DIFFERENCE(tag);
    return _mm_testz_si128(k, k) ? 0 : wrong(dst);
}
int planted_memcmp(const byte *tag, const byte *came, size_t len) { return -(memcmp(tag, came, len) != 0); }
/* Flags of a secret that the next instruction leaves alone, or may. */
ASM void planted_inc(const byte *key, size_t at) { __asm__("cmpb $7, (%rdi); inc %esi" JUMP("jc")); }
ASM void planted_bt(const byte *key, size_t at) { __asm__("cmpb $7, (%rdi); bt $3, %esi" JUMP("je")); }
ASM void planted_stc(const byte *key) { __asm__("cmpb $7, (%rdi); stc" JUMP("je")); }
ASM void planted_cld(const byte *key) { __asm__("cmpb $7, (%rdi); cld" JUMP("je")); }
ASM void planted_rol(const byte *key, size_t at) { __asm__("cmpb $7, (%rdi); rol $3, %esi" JUMP("je")); }
ASM void planted_shift(const byte *key, size_t at) { __asm__("mov %esi, %ecx; cmpb $7, (%rdi); shl %cl, %esi" JUMP("je")); }
ASM void planted_shift0(const byte *key, size_t at) { __asm__("cmpb $7, (%rdi); shl $0, %esi" JUMP("je")); }
ASM void planted_repeated(const byte *key, size_t at, size_t len) {
    __asm__("mov %rdx, %rcx; cmpb $7, (%rdi); lea box(%rip), %rdi; mov %rdi, %rsi; repe cmpsb" JUMP("je"));
}
ASM void planted_adc(const size_t *key, size_t at) { __asm__("cmpq $7, (%rdi); inc %esi; mov $0, %eax; adc $0, %eax" LOOK); }
/* Parts of registers: the second byte and the lower half where the lowest byte is public, one byte by the other, a count from there. */
ASM void planted_high(const byte *key) { __asm__("mov (%rdi), %eax; movb $0, %al; movb %ah, %cl; movzbl %cl, %eax" LOOK); }
ASM void planted_word(const byte *key) { __asm__("mov (%rdi), %eax; movb $0, %al; movw %ax, %cx; movzwl %cx, %eax" LOOK); }
ASM void planted_stored_high(const byte *key) {
    __asm__(ZEROS "mov (%rdi), %eax; movb $0, %al; movb %ah, -8(%rsp); mov -8(%rsp), %rax" LOOK);
}
ASM void planted_xor_high(const byte *key) { __asm__("mov (%rdi), %eax; xor %ah, %al; movzbl %al, %eax" LOOK); }
/* Stores a secret 8 bytes beyond where it seems, if %rcx is taken for 0; and looks there. */
#define STORE8 "; mov (%rdi), %eax; movb %al, -24(%rsp,%rcx); movzbl -16(%rsp), %eax" LOOK
/* The same, if it is taken for 8. */
#define STORE0 "; mov (%rdi), %eax; movb %al, -24(%rsp,%rcx); movzbl -24(%rsp), %eax" LOOK
ASM void planted_high_count(const byte *key) { __asm__(ZEROS "mov $8, %eax; movzbl %ah, %ecx" STORE0); }
ASM void planted_shift32(const byte *key) { __asm__(ZEROS "mov $0x100000000, %rcx; shr $29, %ecx" STORE0); }
ASM void planted_count32(const byte *key) { __asm__(ZEROS "mov $8, %ecx; shr $32, %ecx" STORE8); }
ASM void planted_lea32(const byte *key) { __asm__(ZEROS "mov $0x100000008, %rcx; lea -8(%ecx), %rcx" STORE8); }
ASM void planted_popped(const size_t *key) {
    __asm__(ZEROS "mov %rsp, %r8; mov (%rdi), %rax; sub $8, %rsp; pop %rcx; jne 1f; 1: mov %rax, -8(%rsp); movzbl -8(%r8), %eax" LOOK);
}
/* A called function writes the same way as it did for another caller before, and is not run again. */
static __attribute__((noinline)) int first(volatile byte *to, const byte *key, size_t at) { write(to, key, at); return 1; }
static __attribute__((noinline)) int second(volatile byte *to, const byte *key, size_t at) { write(to, key, at); return 2; }
byte planted_once(const byte *key, size_t at) {
    struct { volatile byte before[128], slot[16]; } frame;
    return first(frame.slot, key, at) + box[key[3]];
}
byte planted_again(const byte *key, size_t at) {
    struct { volatile byte before[128], slot[16]; } frame;
    for (int i = 0; i < 16; i += 8) *(volatile size_t *) (frame.slot + i) = 0;
    return second(frame.slot, key, at) + box[frame.slot[3]];
}
/* Kernels in a variable, with an argument on the stack: a secret length, and a place on the stack. */
typedef int kernel(const byte *, const byte *, const byte *, const byte *, const byte *, const byte *, size_t, volatile byte *);
static __attribute__((noinline)) int seal(const byte *a, const byte *b, const byte *c, const byte *d, const byte *e, const byte *f,
    size_t len, volatile byte *to) { to[3] = a[len]; return 0; }
static kernel *volatile in_use = seal;
int planted_kernel(const byte *key, const byte *b) { return in_use(key, b, b, b, b, b, key[0], (volatile byte *) b); }
byte planted_kernel_writes(const byte *key, const byte *b) {
    ZEROED(slot);
    in_use(key, b, b, b, b, b, 1, slot);
    return box[slot[3]];
}
/* It is called so, but returns. */
static __attribute__((noinline, used)) int dont_panic(const byte *key) { return key[0]; }
ASM void planted_panic(const byte *key) { __asm__("sub $8, %rsp; call dont_panic; add $8, %rsp; test %eax, %eax" JUMP("je")); }
/* Jumps and ends that are none. */
ASM void planted_loop(const byte *key) { __asm__("movzbl (%rdi), %ecx; 1: loop 1b; ret"); }
ASM void planted_interrupt(const byte *key) { __asm__("movzbl (%rdi), %ecx; int $0x80; test %ecx, %ecx" JUMP("je")); }
ASM void planted_system(const byte *key) { __asm__("movzbl (%rdi), %r8d; syscall; test %r8d, %r8d" JUMP("je")); }
/* Addresses that nothing is loaded from, or more than the operand. */
ASM void planted_prefetch(const byte *key) { __asm__("movzbl (%rdi), %eax; lea box(%rip), %rdx; prefetcht0 (%rdx,%rax); ret"); }
ASM void planted_bit(const byte *key) { __asm__("movzbl (%rdi), %eax; lea box(%rip), %rdx; bt %eax, (%rdx); ret"); }
ASM void planted_bit_stored(const byte *key) { __asm__(ZEROS "mov (%rdi), %rax; shr $58, %rax; bts %rax, -24(%rsp); ret"); }
ASM void planted_address32(const byte *key) { __asm__("movzbl (%rdi), %eax; movb (%eax), %al; ret"); }
/* Masks in vectors, and masks where all is the same. */
ASM void planted_masked_load(const byte *key, int *at) { __asm__("vmovdqu (%rdi), %ymm0; vpmaskmovd (%rsi), %ymm0, %ymm1; ret"); }
ASM void planted_masked_store(const byte *key, int *to) { __asm__("vmovdqu (%rdi), %ymm0; vpmaskmovd %ymm1, %ymm0, (%rsi); ret"); }
ASM void planted_masked_bytes(const byte *key, byte *to) {
    __asm__("movdqu (%rdi), %xmm0; mov %rsi, %rdi; pxor %xmm1, %xmm1; maskmovdqu %xmm0, %xmm1; ret");
}
ASM void planted_masked_gather(const byte *key) {
    __asm__("vmovdqu (%rdi), %ymm0; vpxor %xmm1, %xmm1, %xmm1; lea box(%rip), %rdx; vpgatherdd %ymm0, (%rdx,%ymm1), %ymm2; ret");
}
ASM void planted_masked_same(const byte *key) {
    __asm__("kmovw (%rdi), %k1; vpternlogd $0xff, %zmm1, %zmm1, %zmm1; vpxord %zmm1, %zmm1, %zmm1{%k1}; vmovd %xmm1, %eax" LOOK);
}
ASM void planted_masked_equal(const byte *key) {
    __asm__("kmovw (%rdi), %k1; vpcmpeqd %zmm1, %zmm1, %k2{%k1}; kmovw %k2, %eax" LOOK);
}
/* Memory of the program, by a pointer that may go elsewhere. */
byte planted_static_either(const byte *key, byte *out, size_t len) {
    volatile byte *to = len ? kept : out;
    HIDE(to);
    *to = key[0];
    return box[((volatile byte *) kept)[0]];
}
/* What callers keep in registers: it is looked at, or changed, or left to a function that goes on. */
ASM void planted_fragment(void) { __asm__("test %ebx, %ebx" JUMP("je")); }
ASM void planted_scratch(void) { __asm__("test %r11d, %r11d" JUMP("je")); }
ASM void planted_saved(const size_t *key) { __asm__("mov (%rdi), %rbx; ret"); }
ASM static __attribute__((used)) void go_on(void) { __asm__("pop %rbx; ret"); }
ASM void planted_tail(const byte *key) { __asm__("push %rbx; movzbl (%rdi), %ebx; jmp go_on"); }
ASM void planted_lods(const byte *key) { __asm__("mov (%rdi), %rax; lea box(%rip), %rsi; lodsb" LOOK); }
ASM void planted_backwards(const byte *key) {
    __asm__(ZEROS "movb (%rdi), %al; lea -8(%rsp), %rdi; mov $2, %ecx; std; rep stosb; cld; movzbl -9(%rsp), %eax" LOOK);
}
ASM void planted_float(const float *key) { __asm__("movss (%rdi), %xmm0; sqrtss %xmm0, %xmm0; ret"); }
ASM void planted_float_division(const float *key) { __asm__("movups (%rdi), %xmm0; divps %xmm0, %xmm1; ret"); }
ASM void planted_x87(const byte *key) { __asm__(ZEROS "fildq (%rdi); fldz; fxch; fistpq -8(%rsp); mov -8(%rsp), %rax" LOOK); }
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
/* In a called function; the jump after it is about its result, which is public. */
SSE static __attribute__((noinline)) int is_wrong(const __m128i *tag, const __m128i *nonce, const __m128i *key) {
    __m128i k = DIFFERENCE(tag);
    if (_mm_testz_si128(k, k)) return 0;
    __asm__ volatile("");
    return -1;
}
SSE int planted_open_called(OPEN) { return is_wrong(tag, nonce, key) ? wrong(dst) : 0; }
/* Byte by byte, but all bytes before the jump. */
SSE int planted_open_gathered(OPEN) {
    volatile __m128i slot = _mm_aesenc_si128(_mm_loadu_si128(key), _mm_loadu_si128(nonce));
    byte same = 1;
    for (size_t i = 0; i < tag_len; i++) {
        byte equal;
        __asm__ volatile("cmp %2, %1; sete %0" : "=r"(equal) : "r"(((volatile byte *) &slot)[i]), "m"(((const byte *) tag)[i]) : "cc");
        __asm__ volatile("and %1, %0" : "+r"(same) : "r"(equal) : "cc");
    }
    return same ? 0 : wrong(dst);
}
/* A secret carry beside a public count; shifts by public counts; a bit of a public number. */
ASM void planted_carry(size_t *key, const size_t *other, size_t len) {
    __asm__("test %rdx, %rdx; je 2f; 1: mov (%rsi), %rax; adc %rax, (%rdi); lea 8(%rdi), %rdi; lea 8(%rsi), %rsi; dec %rdx; jne 1b; 2: ret");
}
ASM void planted_shift(const byte *key, size_t len) {
    __asm__("movzbl (%rdi), %eax; mov %esi, %ecx; shl %cl, %eax; shl $3, %eax; test %esi, %esi; je 1f; nop; 1: bt $3, %esi; jc 2f; nop; 2: ret");
}
byte planted_lowest(const byte *key, size_t len) {
    __asm__ volatile("movb (%1), %%ah; movb %b0, %%al; movzbl %%al, %k0" : "+r"(len) : "r"(key) : "eax");
    return box[len];
}
int planted_memcmp(const byte *key, size_t len) { return memcmp(box, box + 16, len & 15) ? key[0] : key[1]; }
static byte kept[16];
byte planted_static(const byte *key) { kept[0] = key[0]; return ((volatile byte *) kept)[0]; }
typedef int kernel(const byte *, const byte *, const byte *, const byte *, const byte *, const byte *, size_t, volatile byte *);
static __attribute__((noinline)) int seal(const byte *a, const byte *b, const byte *c, const byte *d, const byte *e, const byte *f,
    size_t len, volatile byte *to) { to[3] = a[len]; return 0; }
static kernel *volatile in_use = seal;
int planted_kernel(const byte *key, byte *out, size_t len) {
    ZEROED(slot);
    byte secret = key[0];
    int result = in_use(key, key, key, key, key, key, len, slot);
    out[0] = slot[3] ^ secret;
    return result ? -1 : 0;
}
ASM void planted_masked(const byte *key, int *to) {
    __asm__("vmovdqu (%rdi), %ymm0; vpcmpeqd %ymm1, %ymm1, %ymm1; vpmaskmovd %ymm0, %ymm1, (%rsi); prefetcht0 64(%rdi); ret");
}
static __attribute__((noinline)) size_t sum(const byte *key, size_t len) { size_t all = 0; while (len--) all += key[len]; return all; }
size_t planted_saved(const byte *key, size_t len) { return sum(key, len) ^ box[len] ^ sum(key + len, len); }
END
for file in planted sound; do
    gcc -O1 -mavx512dq -mno-vzeroupper -fno-builtin -fno-stack-protector -fPIC -shared -o "$target/$file.so" "$target/$file.c"
done
check=("$python" scripts/check-machine-code.py)
"${check[@]}" --expect "planted:18:4" "$target/sound.so" >"$target/report" || {
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
for table in "planted:18:4 gone:1:0" "other:1:0" "planted:19:4" "planted:18:5" "planted:18:3"; do
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
