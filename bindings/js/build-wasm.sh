#!/usr/bin/env bash
# Compiles the crate to WebAssembly, once for each set of instructions:
# wasm/{scalar,simd128,relaxed-simd}.wasm.
#   bindings/js/build-wasm.sh [scalar|simd128|relaxed-simd ...]
#
# Uses the target from rustup if it is installed (`rustup target add wasm32-unknown-unknown`), and
# otherwise Debian's compiler (rustc-web cargo-web rust-web-src lld-19), with which it builds the
# standard library too.
set -euo pipefail
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- scalar simd128 relaxed-simd
target=wasm32-unknown-unknown
built=$(realpath -m "${CARGO_TARGET_DIR:-../../target}")/js
mkdir -p wasm

# Each build has one backend; see "Build options" in the documentation of palladion. SHA-256 can be
# slow: it hashes a few blocks per file.
#
# The module never asks the system for random bytes, but getrandom needs a backend to compile; its
# function is not linked. Remapping keeps this machine's paths out of panic messages.
common=(
    --cfg palladion_one_backend --cfg palladion_no_slots --cfg 'sha2_backend_soft="compact"'
    --cfg 'getrandom_backend="custom"'
    -Csymbol-mangling-version=v0 # the names say which kernel it is; build.mjs removes them
    "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
    "--remap-path-prefix=$(realpath ../..)=palladion"
)
# Everything but the cipher is optimised for size, because it is seldom called. build.mjs removes
# the names of functions. The cipher has several codegen units and no link-time optimisation across
# crates. Otherwise the compiler moves loads of tables out of loops, V8 runs out of registers, and
# AEGIS-128L takes twice as long.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=s CARGO_PROFILE_RELEASE_PANIC=abort \
    CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 CARGO_PROFILE_RELEASE_LTO=false
for build; do
    case $build in
    scalar) features= ;;
    simd128) features=+simd128 ;;
    relaxed-simd) features=+simd128,+relaxed-simd ;;
    *) echo "unknown build: $build" >&2; exit 2 ;;
    esac
    echo "== WebAssembly: $build"
    arguments=(build --quiet --release --target "$target" -p palladion-js --lib
        --config 'profile.release.package.palladion.opt-level=3'
        --config 'profile.release.package.palladion.codegen-units=16'
        --config 'profile.release.package.argon2.opt-level=3')
    if rustup target list --installed 2>/dev/null | grep -qx "$target"; then
        # Each build has its own folder, because otherwise they would overwrite one another.
        flags=$(printf '%s\x1f' "${common[@]}" "-Ctarget-feature=$features" | head -c -1)
        CARGO_TARGET_DIR=$built/$build CARGO_ENCODED_RUSTFLAGS="$flags" cargo "${arguments[@]}"
        made=$built/$build/$target/release/palladion_js.wasm
    else
        # The options are for our own crates only, so that the others are built once. Each one that
        # compiles kernels needs them: without, the SIMD instructions are function calls.
        flags=$(printf '"-Ctarget-feature=%s"' "$features")
        CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19 CARGO_TARGET_DIR=$built \
            RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 \
            CARGO_ENCODED_RUSTFLAGS="$(printf '%s\x1f' "${common[@]}" | head -c -1)" \
            /usr/bin/cargo "${arguments[@]}" \
            -Zbuild-std=std,panic_abort -Zbuild-std-features= -Zprofile-rustflags \
            --config "profile.release.package.palladion.rustflags=[$flags]" \
            --config "profile.release.package.palladion-file.rustflags=[$flags]" \
            --config "profile.release.package.palladion-js.rustflags=[$flags]"
        made=$built/$target/release/palladion_js.wasm
    fi
    cp "$made" "wasm/$build.wasm"
done
