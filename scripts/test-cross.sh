#!/usr/bin/env bash
# Runs the core's tests for other CPUs under qemu-user: all of them, with fewer variants and cases
# where they take long.
#
#   scripts/test-cross.sh [CPU ...]
#   CPUs: aarch64 armv6 armv7 i686 powerpc64 powerpc64le riscv64 riscv64-zkne
#         riscv64-zvkned (with QEMU=COMMAND, version 10) s390x
#
# Tests every backend of each CPU, and the choice of a backend. On aarch64 the tests run again with
# our override for CPUs without AES instructions, because QEMU cannot hide these.
#
# TESTS="--test vectors --test all --test backend" leaves out the tests within the core. CHECK=1
# only checks that the core compiles, without warnings.
#
# Needs (Debian): qemu-user, and for each CPU its gcc and libc6-dev-*-cross; see cross.sh for the
# Rust target.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/cross.sh
. .ci/reduced.sh
# .ci/run tests aarch64, and only checks the others; .ci/long tests all of these.
[ $# -gt 0 ] || set -- aarch64 armv7 i686 powerpc64 powerpc64le riscv64 riscv64-zkne s390x

export RUSTFLAGS="${RUSTFLAGS:-} $reduced_flags"
for cpu; do
    cross_target "$cpu"
    export PALLADION_TEST_EMULATOR=${qemu[*]} # for tests that start themselves
    echo "== $target"
    if [ -n "${CHECK:-}" ]; then
        RUSTFLAGS="$RUSTFLAGS -D warnings" cross_cargo check --quiet -p palladion --all-features
        continue
    fi
    cross_cargo test --quiet --release -p palladion --all-features ${TESTS:---tests} "${reduced[@]}"
done
