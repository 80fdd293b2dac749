#!/usr/bin/env bash
# Checks the kernels in the WebAssembly modules of the JavaScript package: no branch, no address,
# no division and no `select` depends on a secret. First shows that planted defects are found.
# scripts/secret-flow/domain.py explains how.
#
#   scripts/check-wasm-code.sh [all]
#
# With "all": also all kernels of the crate, including those for certain degrees, as a program gets
# them that compiles the crate to WebAssembly.
#
# Needs (Debian): clang-19 lld-19 binutils python3, and what bindings/js/build-wasm.sh needs; for
# "all", rustc-web, cargo-web and rust-web-src. scripts/install-emulators.sh installs these.
set -euo pipefail
cd "$(dirname "$0")/.."
type clang-19 wasm-ld-19 c++filt python3 >/dev/null
target=$(realpath -m "${CARGO_TARGET_DIR:-target}/wasm-code")
mkdir -p "$target"
follow() { python3 scripts/secret-flow/wasm.py "$@"; }

clang-19 --target=wasm32 -O1 -ffreestanding -mbulk-memory -msimd128 -c -o "$target/planted.o" \
    scripts/secret-flow/planted.c
wasm-ld-19 --no-entry --export-all --allow-undefined --stack-first -o "$target/planted.wasm" \
    "$target/planted.o"
follow "$target/planted.wasm"

bindings/js/build-wasm.sh >/dev/null
follow bindings/js/wasm/scalar.wasm portable
follow bindings/js/wasm/simd128.wasm simd128
follow bindings/js/wasm/relaxed-simd.wasm relaxed

[ "${1:-}" = all ] || exit 0
# The core without the standard library. All of it is linked, used or not.
for build in scalar: simd128:+simd128 relaxed-simd:+simd128,+relaxed-simd; do
    made=$target/wasm32-unknown-unknown/release
    RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$target \
        RUSTFLAGS="-C symbol-mangling-version=v0" \
        /usr/bin/cargo rustc --quiet --release --locked --target wasm32-unknown-unknown \
        -p palladion --lib --no-default-features --crate-type rlib \
        -Zbuild-std=core -Zbuild-std-features= -Zprofile-rustflags \
        --config "profile.release.package.palladion.rustflags=[\"-Ctarget-feature=${build#*:}\"]"
    module=$target/all-${build%%:*}.wasm
    wasm-ld-19 --no-entry --no-gc-sections --stack-first --allow-undefined -o "$module" \
        --whole-archive "$made/libpalladion.rlib" \
        --no-whole-archive "$made"/deps/lib{subtle,zeroize,core,compiler_builtins}-*.rlib
    follow "$module" portable
done
