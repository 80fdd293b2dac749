#!/usr/bin/env python3
"""Checks that the x86-64 kernels with AES instructions keep the state in registers.

    assurance/loops.py LIBRARY

LIBRARY is compiled with `-C symbol-mangling-version=v0`; assurance/loops.sh makes one.

Where each word of the state has a register (AVX-512; otherwise one group of lanes), the driver does
not overwrite the stack after a call. There a kernel must not store a vector on the stack, and its
hot loops must not read one from the stack, because that is slow. Hot loops are innermost loops with
AES instructions.

Prints the kernels with hot loops: how many instructions these have for each AES instruction, and
how many vectors the kernel stores on the stack. Needs objdump.
"""

import collections
import re
import subprocess
import sys

BACKENDS = ("Sse", "Avx", "Vaes", "Vaes512")  # sets of features
SYMBOL = re.compile(r"(\w+) as palladion\S*Features>::(\w+)::<(.*?)(?:, (\d+))?>>?$")
STACK = r"\[r[sb]p\b.*\]"
STORE = re.compile(r"v?mov\w+ +[xyz]mmword ptr %s *, *[xyz]mm" % STACK, re.I)
ACCESS = re.compile(r"(?=.*\b[xyz]mm).*%s" % STACK, re.I)
JUMP = re.compile(r"j\w+ +([0-9a-f]+)\b")
AES = re.compile(r"v?aesenc\b")

PLANTED = """
0000000000000000 <<Vaes512 as palladion::driver::Features>::seal::<Aegis256<M1, Order>, 1>>:
   0:\tvmovdqu64 ZMMWORD PTR [rsp+0x40],zmm1
   8:\tvaesenc zmm0,zmm0,ZMMWORD PTR [rsp+0x40]
  10:\tjne    8 <x+0x8>
"""

Kernel = collections.namedtuple("Kernel", "backend name machine groups stores loops")


def kernels(listing):
    """Yields the kernels of objdump's listing. A loop is its list of instructions."""
    for function in re.split(r"\n(?=[0-9a-f]+ <)", listing):
        head, _, code = function.partition(":\n")
        symbol = SYMBOL.search(head)
        if not symbol or symbol[1] not in BACKENDS:
            continue
        lines = re.findall(r"^ *([0-9a-f]+):\t(.*)$", code, re.M)
        index = {address: n for n, (address, _) in enumerate(lines)}
        texts = [text for _, text in lines]
        if not any(re.match("mov +rbp,rsp", text) for text in texts):
            texts = [text.replace("rbp", "any") for text in texts]  # here it points to data
        jumps = [(index.get(jump[1]), n) for n, jump in enumerate(map(JUMP.match, texts)) if jump]
        spans = [(start, end) for start, end in jumps if start is not None and start <= end]
        loops = [texts[start:end + 1] for start, end in spans
                 if not any((start, end) != (a, b) and start <= a and b <= end for a, b in spans)]
        yield Kernel(symbol[1], symbol[2], re.sub(r"\w+::", "", symbol[3]), symbol[4] or "1",
                     sum(map(bool, map(STORE.match, texts))),
                     [loop for loop in loops if any(map(AES.match, loop))])


def in_registers(kernel):
    """Whether the kernel must not spill: a single group, each word in one register."""
    one_group = kernel.groups == "1" and "Pair<" not in kernel.machine
    # `init` of two machines keeps the context words there, which are public.
    public = kernel.name == "init" and "Twin256<" in kernel.machine
    return kernel.backend == "Vaes512" or one_group and not public


def fault(kernel):
    if not in_registers(kernel):
        return None
    if kernel.stores:
        return "stores %d vectors on the stack" % kernel.stores
    if any(ACCESS.match(line) for loop in kernel.loops for line in loop):
        return "reads vectors from the stack in a hot loop"
    return None


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__.strip())
    if [fault(kernel) for kernel in kernels(PLANTED)] != ["stores 1 vectors on the stack"]:
        sys.exit("the planted spill was not found")
    listing = subprocess.run(
        ["objdump", "-d", "-C", "-w", "-M", "intel", "--no-show-raw-insn", sys.argv[1]],
        stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    found = sorted(kernels(listing))
    print("%-11s %-18s %-7s %-12s %11s %7s" %
          ("backend", "machine", "groups", "kernel", "instr./AES", "stores"))
    for k in filter(lambda kernel: kernel.loops, found):
        ratios = [len(loop) / sum(map(bool, map(AES.match, loop))) for loop in k.loops]
        print("%-11s %-18s %-7s %-12s %11s %7d%s" %
              (k.backend, k.machine, k.groups.replace("0", "any"), k.name,
               "%.2f" % max(ratios), k.stores,
               "" if in_registers(k) else "  may spill"))
    faults = ["%s %s<%s, %s> %s" % (*k[:4], fault(k)) for k in found if fault(k)]
    checked = [k for k in found if in_registers(k)]
    hot = {k.backend for k in checked if k.loops}
    faults += ["%s: no hot loop was found" % backend for backend in BACKENDS if backend not in hot]
    print(*faults, sep="\n", end="\n" if faults else "")
    print("%d kernels must stay in registers: %s" %
          (len(checked), "%d faults" % len(faults) if faults else "all do"))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
