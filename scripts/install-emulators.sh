#!/usr/bin/env bash
# Installs, on Debian 12 as root, what the tests for other CPUs need: emulators, cross compilers, Debian's Rust with its
# sources (to build for other targets without rustup), and what WebAssembly needs. Does nothing if all is there.
set -euo pipefail
packages=(
    qemu-user qemu-system-arm rustc-web cargo-web rust-web-src
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
    gcc-i686-linux-gnu libc6-dev-i386-cross
    gcc-powerpc64le-linux-gnu libc6-dev-ppc64el-cross
    gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
    gcc-s390x-linux-gnu libc6-dev-s390x-cross
    clang-19 lld-19 wasi-libc python3-venv
    bochs bochs-term bochsbios vgabios cpio python3 binutils gcc libc6-dev
)
type node >/dev/null 2>&1 || packages+=(nodejs) # Debian's is version 18, without relaxed SIMD
dpkg -s "${packages[@]}" >/dev/null 2>&1 && apt-cache show linux-image-cloud-amd64 >/dev/null 2>&1 && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
