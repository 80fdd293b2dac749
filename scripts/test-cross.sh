#!/usr/bin/env bash
# Runs the core's unit tests, vectors and batches for other CPUs under qemu-user.
#
#   scripts/test-cross.sh [aarch64|armv7|i686|powerpc64le|riscv64|s390x ...]
#
# Needs (Debian): qemu-user, and for each CPU its gcc and libc6-dev-*-cross. The Rust target comes from rustup
# (`rustup target add`) if it is installed, else from Debian's rustc-web, cargo-web and rust-web-src.
# No VAES on i686: QEMU 7.2 computes it wrong, see test-x86-tiers.sh.
set -euo pipefail
export PALLADION_TEST_REDUCED=1 # emulators are slow
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- aarch64 i686 s390x

for cpu; do
    case $cpu in
    aarch64) target=aarch64-unknown-linux-gnu gnu=aarch64-linux-gnu qemu="qemu-aarch64 -cpu max" ;;
    armv7) target=armv7-unknown-linux-gnueabihf gnu=arm-linux-gnueabihf qemu=qemu-arm ;;
    i686) target=i686-unknown-linux-gnu gnu=i686-linux-gnu qemu="qemu-i386 -cpu max,-vaes" ;;
    powerpc64le) target=powerpc64le-unknown-linux-gnu gnu=powerpc64le-linux-gnu qemu=qemu-ppc64le ;;
    riscv64) target=riscv64gc-unknown-linux-gnu gnu=riscv64-linux-gnu qemu=qemu-riscv64 ;;
    s390x) target=s390x-unknown-linux-gnu gnu=s390x-linux-gnu qemu=qemu-s390x ;;
    *) echo "unknown CPU: $cpu" >&2; exit 2 ;;
    esac
    upper=$(tr 'a-z-' 'A-Z_' <<<"$target")
    # The emulated loader reads the host's ld.so.cache, and would take a C library of the host's that fits the CPU (Debian's
    # libc6-i386) though it does not fit the loader: threads then hang. So it is told where its own one is.
    export "CARGO_TARGET_${upper}_LINKER=$gnu-gcc"
    export "CARGO_TARGET_${upper}_RUNNER=$qemu -L /usr/$gnu -E LD_LIBRARY_PATH=/usr/$gnu/lib"
    echo "== $target"
    # The emulated machine is big and slow: few, optimised tests, and fast to build.
    if rustup target list --installed 2>/dev/null | grep -qx "$target"; then
        cargo test --release --target "$target" -p palladion --all-features --lib --test vectors --test batch -- \
            --skip every_lane_has_its_own_message --skip kernels_of_a_state # minutes on 32 bits
    else
        RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/cross" \
            /usr/bin/cargo test --release -Zbuild-std=std,panic_unwind --target "$target" \
            -p palladion --all-features --lib --test vectors --test batch -- \
            --skip every_lane_has_its_own_message --skip kernels_of_a_state # minutes on 32 bits
    fi
done
