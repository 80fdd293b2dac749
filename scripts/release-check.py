"""The table of `scripts/release.sh check`: what would be published, and whether it is complete.

What the manifests say has to be right, and so has everything that was built. With a tag, the
version has to be the tag's and dated in CHANGELOG.md, and nothing may be missing.
"""

import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile

built, tag = pathlib.Path(sys.argv[1]), (sys.argv[2:] or [None])[0]
failed = False


def row(place, what, problems, state="complete"):
    global failed
    failed |= bool(problems)
    print(f"{place:12}{what:88}{'WRONG: ' + '; '.join(problems) if problems else state}")


def text(path):
    return pathlib.Path(path).read_text(encoding="utf-8")


LICENCES = ["LICENSE-MIT", "LICENSE-APACHE"]
ADDONS = [f"linux-{cpu}-{libc}" for cpu in ("x64", "arm64") for libc in ("gnu", "musl")]
ADDONS += ["darwin-x64", "darwin-arm64", "win32-x64"]
version = tomllib.loads(text("Cargo.toml"))["workspace"]["package"]["version"]

# The version.
problems = [] if tag in (None, f"v{version}") else [f"the tag is {tag}"]
if not text("packaging/debian/changelog").startswith(f"palladion ({version}) "):
    problems.append("packaging/debian/changelog begins with another version")
dated = re.search(rf"(?m)^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$", text("CHANGELOG.md"))
if tag and not dated:
    problems.append(f'CHANGELOG.md has no "## [{version}] - YYYY-MM-DD"')
row("version", version, problems, "dated" if dated else "not dated in CHANGELOG.md yet")

# What the manifests say.
metadata = ["cargo", "metadata", "--no-deps", "--locked", "--format-version=1"]
crates = {
    package["name"]: package
    for package in json.loads(subprocess.check_output(metadata))["packages"]
    if package["publish"] != []
}
for name, package in crates.items():
    folder = pathlib.Path(package["manifest_path"]).parent
    needs = ["description", "license", "repository", "readme", "keywords", "categories"]
    problems = [f"no {key}" for key in needs if not package[key]]
    problems += [f"no {file}" for file in LICENCES if not (folder / file).is_file()]
    if "lib" in package["targets"][0]["kind"]:
        problems += [] if "docs" in package["metadata"] else ["nothing for docs.rs"]
        problems += [] if "\n```rust\n" in text(folder / "README.md") else ["README: no example"]
    problems += [
        f"{dependency['name']} is not published"
        for dependency in package["dependencies"]
        if "path" in dependency and dependency["kind"] != "dev" and dependency["name"] not in crates
    ]
    row("crates.io", f"{name}: Cargo.toml, README.md", problems)
binstall = crates["palladion-cli"]["metadata"]["binstall"]["pkg-url"].rpartition("/")[2]
for key, value in {"version": version, "archive-suffix": ".tar.gz"}.items():
    binstall = binstall.replace(f"{{ {key} }}", value)

project = tomllib.loads(text("bindings/python/pyproject.toml"))["project"]
needs = ["description", "readme", "license", "license-files", "urls", "classifiers"]
row("PyPI", "pyproject.toml", [f"no {key}" for key in needs if not project.get(key)])

problems = [f"{module} requires version {required} of {other}"
            for module in ("pld", "pldage")
            for other, required in re.findall(r"bindings/go/(\w+) v(\S+)",
                                              text(f"bindings/go/{module}/go.mod"))
            if required != version]
for module in "aegis", "pld", "pldage":  # Go leaves out symbolic links
    problems += [f"{module}/{file} differs" for file in LICENCES
                 if text(f"bindings/go/{module}/{file}") != text(file)]
row("Go", "go.mod, licences", problems)

package = json.loads(text("bindings/js/package.json"))
needs = ["description", "license", "repository", "exports", "engines", "keywords"]
problems = [f"no {key}" for key in needs if not package.get(key)]
problems += [f"does not contain {file}" for file in LICENCES if file not in package["files"]]
row("npm", "package.json", problems)


# What was built: its name, and what it has to contain.
def is_complete(file, members):
    """Returns what is missing in an archive."""
    if file.suffix in (".zip", ".whl"):
        names = zipfile.ZipFile(file).namelist()
    elif file.suffix in (".gz", ".tgz", ".crate"):
        names = tarfile.open(file).getnames()
    else:
        return [] if file.stat().st_size else ["empty"]
    problems = [f"no {m}" for m in members if not any(re.search(f"/{m}$", name) for name in names)]
    if file.suffix == ".tgz":
        manifest = json.load(tarfile.open(file).extractfile("package/package.json"))
        problems += ["private"] if manifest.get("private") else []
        problems += [] if manifest["version"] == version else [f"version {manifest['version']}"]
        if manifest["name"] == package["name"]:
            needs = {f"{package['name']}-{platform}": version for platform in ADDONS}
            problems += [] if manifest.get("optionalDependencies") == needs else ["other addons"]
    return problems


def artefacts():
    for name in crates:
        yield "crates.io", f"{name}-{version}.crate", [*LICENCES, "README.md", "Cargo.toml"]
    for python in ("cp39", "cp311"):
        for system in (
            *[rf"manylinux2014_{cpu}.manylinux_2_17_{cpu}" for cpu in ("x86_64", "aarch64")],
            *[rf"musllinux_1_2_{cpu}" for cpu in ("x86_64", "aarch64")],
            *[rf"macosx_[0-9_]*_{cpu}" for cpu in ("x86_64", "arm64")],
            "win_amd64",
        ):
            name = f"palladion-{version}-{python}-abi3-{system}.whl"
            yield "PyPI", name, [*LICENCES, r"_native\.pyi"]
    yield "PyPI", f"palladion-{version}.tar.gz", [*LICENCES, "PKG-INFO", "Cargo.lock"]
    yield "npm", rf"palladion-aegis-{version}.tgz", [*LICENCES, "README.md", r"index\.d\.ts"]
    for platform in ADDONS:
        name = f"palladion-aegis-{platform}-{version}.tgz"
        yield "npm", name, [*LICENCES, "README.md", r"palladion\.node"]
    for system in ("unknown-linux-musl", "apple-darwin"):
        for cpu in ("x86_64", "aarch64"):
            name = binstall.replace("{ target }", f"{cpu}-{system}")
            yield "GitHub", name, [*LICENCES, "palladion", "palladion.bash", r"palladion\.1"]
    name = binstall.replace("{ target }", "x86_64-pc-windows-msvc").replace(".tar.gz", ".zip")
    yield "GitHub", name, [*LICENCES, r"palladion\.exe"]
    for cpu, debian in (("x86_64", "amd64"), ("aarch64", "arm64")):
        name = f"libpalladion-{version}-{cpu}-unknown-linux-gnu.tar.gz"
        yield "GitHub", name, [*LICENCES, r"libpalladion\.so\.0", r"palladion\.h", r"palladion\.pc"]
        for name in ("palladion", "libpalladion0", "libpalladion-dev"):
            yield "GitHub", f"{name}_{version}_{debian}.deb", []
    yield "GitHub", f"palladion-{version}-source.tar.gz", [*LICENCES, r"Cargo\.lock"]
    yield "GitHub", f"palladion-{version}.cdx.json", []
    yield "Homebrew", "palladion.rb", []
    yield "GitHub", "SHA256SUMS", []


unknown = {file.name for file in built.iterdir()}
missing = 0
for place, pattern, members in artefacts():
    found = [name for name in unknown if re.fullmatch(pattern.replace("+", r"\+"), name)]
    if not found:
        missing += 1
        row(place, pattern.replace("[0-9_]", ""), ["missing"] if tag else [], "not built here")
    for name in found:
        unknown.remove(name)
        size = f"{(built / name).stat().st_size / 1000:.0f} kB"
        row(place, name, is_complete(built / name, members), size)
for name in sorted(unknown):
    row("?", name, ["not a part of a release"])
print(f"{'something is wrong; ' if failed else ''}{missing} files are not built here")
sys.exit(failed)
