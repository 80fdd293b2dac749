# What the scripts for other CPUs share; to be sourced. `cross_target CPU` chooses one and sets
#   target            Rust's name for it
#   qemu              the command that runs its programs (an array)
#   cross_cargo       cargo for it, with the flags in cross_flags
#   cross_directory   prints where it builds
#
# The Rust target comes from rustup if it is installed (`rustup target add`). Otherwise the standard
# library is the one that install-emulators.sh downloads from Debian or, failing that, is built from
# Debian's rustc-web, cargo-web and rust-web-src.

cross_target() {
    local gnu cpu=()
    cross_flags=
    case $1 in
    aarch64)
        target=aarch64-unknown-linux-gnu gnu=aarch64-linux-gnu qemu=qemu-aarch64 cpu=(-cpu max) ;;
    armv6) target=arm-unknown-linux-gnueabihf gnu=arm-linux-gnueabihf qemu=qemu-arm ;;
    armv7) target=armv7-unknown-linux-gnueabihf gnu=arm-linux-gnueabihf qemu=qemu-arm ;;
    # No VAES: QEMU 7.2 computes it wrong, see test-x86-tiers.sh.
    i686) target=i686-unknown-linux-gnu gnu=i686-linux-gnu qemu=qemu-i386 cpu=(-cpu max,-vaes) ;;
    powerpc64) target=powerpc64-unknown-linux-gnu gnu=powerpc64-linux-gnu qemu=qemu-ppc64 ;;
    powerpc64le) target=powerpc64le-unknown-linux-gnu gnu=powerpc64le-linux-gnu qemu=qemu-ppc64le ;;
    riscv64) target=riscv64gc-unknown-linux-gnu gnu=riscv64-linux-gnu qemu=qemu-riscv64 ;;
    # QEMU 7.2 cannot tell programs that it has Zkne, so they are compiled for it.
    riscv64-zkne)
        target=riscv64gc-unknown-linux-gnu gnu=riscv64-linux-gnu qemu=qemu-riscv64
        cpu=(-cpu rv64,zkne=true) cross_flags="-C target-feature=+zkne" ;;
    # QEMU 7.2 does not have Zvkned. QEMU=COMMAND names a newer one, such as that of Debian's
    # bookworm-backports.
    riscv64-zvkned)
        target=riscv64gc-unknown-linux-gnu gnu=riscv64-linux-gnu qemu=${QEMU:-qemu-riscv64}
        cpu=(-cpu max) ;;
    s390x) target=s390x-unknown-linux-gnu gnu=s390x-linux-gnu qemu=qemu-s390x ;;
    *) echo "unknown CPU: $1" >&2; return 2 ;;
    esac
    type "$gnu-gcc" "$qemu" >/dev/null || return # says what is missing
    # The emulated loader reads the host's ld.so.cache. It could pick a C library of the host that
    # fits the CPU but not the loader (Debian's libc6-i386), and threads would hang. Name its own.
    qemu=("$qemu" ${cpu[@]+"${cpu[@]}"} -L "/usr/$gnu" -E "LD_LIBRARY_PATH=/usr/$gnu/lib")
    local upper
    upper=$(tr 'a-z-' 'A-Z_' <<<"$target")
    export "CARGO_TARGET_${upper}_LINKER=$gnu-gcc" "CARGO_TARGET_${upper}_RUNNER=${qemu[*]}"
}

cross_from_rustup() { rustup target list --installed 2>/dev/null | grep -qx "$target"; }

# Where Debian's compiled standard library is, if it is there and of the same compiler.
cross_sysroot() {
    local sysroot=${CARGO_TARGET_DIR:-target}/cross/sysroot
    [ -d "$sysroot/lib/rustlib/$target" ] &&
        [ "$(cat "$sysroot/version")" = "$(dpkg-query -W -f '${Version}' rustc-web)" ] &&
        realpath "$sysroot"
}

cross_directory() {
    local directory=${CARGO_TARGET_DIR:-target}
    cross_from_rustup || directory+=/cross
    echo "$directory/$target"
}

# cargo SUBCOMMAND for the chosen target; the rest is its arguments.
cross_cargo() {
    local subcommand=$1
    shift
    if cross_from_rustup; then
        RUSTFLAGS="${RUSTFLAGS:-} $cross_flags" cargo "$subcommand" --target "$target" "$@"
        return
    fi
    local sysroot flags="${RUSTFLAGS:-} $cross_flags"
    local std=(-Zbuild-std=std,panic_unwind -Zbuild-std-features=panic-unwind)
    if sysroot=$(cross_sysroot); then
        std=() flags+=" --sysroot=$sysroot"
    fi
    RUSTC=/usr/bin/rustc RUSTDOC=/usr/bin/rustdoc RUSTC_BOOTSTRAP=1 \
        CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/cross" RUSTFLAGS=$flags \
            /usr/bin/cargo "$subcommand" ${std[@]+"${std[@]}"} --target "$target" "$@"
}
