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
python=$target/venv/bin/python
"$python" -c "import iced_x86" 2>/dev/null || {
    python3 -m venv "$target/venv"
    "$target/venv/bin/pip" install --quiet --disable-pip-version-check iced-x86==1.21.0
}

# `key` and `tag` are secret, as everything behind a pointer is.
cat >"$target/planted.c" <<'END'
#include <immintrin.h>
#include <stddef.h>
static const unsigned char box[256] = {1, 2, 3};
unsigned char planted_table(const unsigned char *key) { return box[key[3]]; }
int planted_branch(const unsigned char *key, unsigned char *out) { if (key[0] & 1) out[0] = 1; return 0; }
int planted_comparison(const unsigned char *tag, const unsigned char *came, size_t len) {
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
void planted_length(unsigned char *out, const unsigned char *key) { __builtin_memset(out, 0, key[0]); }
/* Half a tag, then the other half. */
__attribute__((target("sse4.1"))) int planted_open(const __m128i *tag, const __m128i *came) {
    __m128i low = _mm_xor_si128(_mm_loadu_si128(tag), _mm_loadu_si128(came));
    if (!_mm_testz_si128(low, low)) return -1;
    __m128i high = _mm_xor_si128(_mm_loadu_si128(tag + 1), _mm_loadu_si128(came + 1));
    return _mm_testz_si128(high, high) ? 0 : (((volatile unsigned char *) tag)[0] = 0, -1);
}
END
cat >"$target/sound.c" <<'END'
#include <immintrin.h>
#include <stddef.h>
int planted_sound(const unsigned char *tag, const unsigned char *came, size_t len) {
    unsigned char difference = 0;
    for (size_t i = 0; i < len; i++) difference |= tag[i] ^ came[i];
    return difference ? -1 : 0;
}
__attribute__((target("sse4.1"))) int planted_open(const __m128i *tag, const __m128i *came, unsigned char *out) {
    __m128i low = _mm_xor_si128(_mm_loadu_si128(tag), _mm_loadu_si128(came));
    if (_mm_testz_si128(low, low)) return 0;
    out[0] = 0;
    return -1;
}
END
for file in planted sound; do
    gcc -O1 -mavx512dq -mno-vzeroupper -fno-builtin -fPIC -shared -o "$target/$file.so" "$target/$file.c"
done
"$python" scripts/check-machine-code.py "$target/sound.so" >/dev/null || { echo "what is sound is refused" >&2; exit 1; }
report=$("$python" scripts/check-machine-code.py "$target/planted.so" || true)
for defect in table branch comparison division gather mask length open; do
    grep -q "in planted_$defect:" <<<"$report" || { echo "$report"; echo "a planted $defect was not found" >&2; exit 1; }
done
echo "8 planted defects were found"

# With this mangling the names of the kernels tell what each is.
RUSTFLAGS="${RUSTFLAGS:-} -C symbol-mangling-version=v0" \
    cargo build --quiet --release --locked -p palladion-capi --target-dir "$target"
"$python" scripts/check-machine-code.py "$target/release/libaegis.so"
