#!/usr/bin/env python3
"""Proves of the machine code of the x86-64 kernels that no branch and no address in it depends on a secret.

    scripts/check-machine-code.py [--only REGEX] FILE

FILE is a program or shared library with symbols; scripts/check-machine-code.sh makes one. Needs iced-x86 (PyPI) and binutils' nm. Prints how much was read; the exit status is 1 if anything is wrong.

Every kernel of every backend is run on abstract values, along all its paths at once (dataflow analysis to a fixed point). Of a
register, and of a slot of the stack frame, it is known only whether it is

    public   a length, or a pointer whose target is secret: what a kernel gets as arguments
    list     a pointer to public values: a struct of pointers and lengths
    image    a pointer into the program's own constants, which are public
    stack    a pointer into the frame, where the offset is known
    secret   whatever was loaded through a public pointer (keys, nonces, messages, states, tags), and all that is made of it

What must hold of each instruction: no register of an address is secret (nor, for a gather or a masked load or store, the vector of
indices or the mask), a jump or call that goes on at a computed place does not compute it from a secret, flags that a conditional jump
asks are public, nothing secret is divided, and counts of repeated instructions are public. An instruction that moves by flags
(`cmov`, `set`) may: what it gives is secret then.

One thing is made public: whether a tag was right. Such jumps are accepted, and counted, in functions that open messages, where the
flags come from an instruction that tests a register as a whole (ptest, kortest, or all bits of pmovmskb), and if on no path
there are two: a comparison that ends early has more than one.

Assumed: that the compiler's own slots on the stack are not overwritten through computed addresses (memory safety), and of called
functions outside of the file that they do what their names say (memcpy, memset).
"""

import collections
import re
import subprocess
import sys

from iced_x86 import (
    Decoder, FlowControl, Formatter, FormatterSyntax, InstructionInfoFactory, MemorySizeExt, Mnemonic, OpAccess, OpKind,
    Register, RegisterExt,
)

PUBLIC, LIST, IMAGE, SECRET = "public", "list", "image", "secret"
# Secrets too: a bit for each byte that is equal, one for each that differs, and whether all is as it should be.
EQUAL, DIFFERENT, DECISION = "equal", "different", "decision"
SECRETS = (SECRET, EQUAL, DIFFERENT, DECISION)
READS = {OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
KEEPS = {OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE}
ARGUMENTS = [Register.RDI, Register.RSI, Register.RDX, Register.RCX, Register.R8, Register.R9]
CLOBBERED = ARGUMENTS + [Register.RAX, Register.R10, Register.R11]
FLAGS = "flags"
DIVIDES = {Mnemonic.DIV, Mnemonic.IDIV}
IMMEDIATES = {value for kind, value in vars(OpKind).items() if kind.startswith("IMMEDIATE")}
SETS = {Mnemonic.SETE, Mnemonic.SETNE, Mnemonic.SETB, Mnemonic.SETAE}
KEEPS_DECISION = {Mnemonic.AND, Mnemonic.OR, Mnemonic.XOR, Mnemonic.TEST, Mnemonic.CMP, Mnemonic.MOV, Mnemonic.MOVZX}
SAME_GIVES_CONSTANT = {
    getattr(Mnemonic, name) for name in ("XOR", "SUB", "PXOR", "VPXOR", "VPXORD", "VPXORQ", "XORPS", "VXORPS", "XORPD", "VXORPD", "PCMPEQD",
                 "PCMPEQB", "VPCMPEQD", "VPCMPEQB", "KXNORB", "KXNORW", "KXNORD", "KXNORQ", "KXORB", "KXORW", "PSUBB")
}
WHOLE_TESTS = {Mnemonic.PTEST, Mnemonic.VPTEST, Mnemonic.KORTESTB, Mnemonic.KORTESTW, Mnemonic.KORTESTD, Mnemonic.KORTESTQ,
               Mnemonic.KTESTB, Mnemonic.KTESTW}
# Outside functions -> which arguments must be public, and what they return.
OUTSIDE = {"memcpy": (3, PUBLIC), "memmove": (3, PUBLIC), "memset": (3, PUBLIC), "bcmp": (3, SECRET), "memcmp": (3, SECRET)}

Stack = collections.namedtuple("Stack", "base offset")  # a pointer; the offset is None where it is unknown
Code = collections.namedtuple("Code", "target")  # the address of a function: its own, or an outside one's name


def secret(*values):
    return any(value in SECRETS for value in values)


def join(a, b):
    if a == b:
        return a
    return SECRET if secret(a, b) else PUBLIC


class State:
    """What is known before an instruction."""

    def __init__(self, registers, slots):
        self.registers, self.slots = registers, slots

    def copy(self):
        return State(dict(self.registers), dict(self.slots))

    def merge(self, other):
        """Takes in what comes from another way; whether that changed anything."""
        changed = False
        for mine, theirs in ((self.registers, other.registers), (self.slots, other.slots)):
            for key in list(mine):
                value = join(mine[key], theirs.get(key, SECRET))
                if value != mine[key]:
                    mine[key], changed = value, True
        return changed

    def __getitem__(self, register):
        return self.registers.get(register, SECRET)


class File:
    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            self.bytes = file.read()
        listing = subprocess.run(["nm", "-C", "-S", path], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
        self.functions = {}  # address -> (size, name)
        for line in listing.splitlines():
            entry = re.match(r"([0-9a-f]+) ([0-9a-f]+) [tTwW] (.*)", line)
            if entry:
                self.functions.setdefault(int(entry[1], 16), (int(entry[2], 16), entry[3]))
        sections = subprocess.run(["readelf", "-W", "-S", path], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
        self.sections = []
        for name, address, offset, size in re.findall(
                r"\] (\S+) +\S+ +([0-9a-f]{16}) ([0-9a-f]+) ([0-9a-f]+)", sections):
            if int(address, 16) and name not in (".bss", ".tbss"):
                self.sections.append((int(address, 16), int(offset, 16), int(size, 16)))
        relocations = subprocess.run(["readelf", "-W", "-r", path], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
        # Places with the addresses of functions: of outside ones their names, of those within where they are.
        self.imports = {int(place, 16): Code(name) for place, name in re.findall(
            r"^([0-9a-f]+) +[0-9a-f]+ R_X86_64_(?:GLOB_DAT|JUMP_SLO\w*) +[0-9a-f]+ ([\w]+)", relocations, re.M)}
        for place, target in re.findall(r"^([0-9a-f]+) +[0-9a-f]+ R_X86_64_RELATIVE +([0-9a-f]+)", relocations, re.M):
            if int(target, 16) in self.functions:
                self.imports[int(place, 16)] = Code(int(target, 16))

    def code(self, address, size):
        for start, offset, length in self.sections:
            if start <= address < start + length:
                return self.bytes[offset + address - start:][:size]
        raise KeyError(address)

    def word(self, address, size):
        return int.from_bytes(self.code(address, size), "little", signed=True)


class Analysis:
    def __init__(self, file):
        self.file = file
        self.info = InstructionInfoFactory()
        self.formatter = Formatter(FormatterSyntax.INTEL)
        self.wrong = {}  # (function, address) -> what
        self.decisions = set()
        self.jumps = set()
        self.addresses = set()
        self.read = set()
        self.known = {}  # (function, arguments) -> what it returns
        self.decoded = {}

    def decode(self, address):
        if address not in self.decoded:
            size, name = self.file.functions[address]
            decoder = Decoder(64, self.file.code(address, size), ip=address)
            instructions = {instruction.ip: instruction for instruction in decoder}
            details = {}
            for ip, i in instructions.items():
                info = self.info.info(i)
                used = [(RegisterExt.full_register(r.register), r.register, r.access) for r in info.used_registers()]
                memory = [(m.base, m.index, m.access, m.displacement, m.memory_size, m.scale) for m in info.used_memory()]
                details[ip] = (used, memory)
            self.decoded[address] = (name, instructions, details)
        return self.decoded[address]

    def report(self, name, i, what):
        self.wrong[name, i.ip] = "%s: %s" % (what, self.formatter.format(i))

    def function(self, address, arguments, stack_argument=PUBLIC):
        """Runs a function on such arguments. Returns what is in RAX at its end."""
        key = (address, arguments, stack_argument)
        if key in self.known:
            return self.known[key]
        self.known[key] = SECRET  # for a call of itself
        name, instructions, details = self.decode(address)
        start = State({Register.RSP: Stack("entry", 0)}, {})
        for register, value in zip(ARGUMENTS, arguments):
            start.registers[register] = value
        # What the caller saved there is none of our business: it is not used but to be restored.
        for register in (Register.RBX, Register.RBP, Register.R12, Register.R13, Register.R14, Register.R15):
            start.registers[register] = PUBLIC
        for register in (Register.RAX, Register.R10, Register.R11):
            start.registers[register] = SECRET
        for place in range(8, 72, 8):
            start.slots["entry", place] = stack_argument
        states, work, returned, ways = {address: start}, [address], [], {}
        while work:
            ip = work.pop()
            i = instructions.get(ip)
            if i is None:
                self.wrong[name, ip] = "control leaves the function"
                continue
            after = states[ip].copy()
            ways[ip] = self.step(name, i, details[ip], after, returned)
            for target in ways[ip]:
                if target not in states:
                    states[target] = after.copy()
                elif not states[target].merge(after):
                    continue
                work.append(target)
        self.read.update((name, ip) for ip in states)
        for first in (ip for known, ip in self.decisions if known == name):
            later, work = set(), list(ways[first])
            while work:
                ip = work.pop()
                if ip not in later:
                    later.add(ip)
                    work += ways.get(ip, [])
            if any(known == name and ip in later for known, ip in self.decisions):
                self.report(name, instructions[first], "not the last decision about a secret")
        self.known[key] = SECRET if secret(*returned) else PUBLIC
        return self.known[key]

    def step(self, name, i, detail, state, returned):
        """The effect of an instruction on the state; returns where it may go on."""
        used, memory = detail
        flow, mnemonic = i.flow_control, i.mnemonic

        def pointer(base, index, displacement, scale):
            """What an address is."""
            if base == Register.RIP or (base == Register.NONE and index == Register.NONE):
                return IMAGE
            value = state[RegisterExt.full_register(base)] if base != Register.NONE else PUBLIC
            other = state[RegisterExt.full_register(index)] if index != Register.NONE else None
            if other is not None:
                if scale == 1 and value == PUBLIC and not secret(other):
                    value, other = other, value  # which of the two is the pointer does not matter
                if secret(value, other):
                    return SECRET
                if isinstance(value, Stack):
                    return Stack(value.base, None)
                return value
            if isinstance(value, Stack) and value.offset is not None:
                offset = displacement if displacement < 1 << 63 else displacement - (1 << 64)
                return Stack(value.base, value.offset + offset)
            return value

        def size_of(memory_size):
            return MemorySizeExt.size(memory_size) or 8

        def load(place, size):
            if place in (LIST, IMAGE):
                return PUBLIC
            if isinstance(place, Stack) and place.offset is not None:
                first = place.offset - place.offset % 8
                values = {state.slots.get((place.base, at), SECRET) for at in range(first, place.offset + size, 8)}
                return values.pop() if len(values) == 1 else SECRET if secret(*values) else PUBLIC
            return SECRET

        def store(place, size, value):
            if isinstance(place, Stack) and place.offset is not None:
                first = place.offset - place.offset % 8
                for at in range(first, place.offset + size, 8):
                    whole = at >= place.offset and at + 8 <= place.offset + size
                    old = state.slots.get((place.base, at))
                    state.slots[place.base, at] = value if whole or old is None else join(old, value)

        # Addresses.
        read, write = [], []
        if mnemonic not in (Mnemonic.LEA, Mnemonic.NOP, Mnemonic.CALL):
            for base, index, access, displacement, memory_size, scale in memory:
                self.addresses.add((name, i.ip))
                place = pointer(base, index, displacement, scale)
                if secret(place):
                    self.report(name, i, "the address depends on a secret")
                    place = PUBLIC
                if i.op_mask != Register.NONE and secret(state[RegisterExt.full_register(i.op_mask)]):
                    self.report(name, i, "the mask of an access to memory depends on a secret")
                size = size_of(memory_size)
                if access in READS:
                    read.append(load(place, size))
                if access in WRITES:
                    write.append((place, size, access in KEEPS or i.op_mask != Register.NONE))
        if i.has_rep_prefix or i.has_repne_prefix:
            if secret(state[Register.RCX]) and i.is_string_instruction:
                self.report(name, i, "a count depends on a secret")

        sources = [state[full] for full, _, access in used if access in READS]
        if mnemonic in DIVIDES and secret(*sources, *read):
            self.report(name, i, "a secret is divided")

        # Where to go on.
        if flow == FlowControl.CONDITIONAL_BRANCH:
            self.jumps.add((name, i.ip))
            if state[FLAGS] == DECISION and not i.is_jcx_short:
                self.decisions.add((name, i.ip))
            elif secret(state[Register.RCX] if i.is_jcx_short else state[FLAGS]):
                self.report(name, i, "the jump depends on a secret")
            return [i.near_branch_target, i.next_ip]
        if flow == FlowControl.UNCONDITIONAL_BRANCH:
            target = i.near_branch_target
            if target not in self.current:
                return self.call(name, i, target, state, returned, tail=True)
            return [target]
        if flow == FlowControl.INDIRECT_BRANCH:
            if secret(*sources, *read):
                self.report(name, i, "the jump goes to a place that depends on a secret")
            return self.table(name, i, state, returned)
        if flow == FlowControl.RETURN:
            returned.append(state[Register.RAX])
            return []
        if flow in (FlowControl.CALL, FlowControl.INDIRECT_CALL):
            return self.call(name, i, i.near_branch_target if flow == FlowControl.CALL else None, state, returned)
        if flow in (FlowControl.INTERRUPT, FlowControl.EXCEPTION):
            return []

        # What is written.
        value = None
        operands = [i.op_kind(n) for n in range(i.op_count)]
        registers = [RegisterExt.full_register(i.op_register(n)) if kind == OpKind.REGISTER else None
                     for n, kind in enumerate(operands)]
        wide = bool(registers) and registers[0] is not None and RegisterExt.is_gpr64(i.op_register(0))
        if mnemonic == Mnemonic.LEA:
            value = pointer(i.memory_base, i.memory_index, i.memory_displacement, i.memory_index_scale)
        elif mnemonic == Mnemonic.MOV and i.op_count == 2 and registers[1] is not None and (wide or registers[0] is None):
            value = state[registers[1]] if RegisterExt.is_gpr64(i.op_register(1)) else None
        elif mnemonic == Mnemonic.MOV and wide and read:
            value = read[0]
            if i.is_ip_rel_memory_operand:
                value = self.file.imports.get(i.ip_rel_memory_address, value)
        elif mnemonic in (Mnemonic.ADD, Mnemonic.SUB) and wide:
            left = state[registers[0]]
            right = read[0] if read else state[registers[1]] if registers[1] is not None else PUBLIC
            if isinstance(left, Stack):
                known = left.offset is not None and registers[1] is None and not read
                change = self.signed(i.immediate(1)) * (1 if mnemonic == Mnemonic.ADD else -1) if known else 0
                value = Stack(left.base, left.offset + change if known else None) if not secret(right) else SECRET
            elif mnemonic == Mnemonic.ADD and not secret(left, right):
                value = next((v for v in (left, right) if v != PUBLIC), PUBLIC)
                if isinstance(value, Stack):
                    value = Stack(value.base, None)
        elif mnemonic == Mnemonic.AND and wide and isinstance(state[registers[0]], Stack):
            value = Stack("aligned %x" % i.ip, 0)
        elif mnemonic == Mnemonic.PUSH:
            value = state[registers[0]] if registers[0] is not None else PUBLIC
        elif mnemonic == Mnemonic.POP:
            value = read[0]
        elif mnemonic in SAME_GIVES_CONSTANT and len(registers) >= 2 and registers[-1] is not None \
                and registers[-1] == registers[-2]:
            value = PUBLIC
        if value is None:
            everything = sources + read
            if i.rflags_read:
                everything.append(state[FLAGS])
            if i.op_mask != Register.NONE and not i.zeroing_masking and registers and registers[0] is not None:
                everything.append(state[registers[0]])
            value = SECRET if secret(*everything) else PUBLIC
        flags = None
        if i.rflags_modified:
            flags = SECRET if secret(*sources, *read) or i.rflags_read and secret(state[FLAGS]) else PUBLIC
            if value == PUBLIC and mnemonic in SAME_GIVES_CONSTANT:
                flags = PUBLIC
        if "open" in name:
            all_ones = i.op_count == 2 and i.op_kind(1) in IMMEDIATES and i.immediate(1) & 0xffff == 0xffff
            if mnemonic in (Mnemonic.PMOVMSKB, Mnemonic.VPMOVMSKB):
                value = EQUAL
            elif flags == SECRET and mnemonic in WHOLE_TESTS:
                flags = DECISION
            elif EQUAL in sources and all_ones and mnemonic in (Mnemonic.XOR, Mnemonic.CMP):
                value, flags = DIFFERENT, DECISION
            elif DIFFERENT in sources and mnemonic == Mnemonic.TEST and registers[0] == registers[1]:
                flags = DECISION
            elif mnemonic in SETS and state[FLAGS] == DECISION:
                value = DECISION
            elif mnemonic in KEEPS_DECISION and DECISION in sources and not {SECRET, EQUAL, DIFFERENT} & set(sources + read):
                value = DECISION
                flags = DECISION if flags == SECRET else flags

        stack = state[Register.RSP]
        for full, register, access in used:
            if access not in WRITES:
                continue
            if full == Register.RSP:
                if mnemonic == Mnemonic.PUSH:
                    state.registers[full] = Stack(stack.base, stack.offset - 8)
                elif mnemonic == Mnemonic.POP and registers[0] != Register.RSP:
                    state.registers[full] = Stack(stack.base, stack.offset + 8)
                else:
                    state.registers[full] = value
                continue
            new = value
            if access in KEEPS or RegisterExt.is_gpr8(register) or RegisterExt.is_gpr16(register):
                old = state[full]
                # A byte of a register that was secret: what reads it afterwards reads that byte, or the register was cleared.
                new = value if value == DECISION else SECRET if secret(value) or access in KEEPS and secret(old) else PUBLIC
            state.registers[full] = new
        if flags is not None:
            state.registers[FLAGS] = flags
        for place, size, keeps in write:
            if mnemonic == Mnemonic.PUSH:
                place = Stack(stack.base, stack.offset - 8)
            store(place, size, join(load(place, size), value) if keeps else value)
        return [i.next_ip]

    @staticmethod
    def signed(value):
        return value - (1 << 64) if value >= 1 << 63 else value

    def call(self, name, i, target, state, returned, tail=False):
        if target is not None:
            goal = Code(target) if target in self.file.functions else self.stub(target)
        elif i.is_ip_rel_memory_operand:
            goal = self.file.imports.get(i.ip_rel_memory_address, Code("?"))
        else:
            goal = i.op_kind(0) == OpKind.REGISTER and state[RegisterExt.full_register(i.op_register(0))]
            if not isinstance(goal, Code):
                goal = Code("?")
        if not isinstance(goal.target, int):
            outside = goal.target
            count, result = OUTSIDE.get(outside, (0, SECRET))
            if outside not in OUTSIDE:
                self.report(name, i, "calls an unknown function (%s)" % outside)
            for register in ARGUMENTS[:count]:
                if secret(state[register]):
                    self.report(name, i, "an argument of %s depends on a secret" % outside)
        else:
            target = goal.target
            known = self.file.functions[target][1]
            if re.search(r"panic|unwrap_failed|expect_failed|slice_\w+_fail|len_mismatch", known):
                return []
            arguments = tuple(PUBLIC if isinstance(state[r], Stack) else state[r] for r in ARGUMENTS)
            saved = self.current
            result = self.begin(target, self.arguments(target, arguments))
            self.current = saved
        for register in CLOBBERED:
            state.registers[register] = SECRET
        for register in list(state.registers):
            if register != FLAGS and RegisterExt.is_vector_register(register) or register != FLAGS and RegisterExt.is_k(register):
                state.registers[register] = SECRET
        state.registers[Register.RAX] = result
        state.registers[FLAGS] = SECRET
        if tail:
            returned.append(result)
            return []
        return [i.next_ip]

    def stub(self, target):
        decoder = Decoder(64, self.file.code(target, 16), ip=target)
        for i in decoder:
            if i.flow_control == FlowControl.INDIRECT_BRANCH and i.is_ip_rel_memory_operand:
                return self.file.imports.get(i.ip_rel_memory_address, Code("?"))
        return Code("?")

    def table(self, name, i, state, returned):
        """A jump through a table of the compiler's: to any instruction of the function that nothing else leads to. Rather than
        reading the table, all such places are taken."""
        if i.op_kind(0) == OpKind.MEMORY and i.is_ip_rel_memory_operand:
            return self.call(name, i, None, state, returned, tail=True)
        self.report(name, i, "a jump through a table, which this analysis does not follow")
        return []

    def arguments(self, address, arguments):
        """A kernel's first argument is a list where it is a struct of pointers and lengths."""
        name = self.file.functions[address][1]
        if TAKES_LIST.search(name):
            return (LIST,) + arguments[1:]
        return arguments

    def begin(self, address, arguments):
        self.decode(address)
        self.current = self.decoded[address][1]
        return self.function(address, arguments)


TAKES_LIST = re.compile(r"::message::|_batch\b|_batch::|in_parts")
KERNEL = re.compile(r"palladion::low::(?:x86::(?!Features)(\w+)|(portable)|(bitsliced\w*))::(?:entry::)?(?:message::)?(\w+)|(planted)_")


def main(arguments):
    only = re.compile(arguments[arguments.index("--only") + 1]) if "--only" in arguments else None
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 2
    file = File(arguments[-1])
    totals = collections.defaultdict(collections.Counter)
    wrong = {}
    for address, (size, name) in sorted(file.functions.items()):
        kernel = KERNEL.search(name)
        if not kernel or (only and not only.search(name)):
            continue
        analysis = Analysis(file)
        analysis.begin(address, analysis.arguments(address, (PUBLIC,) * 6))
        count = totals[kernel[1] or kernel[2] or kernel[3] or kernel[5]]
        count["kernels"] += 1
        count["instructions"] += len(analysis.read)
        count["addresses"] += len(analysis.addresses)
        count["jumps"] += len(analysis.jumps)
        count["decisions"] += len(analysis.decisions)
        wrong.update(analysis.wrong)
    print("backend       kernels instructions addresses   jumps of which whether a tag was right")
    for backend, count in sorted(totals.items()):
        print("%-13s %7d %12d %9d %7d %d" % (backend, *(count[n] for n in ("kernels", "instructions", "addresses", "jumps", "decisions"))))
    for (name, ip), what in sorted(wrong.items()):
        print("%x in %s: %s" % (ip, name, what))
    return 1 if wrong or not totals else 0


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    sys.exit(main(sys.argv[1:]))
