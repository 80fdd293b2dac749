#!/usr/bin/env bash
# Checks that no branch and no address depends on a secret: valgrind's memcheck follows all secrets through every function that
# handles them (crates/palladion-assurance/src/bin/constant-time.rs), on every backend that valgrind knows the instructions of.
#
#   scripts/check-constant-time.sh [BACKEND...]
#
# That it would be noticed: for each backend a look-up in a table, and a comparison that ends early, of a tag that comes out of it.
#
#   MSAN=1 scripts/check-constant-time.sh      the same with MemorySanitizer, for the backends with VAES and AVX-512
#
# MemorySanitizer puts its own code into what the compiler makes, so that is evidence about the source; the machine code of those
# backends is read by scripts/check-machine-code.sh. Needs a CPU with these instructions, clang-22, libclang-rt-22-dev, and Debian's
# rustc-web, cargo-web and rust-web-src, as the standard library must be built alike; that takes minutes.
#
# Needs valgrind; on x86-64.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(uname -m)" = x86_64 ] || { echo "skipped: not on x86-64"; exit 0; }
target=${CARGO_TARGET_DIR:-target}/secrecy
flags="${RUSTFLAGS:-} --cfg palladion_secrecy"

if [ -n "${MSAN:-}" ]; then
    grep -qw vaes /proc/cpuinfo || { echo "skipped: a CPU without VAES"; exit 0; }
    [ $# -gt 0 ] || set -- vaes-avx512 vaes-avx2
    target+=-msan
    # (Without a message the sanitizer exits with 1. Arguments and results are checked where they are used.)
    flags+=' --cfg palladion_secrecy="msan" -Zsanitizer=memory -Zexternal-clangrt -C llvm-args=-msan-eager-checks=0'
    RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags -C linker=clang-22 -C link-arg=-fsanitize=memory" \
        /usr/bin/cargo build --quiet --locked --release -Zbuild-std=std,panic_unwind --target x86_64-unknown-linux-gnu \
        -p palladion-assurance --bin constant-time --target-dir "$target"
    program=$target/x86_64-unknown-linux-gnu/release/constant-time
    watch=()
    finds=(table:MemorySanitizer comparison:MemorySanitizer)
else
    [ $# -gt 0 ] || set -- aesni-avx aesni avx2 ssse3 portable
    RUSTFLAGS=$flags cargo build --quiet --locked --release -p palladion-assurance --bin constant-time --target-dir "$target"
    program=$target/release/constant-time
    watch=(valgrind --quiet --error-exitcode=9 --num-callers=20)
    finds=("table:Use of uninitialised value" "comparison:Conditional jump or move depends on uninitialised value")
fi

for backend; do
    for find in "${finds[@]}"; do
        defect=${find%%:*}
        if report=$("${watch[@]}" "$program" --plant "$defect" "$backend" 2>&1); then
            echo "$backend: a planted $defect was not found" >&2
            exit 1
        elif ! grep -q "${find#*:}" <<<"$report"; then
            echo "$report" >&2
            exit 1
        fi
    done
    "${watch[@]}" "$program" --plant none "$backend"
    "${watch[@]}" "$program" "$backend"
done
