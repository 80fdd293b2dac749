#!/usr/bin/env bash
# Checks that no branch and no address depends on a secret: valgrind's memcheck follows all secrets
# through every public function that handles them, of Rust
# (crates/palladion-assurance/src/bin/constant-time/) and of C
# (-Icrates/palladion-capi/tests assurance/constant-time/secrets.c), on every backend that valgrind knows the instructions of.
#
#   scripts/check-constant-time.sh [BACKEND...]
#
# That it would be noticed: for each backend a look-up in a table, and a comparison that ends early,
# of a tag that comes out of it. That no function was forgotten: scripts/check-secret-calls.py
# compares what was called with the public API. Needs valgrind; on x86-64.
#
#   CPU=aarch64 scripts/check-constant-time.sh [BACKEND...]     the same for ARM: valgrind for ARM,
#   under QEMU
#
# Needs what scripts/install-emulators.sh installs, and gets Debian's valgrind and C library for ARM
# into target/ (not into the system).
#
#   MSAN=1 scripts/check-constant-time.sh      the same with MemorySanitizer, for VAES
#
# MemorySanitizer puts its own code into what the compiler makes, so that is evidence about the
# source; the machine code of all backends is read by scripts/check-machine-code.sh. (It does not
# know the three-way logic of AVX-512, and reports all of it.) Needs a CPU with these instructions,
# clang-22, libclang-rt-22-dev, and Debian's rustc-web, cargo-web and rust-web-src, as the standard
# library must be built alike; that takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(uname -m)" = x86_64 ] || { echo "skipped: not on x86-64"; exit 0; }
directory=${CARGO_TARGET_DIR:-target}/secrecy
flags="${RUSTFLAGS:-} --cfg palladion_secrecy"
build=(build --quiet --locked --release --manifest-path assurance/Cargo.toml --bin constant-time)
# The features are those with which the core is compiled for the program above.
c_library=(rustc --quiet --locked --release -p palladion-capi --lib --crate-type staticlib)
compile_c=(gcc)
memcheck=(--quiet --error-exitcode=9 --num-callers=20)
finds=("table:Use of uninitialised value" "comparison:Conditional jump or move depends on uninitialised value")

# Debian's packages for ARM, asked for and verified as apt does its own, into the folder $1.
arm_packages() {
    [ ! -e "$1/complete" ] || return 0
    local state=$1.apt
    rm -rf "$1" "$state"
    mkdir -p "$1" "$state/lists/partial" "$state/cache/archives/partial"
    state=$(realpath "$state")
    local arm=(-qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o "Dir::State::lists=$state/lists" -o Dir::State::status=/dev/null
        -o "Dir::Cache=$state/cache" -o APT::Sandbox::User=root)
    apt-get "${arm[@]}" update
    (cd "$state" && apt-get "${arm[@]}" download valgrind libc6 libc6-dbg libgcc-s1)
    local package
    for package in "$state"/*.deb; do
        dpkg -x "$package" "$1"
    done
    rm -rf "$state"
    touch "$1/complete"
}

if [ -n "${MSAN:-}" ]; then
    grep -qw vaes /proc/cpuinfo || { echo "skipped: a CPU without VAES"; exit 0; }
    [ $# -gt 0 ] || set -- vaes-avx2
    directory+=-msan
    # (Without a message the sanitizer exits with 1. Arguments and results are checked where they
    # are used.)
    flags+=' --cfg palladion_secrecy="msan" -Zsanitizer=memory -Zexternal-clangrt -C llvm-args=-msan-eager-checks=0'
    export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS="$flags -C linker=clang-22 -C link-arg=-fsanitize=memory"
    target=x86_64-unknown-linux-gnu
    for what in build c_library; do
        declare -n arguments=$what
        /usr/bin/cargo "${arguments[@]}" -Zbuild-std=std,panic_unwind --target $target --target-dir "$directory"
    done
    directory+=/$target
    compile_c=(clang-22 -fsanitize=memory -fno-sanitize-memory-param-retval -DMSAN) # as Rust does, see above
    watch=()
    finds=(table:MemorySanitizer comparison:MemorySanitizer)
elif [ "${CPU:-x86_64}" = aarch64 ]; then
    [ $# -gt 0 ] || set -- armv8-aes neon portable
    . scripts/cross.sh
    cross_target aarch64
    RUSTFLAGS=$flags cross_cargo "${build[@]}" --target-dir "$directory"
    RUSTFLAGS=$flags cross_cargo "${c_library[@]}" --target-dir "$directory"
    arm_packages "$directory/arm64"
    root=$(realpath "$directory/arm64")
    directory+=/$target
    compile_c=(aarch64-linux-gnu-gcc -idirafter /usr/include) # for valgrind's headers
    # (The program `valgrind` only starts this one.)
    watch=(env "VALGRIND_LIB=$root/usr/libexec/valgrind" "VALGRIND_LAUNCHER=$root/usr/bin/valgrind"
        qemu-aarch64 -cpu max -L "$root" "$root/usr/libexec/valgrind/memcheck-arm64-linux" "${memcheck[@]}")
elif [ "${CPU:-x86_64}" = x86_64 ]; then
    [ $# -gt 0 ] || set -- aesni-avx aesni avx2 ssse3 portable
    RUSTFLAGS=$flags cargo "${build[@]}" --target-dir "$directory"
    RUSTFLAGS=$flags cargo "${c_library[@]}" --target-dir "$directory"
    watch=(valgrind "${memcheck[@]}")
else
    echo "no such CPU: $CPU" >&2
    exit 2
fi

programs=("$directory/release/constant-time" "$directory/release/secrets")
"${compile_c[@]}" -std=c99 -Wall -Wextra -Wpedantic -Werror -O1 -g -Icrates/palladion-capi/include -Icrates/palladion-capi/tests assurance/constant-time/secrets.c \
    "$directory/release/libaegis.a" -o "${programs[1]}" -lpthread -ldl -lm

for backend; do
    for program in "${programs[@]}"; do
        for find in "${finds[@]}"; do
            defect=${find%%:*}
            if report=$("${watch[@]}" "$program" --plant "$defect" "$backend" 2>&1); then
                echo "$backend: a planted $defect was not found" >&2
                exit 1
            elif ! grep -q "${find#*:}" <<<"$report"; then
                echo "$report" >&2
                exit 1
            fi
        done
        "${watch[@]}" "$program" --plant none "$backend"
        "${watch[@]}" "$program" --calls "$program.calls" "$backend"
    done
done
scripts/check-secret-calls.py --rust "${programs[0]}.calls" --c "${programs[1]}.calls"
