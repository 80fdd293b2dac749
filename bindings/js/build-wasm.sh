#!/usr/bin/env bash
# Compiles the crate to WebAssembly, once for each set of instructions:
# wasm/{scalar,simd128,relaxed-simd}.wasm.
#
#   bindings/js/build-wasm.sh [scalar|simd128|relaxed-simd ...]
#
# With the target from rustup if it is installed (`rustup target add wasm32-unknown-unknown`), else
# with Debian's compiler (rustc-web cargo-web rust-web-src lld-19), which builds the standard
# library anew.
set -euo pipefail
cd "$(dirname "$0")"
[ $# -gt 0 ] || set -- scalar simd128 relaxed-simd
target=wasm32-unknown-unknown
built=$(realpath -m "${CARGO_TARGET_DIR:-../../target}")/js
mkdir -p wasm

# One backend each, and kernels for few lanes or many: see "Build options" in the documentation of
# palladion. SHA-256 is for a few blocks in each file.
#
# Nothing here asks the system for random bytes, but a crate that could do so wants to know where
# from; no function of this name is linked. The paths of this machine stay out of the texts of
# panics.
common=(--cfg palladion_one_backend --cfg 'sha2_backend_soft="compact"' --cfg 'getrandom_backend="custom"'
    "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo" "--remap-path-prefix=$(realpath ../..)=palladion")
# What is not the cipher is seldom called, and small is better. Names stay in: build.mjs takes them
# out. Several codegen units for the cipher, and no link-time optimisation over all crates: with
# more in sight, the compiler moves loads of tables out of loops, which V8 then has too few
# registers for, and AEGIS-128L takes twice as long.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=s CARGO_PROFILE_RELEASE_PANIC=abort CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 \
    CARGO_PROFILE_RELEASE_LTO=false
for build; do
    case $build in
    scalar) features= ;;
    simd128) features=+simd128 ;;
    relaxed-simd) features=+simd128,+relaxed-simd ;;
    *) echo "unknown build: $build" >&2; exit 2 ;;
    esac
    echo "== WebAssembly: $build"
    arguments=(build --quiet --release --target "$target" -p palladion-wasm --lib
        --config 'profile.release.package.palladion.opt-level=3'
        --config 'profile.release.package.palladion.codegen-units=16' --config 'profile.release.package.argon2.opt-level=3')
    if rustup target list --installed 2>/dev/null | grep -qx "$target"; then
        # A folder for each, or they would displace one another.
        CARGO_TARGET_DIR=$built/$build CARGO_ENCODED_RUSTFLAGS="$(printf '%s\x1f' "${common[@]}" "-Ctarget-feature=$features" | head -c -1)" \
            cargo "${arguments[@]}"
        made=$built/$build/$target/release/palladion_wasm.wasm
    else
        # For our own crates alone, so that the standard library and the others are built once.
        flags=$(printf '"-Ctarget-feature=%s"' "$features")
        CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER=wasm-ld-19 RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR=$built \
            CARGO_ENCODED_RUSTFLAGS="$(printf '%s\x1f' "${common[@]}" | head -c -1)" \
            /usr/bin/cargo "${arguments[@]}" -Zbuild-std=std,panic_abort -Zbuild-std-features= -Zprofile-rustflags \
            --config "profile.release.package.palladion.rustflags=[$flags]" \
            --config "profile.release.package.palladion-wasm.rustflags=[$flags]"
        made=$built/$target/release/palladion_wasm.wasm
    fi
    cp "$made" "wasm/$build.wasm"
done
