#!/usr/bin/env bash
# Makes the headers of the six variants of the C library and that of RAF from templates, and writes
# the version into palladion.h; or tells whether they are as it makes them.
#
#   scripts/make-headers.sh [--check]
set -euo pipefail
cd "$(dirname "$0")/../crates/palladion-capi"
out=include
[ "${1-}" != --check ] || { out=$(mktemp -d) && trap 'rm -rf "$out"' EXIT; }

many='Random nonces are safe for any number of messages.'
few='Random nonces are safe for up to 2^48 messages with a key; or count.'
cp raf.h.in "$out/aegis_raf.h"
while read -r v name section key tail align state mac_state raf_align; do
    nonces=$few
    [ "$key" = 16 ] || nonces=$many
    sed -e "s|@v@|$v|g; s|@V@|${v}|g; s|@NAME@|$name|; s|@SECTION@|section $section|" \
        -e "s|@NONCES@|$nonces|; s|@KEY@|$key|; s|@TAIL@|$tail|; s|@ALIGN@|$align|" \
        -e "s|@STATE@|$state|; s|@MAC_STATE@|$mac_state|" \
        variant.h.in >"$out/$v.h"
    [ "$out" = include ] || cmp "include/$v.h" "$out/$v.h"
    sed -e "s|@v@|$v|g; s|@U@|${v^^}|g; s|@NAME@|$name|; s|@KEY@|$key|; s|@ALIGN@|$raf_align|" \
        raf-variant.h.in >>"$out/aegis_raf.h"
done <<'END'
aegis128l  AEGIS-128L  3   16 31  32 256 384 32
aegis128x2 AEGIS-128X2 5.4 16 63  64 448 704 32
aegis128x4 AEGIS-128X4 5.4 16 127 64 832 1344 64
aegis256   AEGIS-256   4   32 15  16 192 288 16
aegis256x2 AEGIS-256X2 5.5 32 31  32 320 512 32
aegis256x4 AEGIS-256X4 5.5 32 63  64 576 960 64
END
printf '#ifdef __cplusplus\n}\n#endif\n\n#endif\n' >>"$out/aegis_raf.h"
[ "$out" = include ] || cmp include/aegis_raf.h "$out/aegis_raf.h"

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' ../../Cargo.toml)
IFS=.- read -r major minor patch _ <<<"$version"
# Write to another name first: input and output may be the same file.
sed -e "s|^\(#define PALLADION_VERSION\) .*|\1 \"$version\"|" \
    -e "s|^\(#define PALLADION_VERSION_MAJOR\) .*|\1 $major|" \
    -e "s|^\(#define PALLADION_VERSION_MINOR\) .*|\1 $minor|" \
    -e "s|^\(#define PALLADION_VERSION_PATCH\) .*|\1 $patch|" \
    include/palladion.h >"$out/palladion.h.new"
mv "$out/palladion.h.new" "$out/palladion.h"
[ "$out" = include ] || cmp include/palladion.h "$out/palladion.h"
