#!/usr/bin/env bash
# Builds the Debian packages of the command and of the C library into target/deb/.
#
#   scripts/build-deb.sh
#   scripts/build-deb.sh --check    lintian too; then, as root, installs them, uses them from C and
#                                   on the command line, and removes them
#
# Needs (Debian): dpkg-dev debhelper; lintian, man-db, pkg-config, cmake and g++ for the check,
# which is skipped if one is missing. Uses the Rust compiler of rustup, because Debian 12's is too
# old, and the network: a distribution provides the crates itself.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in dpkg-buildpackage dh $([ "${1-}" != --check ] || echo lintian man pkg-config cmake g++)
do
    type "$tool" >/dev/null 2>&1 || missing+=" $tool"
done
if [ -n "${missing-}" ]; then
    [ "${1-}" = --check ] || { echo "missing:$missing" >&2; exit 1; }
    echo "skipped: Debian packages (missing:$missing)" | tee -a "${PALLADION_SKIPPED:-/dev/null}"
    exit
fi
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
[ "$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)" = "$version" ] ||
    { echo "packaging/debian/changelog does not begin with version $version" >&2; exit 1; }
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
out=$target/deb
rm -rf "$out"
mkdir -p "$out"
.ci/copy-checkout.sh "$out/palladion"
cp -r packaging/debian "$out/palladion/debian"
unset CARGO_TARGET_DIR
# -d: dpkg does not know rustup's compiler.
(cd "$out/palladion" && dpkg-buildpackage -d -us -uc -b) >"$out/log" 2>&1 ||
    { tail -50 "$out/log"; exit 1; }
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
/usr/bin/palladion decrypt -k "$work/key" -o - "$work/sealed" | cmp - README.md
man --warnings palladion-encrypt >/dev/null
bash -c '. /usr/share/bash-completion/completions/palladion && complete -p palladion' >/dev/null
cc examples/c/encrypt.c -o "$work/encrypt" $(pkg-config --cflags --libs palladion)
[[ $(ldd "$work/encrypt") = *"libpalladion.so.0 => /"* ]]
"$work/encrypt"
c++ -x c++ examples/c/encrypt.c -x none -o "$work/encrypt" -static \
    $(pkg-config --static --cflags --libs palladion) 2>/dev/null
"$work/encrypt"
cat >"$work/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
project(test C)
find_package(palladion $version REQUIRED)
add_executable(by-cmake $PWD/examples/c/encrypt.c)
target_link_libraries(by-cmake PRIVATE palladion::palladion)
END
PATH=/bin:$PATH cmake -S "$work" -B "$work" >/dev/null # finds /lib before /usr/lib
cmake --build "$work" >/dev/null
"$work/by-cmake"
dpkg --purge $packages >/dev/null
[ ! -e /usr/bin/palladion ] && [ ! -e /usr/include/palladion ]
echo "installed, used and removed"
