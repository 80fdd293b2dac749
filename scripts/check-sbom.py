#!/usr/bin/env python3
"""Checks a list of what a program is built from.

    cargo tree ... --prefix none --format '{p}' | scripts/check-sbom.py LIST.cdx.json

That it is a CycloneDX list with what its specification asks for, and that it names each package that cargo's tree does, in that version, and
no other. At the end it plants defects in copies and fails if one is not found.
"""

import copy
import json
import re
import sys


def problems(sbom, tree):
    found = []
    if sbom.get("bomFormat") != "CycloneDX" or sbom.get("specVersion") not in ("1.3", "1.4", "1.5"):
        found.append("not CycloneDX of a known version")
    if not re.fullmatch(r"urn:uuid:[0-9a-f-]{36}", sbom.get("serialNumber", "urn:uuid:" + "0" * 36)):
        found.append("a serial number that is none")
    main = sbom.get("metadata", {}).get("component", {})
    components = sbom.get("components", [])
    for component in [main, *components]:
        for field in ("type", "name", "version", "bom-ref"):
            if not component.get(field):
                found.append(f"{component.get('name')}: no {field}")
        if not component.get("licenses"):
            found.append(f"{component.get('name')}: no licence")
    for component in components:
        if component.get("purl", "").startswith("pkg:cargo/") and "download_url=file:" not in component["purl"]:
            if not any(h.get("alg") == "SHA-256" for h in component.get("hashes", [])):
                found.append(f"{component['name']}: no checksum")
    refs = [c.get("bom-ref") for c in [main, *components]]
    if len(refs) != len(set(refs)):
        found.append("one reference twice")
    for dependency in sbom.get("dependencies", []):
        for ref in [dependency["ref"], *dependency.get("dependsOn", [])]:
            if ref not in refs:
                found.append(f"a dependency that is not a component: {ref}")
    if re.search(r"file:///(?!palladion/)", json.dumps(sbom)):
        found.append("it says where it was made")
    # (The program itself has another name than its package.)
    packages = [re.match(r"pkg:cargo/([^@]+)@([^?#]+)", c.get("purl", "")) for c in [main, *components]]
    named = {(m[1], m[2]) for m in packages if m}
    if len(named) != len(packages):
        found.append("a component that is no package, or one twice")
    found += [f"not in the list: {name} {version}" for name, version in sorted(tree - named)]
    found += [f"in the list, and not in the program: {name} {version}" for name, version in sorted(named - tree)]
    return found


def main():
    sbom = json.load(open(sys.argv[1], encoding="utf-8"))
    tree = {(m[1], m[2]) for line in sys.stdin if (m := re.match(r"(\S+) v(\S+)", line))}
    if len(tree) < 20:
        sys.exit("cargo's tree is too small to be that of a program")
    if found := problems(sbom, tree):
        sys.exit("\n".join(found))

    def changed(change):
        other = copy.deepcopy(sbom)
        change(other)
        return problems(other, tree)

    for what, change in {
        "a component is missing": lambda s: s["components"].pop(3),
        "another version": lambda s: s["components"][3].update(purl="pkg:cargo/planted@0.0.0"),
        "a place": lambda s: s["components"][3].update({"bom-ref": "path+file:///home/me#1.0.0"}),
        "a dependency of nobody's": lambda s: s["dependencies"][3]["dependsOn"].append("planted"),
        "no licence": lambda s: s["components"][3].pop("licenses"),
        "one too many": lambda s: s["components"].append({**s["components"][3], "purl": "pkg:cargo/planted@1.0.0"}),
        "another format": lambda s: s.update(bomFormat="SPDX"),
    }.items():
        if not changed(change):
            sys.exit(f"not found: {what}")
    print(f"{sys.argv[1].rsplit('/', 1)[-1]}: {len(sbom['components'])} components, as cargo tree; seven planted defects found")


if __name__ == "__main__":
    main()
