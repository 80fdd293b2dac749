# What the scripts for bare machines share; to be sourced. `bare_target CPU` chooses one and sets
#   target       Rust's name for it
#   directory    where its programs are built
#   bare_cargo   cargo for it, in firmware/
#
# The Rust target comes from rustup if it is installed (`rustup target add`). Otherwise `core` is
# built from Debian's rustc-web, cargo-web and rust-web-src, and linked with Debian's lld-19.

firmware=$PWD/firmware
built=$(realpath -m "${CARGO_TARGET_DIR:-target}")/firmware

bare_target() {
    case $1 in
    cortex-m0) target=thumbv6m-none-eabi ;; # no atomics but loads and stores, no division
    cortex-m3) target=thumbv7m-none-eabi ;;
    cortex-m4) target=thumbv7em-none-eabihf ;;
    riscv32) target=riscv32imac-unknown-none-elf ;;
    x86_64) target=x86_64-unknown-none ;; # kernels: no vector registers
    *) echo "unknown CPU: $1" >&2; return 2 ;;
    esac
    directory=$built/$target/release
    bare_from_rustup && return
    local upper
    upper=$(tr 'a-z-' 'A-Z_' <<<"$target")
    export "CARGO_TARGET_${upper}_LINKER=ld.lld-19"
    type ld.lld-19 /usr/bin/rustc /usr/bin/cargo >/dev/null || {
        echo "needs the Rust target $target, or from Debian lld-19, rustc-web, cargo-web" \
            "and rust-web-src" >&2
        return 1
    }
}

bare_from_rustup() { rustup target list --installed 2>/dev/null | grep -qx "$target"; }

# cargo SUBCOMMAND for the chosen target; the rest is its arguments.
bare_cargo() {
    local subcommand=$1
    shift
    set -- --locked --quiet --release --target "$target" "$@"
    if bare_from_rustup; then
        (cd "$firmware" && CARGO_TARGET_DIR=$built cargo "$subcommand" "$@")
    else
        (cd "$firmware" && CARGO_TARGET_DIR=$built RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 \
            /usr/bin/cargo "$subcommand" -Zbuild-std=core,panic_abort "$@")
    fi
}

variants="aegis-128l aegis-128x2 aegis-128x4 aegis-256 aegis-256x2 aegis-256x4"
