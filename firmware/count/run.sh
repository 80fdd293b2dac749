#!/usr/bin/env bash
# Counts the instructions that the ciphers execute for each byte, on emulated CPUs. Such counts are
# exact and the same on every machine, but they are not times.
#
#   firmware/count/run.sh [-c] [-b BACKEND] [-s SIZE] [CPU ...]
#   CPUs: aarch64 armv6 armv7 cortex-m4 i686 powerpc64 powerpc64le riscv64 riscv64-zkne s390x x86_64
#
# For whole messages of SIZE bytes (16384), on one backend or on all that the CPU has. RUSTFLAGS are
# for the program: try -C target-cpu or -C target-feature. A count is the difference between a
# program that works on four messages and one that works on one. -c estimates the cycles of
# cortex-m4 instead, for encryption (cycles.py, needs python3).
#
# Needs gcc, qemu-user and what scripts/test-cross.sh needs; for cortex-m4 qemu-system-arm and
# lld-19.
set -euo pipefail
cd "$(dirname "$0")/../.."
. .ci/cross.sh
backend='' size=16384 each=''
while getopts cb:s: option; do
    case $option in
    c) each=,each=on ;;
    b) backend=$OPTARG ;;
    s) size=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ -z "$each" ] || set -- cortex-m4
[ $# -gt 0 ] || set -- aarch64 armv6 armv7 cortex-m4 i686 riscv64

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -shared -fPIC -O1 -Wall -o "$work/count.so" firmware/count/plugin.c
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")
# Optimise for speed; the other programs in firmware/ are optimised for size.
export CARGO_PROFILE_RELEASE_OPT_LEVEL=3 CARGO_PROFILE_RELEASE_LTO=false
export CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16

# Runs the program under the emulator with these arguments; the plugin writes its count to the file
# `counted`.
run() {
    if [ "$cpu" = cortex-m4 ]; then
        local words=count word
        for word; do words+=,arg=$word; done
        "${qemu[@]}" -plugin "$work/count.so$each" \
            -semihosting-config "enable=on,target=native,chardev=console,arg=$words" \
            -kernel "$program" </dev/null
    else
        "${qemu[@]}" -plugin "$work/count.so" "$program" "$@"
    fi 2>"$work/counted" || { cat "$work/counted" >&2; return 1; }
}
count() {
    run "$@" && sed -n 's/^instructions: //p' "$work/counted" | grep .
}

for cpu; do
    case $cpu in
    cortex-m4)
        target=thumbv7em-none-eabihf
        qemu=(qemu-system-arm -M mps2-an386 -display none -monitor none -serial none \
            -chardev stdio,id=console)
        type "${qemu[0]}" ld.lld-19 >/dev/null
        RUSTFLAGS="${RUSTFLAGS-} -C panic=abort -C link-arg=-T$PWD/firmware/count/cortex-m.ld" \
            CARGO_TARGET_THUMBV7EM_NONE_EABIHF_LINKER=ld.lld-19 RUSTC=/usr/bin/rustc \
            RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$built/cross" \
            /usr/bin/cargo build --quiet --release \
            -Zbuild-std=core,panic_abort --target "$target" --manifest-path firmware/Cargo.toml \
            -p count --no-default-features
        program=$built/cross/$target/release/count
        ;;
    x86_64)
        # No VAES: QEMU 7.2 computes it wrong, see test-x86-tiers.sh.
        qemu=(qemu-x86_64 -cpu max,-vaes)
        CARGO_TARGET_DIR=$built cargo build --quiet --release --manifest-path firmware/Cargo.toml \
            -p count
        program=$built/release/count
        ;;
    *)
        cross_target "$cpu"
        CARGO_PROFILE_RELEASE_PANIC=unwind cross_cargo build --quiet --release \
            --manifest-path firmware/Cargo.toml -p count
        program=$(cross_directory)/release/count
        ;;
    esac
    if [ -n "$each" ]; then
        echo "== $cpu: per byte, $size bytes; by kind: instructions (cycles)"
        for variant in 128l 128x2 128x4 256 256x2 256x4; do
            run "$variant" encrypt "$size" 1 portable && mv "$work/counted" "$work/once"
            run "$variant" encrypt "$size" 4 portable
            printf 'AEGIS-%-8s' "$variant"
            python3 firmware/count/cycles.py "$work/once" "$work/counted" $((3 * size))
        done
        continue
    fi
    echo "== $cpu: instructions per byte, $size bytes"
    for name in ${backend:-$(run)}; do
        printf '%-14s %8s %8s %8s\n' "$name" encrypt decrypt mac
        for variant in 128l 128x2 128x4 256 256x2 256x4; do
            printf 'AEGIS-%-8s' "$variant"
            for operation in encrypt decrypt mac; do
                once=$(count "$variant" "$operation" "$size" 1 "$name")
                often=$(count "$variant" "$operation" "$size" 4 "$name")
                awk -v n=$((often - once)) -v bytes=$((3 * size)) \
                    'BEGIN { printf " %8.2f", n / bytes }'
            done
            echo
        done
    done
done
