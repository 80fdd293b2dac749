#!/usr/bin/env bash
# Shows that no branch and no address depends on a secret while the library runs. Two programs,
# secrets/constant_time.rs for the Rust API and secrets/c_api.c for the C API, mark secrets as
# uninitialised memory; valgrind's memcheck reports every branch and address that depends on it.
# Each program first has to be caught with a planted table look-up and a planted comparison that
# ends early.
#
#   assurance/constant-time.sh [BACKEND...]              all that valgrind knows the instructions of
#   CPU=aarch64 assurance/constant-time.sh [BACKEND...]  for ARM: valgrind for ARM under QEMU
#
# Needs valgrind and gcc on x86-64; for ARM what scripts/install-emulators.sh installs. Debian's
# valgrind for ARM is put into target/, not into the system.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(uname -m)" = x86_64 ] || { echo "skipped: needs x86-64"; exit; }
unset CARGO_PROFILE_RELEASE_LTO # the code to check is the code that users get
directory=$(realpath -m target/assurance/secrecy)
build=(--quiet --locked --release --target-dir "$directory")
rust=(build "${build[@]}" --manifest-path assurance/Cargo.toml --bin constant-time)
c=(rustc "${build[@]}" -p palladion-capi --lib --crate-type staticlib)

# Downloads Debian's packages for ARM, verified by apt, and unpacks them into folder $1.
arm_packages() {
    [ ! -e "$1/complete" ] || return 0
    local state=$1.apt
    rm -rf "$1" "$state"
    mkdir -p "$1" "$state/lists/partial" "$state/cache/archives/partial"
    local apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64
        -o "Dir::State::lists=$state/lists" -o Dir::State::status=/dev/null
        -o "Dir::Cache=$state/cache" -o APT::Sandbox::User=root)
    "${apt[@]}" update
    (cd "$state" && "${apt[@]}" download valgrind libc6 libc6-dbg libgcc-s1)
    local package
    for package in "$state"/*.deb; do
        dpkg -x "$package" "$1"
    done
    rm -rf "$state"
    touch "$1/complete"
}

export RUSTFLAGS="${RUSTFLAGS:-} --cfg palladion_secrecy"
if [ "${CPU:-x86_64}" = aarch64 ]; then
    [ $# -gt 0 ] || set -- armv8-aes neon portable
    . .ci/cross.sh
    cross_target aarch64
    cross_cargo "${rust[@]}"
    cross_cargo "${c[@]}"
    root=$directory/arm64
    arm_packages "$root"
    directory+=/$target
    compiler=(aarch64-linux-gnu-gcc -idirafter /usr/include) # for valgrind's headers
    # The program `valgrind` would only start memcheck, which must run under QEMU.
    libexec=$root/usr/libexec/valgrind
    memcheck=(env "VALGRIND_LIB=$libexec" "VALGRIND_LAUNCHER=$root/usr/bin/valgrind"
        qemu-aarch64 -cpu max -L "$root" "$libexec/memcheck-arm64-linux")
else
    [ $# -gt 0 ] || set -- aesni-avx aesni avx2 ssse3 portable
    cargo "${rust[@]}"
    cargo "${c[@]}"
    compiler=(gcc)
    memcheck=(valgrind)
fi
programs=("$directory/release/constant-time" "$directory/release/c-api")
"${compiler[@]}" -std=c99 -Wall -Wextra -Wpedantic -Werror -O1 -g \
    -Icrates/palladion-capi/include -Icrates/palladion-capi/tests \
    assurance/secrets/c_api.c \
    "$directory/release/libaegis.a" -o "${programs[1]}" -lpthread -ldl -lm

# must_find DEFECT MESSAGE: memcheck reports the planted defect in $program on $backend.
must_find() {
    local report
    if report=$("${watch[@]}" --plant "$1" "$backend" 2>&1) || ! grep -q "$2" <<<"$report"; then
        echo "$report"
        echo "$backend, ${program##*/}: the planted $1 was not found"
        exit 1
    fi
}
for backend; do
    for program in "${programs[@]}"; do
        watch=("${memcheck[@]}" --quiet --error-exitcode=9 --num-callers=20 "$program")
        must_find table "Use of uninitialised value"
        must_find comparison "Conditional jump or move depends on uninitialised value"
        "${watch[@]}" "$backend"
    done
    echo "$backend: passed"
done
echo "no branch or address depends on a secret, in Rust and C, on $*"
