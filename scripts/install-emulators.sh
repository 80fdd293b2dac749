#!/usr/bin/env bash
# Installs, on Debian 12 as root, what the tests for other CPUs need: emulators, cross compilers,
# Debian's Rust with its sources (to build for other targets without rustup), what WebAssembly
# needs, and what the tests in C do. Does nothing if all is there.
#
# Also gets Debian's compiled standard libraries for some of those CPUs, into target/cross/:
# building one takes minutes. They have to be those whose checksums stand here; if Debian has moved
# on, or they cannot be had, they are built.
set -euo pipefail
cd "$(dirname "$0")/.."
std_version=1.96.0+dfsg1-1~deb12u2
std_checksums='
arm64   02419380801b9f61391294823659b17b90f7a863ca3bbccb9140d2f0f8a2c910
armhf   b9f9dd1d03a903680f918cb2bba00a2a3d76558545d5e6a8061072ab461bb989
i386    53a1b4f2d2ceb68b6c116f0a1a4d5892141dc4e1e41829fc3613e3e7d7135025
ppc64el e843053d11bcbfd09211458a7c7814ecff1e86709c4ea0e76c30cbfb1cc46098
'
standard_libraries() {
    local sysroot=${CARGO_TARGET_DIR:-target}/cross/sysroot uri work arch checksum
    [ "$(dpkg-query -W -f '${Version}' rustc-web)" = "$std_version" ] || return 0
    [ "$(cat "$sysroot/version" 2>/dev/null)" != "$std_version" ] || return 0
    uri=$(apt-get download --print-uris "libstd-rust-web-dev=$std_version" |
        sed "s/^'\([^']*\)_amd64.deb'.*/\1/") || return 0
    rm -rf "$sysroot"
    mkdir -p "$sysroot/lib/rustlib"
    work=$(mktemp -d)
    while read -r arch checksum; do
        [ -n "$arch" ] || continue
        /usr/lib/apt/apt-helper download-file "${uri}_$arch.deb" "$work/$arch.deb" \
            "SHA256:$checksum" >/dev/null 2>&1 || {
            echo "no compiled standard library for $arch: it will be built"
            continue
        }
        dpkg -x "$work/$arch.deb" "$work/$arch"
        mv "$work/$arch"/usr/lib/rustlib/*-linux-* "$sysroot/lib/rustlib/"
    done <<<"$std_checksums"
    rm -rf "$work"
    echo "$std_version" >"$sysroot/version"
}

packages=(
    qemu-user qemu-system-arm rustc-web cargo-web rust-web-src
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
    gcc-i686-linux-gnu libc6-dev-i386-cross
    gcc-powerpc64-linux-gnu libc6-dev-ppc64-cross
    gcc-powerpc64le-linux-gnu libc6-dev-ppc64el-cross
    gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
    gcc-s390x-linux-gnu libc6-dev-s390x-cross
    clang-19 lld-19 wasi-libc python3-venv
    bochs bochs-term bochsbios vgabios cpio python3 binutils gcc libc6-dev
    g++ make pkg-config cmake valgrind libclang-rt-19-dev musl-tools # for scripts/test-c.sh
    python3-dev # for pyaegis
)
type node >/dev/null 2>&1 || packages+=(nodejs) # Debian's is version 18, without relaxed SIMD
dpkg -s "${packages[@]}" >/dev/null 2>&1 &&
    apt-cache show linux-image-cloud-amd64 >/dev/null 2>&1 || {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
}
standard_libraries
