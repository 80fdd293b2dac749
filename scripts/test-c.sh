#!/usr/bin/env bash
# Installs the C library in both forms, as a user would, and tests it in C: headers and functions
# with gcc and clang, as C99 and as C++17, with sanitizers and valgrind; what it exports; the
# examples by pkg-config and by CMake; linked statically, also with musl; and the same calls of
# libaegis, from crate `aegis`.
#
#   scripts/test-c.sh
#
# QUICK=1 leaves out clang, musl, CMake, other folders and profiles of cargo's, and most of what
# valgrind looks at.
#
# Needs (Debian): gcc g++ make pkg-config cmake valgrind. Tests clang too if clang-19 and
# libclang-rt-19-dev are installed, and musl if musl-tools and rustup's target are. MUSL=1 tests
# musl in any case: with rustup's target or, if there is none, with rustc-web, cargo-web and
# rust-web-src, which takes two minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
capi=crates/palladion-capi
target=${CARGO_TARGET_DIR:-target} host=$(rustc -vV | sed -n 's/^host: //p')
work=$(realpath -m "$target")/c
rm -rf "$work/prefix" "$work/compat" "$work/musl" "$work/bin" "$work/cmake" "$work/moved" \
    "$work/project" "$work/destination" "$work/sudo" "$work/elsewhere" "$work/a b" \
    "$work/users" "$work/masked"
mkdir -p "$work/bin"
palladion=$(scripts/built.sh -p palladion-cli)
backends=$("$palladion" backends | awk '$2 == "yes" { print $1 }')
[ -n "$backends" ]

scripts/make-headers.sh --check
echo "== make install"
make -s -C "$capi" install PREFIX="$work/prefix" INCLUDEDIR="$work/prefix/include" >/dev/null
make -s -C "$capi" check >/dev/null
make -s -C "$capi" install COMPAT=1 PREFIX="$work/compat" >/dev/null
make -s -C "$capi" check COMPAT=1 >/dev/null
soname() { readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p'; }
[ "$(soname "$work/prefix/lib/libpalladion.so")" = libpalladion.so.0 ]
[ "$(soname "$work/compat/lib/libaegis.so")" = libaegis.so.0 ]
make -s -C "$capi" install COMPAT=1 PREFIX=/usr DESTDIR="$work/destination" >/dev/null
(cd "$work/destination/usr" && [ -e lib/libaegis.so ] && ! grep -r "$work" lib/pkgconfig lib/cmake)
touch "$work/destination/usr/lib/cmake/aegis/somebody-elses"
make -s -C "$capi" uninstall COMPAT=1 PREFIX=/usr DESTDIR="$work/destination" >/dev/null 2>&1
[[ $(find "$work/destination" -not -type d) = */somebody-elses ]]
# Both can be installed on one system: no file of libaegis has "palladion" in its path.
files() { (cd "$1" && find . -not -type d); }
[ -z "$(files "$work/prefix" | grep -v palladion)$(files "$work/compat" | grep palladion)" ]
# CMake's files can be moved, and the static library has no debugging information or bitcode.
[ -z "$(grep -r "$work" "$work"/{prefix,compat}/lib/cmake)" ]
[ -z "$(objdump -h "$work/prefix/lib/libpalladion.a" | grep -oE '\.(debug_|llvm[bc])' | uniq)" ]
# Root may lack cargo.
make -s -C "$capi" install COMPAT=1 PREFIX="$work/sudo" CARGO=no-cargo-here >/dev/null
cmp "$work/sudo/lib/libaegis.so.0" "$work/compat/lib/libaegis.so.0"
# What another user built is installed as it is, and can be read whatever root's umask is.
cp -a target/c/aegis "$work/users"
[ "$(id -u)" != 0 ] || chown -R 12345 "$work/users"
cargo=$([ "$(id -u)" = 0 ] && echo false || echo no-cargo-here)
(umask 077 && make -s -C "$capi" install COMPAT=1 PREFIX="$work/masked" BUILD="$work/users" \
    CARGO="$cargo" >/dev/null)
cmp "$work/masked/lib/libaegis.so.0" "$work/compat/lib/libaegis.so.0"
[ -z "$(find "$work/masked" ! -perm -o=r)" ]
refused() { # WORDS ARGUMENTS... : make fails, says so, and installs nothing
    local words=$1
    shift
    if make -s -C "$capi" "$@" PREFIX="$work/refused" >"$work/said" 2>&1; then exit 1; fi
    grep -q "$words" "$work/said" || { cat "$work/said"; exit 1; }
    [ ! -e "$work/refused/lib" ]
}
refused "run make with the same variables" install SHARED=0 CARGO=no-cargo-here
refused 'must be absolute, unlike "lib64"' install LIBDIR=lib64
touch "$capi/src/lib.rs"
refused "run make with the same variables" install CARGO=no-cargo-here
# Cargo may build in another folder, for a target, with a profile: the library is its, not the one
# that lies where it is without all that.
elsewhere() { # ARGUMENTS...: unoptimised, to be fast
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 make -s -C "$capi" install PREFIX="$work/elsewhere" "$@"
}
if [ -z "${QUICK:-}" ]; then
    CARGO_TARGET_DIR=$work/elsewhere/1 CARGO_BUILD_TARGET=$host elsewhere >/dev/null 2>&1
    cmp "$work/elsewhere/1/$host/release/libaegis.so" "$work/elsewhere/lib/libpalladion.so.0"
    elsewhere CARGO_FLAGS="--config build.target-dir='\"$work/elsewhere/1\"' \
        --config build.target='\"$host\"' --config profile.quick.inherits='\"release\"' \
        --profile quick" >/dev/null 2>&1
    cmp "$work/elsewhere/1/$host/quick/libaegis.so" "$work/elsewhere/lib/libpalladion.so.0"
    refused "cargo built no libaegis.so" install \
        CARGO_FLAGS="--quiet --target-dir $work/elsewhere/1 --target $host --crate-type staticlib"
fi
# A program instead of cargo that builds nothing, or only half of it.
printf '#!/bin/sh\nexec true\n' >"$work/bin/no-build"
chmod +x "$work/bin/no-build"
refused "cargo built no libaegis.a" install CARGO="$work/bin/no-build"
refused "run make with the same variables" install CARGO=no-cargo-here
PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig:$work/compat/lib/pkgconfig
export PKG_CONFIG_PATH
pkg-config --atleast-version=0.9.0 aegis
version=$(sed -n 's/^#define PALLADION_VERSION "\(.*\)"/\1/p' "$capi/include/palladion.h")
[ "$(pkg-config --modversion palladion)" = "$version" ]
[ "$(pkg-config --variable=palladion_version aegis)" = "$version" ]

echo "== exported names"
exported() { nm -D --defined-only "$1" | awk '{ print $3 }' | sed 's/@.*//' | LC_ALL=C sort; }
same_names() { # LIBRARY PREFIX... : exports just what the headers declare
    local library=$1 prefix
    shift
    diff <(for prefix; do .ci/c-names.sh "$prefix"; done | LC_ALL=C sort) <(exported "$library")
    echo "$(basename "$library"): $(exported "$library" | wc -l) names"
}
same_names "$work/compat/lib/libaegis.so.0" aegis
same_names "$work/prefix/lib/libpalladion.so" aegis palladion
same_static_names() { # LIBRARY PREFIX... : as same_names
    local library=$1 prefix
    shift
    diff <(for prefix; do .ci/c-names.sh "$prefix"; done | LC_ALL=C sort) \
        <(nm -g --defined-only "$library" | awk 'NF == 3 { print $3 }' | LC_ALL=C sort)
}
same_static_names "$work/compat/lib/libaegis.a" aegis
same_static_names "$work/prefix/lib/libpalladion.a" aegis palladion
# libaegis has the same names. Its only others are names that none of its headers declares.
.ci/peer-libaegis.sh "$work/peer"
undeclared='[a-z0-9]+_pick_best_implementation|aegis_runtime_[a-z0-9_]+|libaegis_[a-z0-9_]+'
undeclared+='|raf_merkle_[a-z_]+|aegis_kdf_[0-9]+|aegis_raf_merkle_config_validate'
LC_ALL=C comm -3 <(exported "$work/compat/lib/libaegis.so.0") <(exported "$work/peer/libaegis.so") |
    tee "$work/names" |
    { ! grep -vE "^	($undeclared)\$"; }

strict=(-Wall -Wextra -Wpedantic -Werror -O1 -g)
compile() { # TEST OUT COMPILER... : a test with libpalladion
    local source=$capi/tests/$1.c out=$work/bin/$1-$2 compiler=$3
    shift 3
    "$compiler" "${strict[@]}" "$@" $(pkg-config --cflags palladion) "$source" -o "$out" \
        $(pkg-config --libs palladion) \
        -lpthread -Wl,-rpath,"$work/prefix/lib"
    echo "== $compiler $*"
    "$out"
}
for test in interface extra file raf sodium; do
    compile $test gcc gcc -std=c99
    compile $test g++ g++ -std=c++17 -x c++
    compile $test sanitized gcc -std=c99 -O0 -fsanitize=address,undefined -fno-sanitize-recover
    if [ -z "${QUICK:-}" ] && type clang-19 >/dev/null 2>&1; then
        compile $test clang clang-19 -std=c99 -O0 -fsanitize=address,undefined \
            -fno-sanitize-recover=all
        compile $test clang++ clang-19 -std=c++17 -x c++
    fi
done
echo "== RAF files, in any order"
cargo test --quiet --release -p palladion-capi
echo "== each header alone"
for header in "$work"/prefix/include/palladion/*.h; do
    printf '#include <%s>\nint main(void) { return 0; }\n' "$(basename "$header")" >"$work/header.c"
    gcc -std=c99 "${strict[@]}" -I"$work/prefix/include/palladion" -fsyntax-only "$work/header.c"
    g++ -std=c++17 "${strict[@]}" -I"$work/prefix/include/palladion" -fsyntax-only -x c++ \
        "$work/header.c"
done
echo "== results that must be looked at"
ignored() { # CALL: the compiler warns if its result is ignored
    printf '#include <palladion.h>\n#include <palladion_file.h>\n%s\n%s\n' \
        'void f(aegis128l_mac_state *st, uint8_t *x);' \
        "void f(aegis128l_mac_state *st, uint8_t *x) { (void) st; $1; }" >"$work/ignored.c"
    local compile=(gcc -std=c99 -I"$work/prefix/include/palladion" -S -o /dev/null)
    "${compile[@]}" -w "$work/ignored.c"
    ! "${compile[@]}" -Werror=unused-result "$work/ignored.c" 2>/dev/null
}
ignored 'aegis128l_mac_verify(st, x, 16)'
ignored 'palladion_random(x, 16)'
ignored 'palladion_seal(1, 16, x, x, 0, x, 0, x)'
ignored 'palladion_open(1, 16, x, x, 0, x, 0, x)'
ignored 'palladion_stream_push(NULL, x, 16, 1, NULL, NULL)'
ignored 'palladion_decrypt_file("a", "b", NULL, 0)'
ignored 'aegis128l_decrypt(x, x, 16, 16, x, 0, x, x)'
if ignored 'aegis128l_mac_update(st, x, 16)'; then exit 1; fi
# The macros without GNU's attributes, as for MSVC.
printf '#include "aegis_common.h"\nAEGIS_WARN_UNUSED_RESULT\nint f(void);\n' >"$work/header.c"
for compiler in "gcc -std=c99" "g++ -std=c++11 -x c++" "g++ -std=c++17 -x c++"; do
    $compiler -U__GNUC__ "${strict[@]}" -I"$capi/include" -fsyntax-only "$work/header.c"
done
echo "== backends by name, and none of such a name"
for backend in $backends; do
    PALLADION_BACKEND=$backend "$work/bin/interface-gcc" >/dev/null
done
for backend in none armv9000; do
    PALLADION_BACKEND=$backend "$work/bin/interface-gcc" no-such-backend
done
echo "== valgrind"
# It takes what Rust knows of the main thread for possibly lost.
for test in interface $([ -n "${QUICK:-}" ] || echo extra file raf); do
    valgrind --quiet --error-exitcode=1 --leak-check=full --errors-for-leak-kinds=definite \
        --show-leak-kinds=definite "$work/bin/$test-gcc" quick
done
echo "== linked statically"
# With -static the linker warns of functions in glibc that would load shared libraries. Rust's
# standard library refers to some; this one calls none.
static=$(pkg-config --static --cflags --libs palladion)
with_shared_libc=${static/-lpalladion/-l:libpalladion.a}
for compiler in "gcc -std=c99" "g++ -std=c++17 -x c++"; do
    $compiler "${strict[@]}" "$capi/tests/interface.c" -x none $with_shared_libc \
        -o "$work/bin/static"
    "$work/bin/static" quick
    $compiler -O1 -static "$capi/tests/interface.c" -x none $static \
        -o "$work/bin/static" 2>"$work/linker" ||
        { cat "$work/linker"; exit 1; }
    "$work/bin/static" quick
done

echo "== beside another static library in Rust, by another compiler"
cat >"$work/other.rs" <<'END'
#[unsafe(no_mangle)]
pub extern "C" fn other(x: usize) -> usize {
    std::panic::catch_unwind(|| vec![x; 3][x]).unwrap_or(77)
}
END
cat >"$work/both.c" <<'END'
#include <palladion.h>
size_t other(size_t x);
int main(void)
{
    uint8_t key[16], tag[16], message[5] = "abcd";
    return palladion_random(key, sizeof key) != 0 || other(1) != 1 || other(9) != 77 ||
        aegis128l_encrypt_detached(message, tag, 16, message, 5, NULL, 0, NULL, key) != 0;
}
END
for compiler in rustc "rustc +nightly" "rustc +1.95.0" /usr/bin/rustc; do
    $compiler --version >"$work/version" 2>/dev/null || continue
    $compiler --edition 2024 --crate-type staticlib "$work/other.rs" -o "$work/libother.a"
    for libraries in "$with_shared_libc $work/libother.a" "$work/libother.a $with_shared_libc"; do
        gcc "$work/both.c" $libraries $with_shared_libc -lpthread -lm -ldl -o "$work/bin/both"
        "$work/bin/both" 2>/dev/null
    done
    echo "by $(cat "$work/version")"
done

# The standard library need not be optimised. Our crates must be, to fit on the small stacks of
# musl's threads.
musl=x86_64-unknown-linux-musl musl_cargo=cargo musl_flags=() stub=()
for package in palladion palladion-capi; do
    musl_flags+=(--config "profile.release.package.$package.opt-level=1")
done
rustup_has_musl() { [[ $(rustup target list --installed 2>/dev/null) = *"$musl"* ]]; }
if [ -n "${MUSL-}" ] && ! rustup_has_musl; then
    export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
    export RUSTFLAGS="-C panic=abort -C link-self-contained=no -C debuginfo=0"
    musl_flags+=(-Zbuild-std=std,panic_abort) musl_cargo=/usr/bin/cargo
    # It comes without rustc's unwinder. GCC's needs a function of glibc.
    echo 'int _dl_find_object(void *pc, void *result) { (void) pc, (void) result; return -1; }' \
        >"$work/stub.c"
    stub=("$work/stub.c")
fi
if [ -n "${MUSL-}" ] || { [ -z "${QUICK:-}" ] && type musl-gcc >/dev/null 2>&1 && rustup_has_musl; }
then
    echo "== linked statically with musl"
    CARGO_TARGET_DIR=$(realpath -m "$target")/cross CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
        make -s -C "$capi" install SHARED=0 PREFIX="$work/musl" \
        CARGO="$musl_cargo" CARGO_FLAGS="${musl_flags[*]} --target $musl" >/dev/null
    unset RUSTC RUSTC_BOOTSTRAP RUSTFLAGS
    for test in interface extra file raf sodium; do
        musl-gcc -std=c99 -static "${strict[@]}" -I"$work/musl/include/palladion" \
            "$capi/tests/$test.c" ${stub[@]+"${stub[@]}"} \
            "$work/musl/lib/libpalladion.a" -o "$work/bin/$test-musl"
        "$work/bin/$test-musl" quick
    done
fi

echo "== examples by pkg-config"
for example in encrypt mac raf streaming; do
    gcc -std=c99 "${strict[@]}" "examples/c/$example.c" -o "$work/bin/$example" \
        $(pkg-config --cflags --libs aegis) \
        -Wl,-rpath,"$work/compat/lib"
    g++ -std=c++17 "${strict[@]}" -x c++ "examples/c/$example.c" -fsyntax-only \
        $(pkg-config --cflags aegis)
done
"$work/bin/encrypt" && "$work/bin/mac"
awk '/^```c$/ { c = 1; next } /^```$/ && c { exit } c' docs/c.md >"$work/first.c"
gcc -std=c99 "${strict[@]}" "$work/first.c" -o "$work/bin/first" \
    $(pkg-config --cflags --libs palladion) \
    -Wl,-rpath,"$work/prefix/lib"
[ "$("$work/bin/first")" = "attack at dawn" ]
rm -f "$work/notes.raf"
"$work/bin/raf" "$work/notes.raf" && [ "$("$work/bin/raf" "$work/notes.raf" | wc -l)" = 2 ]
"$work/bin/streaming" <README.md >"$work/sealed" && "$work/bin/streaming" -d <"$work/sealed" |
    cmp - README.md
if "$work/bin/streaming" --decrypt <"$work/sealed" >"$work/unread" 2>/dev/null; then exit 1; fi
[ ! -s "$work/unread" ]
# A failed read or write is a failure, and gives no tag. A folder cannot be read.
for options in "" -d; do
    if "$work/bin/streaming" $options <"$work" >"$work/unread" 2>/dev/null; then exit 1; fi
    [ ! -s "$work/unread" ]
done
if "$work/bin/streaming" <README.md >/dev/full 2>/dev/null; then exit 1; fi
if "$work/bin/streaming" -d <"$work/sealed" >/dev/full 2>/dev/null; then exit 1; fi
if "$work/bin/raf" "$work/notes.raf" >/dev/full 2>/dev/null; then exit 1; fi
printf x >>"$work/sealed"
if "$work/bin/streaming" -d <"$work/sealed" >/dev/null 2>&1; then
    echo "a damaged stream was accepted" >&2
    exit 1
fi

# Files: those of the command, with a key and in either direction.
gcc -std=c99 "${strict[@]}" examples/c/file.c -o "$work/bin/file" \
    $(pkg-config --cflags --libs palladion) -Wl,-rpath,"$work/prefix/lib"
g++ -std=c++17 "${strict[@]}" -x c++ examples/c/file.c -fsyntax-only \
    $(pkg-config --cflags palladion)
rm -rf "$work/files"
mkdir "$work/files"
"$palladion" keygen -o "$work/files/key" 2>/dev/null
"$palladion" keygen -o "$work/files/other" 2>/dev/null
for input in README.md /dev/null "$work/prefix/lib/libpalladion.a"; do
    rm -f "$work/files"/{a,b,c,d}
    "$work/bin/file" "$work/files/key" <"$input" >"$work/files/a"
    "$palladion" decrypt -k "$work/files/key" <"$work/files/a" | cmp - "$input"
    "$palladion" encrypt -k "$work/files/key" <"$input" >"$work/files/b"
    "$work/bin/file" -d "$work/files/key" <"$work/files/b" | cmp - "$input"
    "$work/bin/file" -d "$work/files/key" "$work/files/b" "$work/files/c"
    cmp "$work/files/c" "$input"
    "$work/bin/file" "$work/files/key" "$input" "$work/files/d"
    "$palladion" decrypt -k "$work/files/key" <"$work/files/d" | cmp - "$input"
done
file_says() { # WORDS ARGUMENTS... <INPUT : the example fails, says so and writes no bytes
    local words=$1
    shift
    if "$work/bin/file" "$@" >"$work/unread" 2>"$work/said"; then exit 1; fi
    grep -q "$words" "$work/said" || { cat "$work/said"; exit 1; }
    [ ! -s "$work/unread" ]
}
file_says "not the key" -d "$work/files/other" <"$work/files/a"
head -c 100 "$work/files/a" >"$work/files/cut"
file_says "is truncated" -d "$work/files/key" <"$work/files/cut"
file_says "not a Palladion file" -d "$work/files/key" <README.md
file_says "Is a directory" "$work/files/key" <"$work"
file_says "File exists" "$work/files/key" README.md "$work/files/a"
if "$work/bin/file" "$work/files/key" <README.md >/dev/full 2>/dev/null; then exit 1; fi

if [ -z "${QUICK:-}" ]; then
    echo "== examples by CMake"
    cmake -S examples/c -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/compat;$work/prefix" >/dev/null
    cmake --build "$work/cmake" >/dev/null
    [ -x "$work/cmake/file" ]
    LD_LIBRARY_PATH=$work/compat/lib ctest --test-dir "$work/cmake" --output-on-failure | tail -3
    echo "== CMake's files where LIBDIR is deeper, moved elsewhere, found by a link"
    make -s -C "$capi" install PREFIX=/nowhere LIBDIR=/nowhere/lib/deep DESTDIR="$work/moved" \
        >/dev/null
    ln -s nowhere/lib "$work/moved/lib"
    mkdir "$work/project"
    cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.16)
project(moved C)
set(prefix "the caller's")
set(libdir "the caller's")
get_cmake_property(before VARIABLES)
find_package(palladion $version EXACT REQUIRED)
get_cmake_property(after VARIABLES)
list(REMOVE_ITEM after \${before} before CMAKE_MATCH_COUNT)
list(FILTER after EXCLUDE REGEX "^(palladion|PALLADION)_")
if(after OR NOT prefix STREQUAL "the caller's" OR NOT libdir STREQUAL "the caller's")
    message(FATAL_ERROR "find_package sets or changes variables of the caller: \${after}")
endif()
foreach(kind palladion palladion-static)
    add_executable(\${kind} $PWD/examples/c/encrypt.c)
    target_link_libraries(\${kind} PRIVATE palladion::\${kind})
endforeach()
END
    cmake -S "$work/project" -B "$work/project/build" \
        -DCMAKE_PREFIX_PATH="$work/moved/lib/deep/cmake" >/dev/null
    cmake --build "$work/project/build" >/dev/null
    "$work/project/build/palladion" && "$work/project/build/palladion-static"
    echo "== the static library only, in a folder with a space"
    refused_beside_shared() {
        if make -s -C "$capi" install SHARED=0 PREFIX="$work/prefix" >"$work/said" 2>&1; then
            exit 1
        fi
        grep -q "programs would use the old" "$work/said"
    }
    refused_beside_shared
    make -s -C "$capi" install SHARED=0 PREFIX="$work/a b" >/dev/null
    rm -r "$work/project/build"
    cmake -S "$work/project" -B "$work/project/build" -DCMAKE_PREFIX_PATH="$work/a b" >/dev/null
    cmake --build "$work/project/build" >/dev/null
    "$work/project/build/palladion" && "$work/project/build/palladion-static"
    eval "gcc examples/c/encrypt.c -o '$work/bin/space' \
        $(PKG_CONFIG_PATH="$work/a b/lib/pkgconfig" pkg-config --cflags --libs palladion)"
    "$work/bin/space"
    make -s -C "$capi" uninstall SHARED=0 PREFIX="$work/a b" >/dev/null
    [ -z "$(find "$work/a b" -not -type d)" ] && [ ! -e "$work/a b/include/palladion" ]
fi

echo "== the same calls of libaegis"
gcc -std=c11 "${strict[@]}" -I"$capi/include" "$capi/tests/differential.c" \
    -o "$work/bin/differential" -ldl
for backend in $backends; do
    echo -n "$backend: "
    PALLADION_BACKEND=$backend "$work/bin/differential" "$work/compat/lib/libaegis.so" \
        "$work/peer/libaegis.so" 100 "$RANDOM"
done
gcc -std=c99 "${strict[@]}" -I"$capi/include" "$capi/tests/raf.c" -o "$work/bin/raf-libaegis" \
    "$work/peer/libaegis.so" -Wl,-rpath,"$work/peer"
"$work/bin/raf-libaegis" libaegis
