#!/usr/bin/env bash
# Runs the core's tests for other CPUs under qemu-user: all of them, with fewer cases where they take long.
#
#   scripts/test-cross.sh [aarch64|armv6|armv7|i686|powerpc64le|riscv64|s390x ...]
#
# On each CPU every backend is tested that it has, and the choice of one; on aarch64 the tests run again as on a CPU that has no
# AES instructions, by our own override, since QEMU cannot hide them.
#
# Needs (Debian): qemu-user, and for each CPU its gcc and libc6-dev-*-cross; see cross.sh for the Rust target.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/cross.sh
[ $# -gt 0 ] || set -- aarch64 armv7 i686 powerpc64le riscv64 s390x

export PALLADION_TEST_REDUCED=1 # emulators are slow
# Faster to build, and the tests look at what is computed and not at how fast.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true CARGO_INCREMENTAL=0
for cpu; do
    cross_target "$cpu"
    export PALLADION_TEST_EMULATOR=${qemu[*]} # for tests that start themselves
    echo "== $target"
    cross_cargo test --quiet --release -p palladion --all-features --tests
done
