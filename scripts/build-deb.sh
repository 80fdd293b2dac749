#!/usr/bin/env bash
# Builds the Debian packages of the command and of the C library into target/deb/.
#
#   scripts/build-deb.sh
#   scripts/build-deb.sh --check    lintian too; then, as root, installs them, uses them from C and
#                                   on the command line, and removes them
#
# Needs (Debian): dpkg-dev debhelper; lintian and gcc for the check. Uses the Rust compiler of
# rustup, because Debian 12's is too old, and the network: distributions provide crates themselves.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
out=$target/deb
rm -rf "$out"
mkdir -p "$out"
.ci/copy-checkout.sh "$out/palladion"
cp -r packaging/debian "$out/palladion/debian"
unset CARGO_TARGET_DIR
# -d: the compiler is rustup's, of which dpkg knows nothing.
(cd "$out/palladion" && dpkg-buildpackage -d -us -uc -b) >"$out/log" 2>&1 || { tail -50 "$out/log"; exit 1; }
rm -rf "$out/palladion"
(cd "$out" && ls -s --block-size=1K -- *.deb)
[ "${1-}" = --check ] || exit 0

lintian --allow-root --fail-on error,warning --profile debian "$out"/*.changes
[ "$(id -u)" = 0 ] || { echo "skipped: only root can install packages"; exit; }
packages="palladion libpalladion0 libpalladion-dev"
work=$(mktemp -d)
trap 'dpkg --purge $packages >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
dpkg --install "$out"/palladion_*.deb "$out"/lib*.deb >/dev/null
/usr/bin/palladion keygen -o "$work/key"
/usr/bin/palladion encrypt -k "$work/key" -o "$work/sealed" README.md
/usr/bin/palladion decrypt -k "$work/key" "$work/sealed" | cmp - README.md
man --warnings palladion-encrypt >/dev/null
cc examples/c/encrypt.c -o "$work/encrypt" $(pkg-config --cflags --libs palladion)
ldd "$work/encrypt" | grep -q 'libpalladion.so.0 => /'
"$work/encrypt"
dpkg --purge $packages >/dev/null
[ ! -e /usr/bin/palladion ] && [ ! -e /usr/include/palladion ]
echo "installed, used and removed"
