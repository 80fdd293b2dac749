#!/usr/bin/env python3
"""Models the hot loops of 64-bit ARM: instructions and cycles a step, by llvm-mca.

    scripts/model-aarch64.py [OBJECT ...]

Without arguments, builds the library for aarch64-unknown-linux-gnu (needs its standard library) and
shows the loops of the kernels `advance`. With object files, for example of another library, shows
their loops in functions whose names say encrypt, decrypt, absorb or mac. Needs llvm-19.

A step is 8 (AEGIS-128) or 6 (AEGIS-256) AES rounds; for AEGIS-128L 32 bytes, for AEGIS-256 16. The
models know no fusion of AESE and AESMC, so where the two are adjacent, they are given only the
AESE, as if the pair were executed as one instruction. LLVM's apple-m1 is the model of an older core
with one AES unit. These are models, not measurements.
"""
import os
import re
import subprocess
import sys

CPUS = ["neoverse-n1", "neoverse-n2", "neoverse-v2", "apple-m1"]


def run(*command, **more):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **more).stdout


def built():
    target = os.environ.get("CARGO_TARGET_DIR", "target") + "/model"
    flags = os.environ.get("RUSTFLAGS", "") + " -C symbol-mangling-version=v0"
    triple = "aarch64-unknown-linux-gnu"
    run("cargo", "build", "--quiet", "--release", "-p", "palladion", "--lib",
        "--no-default-features", "--features", "std", "--target", triple, "--target-dir", target,
        env={**os.environ, "RUSTFLAGS": flags})
    return f"{target}/{triple}/release/libpalladion.rlib"


def functions(file):
    text = run("llvm-objdump-19", "-d", "--no-show-raw-insn", "--mattr=+all", file,
               stderr=subprocess.DEVNULL)
    names = run("llvm-cxxfilt-19", input=text)
    for name, body in re.findall(r"^[0-9a-f]+ <(.*)>:\n((?:.+\n)*)", names, re.M):
        code = re.findall(r"^ *([0-9a-f]+):\s+(\S.*)", body, re.M)
        yield name, [(int(at, 16), " ".join(text.split())) for at, text in code]


def loops(code):
    """Returns the innermost loops."""
    found, places = [], {at: i for i, (at, _) in enumerate(code)}
    for end, (_, text) in enumerate(code):
        branch = re.match(r"(?:b\.\w+|b|cbn?z|tbn?z) .*?0x([0-9a-f]+)", text)
        start = places.get(int(branch[1], 16)) if branch else None
        if start is not None and start <= end:
            found.append((start, end))
    inner = [a for a in found if not any(b != a and b[0] >= a[0] and b[1] <= a[1] for b in found)]
    return [[text for _, text in code[start:end + 1]] for start, end in inner]


def cycles(loop, cpu):
    fused = []
    for text in loop:
        if text.startswith("aesmc") and fused and fused[-1].startswith("aese"):
            rounds, mixes = re.findall(r"v\d+", fused[-1]), re.findall(r"v\d+", text)
            if rounds[0] == mixes[0] == mixes[1]:
                continue
        fused.append(re.sub(r"(0x[0-9a-f]+ )?<.*", "1f", text))
    report = run("llvm-mca-19", "-mtriple=aarch64", "-mcpu=" + cpu, "-mattr=+sha3,+aes",
                 "-iterations=300", "-instruction-info=0", "-resource-pressure=0",
                 input="\n".join(fused) + "\n1:\n")
    return int(re.search(r"Total Cycles: *(\d+)", report)[1]) / 300


print(f"{'':66} {'insns':>6}" + "".join(f"{cpu:>12}" for cpu in CPUS))
for file in sys.argv[1:] or [built()]:
    wanted = r"encrypt|decrypt|absorb|mac" if sys.argv[1:] else r"Features>::advance::<.*, [01]>"
    for name, code in functions(file):
        if not re.search(wanted, name):
            continue
        words = 6 if re.search(r"egis_?256", name + file) else 8
        for loop in loops(code):
            steps = sum(text.startswith("aese") for text in loop) / words
            spills = any(re.match(r"(ld|st).*sp", text) for text in loop)
            if steps < 1 or steps != int(steps) or spills:
                continue
            stores = any(text.startswith(("str q", "stp q")) for text in loop)
            name = re.sub(r"palladion::|arch::aarch64::|machine::aegis\d+::", "", name)[-46:]
            what = f"{name} {int(steps)} steps{', writes' if stores else ''}"
            print(f"{what:66} {len(loop) / steps:6.1f}"
                  + "".join(f"{cycles(loop, cpu) / steps:12.2f}" for cpu in CPUS))
