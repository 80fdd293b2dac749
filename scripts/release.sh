#!/usr/bin/env bash
# Builds what a release consists of, and says whether it is complete. Publishes nothing:
# .github/workflows/release.yml publishes what this builds (docs/releasing.md).
#
#   scripts/release.sh PART...       builds into target/release-build/
#
#   check         prints a table of all there is to publish; fails if something in it is wrong, and
#                 with TAG=v1.2.3 also if something is missing
#   crates        what crates.io gets (QUICK=1: without compiling it again from the package)
#   source        the sources, and a formula for Homebrew that builds them
#   command       an archive of the command, its manual pages and completions for each target
#   wheels        wheels for Python, and the source distribution
#   test-wheels   installs those that run here in a fresh environment and tests them
#   npm           the package for npm
#   addons        the packages for npm with the native addon, one for each platform
#   c             an archive of the C library for this system
#   deb           Debian packages of the command and of the C library, for this system
#   sbom          the components of the command (CycloneDX); needs cargo-cyclonedx
#   sums          SHA256SUMS
#   all           all of these, and check
#
# On Linux, command, wheels and addons are built for both CPUs with Zig, the first statically with
# musl, the others for old versions of glibc and for musl. macOS and Windows build their own.
# ARCHES="x86_64 aarch64" and TARGETS="..." choose. Rust's standard library for a target comes from
# rustup (`rustup target add`) or, without that, from Debian's rust-web-src, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p "${CARGO_TARGET_DIR:-target}/release-build"
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
export CARGO_TARGET_DIR=$target # even if cargo's settings have another
out=$target/release-build tools=$target/release-tools
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
skip() { echo "skipped: $*" | tee -a "${PALLADION_SKIPPED:-/dev/null}"; }
host=$(rustc -vV | sed -n 's/^host: //p')
case $host in
*-linux-*) system=linux ;;
*-windows-*) system=windows ;;
*) system=other ;;
esac
python() { "$(type -P python python3 | head -1)" "$@"; }

# targets LINUX...: those to build for, on Linux with each of these C libraries.
targets() {
    local arch libc
    for arch in ${ARCHES:-$([ $system = windows ] || echo aarch64) x86_64}; do
        case $system in
        linux) for libc; do echo "$arch-unknown-linux-$libc"; done ;;
        *) echo "$arch-${host#*-}" ;;
        esac
    done
}

# Binaries name no folder of this machine, so a build elsewhere gives the same bytes.
if [ $system != windows ]; then
    for prefix in "$PWD=palladion" "${CARGO_HOME:-$HOME/.cargo}/registry/src=registry" \
        "$(rustc --print sysroot)/lib/rustlib/src/rust=rust" "/usr/lib/rustlib/src/rust=rust"; do
        RUSTFLAGS="${RUSTFLAGS-} --remap-path-prefix=$prefix"
    done
    export RUSTFLAGS
fi
export CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_STRIP=symbols

install_tools() {
    [ -d "$tools" ] || python -m venv "$tools"
    PATH=$tools/bin:$tools/Scripts:$PATH
    python -m pip install --quiet --disable-pip-version-check 'maturin==1.16.*' \
        $([ $system != linux ] || echo 'cargo-zigbuild==0.24.*' 'ziglang==0.17.*' 'auditwheel==6.*')
}

# with_std TARGET COMMAND...: runs it where cargo can build for the target, into $built/TARGET.
with_std() {
    local wanted=$1
    shift
    built=$target
    if grep -qxF "$wanted" <<<"$host"$'\n'"$(rustup target list --installed 2>/dev/null)"; then
        "$@"
        return
    fi
    built=$target/release-cross
    local flags=$RUSTFLAGS
    # Debian has no musl of Rust's own; Zig brings one.
    [[ $wanted != *-musl ]] || flags+=" -C link-self-contained=no"
    # Zig has no rcrt1.o, which a program at any address starts with.
    [[ $* != *zigbuild*palladion-cli* ]] || flags+=" -C relocation-model=static"
    PATH=$tools/bin:/usr/bin:$PATH RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 RUSTFLAGS=$flags \
        CARGO_UNSTABLE_BUILD_STD=std,panic_unwind CARGO_TARGET_DIR=$built "$@"
}

# archive FOLDER: puts it into $out as one file, the same bytes each time.
archive() {
    python - "$1" "$out" $system <<'END'
import gzip, pathlib, sys, tarfile, zipfile

folder, out, system = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
files = {f.relative_to(folder.parent).as_posix(): f for f in sorted(folder.rglob("*"))}
files = {name: f for name, f in files.items() if f.is_symlink() or f.is_file()}
if system == "windows":
    with zipfile.ZipFile(out / f"{folder.name}.zip", "w") as archive:
        for name, f in files.items():
            archive.writestr(zipfile.ZipInfo(name), f.read_bytes(), zipfile.ZIP_DEFLATED)
    sys.exit()
with open(out / f"{folder.name}.tar.gz", "wb") as file, \
        gzip.GzipFile("", "wb", 9, file, mtime=0) as packed, \
        tarfile.open(fileobj=packed, mode="w") as archive:
    for name, f in files.items():
        info = archive.gettarinfo(f, name)
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = "root"
        archive.addfile(info, open(f, "rb") if info.isreg() else None)
END
}

build_crates() {
    # Only what is committed is published, but anything can be tried.
    cargo publish --quiet --workspace --dry-run --locked --allow-dirty ${QUICK:+--no-verify}
    cp "$target"/package/tmp-crate/*.crate "$out"
}

build_source() {
    local file=palladion-$version-source.tar.gz sum
    git archive --prefix="palladion-$version/" HEAD | gzip -n9 >"$out/$file"
    sum=$(sha256sum <"$out/$file" | cut -c -64)
    sed -e "s/@VERSION@/$version/; s/@FILE@/$file/; s/@SHA256@/$sum/" \
        packaging/palladion.rb.in >"$out/palladion.rb"
}

build_command() {
    local to folder shell run exe=
    [ $system != windows ] || exe=.exe
    for to in ${TARGETS:-$(targets musl)}; do
        if [[ $to = *-musl ]]; then
            install_tools
            with_std "$to" cargo zigbuild --quiet --release --locked -p palladion-cli --target "$to"
        else
            with_std "$to" cargo build --quiet --release --locked -p palladion-cli --target "$to"
        fi
        folder=$work/palladion-$version-$to run=()
        [ $system != linux ] || [ "${to%%-*}" = "$(uname -m)" ] || run=("qemu-${to%%-*}")
        run+=("$folder/palladion$exe")
        mkdir -p "$folder/completions"
        cp "$built/$to/release/palladion$exe" LICENSE-MIT LICENSE-APACHE \
            crates/palladion-cli/README.md "$folder"
        for shell in bash:palladion.bash fish:palladion.fish zsh:_palladion \
            powershell:palladion.ps1; do
            "${run[@]}" completions "${shell%:*}" >"$folder/completions/${shell#*:}"
        done
        "${run[@]}" man "$folder/man"
        archive "$folder"
    done
}

build_wheels() {
    local to pythons options
    install_tools
    for to in ${TARGETS:-$(targets gnu musl)}; do
        options=()
        [[ $to != *-gnu ]] || options=(--zig --compatibility manylinux2014)
        [[ $to != *-musl ]] || options=(--zig --compatibility musllinux_1_2)
        for pythons in py39 py311; do
            (cd bindings/python && with_std "$to" maturin build --quiet --release --locked \
                --target "$to" --no-default-features --features $pythons --out "$out" \
                ${options[@]+"${options[@]}"})
        done
    done
    [ $system = linux ] || return 0
    # auditwheel fails on wheels for musl: it looks for musl's libc.so and finds glibc's, a text.
    # release.yml tests those on Alpine.
    for wheel in "$out"/palladion-*manylinux*.whl; do auditwheel show "$wheel" >/dev/null; done
    (cd bindings/python && maturin sdist --out "$out")
}

# The wheels for this system, each in a folder of its own, on this CPU and, with Debian's Python for
# it under QEMU, on 64-bit ARM. Those for musl are tested by release.yml, on Alpine.
build_test-wheels() {
    local wheel to run root=$target/release-arm64 cpu without
    cpu=$(uname -m)
    cp -r bindings/python/tests "$work"
    for wheel in "$out"/palladion-*.whl; do
        to=$work/$(basename "$wheel" .whl) run=(python) without=
        case $wheel in
        *musllinux*) skip "$(basename "$wheel"): needs Alpine" && continue ;;
        *manylinux*aarch64*)
            [ "$cpu" = aarch64 ] ||
                run=(qemu-aarch64 -cpu max -L "$root" "$root/usr/bin/python3")
            ;;
        *macos*x86_64*) [ "$cpu" = x86_64 ] || continue ;;
        esac
        if [ ${#run[@]} = 1 ]; then
            python -m pip install --quiet --target "$to" "$wheel" pytest hypothesis
        else
            [ -d "$root" ] || mmdebstrap --quiet --mode=root --variant=extract \
                --architectures=arm64 --include=python3 bookworm "$root"
            # These tests start another Python, which the host cannot run.
            without="not too_little_memory and not ctrl_c and not forked"
            # pip checks the wheel's tags as that Python's pip would.
            python -m pip install --quiet --target "$to" --only-binary :all: --python-version 3.11 \
                --platform manylinux2014_aarch64 "$wheel" pytest hypothesis
        fi
        echo "== $(basename "$wheel")"
        (cd "$work" && PYTHONPATH=$to PALLADION_VECTORS=$OLDPWD/vectors "${run[@]}" -m pytest -q \
            -p no:cacheprovider -k "$without" tests/test_{vectors,cipher,files,raf}.py)
    done
}

build_npm() {
    [ -x bindings/js/node_modules/.bin/tsc ] || npm --prefix bindings/js ci --silent
    node bindings/js/build.mjs --release
    pack pkg
}

build_addons() {
    local to platform file
    [ $system != linux ] || install_tools
    for to in ${TARGETS:-$(targets gnu musl)}; do
        platform=${to%%-*} platform=${platform/x86_64/x64} platform=${platform/aarch64/arm64}
        case $to in
        *-linux-*) platform=linux-$platform-${to##*-} file=libpalladion_js.so ;;
        *-darwin) platform=darwin-$platform file=libpalladion_js.dylib ;;
        *) platform=win32-$platform file=palladion_js.dll ;;
        esac
        # The glibc of manylinux2014. Rust links musl statically by default, which an addon cannot.
        case $to in
        *-gnu) build_addon "$to" zigbuild .2.17 ;;
        *-musl) RUSTFLAGS+=" -C target-feature=-crt-static" build_addon "$to" zigbuild ;;
        *) build_addon "$to" build ;;
        esac
        node bindings/js/build.mjs addon "$platform" "$built/$to/release/$file"
        pack "npm/$platform"
    done
}

# build_addon TARGET build|zigbuild [GLIBC]
build_addon() {
    with_std "$1" cargo "$2" --quiet --release --locked -p palladion-js --target "$1${3-}"
}

# pack FOLDER: packs a package that bindings/js/build.mjs made.
pack() { (cd bindings/js && npm pack --silent --pack-destination "$out" "./$1" >/dev/null); }

# To be unpacked in /.
build_c() {
    local folder=$work/libpalladion-$version-$host
    make --silent -C crates/palladion-capi install DESTDIR="$folder" \
        CARGO_FLAGS="--quiet --target $host"
    install -D -m 644 -t "$folder/usr/local/share/doc/libpalladion" \
        LICENSE-MIT LICENSE-APACHE docs/c.md
    strip --strip-debug --enable-deterministic-archives "$folder"/usr/local/lib/*.a
    archive "$folder"
}

build_deb() {
    scripts/build-deb.sh --check
    cp "$target"/deb/*.deb "$out"
}

build_sbom() {
    # cargo-cyclonedx writes beside Cargo.toml and names that place, so it gets a copy. It lists
    # optional dependencies that the command does not have; those that cargo tree lacks are removed.
    local triple=x86_64-unknown-linux-musl
    .ci/copy-checkout.sh "$work/copy"
    SOURCE_DATE_EPOCH=0 cargo cyclonedx --quiet --format json --spec-version 1.5 \
        --describe binaries --manifest-path "$work/copy/crates/palladion-cli/Cargo.toml" \
        --target $triple
    cargo tree --locked -p palladion-cli --target $triple --edges normal,build \
        --prefix none --format '{p}' >"$work/copy/tree"
    python - "$work/copy" >"$out/palladion-$version.cdx.json" <<'END'
import json, sys

copy = sys.argv[1]
built = {tuple(line.split()[:2]) for line in open(f"{copy}/tree")}
text = open(f"{copy}/crates/palladion-cli/palladion_bin.cdx.json").read()
sbom = json.loads(text.replace(f"file://{copy}", "file:///palladion"))
sbom["components"] = [c for c in sbom["components"] if (c["name"], "v" + c["version"]) in built]
refs = {c["bom-ref"] for c in [sbom["metadata"]["component"], *sbom["components"]]}
sbom["dependencies"] = [
    {**d, "dependsOn": [ref for ref in d.get("dependsOn", []) if ref in refs]}
    for d in sbom["dependencies"] if d["ref"] in refs]
json.dump(sbom, sys.stdout, indent=2)
END
}

build_sums() {
    (cd "$out" && sha256sum $(ls | grep -vx SHA256SUMS) >SHA256SUMS)
}

build_check() { python scripts/release-check.py "$out" ${TAG-}; }

[ "${*-}" != all ] ||
    set -- crates source command wheels test-wheels npm addons c deb sbom sums check
for part in "${@:?name at least one part; the top of this file lists them}"; do
    declare -F "build_$part" >/dev/null || { echo "no part: $part" >&2; exit 2; }
    started=$SECONDS
    "build_$part"
    echo "$part: done in $((SECONDS - started)) s"
done
