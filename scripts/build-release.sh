#!/usr/bin/env bash
# Builds what a release consists of, into target/release-build/: the command, the C library (under
# the name libpalladion, beside libaegis's), its headers, and SHA256SUMS.
#
#   scripts/build-release.sh           the same bytes wherever it is built, with the same compiler
#                                      and linker (scripts/check-supply-chain.sh reproducible)
#   scripts/build-release.sh --sbom    with a list of what is in the command, palladion.cdx.json
#                                      (CycloneDX); needs cargo-cyclonedx
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}/release-build" && cd "${CARGO_TARGET_DIR:-target}" && pwd)
out=$target/release-build

sbom() {
    # cargo-cyclonedx writes beside Cargo.toml and names that place: hence a copy. It lists optional
    # dependencies that the command does not have: hence what cargo tree says.
    local copy
    copy=$(mktemp -d)
    .ci/copy-checkout.sh "$copy"
    SOURCE_DATE_EPOCH=0 cargo cyclonedx --quiet --format json --spec-version 1.5 \
        --describe binaries --manifest-path "$copy/crates/palladion-cli/Cargo.toml" \
        --target x86_64-unknown-linux-gnu
    cargo tree --locked -p palladion-cli --target x86_64-unknown-linux-gnu --edges normal,build \
        --prefix none --format '{p}' >"$copy/tree"
    python3 - "$copy" >"$out/palladion.cdx.json" <<'END'
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
    rm -rf "$copy"
}

# Where the sources of the project, of its dependencies and of the standard library lie is nobody's
# business. (The last of them is there only if the compiler has its sources beside it.)
export RUSTFLAGS="--remap-path-prefix=$PWD=palladion --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}/registry/src=registry \
--remap-path-prefix=$(rustc --print sysroot)/lib/rustlib/src/rust=rust ${RUSTFLAGS-}"
export CARGO_INCREMENTAL=0
cargo build --quiet --release --locked -p palladion-cli
make --silent -C crates/palladion-capi CARGO_TARGET_DIR="$target" CARGO_FLAGS=--quiet

rm -rf "$out"
mkdir -p "$out/include"
install -m 755 -s "$target/release/palladion" "$out/palladion"
install -m 644 "$target/release/c/palladion/libaegis.so" "$out/libpalladion.so.0"
install -m 644 "$target/release/c/palladion/libaegis.a" "$out/libpalladion.a"
strip --strip-unneeded "$out/libpalladion.so.0"
strip --strip-debug --enable-deterministic-archives "$out/libpalladion.a"
install -m 644 crates/palladion-capi/include/*.h "$out/include/"
[ "${1-}" != --sbom ] || sbom
(cd "$out" && find . -type f ! -name SHA256SUMS -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
echo "in $out:"
cat "$out/SHA256SUMS"
