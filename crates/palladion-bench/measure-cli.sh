#!/bin/sh
# Measures `palladion encrypt` and `decrypt`, `raf import` and `raf export` of a file on a RAM disk
# against `cp` of the same file.
#
# usage: crates/palladion-bench/measure-cli.sh [MIB [ROUNDS]]      by default 1024 MiB, 7 rounds
#
# They take turns, so that a disturbance does not hit one of them alone; the fastest round of each
# counts. Environment: PALLADION is the program to measure, which is built by default; DIR is the
# RAM disk, by default /dev/shm. Exits with status 1 if encrypting takes more than twice the time of
# cp, or 64 MiB of memory or more.
set -eu

mib=${1:-1024} rounds=${2:-7}
cd "$(dirname "$0")/../.."
if [ -z "${PALLADION:-}" ]; then
    cargo build --release --quiet -p palladion-cli
    PALLADION=${CARGO_TARGET_DIR:-target}/release/palladion
fi
work=$(mktemp -d "${DIR:-/dev/shm}/palladion-measure.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

"$PALLADION" keygen -o "$work/key"
# Encrypted zeros are as good as random bytes, and faster to make.
head -c "$((mib * 1048576 - 128 - mib * 36))" /dev/zero |
    "$PALLADION" encrypt -k "$work/key" -o "$work/plain"

# Every output is a new file: removing the old one is not part of the time.
timed() { # NAME COMMAND...
    name=$1
    shift
    rm -f "$work/out"
    begin=$(date +%s%N)
    "$@"
    end=$(date +%s%N)
    echo "$(((end - begin) / 1000))" >>"$work/$name.us"
}

round=0
while [ "$round" -lt "$rounds" ]; do
    timed cp cp "$work/plain" "$work/out"
    rm -f "$work/sealed"
    timed encrypt "$PALLADION" encrypt -k "$work/key" -o "$work/out" "$work/plain"
    mv "$work/out" "$work/sealed"
    timed decrypt "$PALLADION" decrypt -k "$work/key" -o "$work/out" "$work/sealed"
    rm -f "$work/raf"
    timed import "$PALLADION" raf import -k "$work/key" "$work/plain" "$work/out"
    mv "$work/out" "$work/raf"
    timed export "$PALLADION" raf export -k "$work/key" "$work/raf" "$work/out"
    round=$((round + 1))
done
cmp "$work/plain" "$work/out"

# Peak memory, in KiB, by GNU time or else unknown.
peak() { # COMMAND...
    rm -f "$work/out"
    if [ -x /usr/bin/time ] && /usr/bin/time -f %M -o "$work/peak" "$@"; then
        tail -n 1 "$work/peak"
    else
        echo 0
    fi
}
encrypt_peak=$(peak "$PALLADION" encrypt -k "$work/key" -o "$work/out" "$work/plain")
decrypt_peak=$(peak "$PALLADION" decrypt -k "$work/key" -o "$work/out" "$work/sealed")

import_peak=$(peak "$PALLADION" raf import -k "$work/key" "$work/plain" "$work/out")
export_peak=$(peak "$PALLADION" raf export -k "$work/key" "$work/raf" "$work/out")

least() { sort -n "$work/$1.us" | head -n 1; }
awk -v mib="$mib" -v rounds="$rounds" -v cores="$(nproc)" \
    -v cp="$(least cp)" -v e="$(least encrypt)" -v d="$(least decrypt)" \
    -v ep="$encrypt_peak" -v dp="$decrypt_peak" \
    -v i="$(least import)" -v x="$(least export)" -v ip="$import_peak" -v xp="$export_peak" '
function line(name, us, peak) {
    printf "%-8s %8.3f s %9.2f GB/s %8.2f x cp", name, us / 1e6, mib * 1048576 / us / 1e3, us / cp
    if (peak) printf " %8.1f MiB peak", peak / 1024
    print ""
}
BEGIN {
    printf "%d MiB on a RAM disk, %d cores, fastest of %d rounds\n", mib, cores, rounds
    line("cp", cp, 0); line("encrypt", e, ep); line("decrypt", d, dp)
    line("import", i, ip); line("export", x, xp)
    exit !(e <= 2 * cp && ep < 65536 && dp < 65536)
}'
