#!/usr/bin/env bash
# Installs the C library in both forms, as a user would, and tests it in C: headers and functions with gcc and clang, as C99 and
# as C++17, with sanitizers and valgrind; what it exports; the examples by pkg-config and by CMake; and the same calls of
# libaegis, from crate `aegis`.
#
#   scripts/test-c.sh
#
# Needs (Debian): gcc g++ make pkg-config cmake valgrind; clang-19 and libclang-rt-19-dev if clang is to be tested.
set -euo pipefail
cd "$(dirname "$0")/.."
capi=crates/palladion-capi
work=$(realpath -m "${CARGO_TARGET_DIR:-target}")/c
rm -rf "$work/prefix" "$work/compat" "$work/bin"
mkdir -p "$work/bin"

scripts/make-headers.sh --check
echo "== make install"
make -s -C "$capi" install PREFIX="$work/prefix" >/dev/null
make -s -C "$capi" install COMPAT=1 PREFIX="$work/compat" >/dev/null
soname() { readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'; }
[ "$(soname "$work/prefix/lib/libpalladion.so")" = libpalladion.so ]
[ "$(soname "$work/compat/lib/libaegis.so")" = libaegis.so.0 ]

echo "== exported names"
nm -D --defined-only "$work/compat/lib/libaegis.so" | awk '{ print $3 }' | sed 's/@.*//' | LC_ALL=C sort >"$work/exported"
scripts/c-names.sh | LC_ALL=C sort >"$work/expected"
diff "$work/expected" "$work/exported"
echo "$(wc -l <"$work/exported") names"

strict=(-Wall -Wextra -Wpedantic -Werror -O1 -g)
compile() { # OUT COMPILER... : the test of the interface, with libpalladion
    local out=$work/bin/$1
    shift
    "$@" "${strict[@]}" $(PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig pkg-config --cflags palladion) \
        "$capi/tests/interface.c" -x none -o "$out" \
        $(PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig pkg-config --libs palladion) -lpthread -Wl,-rpath,"$work/prefix/lib"
    echo "== $*"
    "$out"
}
compile gcc-c99 gcc -std=c99
compile gcc-c++17 g++ -std=c++17 -x c++
compile gcc-sanitized gcc -std=c99 -fsanitize=address,undefined -fno-sanitize-recover
if type clang-19 >/dev/null 2>&1; then
    compile clang-c99 clang-19 -std=c99
    compile clang-c++17 clang-19 -std=c++17 -x c++
fi
echo "== valgrind"
PALLADION_BACKEND=portable valgrind --quiet --error-exitcode=1 --leak-check=full "$work/bin/gcc-c99"
echo "== linked statically"
gcc -std=c99 "${strict[@]}" -I"$work/prefix/include" "$capi/tests/interface.c" "$work/prefix/lib/libpalladion.a" \
    $(PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig pkg-config --static --libs-only-l palladion | sed 's/-lpalladion//') -o "$work/bin/static"
"$work/bin/static"

echo "== examples by pkg-config"
for example in encrypt mac streaming; do
    gcc -std=c99 "${strict[@]}" "examples/c/$example.c" -o "$work/bin/$example" \
        $(PKG_CONFIG_PATH=$work/compat/lib/pkgconfig pkg-config --cflags --libs aegis) -Wl,-rpath,"$work/compat/lib"
done
"$work/bin/encrypt" && "$work/bin/mac"
"$work/bin/streaming" <README.md >"$work/sealed" && "$work/bin/streaming" -d <"$work/sealed" | cmp - README.md
printf x >>"$work/sealed"
if "$work/bin/streaming" -d <"$work/sealed" >/dev/null 2>&1; then echo "a damaged stream was taken" >&2; exit 1; fi

echo "== examples by CMake"
cmake -S examples/c -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/compat" >/dev/null
cmake --build "$work/cmake" >/dev/null
LD_LIBRARY_PATH=$work/compat/lib ctest --test-dir "$work/cmake" --output-on-failure | tail -3

echo "== the same calls of libaegis"
scripts/peer-libaegis.sh "$work/peer"
gcc -std=c11 "${strict[@]}" -I"$capi/include" "$capi/tests/differential.c" -o "$work/bin/differential" -ldl
for backend in $("${CARGO_TARGET_DIR:-target}/release/palladion" backends | awk '$2 == "yes" { print $1 }'); do
    echo -n "$backend: "
    PALLADION_BACKEND=$backend "$work/bin/differential" "$work/compat/lib/libaegis.so" "$work/peer/libaegis.so" 400 "$RANDOM"
done
