#!/usr/bin/env bash
# Installs, on Debian 12 as root, what the tests for other CPUs need: emulators, cross compilers, Debian's Rust with its
# sources (to build for other targets without rustup). Does nothing if all is there.
set -euo pipefail
packages=(
    qemu-user rustc-web cargo-web rust-web-src
    gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    gcc-i686-linux-gnu libc6-dev-i386-cross
    gcc-s390x-linux-gnu libc6-dev-s390x-cross
    bochs bochs-term bochsbios vgabios cpio python3 gcc libc6-dev
)
dpkg -s "${packages[@]}" >/dev/null 2>&1 && apt-cache show linux-image-cloud-amd64 >/dev/null 2>&1 && exit 0
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
