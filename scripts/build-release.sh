#!/usr/bin/env bash
# Builds what a release consists of, into target/release-build/: the command, the C library (under
# the name libpalladion, beside libaegis's), its headers, and SHA256SUMS.
#
#   scripts/build-release.sh            the same bytes wherever it is built, with the same compiler
#   and linker scripts/build-release.sh --sbom     with a list of what is in the command,
#   palladion.cdx.json (CycloneDX); it installs
#                                       cargo-cyclonedx, which takes minutes the first time
#   scripts/build-release.sh --sbom-only
#
# scripts/check-supply-chain.sh reproducible, sbom: that it does. (For that check, ONLY_C=1 leaves
# the command out.)
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}/release-build" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
out=$target/release-build
cyclonedx_version=0.5.9

sbom() {
    local tools=$target/tools
    if ! { [ -x "$tools/bin/cargo-cyclonedx" ] && grep -q "\"cargo-cyclonedx $cyclonedx_version " "$tools/.crates2.json"; }; then
        CARGO_TARGET_DIR=$target/cyclonedx CARGO_PROFILE_DEV_OPT_LEVEL=0 CARGO_PROFILE_DEV_DEBUG=0 \
            cargo install --quiet cargo-cyclonedx --version "$cyclonedx_version" --locked --debug --root "$tools"
        rm -rf "${target:?}/cyclonedx"
    fi
    # It writes beside each Cargo.toml: in a copy.
    local copy
    copy=$(mktemp -d)
    scripts/copy-checkout.sh "$copy"
    (
        cd "$copy"
        SOURCE_DATE_EPOCH=0 "$tools/bin/cargo-cyclonedx" cyclonedx --quiet --format json --spec-version 1.5 --describe binaries \
            --manifest-path crates/palladion-cli/Cargo.toml --target x86_64-unknown-linux-gnu
    )
    # It takes the features that any crate of the workspace asks for, and so lists what the command
    # has not got; and it names the place.
    tree() { cargo tree --locked -p palladion-cli --target x86_64-unknown-linux-gnu --edges normal,build --prefix none --format '{p}'; }
    python3 - "$copy" "$out/palladion.cdx.json" <(tree) <<'END'
import json, re, sys

copy, out, tree = sys.argv[1:]
with open(f"{copy}/crates/palladion-cli/palladion_bin.cdx.json", encoding="utf-8") as file:
    sbom = json.loads(file.read().replace(f"file://{copy}/", "file:///palladion/"))
with open(tree, encoding="utf-8") as file:
    built = {(m[1], m[2]) for line in file if (m := re.match(r"(\S+) v(\S+)", line))}
sbom["components"] = [c for c in sbom["components"] if (c["name"], c["version"]) in built]
refs = {c["bom-ref"] for c in [sbom["metadata"]["component"], *sbom["components"]]}
sbom["dependencies"] = [
    {**d, "dependsOn": [ref for ref in d.get("dependsOn", []) if ref in refs]} for d in sbom["dependencies"] if d["ref"] in refs
]
with open(out, "w", encoding="utf-8") as file:
    json.dump(sbom, file, indent=2)
    file.write("\n")
END
    rm -rf "$copy"
    tree | scripts/check-sbom.py "$out/palladion.cdx.json"
}

if [ "${1-}" = --sbom-only ]; then
    sbom
    exit
fi

# Where the sources of the project, of its dependencies and of the standard library lie is nobody's
# business. (The last of them is there only if the compiler has its sources beside it.)
export RUSTFLAGS="--remap-path-prefix=$PWD=palladion --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=registry \
--remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust=rust ${RUSTFLAGS-}"
export CARGO_INCREMENTAL=0
[ -n "${ONLY_C-}" ] || cargo build --quiet --release --locked -p palladion-cli
make --silent -C crates/palladion-capi CARGO_TARGET_DIR="$target" CARGO_FLAGS="--quiet --locked"

rm -rf "$out"
mkdir -p "$out/include"
[ -n "${ONLY_C-}" ] || install -m 755 -s "$target/release/palladion" "$out/palladion"
install -m 644 "$target/release/c/palladion/libaegis.so" "$out/libpalladion.so"
install -m 644 "$target/release/c/palladion/libaegis.a" "$out/libpalladion.a"
strip --strip-unneeded "$out/libpalladion.so"
strip --strip-debug --enable-deterministic-archives "$out/libpalladion.a"
install -m 644 crates/palladion-capi/include/*.h "$out/include/"
[ "${1-}" != --sbom ] || sbom
(cd "$out" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
echo "in $out:"
cat "$out/SHA256SUMS"
