#!/usr/bin/env bash
# Tests for Windows, under Wine. docs/systems.md says what that shows and what it cannot.
#
#     scripts/test-windows.sh [quick|full|check] [ARGUMENTS FOR CARGO...]
#
# quick: the command's core, with pipes and redirected files. full, the default: all tests of the
# default members, the C library and the Go modules. check: compiles what cannot be run here, for
# macOS, Android, and Windows with Microsoft's tools.
#
# On Debian 12 as root it installs Wine and MinGW, and with rustup the targets. The Go modules are
# left out without Go.
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
system=$WINEPREFIX/drive_c/windows/system32
if [ ! -e "$system/bcryptprimitives.dll" ]; then
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
fi
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc
export CARGO_TARGET_X86_64_PC_WINDOWS_GNU_RUNNER=$wine
# Wine makes access control lists of permissions: files of a user's own folder are private.
umask 077

if [ "$what" = quick ]; then
    # Little optimisation: most of the time goes into compiling.
    CARGO_PROFILE_DEV_DEBUG=0 cargo test --quiet -p palladion-cli --target $target --test all "$@" \
        -- windows:: files::a_pipe_gets files::key_from_standard_input keys::macs parts::cat_of
    exit
fi

echo "== Rust"
cargo test --release --all-features --target $target --no-fail-fast --tests "$@"

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

echo "== Go"
type go >/dev/null 2>&1 || { skip "Go under Wine: Go is not installed"; exit; }
(cd bindings/go/aegis && GOOS=windows GOARCH=amd64 go test -count=1 -short -exec "$wine" .)
# Go's os.RemoveAll, which t.TempDir calls at the end, fails in Wine 8: it lacks a kind of deletion.
(cd bindings/go/pld && GOOS=windows GOARCH=amd64 go test -count=1 -v -exec "$wine" .) \
    >"$work/log" 2>&1 || {
    if grep -E '^ +[a-z_]+\.go:[0-9]+: |^panic|^fatal|\[build failed\]' "$work/log" |
        grep -v 'TempDir RemoveAll cleanup: unlinkat .*: Invalid function\.$'; then
        cat "$work/log"
        exit 1
    fi
    grep -q '^--- PASS' "$work/log" || { cat "$work/log"; exit 1; }
    echo "passed, but for what t.TempDir does at the end"
}
