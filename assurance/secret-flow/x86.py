#!/usr/bin/env python3
"""Follows secrets through machine code for x86-64; domain.py describes the model.

    assurance/secret-flow/x86.py FILE [MODULE...]

FILE is a program or shared library with symbols. Fails unless each MODULE has a kernel in it.
The package iced-x86 says what instructions read and write. The tables below say the rest.
"""

import collections
import re
import subprocess
import sys

from iced_x86 import (
    CodeSize, CpuidFeature, Decoder, FlowControl, InstructionInfoFactory, MemorySizeExt, Mnemonic,
    OpAccess, OpKind, Register, RegisterExt, RflagsBits,
)

from domain import (
    ANYWHERE, CONST, DOES_NOT_RETURN, IMAGE, PUBLIC, SECRET, Flow, Stack, State,
    add, join, masked, mix, on_numbers, piece, secret, subtract, verdict,
)


def mnemonics(pattern):
    return {value for name, value in vars(Mnemonic).items() if re.fullmatch(pattern, name)}


READS = {OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
KEEPS = {OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE}
ARGUMENTS = [Register.RDI, Register.RSI, Register.RDX, Register.RCX, Register.R8, Register.R9]
SAVED = [Register.RSP, Register.RBX, Register.RBP, *range(Register.R12, Register.R15 + 1)]
FLAGS = "flags"  # beside the registers; one value for each
LOWEST = 1 << 16  # added to a register: its lowest byte
CALLS = {FlowControl.CALL, FlowControl.INDIRECT_CALL}
JUMPS = {FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH}
IMMEDIATES = {value for name, value in vars(OpKind).items() if name.startswith("IMMEDIATE")}
# Instructions that take longer for some numbers: in floating point, for subnormal ones.
SLOW_FOR_SOME = mnemonics(
    r"I?DIV|V?(?:ADD|SUB|ADDSUB|HADD|HSUB|MUL|DIV|SQRT|FN?M(?:ADD|SUB|ADDSUB|SUBADD)\d+)[PS][SDH]")
# Vectors that say which memory is touched, and registers that have two names.
REFUSED = mnemonics("V?P?MASKMOV.*|ENTER|PUSHF.*|POPF.*")
REFUSED_FEATURES = {CpuidFeature.FPU, CpuidFeature.FPU287, CpuidFeature.FPU387, CpuidFeature.MMX}
SHIFTS = mnemonics("SHL|SHR|SAR|SAL|ROL|ROR|RCL|RCR|SHLD|SHRD")
BIT_TESTS = mnemonics("BT[SRC]?")
# These give a constant where both operands are the same register; the first, zero.
ZEROS = mnemonics("V?P?XOR(?:PS|PD|D|Q)?|SUB")
CONSTANTS = ZEROS | mnemonics("V?PSUB[BWDQ]|V?PCMPEQ[BWDQ]|KXN?OR[BWDQ]")
TERNARY = mnemonics("VPTERNLOG[DQ]")
COPIES = mnemonics(r"V?MOV(?:DQ[AU]\d*|[AU]P[SD]|D|Q)|V?LDDQU|KMOV[BWDQ]|MOVZX|MOV|PUSH")
MOVES_BY_FLAGS = mnemonics(r"CMOV\w+")
STRINGS = {getattr(Mnemonic, kind + letter): size for kind in ("MOVS", "STOS")
           for letter, size in zip("BWDQ", (1, 2, 4, 8))}
NOT_AN_ACCESS = mnemonics("LEA|NOP")
ARITHMETIC = {
    Mnemonic.ADD: add, Mnemonic.SUB: subtract, Mnemonic.AND: masked,
    Mnemonic.INC: lambda a: add(a, 1), Mnemonic.DEC: lambda a: subtract(a, 1),
}
times = on_numbers(lambda a, b: a * b)
Code = collections.namedtuple("Code", "target")  # a function, or the name of an outside one


def full(register):
    none = register in (Register.NONE, Register.RIP)
    return None if none else RegisterExt.full_register(register)


def is_lowest(name):
    """Whether it is the lowest byte of a register."""
    return RegisterExt.is_gpr8(name) and name not in (
        Register.AH, Register.BH, Register.CH, Register.DH)


def signed(number):
    return number - (1 << 64) if number >> 63 else number


class Decoded:
    """An instruction, and what of it is asked for again and again."""

    def __init__(self, function, i, info):
        self.function, self.meets = function, False
        self.i, self.at, self.next, self.mnemonic = i, i.ip, i.next_ip, i.mnemonic
        self.flow = i.flow_control
        kinds = [i.op_kind(n) for n in range(i.op_count)]
        self.names = [i.op_register(n) if kind == OpKind.REGISTER else None
                      for n, kind in enumerate(kinds)]
        self.immediate = None
        if kinds and kinds[-1] in IMMEDIATES:
            self.immediate = signed(i.immediate(len(kinds) - 1))
        access = info.op_access(kinds.index(OpKind.MEMORY)) if OpKind.MEMORY in kinds else None
        self.memory = access is not None and i.mnemonic not in NOT_AN_ACCESS
        self.loads, self.stores, self.partly = access in READS, access in WRITES, access in KEEPS
        self.memory_size = MemorySizeExt.size(i.memory_size)
        self.base, self.index = full(i.memory_base), full(i.memory_index)
        used, operands = info.used_registers(), [name and full(name) for name in self.names]
        self.reads = [r.register for r in used if r.access in READS and (
            full(r.register) in operands or full(r.register) not in (self.base, self.index))]
        self.writes = [(r.register, r.access in KEEPS) for r in used if r.access in WRITES]
        self.copies_low = i.mnemonic == Mnemonic.MOV and all(
            name and RegisterExt.size(name) >= 4 for name in self.names)
        self.mask = full(i.op_mask)
        last = self.names[-2:]
        same = len(last) == 2 and last[0] == last[1] is not None and not self.mask
        self.constant = same and i.mnemonic in CONSTANTS or (
            i.mnemonic in TERNARY and self.immediate in (0, -1, 255) and not self.mask)
        # Whether reads, writes and the tables above are all that there is to it.
        self.followed = not (
            i.mnemonic in REFUSED
            or REFUSED_FEATURES.intersection(i.cpuid_features())
            or i.is_vsib
            or any(m.address_size == CodeSize.CODE32 for m in info.used_memory())
            or i.memory_segment in (Register.FS, Register.GS)
            or i.rflags_modified & RflagsBits.DF
            or i.is_string_instruction and i.mnemonic not in STRINGS
            or i.mnemonic in BIT_TESTS and kinds[0] == OpKind.MEMORY and kinds[1] == OpKind.REGISTER
            or not (self.flow in (FlowControl.NEXT, *CALLS, FlowControl.INDIRECT_BRANCH)
                    or i.mnemonic in (Mnemonic.UD2, Mnemonic.INT3)
                    or i.mnemonic == Mnemonic.RET and not i.op_count
                    or i.is_jcc_short_or_near or i.is_jmp_short_or_near))


class File:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()

        def run(*command):
            return subprocess.check_output([*command, path], universal_newlines=True)

        self.functions = {}  # address -> (size, name)
        symbols = run("nm", "-C", "-S")
        for address, size, name in re.findall(r"^(\w+) (\w+) [tTwW] (.*)$", symbols, re.M):
            self.functions.setdefault(int(address, 16), (int(size, 16), name))
        sections = re.findall(r"\] (\S+) +\S+ +(\w{16}) (\w+) (\w+)", run("readelf", "-W", "-S"))
        self.sections = [(int(address, 16), int(offset, 16), int(size, 16))
                         for _, address, offset, size in sections]
        self.writable = [range(int(address, 16), int(address, 16) + int(size, 16))
                         for name, address, _, size in sections
                         if re.match(r"\.(data|bss)(?!\.rel\.ro)", name)]
        relocations = run("readelf", "-W", "-r")
        self.imports = {int(place, 16): name for place, name in re.findall(
            r"^(\w+) +\w+ R_X86_64_(?:GLOB_DAT|JUMP_SLO\w*) +\w+ (\w+)", relocations, re.M)}
        self.imports.update((int(place, 16), int(target, 16)) for place, target in re.findall(
            r"^(\w+) +\w+ R_X86_64_RELATIVE +(\w+)", relocations, re.M))
        self.info = InstructionInfoFactory()
        self.code = {}  # address -> instruction, of functions that were read
        self.tables = {}  # function -> where its tables of jumps lead

    def pointer(self, place):
        """What a pointer leads to that only the dynamic linker writes there."""
        target = self.imports.get(place)
        if target is None or any(place in section for section in self.writable):
            return None
        return Code(target) if type(target) is str or target in self.functions else IMAGE

    def bytes_at(self, address, size):
        start, offset = next((s[0], s[1]) for s in self.sections if s[0] <= address < s[0] + s[2])
        return self.bytes[offset + address - start:][:size]

    def function(self, address):
        """Reads the instructions of a function."""
        if address in self.tables:
            return
        size, _ = self.functions[address]
        decoder = Decoder(64, self.bytes_at(address, size), ip=address)
        code = {i.ip: Decoded(address, i, self.info.info(i)) for i in decoder}
        heads, tables = {address}, set()
        for x in code.values():
            if x.flow in JUMPS:
                heads.add(x.i.near_branch_target)
            if x.flow == FlowControl.CONDITIONAL_BRANCH or x.flow in CALLS:
                heads.add(x.next)
            elif x.mnemonic == Mnemonic.LEA and x.i.is_ip_rel_memory_operand:
                tables |= set(self.table(x.i.ip_rel_memory_address, code))
        for at in (heads | tables) & code.keys():
            code[at].meets = True
        self.code.update(code)
        self.tables[address] = tables

    def table(self, address, code):
        """Where a table of jumps leads, if there is one: its entries are relative to it."""
        place = address
        while True:
            entry = self.bytes_at(place, 4) or b"\0\0\0\0"
            target = address + int.from_bytes(entry, "little", signed=True)
            if target not in code:
                return
            yield target
            place += 4

    def stub(self, target):
        """The function that a stub for the dynamic linker jumps to."""
        for i in Decoder(64, self.bytes_at(target, 16), ip=target):
            if i.flow_control == FlowControl.INDIRECT_BRANCH and i.is_ip_rel_memory_operand:
                return self.imports.get(i.ip_rel_memory_address)
        return None


class Machine(Flow):
    def begin(self, address, pointers):
        state = State({Register.RSP: Stack(-8, True), FLAGS: (SECRET,) * 6},
                      dict.fromkeys(range(0, 128, 8), PUBLIC))
        for n, register in enumerate(ARGUMENTS):
            self.set(state, register, pointers.get(n, PUBLIC))
        self.file.function(address)
        return state, ((address, 0),)

    def text(self, x):
        return format(x.i, "i")

    @staticmethod
    def get(state, name):
        """What a register, or a part of one, has in it. Of one left by a caller: a secret."""
        value = state.registers.get(full(name) + LOWEST * is_lowest(name), SECRET)
        if RegisterExt.is_gpr32(name) and type(value) is int:
            return value & 0xffffffff
        return value if is_lowest(name) or RegisterExt.size(name) >= 4 else piece(value)

    @staticmethod
    def set(state, name, value, keeps=False):
        register, size = full(name), RegisterExt.size(name)
        low = value & 255 if type(value) is int else piece(value)
        if keeps or RegisterExt.is_gpr(name) and size < 4:
            low = low if is_lowest(name) and not keeps else mix((low, Machine.get(state, register)))
            value = mix((value, Machine.get(state, register)))
        elif type(value) is int:
            value = value & 0xffffffff if size == 4 else signed(value & (1 << 64) - 1)
        elif type(value) is Stack and size == 4:
            value = ANYWHERE
        state.registers[register] = value
        if RegisterExt.is_gpr(name):
            state.registers[register + LOWEST] = low

    def address(self, state, x):
        value = 0 if x.base is None else self.get(state, x.base)
        if x.index is not None:
            other, scale = self.get(state, x.index), x.i.memory_index_scale
            value = add(value, other if scale == 1 else times(other, scale))
        elif x.base is None:
            return IMAGE
        return add(value, signed(x.i.memory_displacement))

    def step(self, x, state):
        if not x.followed:
            self.report(x, "an instruction that this analysis does not follow")
            return None if x.flow == FlowControl.NEXT else []
        if x.mnemonic == Mnemonic.VZEROUPPER:
            return None
        if x.i.is_string_instruction:
            return self.string(x, state)
        registers, place, loaded = state.registers, None, []
        if x.memory:
            place = self.address(state, x)
            self.sink(x, "the address", place)
            if x.mask:
                self.sink(x, "the mask of an access to memory", self.get(state, x.mask))
            if x.loads:
                loaded = [self.load(state, place, x.memory_size)]
        sources = loaded + [self.get(state, name) for name in x.reads]
        asked = [flag for n, flag in enumerate(registers[FLAGS]) if x.i.rflags_read >> n & 1]
        if x.mnemonic in SLOW_FOR_SOME:
            self.sink(x, "the time of a division, or of floating-point arithmetic,", *sources)
        if x.flow != FlowControl.NEXT:
            return self.go_on(x, state, sources, asked)
        if x.mnemonic in (Mnemonic.POP, Mnemonic.LEAVE):
            pop = x.mnemonic == Mnemonic.POP
            pointer = registers[Register.RSP if pop else Register.RBP]
            self.set(state, x.names[0] if pop else Register.RBP, self.load(state, pointer, 8))
            registers[Register.RSP] = add(pointer, 8)
            return self.keep_stack(x, state)
        value = self.value(x, state, loaded, sources, asked)
        if x.mnemonic == Mnemonic.PUSH:
            registers[Register.RSP] = add(registers[Register.RSP], -8)
            self.store(x, state, registers[Register.RSP], 8, value)
            return self.keep_stack(x, state)
        if x.i.rflags_modified:
            self.set_flags(x, state, secret(*sources, *asked) and not x.constant)
        # A number of one byte may have a secret in the rest of its register.
        low = registers.get(full(x.names[1]) + LOWEST, SECRET) if x.copies_low else SECRET
        for name, keeps in x.writes:
            self.set(state, name, value, keeps and x.mnemonic not in MOVES_BY_FLAGS)
            if not secret(low):
                registers[full(name) + LOWEST] = low
        if x.stores:
            self.store(x, state, place, x.memory_size, value, not x.partly and not x.mask)
        return self.keep_stack(x, state)

    def keep_stack(self, x, state):
        pointer = state.registers[Register.RSP]
        if type(pointer) is Stack and pointer.exact:
            return None
        self.report(x, "the stack pointer is no longer known")
        return []

    @staticmethod
    def set_flags(x, state, is_secret):
        flag, changed = SECRET if is_secret else PUBLIC, x.i.rflags_modified
        # A shift by nothing leaves flags alone.
        by_nothing = x.mnemonic in SHIFTS and x.immediate in (None, 0)
        kept = changed if by_nothing else x.i.rflags_undefined
        state.registers[FLAGS] = tuple(
            old if not changed >> n & 1 else join(old, flag) if kept >> n & 1 else flag
            for n, old in enumerate(state.registers[FLAGS]))

    def value(self, x, state, loaded, sources, asked):
        """What an instruction computes."""
        m, i = x.mnemonic, x.i
        target = i.ip_rel_memory_address if i.is_ip_rel_memory_operand else None
        if m == Mnemonic.LEA:
            if target is not None:
                return Code(target) if target in self.file.functions else IMAGE
            value = self.address(state, x)
            short = any(RegisterExt.is_gpr32(name) for name in (i.memory_base, i.memory_index))
            return mix((value,)) if short else value
        if x.constant:
            return 0 if m in ZEROS else CONST
        operands = [(loaded + [0])[0] if name is None else self.get(state, name)
                    for name in x.names]
        if x.immediate is not None:
            operands[-1] = x.immediate
        if m in COPIES and len(operands) <= 2 and not x.mask:
            return target is not None and self.file.pointer(target) or operands[-1]
        if m in MOVES_BY_FLAGS:
            return SECRET if secret(*asked) else join(*operands)
        if secret(*sources, *asked):
            return SECRET
        wide = x.memory_size if x.names[:1] == [None] else RegisterExt.size((x.names + [0])[0])
        if m in ARITHMETIC and wide >= 4 and len(operands) in (1, 2):
            return ARITHMETIC[m](*operands)
        return mix(sources + asked)

    def string(self, x, state):
        """rep movs, rep stos."""
        count = self.get(state, Register.RCX) if x.i.has_rep_prefix or x.i.has_repne_prefix else 1
        length, to = times(count, STRINGS[x.mnemonic]), self.get(state, Register.RDI)
        if OpKind.MEMORY_SEG_RSI in (x.i.op0_kind, x.i.op1_kind):
            source = self.get(state, Register.RSI)
            self.copy(x, state, to, source, length)
            self.set(state, Register.RSI, add(source, length))
        else:
            self.fill(x, state, to, self.get(state, Register.RAX), length)
        self.set(state, Register.RDI, add(to, length))
        if x.i.has_rep_prefix:
            self.set(state, Register.RCX, 0)

    def go_on(self, x, state, sources, asked):
        flow = x.flow
        if flow == FlowControl.CONDITIONAL_BRANCH:
            self.sink(x, "the branch", *asked)
            return [(x.i.near_branch_target, state), (x.next, state)]
        if flow == FlowControl.RETURN:
            return self.leave(x, state)
        if flow not in (*CALLS, FlowControl.INDIRECT_BRANCH, FlowControl.UNCONDITIONAL_BRANCH):
            return []  # it ends here
        self.sink(x, "where it goes", *sources)
        if flow in (FlowControl.CALL, FlowControl.UNCONDITIONAL_BRANCH):
            target = x.i.near_branch_target
            inside = target in self.file.code and self.file.code[target].function == x.function
            if inside and flow != FlowControl.CALL:
                return [(target, state)]
            target = target if target in self.file.functions else self.file.stub(target)
        elif x.i.is_ip_rel_memory_operand:
            target = getattr(self.file.pointer(x.i.ip_rel_memory_address), "target", None)
        else:
            target = next((value.target for value in sources if type(value) is Code), None)
            tables = self.file.tables[x.function]
            if target is None and flow == FlowControl.INDIRECT_BRANCH and tables:
                return [(place, state) for place in tables]
        return self.call(x, state, target, flow not in CALLS)

    def call(self, x, state, target, tail):
        registers = state.registers
        if type(target) is int:
            if DOES_NOT_RETURN.search(self.file.functions[target][1]):
                return []
            self.file.function(target)
            if tail:
                return [(target, state)]
            if len(self.context) > 50:
                self.report(x, "a function that calls itself")
                return []
            pointer = registers[Register.RSP]
            registers[Register.RSP] = add(pointer, -8)
            return [(self.context + ((x.next, pointer.at), (target, 0)), state)]
        result = self.library(x, state, target, [self.get(state, r) for r in ARGUMENTS[:3]])
        kept = (*SAVED, *(register + LOWEST for register in SAVED))
        state.registers = {key: registers[key] for key in kept if key in registers}
        state.registers[FLAGS] = (SECRET,) * 6
        self.set(state, Register.RAX, result)
        return self.leave(x, state) if tail else [(x.next, state)]

    def leave(self, x, state):
        """The end of a function."""
        if not self.context:
            return []
        back, pointer = self.context[-1]
        if state.registers[Register.RSP] != Stack(pointer - 8, True):
            self.report(x, "the stack pointer is not what it was")
        state.registers[Register.RSP] = Stack(pointer, True)
        state.slots = {at: value for at, value in state.slots.items() if at >= pointer}
        return [(self.context[:-1] + ((back, 0),), state)]


if __name__ == "__main__":
    FILE = File(sys.argv[1])
    NAMES = {address: name for address, (_, name) in FILE.functions.items()}
    sys.exit(verdict(lambda: Machine(FILE), NAMES, sys.argv[2:]))
