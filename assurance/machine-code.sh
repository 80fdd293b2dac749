#!/usr/bin/env bash
# Proves what the machine code of the kernels with AES instructions does, on x86-64 and 64-bit ARM:
# that it computes RFC 10032, that nothing secret decides its time, which memory it uses and what it
# leaves on the stack. machine-code/main.rs says how. Finds planted defects first. The kernels are
# those of the C library, and those of the Go module as Go's assembler makes them.
#
#   assurance/machine-code.sh [full|quick [FILTER...]]
#
# Needs gcc, and Go for its kernels. The code of the other CPU and its instructions in QEMU, and
# those of VAES and AVX-512 in Bochs if this CPU lacks them, need what scripts/install-emulators.sh
# installs; without that they are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
unset CARGO_PROFILE_RELEASE_LTO # the code to check is the code that users get
. .ci/cross.sh
out=$PWD/target/assurance/machine-code
[ $# -gt 0 ] || set -- full
cargo build --quiet --release --locked --manifest-path assurance/Cargo.toml -p machine-code \
    --target-dir target/assurance

summary=
for cpu in x86_64 aarch64; do
    build=(build --quiet --release --locked -p palladion-capi --target-dir "$out")
    target= qemu=()
    if [ "$(uname -m)" = $cpu ]; then
        # In v0 mangling the name of a kernel has the machine that it is for.
        RUSTFLAGS="${RUSTFLAGS:-} -C symbol-mangling-version=v0" cargo "${build[@]}"
    elif cross_target $cpu 2>/dev/null; then
        RUSTFLAGS="${RUSTFLAGS:-} -C symbol-mangling-version=v0" cross_cargo "${build[@]}"
    else
        continue
    fi
    file=$out/records-$cpu runner=$out/runner-$cpu wide=
    $cpu-linux-gnu-gcc -O1 -static -o "$runner" assurance/machine-code/runner.c
    if [ $cpu = x86_64 ] && grep -w avx512vl /proc/cpuinfo | grep -qw vaes; then
        wide="$runner $file"
    elif [ $cpu = x86_64 ] && type bochs >/dev/null 2>&1; then
        wide=".ci/bochs/run.sh -t 1200 -f '$file:/records' '$runner' /records"
    fi
    prove() { # WHAT FILE...
        local log=$out/$cpu${1:+-go}.txt
        target/assurance/release/machine-code "$2" "$file" "${qemu[*]} $runner $file" "$wide" \
            "${@:3}" | tee "$log"
        summary+="${summary:+; }$cpu$1: $(tail -n 1 "$log")"
    }
    prove "" "$out/$target/release/libaegis.so" "$@"
    if type go >/dev/null 2>&1; then
        arch=amd64
        [ $cpu = x86_64 ] || arch=arm64
        (cd bindings/go/aegis
            GOOS=linux GOARCH=$arch CGO_ENABLED=0 go test -c -o "$out/go-$cpu" .)
        prove " in Go" "$out/go-$cpu" "$@"
    else
        echo "skipped: Go's kernels: Go is not installed" | tee -a "${PALLADION_SKIPPED:-/dev/null}"
    fi
done
echo "$summary"
