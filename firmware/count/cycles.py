#!/usr/bin/env python3
"""Estimates the cycles of a Cortex-M4 from counts of each instruction (plugin.c).

cycles.py ONCE OFTEN BYTES prints cycles and instructions a byte, in all and by kind. The rules are
those of the core's Technical Reference Manual, table 3-1, with memory that never waits, three
cycles for every branch, taken or not, and two for a load that does not follow another.
"""

import re
import sys


def read(path):
    """Returns how often each instruction was executed, and its text, by address."""
    found = {}
    for line in open(path):
        address, times, text = line.rstrip("\n").split(" ", 2)
        found[int(address, 16)] = int(times), text
    return found


def cycles(text, before):
    """Returns the kind of an instruction and its cycles, after the one before."""
    name, _, operands = text.partition(" ")
    name = name.split(".")[0]
    if name in ("push", "pop") or name.startswith(("ldm", "stm")):
        registers = operands[operands.index("{") :].count(",") + 1
        return "multiple", 1 + registers + (2 if "pc" in operands else 0)
    if name in ("ldrd", "strd"):
        return "double", 3
    if name.startswith("ldr"):
        return "load", 1 if re.match(r"ldr(?!d)", before) else 2
    if name.startswith("str"):
        return "store", 1
    if re.fullmatch(r"b[lx]?|blx|cbn?z|b(eq|ne|cs|hs|cc|lo|mi|pl|hi|ls|ge|lt|gt|le)", name):
        return "branch", 3
    return "data", 1


once, often, size = read(sys.argv[1]), read(sys.argv[2]), int(sys.argv[3])
kinds, before, last = {}, "", 0
for address, (times, text) in sorted(often.items()):
    kind, each = cycles(text, before if address - last <= 4 else "")
    times -= once.get(address, (0, ""))[0]
    insns, sum_ = kinds.get(kind, (0, 0))
    kinds[kind] = insns + times, sum_ + times * each
    before, last = text, address
parts = "; ".join(
    f"{kind} {insns / size:.1f} ({sum_ / size:.1f})"
    for kind, (insns, sum_) in sorted(kinds.items())
)
insns, sum_ = map(sum, zip(*kinds.values()))
print(f"{sum_ / size:.1f} cycles, {insns / size:.1f} instructions: {parts}")
