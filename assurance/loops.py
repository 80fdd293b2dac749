#!/usr/bin/env python3
"""Checks the machine code of the loops over whole steps in the x86-64 backends.

    scripts/check-loops.py FILE

FILE is an object, library or program with the kernels, compiled with `-C symbol-mangling-version=v0`;
scripts/check-loops.sh makes one. Prints a table of the loops, then what is wrong with them; the exit status is 1 if
anything is. Needs objdump.

The kernels rely on the compiler for much that no test of results can see (docs/performance.md). For every backend,
machine and kernel there must be an innermost loop over whole steps, and each such loop must

  - run the AES instructions of its steps and no others (where there are none, the byte shuffles), load the message once,
    and store the result once,
  - use no more logic instructions and moves across lanes than the formulas need,
  - keep the state in registers (with byte shuffles: in part; spills: vector loads and stores on the stack or at addresses that stay the same), and
  - not make a step wait for the one before longer than the form of the update must. For that the loop is run in a model
    with unlimited units: an AES round takes 3 cycles, a logic instruction 1, a move across lanes 3, the way from AES to
    any other kind or back 1 more; moves and loads take none. (Not for byte shuffles: those wait for a unit.)

Columns: how many such loops; steps in an iteration; then, per step (of both vectors where the machine works on a pair), the
greatest number in any of them of instructions, AES (or byte shuffles), logic, moves across lanes, moves, spills, and cycles
of waiting. Tables are read from memory where registers do not suffice; that is no spill unless it is from the stack.
"""

import collections
import re
import subprocess
import sys

# Logic instructions and lane moves of a step, and the cycles it waits for the step before; for
# logic of two operands, then for logic of three.
#
# The wait is that of the slowest circle: a way from S0 (in AEGIS-128 S0 or S4) to its own value n
# steps later, divided by n. Through AES rounds alone, of which the last ends in one XOR, it takes
# 3n for the rounds, 1 for the XOR, and 2 for going over from AES to logic and back: with six words
# 21/6 (the textbook's update: 6), with four 15/4. In Packed128 3 are added for the exchange of
# halves, and the XOR is two where logic takes two operands, because the message comes last.
# Decryption comes back through the key stream too: from S0 to S[n - 1] by n - 1 rounds, then
# through k logic instructions, of which the last is the XOR into S0: (3(n - 1) + k + 2) / n. Which
# k depends on how the key stream is put together: three operands: S1 goes through two more before
# the last: n = 2, k = 3; Packed128: S2, exchanged, likewise: n = 3 and 3
#     more for the exchange;
#   two operands: S1 comes last of all, which leaves S2: through AND, and the XORs with what
#   precedes S1, with S1 and into
#     S0: n = 3, k = 6 for Aegis256 and 5 for Aegis128; Packed128: S2, exchanged, joins first: n = 3, 3 more, k = 4.
Form = collections.namedtuple("Form", "logic lanes cycles")
FORMS = {
    ("Aegis256", "absorb"): (Form(1, 0, 21 / 6), Form(1, 0, 21 / 6)),
    ("Aegis256", "encrypt"): (Form(6, 0, 21 / 6), Form(4, 0, 21 / 6)),
    ("Aegis256", "decrypt"): (Form(7, 0, 14 / 3), Form(4, 0, 8 / 2)),
    ("Aegis128", "absorb"): (Form(2, 0, 15 / 4), Form(2, 0, 15 / 4)),
    ("Aegis128", "encrypt"): (Form(10, 0, 15 / 4), Form(6, 0, 15 / 4)),
    ("Aegis128", "decrypt"): (Form(12, 0, 13 / 3), Form(6, 0, 8 / 2)),
    ("Packed128", "absorb"): (Form(2, 1, 19 / 4), Form(1, 1, 18 / 4)),
    ("Packed128", "encrypt"): (Form(6, 2, 19 / 4), Form(3, 2, 18 / 4)),
    ("Packed128", "decrypt"): (Form(6, 2, 15 / 3), Form(3, 2, 14 / 3)),
}
SLACK = 0.05  # cycles

# Byte shuffles, logic instructions and moves across lanes of a step where AES rounds are made of
# byte shuffles (soft/permute.rs): 13 and 14 for a round, 14 because it ends with the XOR with the
# round key. A block becomes a word, or a word a block, with 2 and 1, and 2 more logic instructions
# if its halves are not at hand from the word's AES round. S0 (in AEGIS-128 S4 too) is added after
# the round. Loads and stores have units of their own: for half as many of them as of shuffles, on
# the stack, nothing waits.
Shuffled = collections.namedtuple("Shuffled", "shuffles logic lanes")
SHUFFLED_FORMS = {
    ("Aegis256", "absorb"): Shuffled(6 * 13 + 2, 6 * 14 + 3 + 1, 0),
    # S1 ^ S4 ^ S5, S2 and S3 become blocks.
    ("Aegis256", "encrypt"): Shuffled(6 * 13 + 4 * 2, 6 * 14 + 3 + 1 + (2 + 3 + 1 + 1) + 3, 0),
    ("Aegis256", "decrypt"): Shuffled(6 * 13 + 4 * 2, 6 * 14 + 3 + 1 + (2 + 3 + 1 + 1) + 3, 0),
    ("Aegis128", "absorb"): Shuffled(8 * 13 + 2 * 2, 8 * 14 + 2 * (3 + 1), 0),
    ("Aegis128", "encrypt"): Shuffled(8 * 13 + 8 * 2, 8 * 14 + 2 * (3 + 1) + 6 + 2 * 4, 0),
    ("Aegis128", "decrypt"): Shuffled(8 * 13 + 8 * 2, 8 * 14 + 2 * (3 + 1) + 6 + 2 * 4, 0),
}

# AES instructions and blocks of message in a step, per vector.
Machine = collections.namedtuple("Machine", "aes blocks")
MACHINES = {
    "Aegis128": Machine(8, 2), "Packed128": Machine(4, 1), "Aegis256": Machine(6, 1),
}

# The machines that each backend must have.
BACKENDS = {
    "aesni::sse": ("Aegis128", "Aegis256"),
    "aesni::avx": ("Aegis128", "Aegis256"),
    "vaes": ("Packed128", "Aegis128", "Aegis256"),
    "vaes512": ("Packed128", "Aegis128", "Aegis256"),
    "ssse3": ("Aegis128", "Aegis256"),
    "ssse3::avx2": ("Aegis128", "Aegis256"),
}
SHUFFLED = ("ssse3", "ssse3::avx2")
SHUFFLED_SPILLS = 0.6  # for each byte shuffle
THREE_WAY = ("vaes512",)

# Kernel -> its loops.
KERNELS = {
    "absorb": ("absorb",),
    "encrypt": ("encrypt",),
    "decrypt": ("decrypt",),
    "seal": ("absorb", "encrypt"),
    "open": ("absorb", "decrypt"),
    "mac": ("absorb",),
}
ONE_SHOT = ("seal", "open", "mac")

# The registers do not suffice everywhere: (backend, machine) -> loads and stores a step for absorb,
# encrypt, decrypt; first in the kernels on a state, then in the one-shot kernels, where more is in
# registers. What is not here has none. pairs: twelve of sixteen registers are the state, so that a
# key stream under way finds none.
SPILLS = {
    ("aesni::avx", "Aegis256<Pair<X1>>"): ((0, 8, 0), (4, 10, 4)),
    ("vaes", "Aegis256<Pair<V2>>"): ((0, 8, 0), (2, 10, 2)),
    # More than one group, in the encoding of two operands: a copy is needed before each round.
    ("aesni::sse", "Aegis128<X1>"): ((0, 4, 2), (4, 4, 2)),
}
# The same with compilers before 1.95, which give successors registers of their own where they could
# overwrite the state.
SPILLS_BEFORE_1_95 = {
    **SPILLS,
    ("aesni::avx", "Aegis256<Pair<X1>>"): ((15, 18, 20), (13, 20, 18)),
    ("vaes", "Aegis256<Pair<V2>>"): ((15, 18, 20), (9, 16, 12)),
    ("vaes", "Aegis128<V2>"): ((0, 0, 0), (0, 2, 0)),
}
SPARE_SPILLS = 2  # where there are any: how many exactly is chance

SYMBOL = re.compile(r"x86::(\w+(?:::\w+)?)::entry::(\w+)::<(.*), (\d+)>>?$")
ON_STACK = re.compile(r"^v?mov\w+ +[xyz]mmword ptr \[r[sb]p\b.*\], *[xyz]mm", re.I)
KINDS = (
    ("aes", re.compile(r"v?aesenc$")),
    ("shuffle", re.compile(r"v?pshufb$")),
    ("logic", re.compile(r"v?(p?xor|p?andn?|p?or)(p[sd]|[dq])?$|vpternlog[dq]$")),
    ("lanes", re.compile(r"v?(insert|extract|perm|p?shuf|palign|p?unpck|p?broadcast)")),
    ("move", re.compile(r"v?(mov[au]p[sd]|movdq[au]\d*|lddqu)$")),
)
LATENCY = {"aes": 3, "shuffle": 1, "logic": 1, "lanes": 3, "move": 0, "other": 1}
GENERAL = re.compile(r"\b[re]?([abcd]x|[sd]i|bp|r\d+)")  # eax, rax -> ax; r8d -> r8


class Instruction:
    """A line of disassembly: what kind it is, and which places (registers, addresses) it reads and writes."""

    def __init__(self, text):
        self.mnemonic, _, rest = re.sub(r"\s*[#<].*", "", text).strip().partition(" ")
        self.operands = [operand.strip() for operand in rest.split(",")] if rest else []
        self.vector = any(re.match("[xyz]mm", operand) for operand in self.operands)
        load = "broadcast" in self.mnemonic and "[" in rest
        zero = "xor" in self.mnemonic and len(set(self.operands[-2:])) == 1  # whatever was there: no work
        kind = next((kind for kind, pattern in KINDS if pattern.match(self.mnemonic)), "other")
        self.kind = "move" if zero or load else kind
        places = [re.sub(r"^[xyz]mm(\d+).*", r"v\1", operand) for operand in self.operands]
        self.writes = places[0] if places else None
        self.reads = [place for place in places[1:] if not zero and re.match(r"v\d|.*\[", place)]
        in_place = self.mnemonic.startswith("vpternlog") or not self.mnemonic.startswith("v")
        if in_place and self.kind in ("aes", "logic"):
            self.reads.append(self.writes)
        memory = [n for n, operand in enumerate(self.operands) if "[" in operand]
        self.memory = memory[0] if memory and self.vector else None


class Loop:
    def __init__(self, texts):
        self.body = [Instruction(text) for text in texts]
        changed = [GENERAL.match(i.operands[0]) for i in self.body
                   if not i.vector and i.operands and i.mnemonic not in ("cmp", "test")]
        moving = {register[1] for register in changed if register}
        accesses = collections.Counter()
        for i in self.body:
            if i.memory is not None:
                address = i.operands[i.memory]
                moves = "rsp" not in address and moving & set(GENERAL.findall(address[address.index("["):]))
                table = "rip" in address and i.memory != 0
                accesses["table" if table else "spill" if not moves else "store" if i.memory == 0 else "load"] += 1
                if moves:
                    i.reads = [place for place in i.reads if "[" not in place]
        self.loads, self.stores, self.spills, self.tables = (accesses[a] for a in ("load", "store", "spill", "table"))
        kinds = collections.Counter(i.kind for i in self.body if i.vector)
        self.aes, self.logic, self.lanes, self.moves = (kinds[k] for k in ("aes", "logic", "lanes", "move"))
        self.shuffles = kinds["shuffle"]
        self.masked = any("{k" in operand for i in self.body for operand in i.operands)
        self.straight = not any(i.mnemonic.startswith(("j", "call")) for i in self.body[:-1])

    def recurrence(self):
        """Cycles an iteration takes because it waits for the one before."""
        ready = {}  # place -> when its value is there, and what kind of instruction makes it
        times = []
        rounds = 60  # a multiple of the length of every circle
        for _ in range(2 * rounds):
            for i in self.body:
                if not i.vector or not i.writes:
                    continue
                values = [ready[place] for place in i.reads if place in ready]
                if i.kind == "move":
                    ready[i.writes] = values[0] if values else (0, i.kind)
                    continue
                start = 0
                for time, kind in values:
                    start = max(start, time + (kind != "move" and (kind == "aes") != (i.kind == "aes")))
                ready[i.writes] = (start + LATENCY[i.kind], i.kind)
            times.append(max(time for time, _ in ready.values()))
        return (times[-1] - times[rounds - 1]) / rounds


def kernels(path):
    """Yields backend, kernel, machine, groups, innermost loops."""
    command = ["objdump", "-d", "-C", "-w", "-M", "intel", "--no-show-raw-insn", path]
    listing = subprocess.run(command, stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    for function in re.split(r"\n(?=[0-9a-f]+ <)", listing):
        head, _, code = function.partition(":\n")
        symbol = SYMBOL.search(head)
        if not symbol or symbol[1] not in BACKENDS or symbol[2] not in KERNELS:
            continue
        lines = re.findall(r"^ *([0-9a-f]+):\t(.*)$", code, re.M)
        position = {address: n for n, (address, _) in enumerate(lines)}
        jumps = [(position.get(jump[1]), n) for n, (_, text) in enumerate(lines)
                 for jump in [re.match(r"j\w+ +([0-9a-f]+)\b", text)] if jump]
        spans = [(start, end) for start, end in jumps if start is not None and start <= end]
        loops = [Loop(text for _, text in lines[start : end + 1]) for start, end in spans
                 if not any((start, end) != (a, b) and start <= a and b <= end for a, b in spans)]
        stored = sum(1 for _, text in lines if ON_STACK.match(text))
        yield symbol[1], symbol[2], re.sub(r"\w+::", "", symbol[3]), symbol[4], loops, stored


Row = collections.namedtuple("Row", "steps instructions aes logic lanes moves spills cycles")


def rows(backend, kernel, machine, loops, spills):
    """Yields name and Row of each loop over whole steps, and what is wrong with it: (what, found, expected)."""
    family, pair = machine.partition("<")[0], 2 if "Pair<" in machine else 1
    rounds, blocks = (pair * n for n in MACHINES[family])
    shuffled = backend in SHUFFLED
    for loop in loops:
        name = KERNELS[kernel][-1] if loop.stores else "absorb"
        if shuffled:
            form, work, spilled = SHUFFLED_FORMS[family, name], loop.shuffles, loop.spills
            unit = pair * form.shuffles
        else:
            # A value that every AES round reads from memory again is as bad as one that was put
            # there.
            form, work, spilled = FORMS[family, name][backend in THREE_WAY], loop.aes, loop.spills + loop.tables
            unit = rounds
        # Loops with branches or masks are for parts of a step. Others, which initialise or finish,
        # load less than so much work would absorb; those over the tags of single lanes have too
        # little of it for a pair.
        parts = not loop.straight or loop.masked or kernel == "mac" and work < unit
        if parts or not work or loop.loads * unit < blocks * work:
            continue
        steps = work / unit
        cycles = 0 if shuffled else loop.recurrence()
        row = Row(steps, *(count / steps for count in (
            len(loop.body), work, loop.logic, loop.lanes, loop.moves, spilled, cycles)))
        known = spills.get((backend, machine), ((0, 0, 0), (0, 0, 0)))[kernel in ONE_SHOT]
        most = known[("absorb", "encrypt", "decrypt").index(name)]
        most = SHUFFLED_SPILLS * unit if shuffled else most + SPARE_SPILLS * (most > 0)
        what = "byte shuffles" if shuffled else "AES instructions"
        wrong = [] if steps == int(steps) else [(what, work, "a multiple of %d" % unit)]
        for what, found, limit in (
            ("loads of the message per step", loop.loads / steps, blocks),
            ("stores of the result per step", loop.stores / steps, 0 if name == "absorb" else blocks),
            ("logic instructions per step", row.logic, pair * form.logic),
            ("moves across lanes per step", row.lanes, pair * form.lanes),
            ("spills per step", row.spills, most),
            ("cycles that a step waits for the one before", row.cycles, 0 if shuffled else form.cycles + SLACK),
        ):
            if found > limit + 1e-6:
                wrong.append((what, found, "at most %.4g" % limit))
        yield name, row, wrong


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print(__doc__.strip())
        return 0 if {"-h", "--help"} & set(arguments) else 2
    with open(arguments[0], "rb") as file:
        compiler = re.search(rb"rustc version (\d+)\.(\d+)", file.read())
    spills = SPILLS_BEFORE_1_95 if compiler and tuple(map(int, compiler.groups())) < (1, 95) else SPILLS
    table, complaints = collections.defaultdict(list), collections.Counter()
    missing = {(backend, machine, name) for backend in BACKENDS for machine in BACKENDS[backend]
               for name in ("absorb", "encrypt", "decrypt")}
    for backend, kernel, machine, groups, loops, stored in kernels(arguments[0]):
        title = "%s %s::<%s, %s>" % (backend, kernel, machine, groups)
        # One group of lanes, each word in one register: nothing secret goes over the stack, and the
        # driver does not scrub it.
        if stored and groups == "1" and "Pair<" not in machine and backend not in SHUFFLED:
            complaints["%s: vectors stored on the stack: found %d, expected none" % (title, stored)] += 1
        # For any number of groups a whole message goes through the kernels of a state.
        expected = set() if kernel in ONE_SHOT and groups == "0" else set(KERNELS[kernel])
        for name, row, wrong in rows(backend, kernel, machine, loops, spills):
            expected.discard(name)
            missing.discard((backend, machine.partition("<")[0], name))
            table[backend, machine, ("one-shot " if kernel in ONE_SHOT else "") + name, row.steps].append(row)
            for complaint in wrong:
                complaints["%s, %s loop: %s: found %.4g, expected %s" % (title, name, *complaint)] += 1
        for name in expected:
            complaints["%s, %s loop over whole steps: found none, expected one or more" % (title, name)] += 1
    for key in missing:
        complaints["%s %s, %s loop: found no kernel that has one, expected one or more" % key] += 1
    print("backend     machine                 loop             count steps instr  AES logic lanes moves spills cycles")
    for key, same in sorted(table.items()):
        most = [max(column) for column in zip(*same)]
        print("%-11s %-23s %-16s" % key[:3],
              "%5d %5.4g %5.4g %4.4g %5.4g %5.4g %5.4g %6.4g %6.2f" % (len(same), *most))
    for complaint, count in sorted(complaints.items()):
        print("check-loops:", complaint, "(%d times)" % count if count > 1 else "")
    verdict = "%d complaints" % sum(complaints.values()) if complaints else "as they should be"
    print("%d loops: %s" % (sum(map(len, table.values())), verdict))
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
