#!/usr/bin/env bash
# Shows that nothing secret is left in memory: on the stack after a call, in a dropped object, or in
# freed heap memory. secrets/wiping.rs says how, and finds three planted copies of a key first.
#
#   assurance/wiping.sh [BACKEND...]               all backends of this machine
#   CPU=aarch64 assurance/wiping.sh [BACKEND...]   for ARM; also powerpc64le, riscv64-zkne,
#                                                  riscv64-zvkned and s390x (.ci/cross.sh); under
#                                                  QEMU
#
# For those it needs what scripts/install-emulators.sh installs.
set -euo pipefail
cd "$(dirname "$0")/.."
unset CARGO_PROFILE_RELEASE_LTO # the code to check is the code that users get
build=(build --quiet --locked --release --manifest-path assurance/Cargo.toml --bin wiping)
build+=(--target-dir "$PWD/target/assurance")
case ${CPU:-$(uname -m)} in
x86_64 | aarch64 | powerpc64le | riscv64* | s390x) ;;
*) echo "skipped: needs x86-64, 64-bit ARM, little-endian POWER, 64-bit RISC-V or s390x" && exit ;;
esac
case ${CPU:-$(uname -m)} in
"$(uname -m)") cargo "${build[@]}" && target/assurance/release/wiping "$@" ;;
*)
    . .ci/cross.sh
    cross_target "$CPU"
    cross_cargo "${build[@]}"
    "${qemu[@]}" "target/assurance/$target/release/wiping" "$@"
    ;;
esac
