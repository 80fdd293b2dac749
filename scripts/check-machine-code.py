#!/usr/bin/env python3
"""Proves of the machine code of the x86-64 kernels that no branch and no address in it depends on a secret.

    scripts/check-machine-code.py [--only REGEX] [--expect TABLE] FILE

FILE is a program or shared library with symbols; scripts/check-machine-code.sh makes one. TABLE says which backends there are, of each
how many kernels at the least, and exactly how many decisions about tags: "aesni:90:9 ssse3:18:0". Needs iced-x86 (PyPI) and binutils'
nm and readelf. Prints how much was read; the exit status is 1 if anything is wrong.

Every kernel of every backend is run on abstract values, along all its paths at once (dataflow analysis to a fixed point). Of a
register, and of each eight bytes of the stack frame, it is known only whether it is

    a number public, between two bounds and in steps of a third, as far as is known
    pointer  public, with what it points to, which is secret: what a kernel gets as arguments
    list     a pointer to public values: a struct of pointers and lengths
    image    a pointer into the program's own constants, which are public
    stack    a pointer into the frame, and between which bounds
    anywhere a pointer that may go into the frame or elsewhere
    secret   whatever was loaded through a public pointer (keys, nonces, messages, states, tags), and all that is made of it

What must hold of each instruction: no register of an address is secret (nor, for a gather or a masked load or store, the vector of
indices or the mask), a jump or call that goes on at a computed place does not compute it from a secret, flags that a conditional jump
asks are public, nothing secret is divided or calculated with in floating point, counts of repeated instructions are public, and no
repetition ends at a secret. An instruction that moves by flags (`cmov`, `set`) may: what it gives is secret then. Each flag is followed
by itself. What cannot be followed is refused: x87 and MMX, `loop`, `std`, system calls.

Secrets are followed over the stack. What is written to a place of the frame that is not known exactly may be at each that it can be;
how far a place is known comes from the bounds of numbers, which comparisons and jumps narrow. A called function is run by itself,
with the memory behind its pointers unknown, and all that it may write there is secret afterwards; where that says too little, it is
run again in each place, with what is known of the stack there. Of memcpy and memset it is known what they do, and memcmp must compare
nothing secret. What the caller or a call left in a register is secret, and so is what is in writable memory of the program (.data,
.bss) but for pointers to functions. Wherever a function is left, its stack pointer and the registers that it must save are as they were.

One thing is made public: whether a tag was right. A secret carries along what it is made of on every path: the expected tag, key,
nonce, rounds of AES. A jump is accepted, and counted, where the flags say of a whole register (32 bits or more, no part of one) whether
it is zero, or of bits that AND has gathered, if that is made of all four, of the tag by nothing but XOR, and OR of two such; and if on
no path after it anything asks such flags again, be it a jump, a `set` or `cmov`, or in a called function, as a comparison does that
ends early. A kernel with such a jump returns nothing that is secret.

Assumed: that a kernel's pointers go to memory of their own, that bytes which nobody wrote are not read, that no pointer is put together
from pieces (memory safety), of called functions outside of the file that they do what their names say (memcpy, memset), and of those
whose names say that they panic, that they do not return.
"""

import collections
import heapq
import math
import re
import subprocess
import sys

from iced_x86 import (
    CodeSize, ConditionCode, CpuidFeature, Decoder, EncodingKind, FlowControl, Formatter, FormatterSyntax, InstructionInfoFactory,
    MemorySizeExt, Mnemonic, OpAccess, OpKind, Register, RegisterExt, RflagsBits,
)


def mnemonics(names):
    return {getattr(Mnemonic, name) for name in names.split()}


def mnemonics_like(pattern):
    return {value for name, value in vars(Mnemonic).items() if re.fullmatch(pattern, name)}


READS = {OpAccess.READ, OpAccess.COND_READ, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
WRITES = {OpAccess.WRITE, OpAccess.COND_WRITE, OpAccess.READ_WRITE, OpAccess.READ_COND_WRITE}
KEEPS = {OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE}
ARGUMENTS = [Register.RDI, Register.RSI, Register.RDX, Register.RCX, Register.R8, Register.R9]
CLOBBERED = ARGUMENTS + [Register.RAX, Register.R10, Register.R11]
SAVED = [Register.RBX, Register.RBP, Register.R12, Register.R13, Register.R14, Register.R15]
FLAGS = "flags"  # beside the registers
SPREAD = "spread", 0  # beside the slots of the stack: all that was written to very many of them at once
HIGH_BYTES = {Register.AH, Register.BH, Register.CH, Register.DH}
IMMEDIATES = {value for kind, value in vars(OpKind).items() if kind.startswith("IMMEDIATE")}
# What takes longer for some numbers than for others; in floating point all arithmetic does, for subnormal ones.
SLOW_FOR_SOME = mnemonics("DIV IDIV") | mnemonics_like(
    r"V?(?:ADD|SUB|ADDSUB|HADD|HSUB|MUL|DIV|SQRT|FN?M(?:ADD|SUB|ADDSUB|SUBADD)\d+)[PS][SDH]")
SHIFTS = mnemonics("SHL SHR SAR SAL ROL ROR RCL RCR SHLD SHRD")
BIT_TESTS = mnemonics("BT BTS BTR BTC")
# Vectors that say which parts of memory an instruction touches -> which operand they are.
MASKED_BY_VECTOR = {
    **dict.fromkeys(mnemonics("VMASKMOVPS VMASKMOVPD VPMASKMOVD VPMASKMOVQ"), 1),
    **dict.fromkeys(mnemonics("MASKMOVDQU VMASKMOVDQU") | mnemonics_like(r"VP?GATHER[DQ](?:PS|PD|D|Q)"), 2),
}
SETS = mnemonics("SETE SETNE")
COUNTS = mnemonics("ADD SUB")
KEEPS_DECISION = mnemonics("AND OR XOR TEST CMP MOV MOVZX")
SAME_GIVES_CONSTANT = mnemonics("XOR SUB PXOR VPXOR VPXORD VPXORQ XORPS VXORPS XORPD VXORPD PCMPEQD PCMPEQB VPCMPEQD VPCMPEQB KXNORB "
                                "KXNORW KXNORD KXNORQ KXORB KXORW PSUBB")
TERNARY = mnemonics("VPTERNLOGD VPTERNLOGQ")
XORS = mnemonics("XOR PXOR VPXOR VPXORD VPXORQ XORPS VXORPS XORPD VXORPD")
ORS = mnemonics("OR POR VPOR VPORD VPORQ ORPS VORPS")
ROUNDS = mnemonics("AESENC VAESENC AESENCLAST VAESENCLAST")
LANES_EQUAL = mnemonics("PCMPEQB VPCMPEQB PCMPEQD VPCMPEQD")
WHOLE_TESTS = mnemonics("PTEST VPTEST OR XOR CMP TEST")
COPIES = mnemonics("MOVDQA MOVDQU MOVAPS MOVUPS MOVAPD MOVUPD VMOVDQA VMOVDQU VMOVAPS VMOVUPS VMOVAPD VMOVUPD VMOVDQA32 VMOVDQA64 "
                   "VMOVDQU8 VMOVDQU16 VMOVDQU32 VMOVDQU64 LDDQU VLDDQU")
KEEPS_LABELS = mnemonics("MOV MOVZX MOVD VMOVD MOVQ VMOVQ VEXTRACTI128 VEXTRACTF128 VEXTRACTI64X2 VEXTRACTI32X4 VEXTRACTI64X4 "
                         "VEXTRACTF64X4 VEXTRACTF32X4 PSHUFD VPSHUFD VPERMQ") | COPIES
TO_VECTOR = mnemonics("MOVQ VMOVQ")
UNPACK = mnemonics("PUNPCKLQDQ VPUNPCKLQDQ")
STRING_COMPARISONS = mnemonics("CMPSB CMPSW CMPSD CMPSQ SCASB SCASW SCASD SCASQ")
STRINGS = {getattr(Mnemonic, kind + letter): size for letter, size in zip("BWDQ", (1, 2, 4, 8))
           for kind in ("MOVS", "STOS", "LODS", "CMPS", "SCAS")}
TOUCH_NOTHING = mnemonics("LEA NOP")
STOPS = mnemonics("UD2 INT3")
REFUSED_FEATURES = {CpuidFeature.FPU, CpuidFeature.FPU287, CpuidFeature.FPU387, CpuidFeature.MMX}  # their registers are renamed, or shared
PADDING = mnemonics("NOP INT3 UD2")
# Outside functions -> how many of their arguments must be public.
OUTSIDE = {"memcpy": 3, "memmove": 3, "memset": 2, "bcmp": 3, "memcmp": 3}
# Kernels called through a table or a variable -> how many of their arguments are on the stack. What is for a whole message may decide
# whether a tag is right.
STEP_CALLED, MESSAGE_CALLED = "a kernel", "a kernel for a whole message"
KERNELS_CALLED = {STEP_CALLED: 0, MESSAGE_CALLED: 3}
# Of the C library, what finds a backend first and then calls a kernel with the same arguments.
CALLS_KERNEL = re.compile(r"^aegis::aead::(?:en|de)crypt_any\b")
PANICS = re.compile(
    r"^core::(?:panicking::(?:panic(?:_\w+)?(?:::panic_const_\w+)?|assert_failed(?:_inner)?\b.*)|(?:option|result)::(?:unwrap|expect)_failed"
    r"|slice::index::slice_\w+_fail|slice::\S*::len_mismatch_fail\S*|str::slice_error_fail)$")

# Values.
PUBLIC, IMAGE, ANYWHERE = "public", "image", "anywhere"
Number = collections.namedtuple("Number", "low high step")  # modulo 2^64; the low one as if it were signed
Pointer = collections.namedtuple("Pointer", "labels")  # what the secrets behind it are made of
List = collections.namedtuple("List", "kind offset")
Stack = collections.namedtuple("Stack", "base low high step")  # a pointer; the bounds are infinite where nothing is known
Code = collections.namedtuple("Code", "target")  # the address of a function: its own, or an outside one's name
Secret = collections.namedtuple("Secret", "labels")  # what it is made of on all paths
Wide = collections.namedtuple("Wide", "parts")  # a vector of public values, of eight bytes each
Low = collections.namedtuple("Low", "low rest")  # a register whose lowest byte was written by itself
Bytes = collections.namedtuple("Bytes", "bytes")  # eight bytes of the stack that were written in pieces
Flags = collections.namedtuple("Flags", "overflow sign zero adjust carry parity")  # in the order of the bits of `rflags_read`
# What a function gives and leaves: RAX, RDX, the stack (None if it does not return), what it may have written through pointers into
# stacks that are not known, and whether it asks whether a tag is right.
Result = collections.namedtuple("Result", "rax rdx slots effects decided")
INFINITY = 1 << 62
WINDOW = 512  # bytes of the stack that are looked at one by one
WORD, HALF, LONG = 1 << 64, 1 << 63, 1 << 32
ZERO, ANY_LONG = Number(0, 0, 0), Number(0, LONG - 1, 1)

# What secrets are made of; and what they tell: which lanes are equal, of that one bit for each, one for each that is not, whether all is
# as it should be, and that this was asked before; or whose they are: what the caller or a call left in a register, one to be saved.
# `entire` goes with the tag, until less than 32 bits of a value are taken.
# `unwritten` is for what nobody has written: it must not be read, so it takes on what it is joined with.
NEEDED = frozenset(("tag", "key", "nonce", "rounds"))
OF_CALLER = {register: "saved %d" % register for register in SAVED}
TELLS = frozenset(("lanes", "mask", "wrong", "decision", "asked", "left", *OF_CALLER.values()))
SPECIAL = TELLS | {"tag", "entire"}
NOTHING = frozenset()

SECRET, UNWRITTEN = Secret(NOTHING), Secret(NEEDED | SPECIAL | {"ad", "message", "unwritten"})
LEFT = Secret(frozenset(("left",)))
SECRETS = {value.labels: value for value in (SECRET, UNWRITTEN, LEFT)}
AS_SAVED = {register: Secret(frozenset((label,))) for register, label in OF_CALLER.items()}
SAVED_THERE = frozenset(AS_SAVED.values())

# What kernels get, by their names: in registers, and on the stack. All others get numbers and pointers to any secret.
AD, MESSAGE, TAG, KEY, NONCE = (Pointer(frozenset(labels.split())) for labels in ("ad", "message", "tag entire", "key", "nonce"))
OPEN = (MESSAGE, MESSAGE, PUBLIC, TAG, PUBLIC, AD), (PUBLIC, NONCE, KEY)
# `Message` in low/kernels.rs, as the compiler lays it out.
FIELDS = {"message": (KEY, NONCE, AD, PUBLIC, MESSAGE, MESSAGE, PUBLIC, TAG, PUBLIC)}
SIGNATURES = [
    (re.compile(r"::entry::open(?:::<|$)|^planted_open"), OPEN),
    (re.compile(r"::raw::in_parts"), ((List("message", 0), List("kernels", 0)), ())),
    (re.compile(r"::message::"), ((List("message", 0),), ())),
    (re.compile(r"_batch\b|_batch::"), ((List("lists", 0),), ())),
]


def made_of(labels):
    """A secret, always the same one, so that most comparisons are quick."""
    value = SECRETS.get(labels)
    if value is None:
        value = SECRETS[labels] = Secret(labels)
    return value


def secret(*values):
    return any(type(value) is Secret for value in values)


def narrow(value):
    """What is left of a value of which less than 32 bits are taken, unless a bit is all there is."""
    if type(value) is Secret and "decision" not in value.labels:
        return made_of(value.labels - TELLS - {"entire"})
    return value


def goes_to_stack(value):
    kind = type(value)
    return kind is Stack or value == ANYWHERE or kind is Wide and any(goes_to_stack(part) for part in value.parts)


def complete(labels):
    return NEEDED <= labels and "unwritten" not in labels


def number(low, high, step):
    if high - low >= WORD:
        return PUBLIC
    shift = (low + HALF) // WORD * WORD
    return Number(low - shift, high - shift, step if low < high else 0)


def constant(value):
    return number(value, value, 0)


def is_exact(value):
    return type(value) in (Number, Stack) and value.low == value.high


def hull(a, b):
    """The bounds of two ranges."""
    low, high = min(a.low, b.low), max(a.high, b.high)
    return low, high, math.gcd(math.gcd(a.step, b.step), abs(a.low - b.low)) if low < high else 0


def flat(value):
    """What is left of a value that is taken apart."""
    kind = type(value)
    if kind is Secret or kind is Number:
        return value
    if kind is Low:
        return mixed((value.low, value.rest))
    if kind is Bytes:
        return mixed_bytes(value.bytes)
    return ANYWHERE if goes_to_stack(value) else PUBLIC


def mixed(values):
    """What is made of several."""
    labels, public = None, PUBLIC
    for value in values:
        if type(value) is Low:
            value = flat(value)
        if type(value) is Secret:
            labels = value.labels if labels is None else labels | value.labels
        elif goes_to_stack(value):
            public = ANYWHERE
    return public if labels is None else made_of(labels - SPECIAL)


def join(a, b):
    """What is one or the other."""
    if a is b or a == b:
        return a
    one, other = type(a), type(b)
    if one is Flags:
        return Flags(*map(join, a, b))
    if one is Low or other is Low:
        a, b = a if one is Low else Low(flat(a), a), b if other is Low else Low(flat(b), b)
        return Low(join(a.low, b.low), join(a.rest, b.rest))
    if one is Bytes or other is Bytes:
        return Bytes(tuple(join(x, y) for x, y in zip(bytes_of(a), bytes_of(b))))
    if one is Secret or other is Secret:
        return made_of(a.labels & b.labels) if one is other else a if one is Secret else b
    if one is Stack and other is Stack and a.base == b.base:
        return Stack(a.base, *hull(a, b))
    if goes_to_stack(a) or goes_to_stack(b):
        if one is Wide and other is Wide and len(a.parts) == len(b.parts):
            return Wide(tuple(join(x, y) for x, y in zip(a.parts, b.parts)))
        return ANYWHERE
    if one is Number and other is Number:
        return number(*hull(a, b))
    if one is Pointer or other is Pointer:
        return Pointer(a.labels & b.labels if one is other else NOTHING)
    if one is Wide and other is Wide and len(a.parts) == len(b.parts):
        return Wide(tuple(join(x, y) for x, y in zip(a.parts, b.parts)))
    if one is List and other is List and a.kind == b.kind:
        return List(a.kind, None)
    return PUBLIC


def widened(old, new):
    """Gives up bounds that will not come to rest."""
    if type(new) is Number and type(old) in (Number, str):
        return PUBLIC
    if type(new) is Stack:
        return Stack(new.base, -INFINITY, INFINITY, 1)
    return new


def bytes_of(value):
    if type(value) is Bytes:
        return value.bytes
    return (piece(value),) * 8


def piece(value):
    """A part of a value."""
    value = flat(value)
    return PUBLIC if type(value) is Number else value


def scaled(value, factor):
    if factor == 1 or type(value) is Secret:
        return value
    if type(value) is Number:
        return number(value.low * factor, value.high * factor, value.step * factor)
    return ANYWHERE if goes_to_stack(value) else PUBLIC


def added(a, b):
    one, other = type(a), type(b)
    if one is Secret or other is Secret:
        return mixed((a, b))
    if one is Number and other is Number:
        return number(a.low + b.low, a.high + b.high, math.gcd(a.step, b.step))
    if other is Stack or b == ANYWHERE or one is Number:
        a, b, one, other = b, a, other, one
    if one is Stack:
        if other is Number:
            low, high = a.low + b.low, a.high + b.high
            if abs(low) < INFINITY // 2 and abs(high) < INFINITY // 2:
                return Stack(a.base, low, high, math.gcd(a.step, b.step) if low < high else 0)
        return ANYWHERE if goes_to_stack(b) else Stack(a.base, -INFINITY, INFINITY, 1)
    if goes_to_stack(a) or goes_to_stack(b):
        return ANYWHERE
    for x, y in ((a, b), (b, a)):
        if type(x) is List:
            return List(x.kind, None if x.offset is None or not is_exact(y) else x.offset + y.low)
    if one is Pointer or other is Pointer:
        return Pointer(a.labels & b.labels) if one is other else Pointer(NOTHING) if IMAGE in (a, b) else a if one is Pointer else b
    return IMAGE if IMAGE in (a, b) else PUBLIC


def subtracted(a, b):
    one, other = type(a), type(b)
    if one is Secret or other is Secret:
        return mixed((a, b))
    if other is Number:
        return added(a, number(-b.high, -b.low, b.step))
    if one is Stack and other is Stack and a.base == b.base:
        return number(a.low - b.high, a.high - b.low, math.gcd(a.step, b.step) or int(a.low - b.high < a.high - b.low))
    if goes_to_stack(b):
        return ANYWHERE
    if other in (Pointer, List) or b == IMAGE:
        return ANYWHERE if goes_to_stack(a) else Pointer(NOTHING)  # how far they are apart, and not the place of either
    return added(a, PUBLIC)


def long(value):
    """The lower half of a register, where the upper is zero."""
    kind = type(value)
    if kind is Secret or kind is Wide:
        return value
    if kind is Low:
        return Low(value.low, long(value.rest))
    if kind is Number:
        low, high = (value.low, value.high) if value.low >= 0 else (value.low + LONG, value.high + LONG)
        if 0 <= low and high < LONG:
            return Number(low, high, value.step)
    return ANY_LONG


def within(value, low, high):
    """A range between narrower bounds; None if there is nothing."""
    step = value.step or 1
    low = value.low + max(0, -((value.low - low) // step)) * step
    high = value.high - max(0, -((high - value.high) // step)) * step
    if low > high:
        return None
    return value._replace(low=low, high=high, step=value.step if low < high else 0)


C = ConditionCode
# What flags tell of two values; or of a difference and zero, whether it is less, equal or more.
ANYTHING, UNSIGNED, EQUALITY, DIFFERENCE = "anything", "unsigned", "equality", "difference"
SIGNED = {C.B: C.L, C.AE: C.GE, C.BE: C.LE, C.A: C.G}
SWAPPED = {C.B: C.A, C.A: C.B, C.AE: C.BE, C.BE: C.AE, C.L: C.G, C.G: C.L, C.GE: C.LE, C.LE: C.GE, C.E: C.E, C.NE: C.NE}
OPPOSITE = {C.B: C.AE, C.AE: C.B, C.BE: C.A, C.A: C.BE, C.L: C.GE, C.GE: C.L, C.LE: C.G, C.G: C.LE, C.E: C.NE, C.NE: C.E}


def told_by(compared, condition):
    """The condition between the values compared, or None if the flags do not tell."""
    if compared is None or condition not in SWAPPED:
        return None
    about = compared[4]
    if about == DIFFERENCE:
        return SIGNED.get(condition, condition)
    known = about == ANYTHING or condition in (C.E, C.NE) or about == UNSIGNED and condition not in SIGNED.values()
    return condition if known else None


def narrowed(a, condition, b):
    """What `a` is if the condition holds between the two; None if it cannot."""
    if type(a) is Stack and type(b) is Stack and a.base == b.base:
        if INFINITY in (-a.low, a.high, -b.low, b.high):
            return a
    elif type(b) is Number and a == PUBLIC:
        # Nothing is known but what the condition says.
        if b.low < 0 or b.high >= HALF or condition not in (C.B, C.BE, C.E):
            return a
        a = Number(0, HALF - 1, 1)
    elif type(a) is not Number or type(b) is not Number or max(a.high, b.high) >= HALF:
        return a
    elif condition in (C.B, C.BE, C.A, C.AE) and (a.low < 0 or b.low < 0):
        return a
    if condition == C.E:
        return within(a, b.low, b.high)
    if condition == C.NE:
        if not is_exact(b):
            return a
        return within(a, a.low + (a.low == b.low), a.high - (a.high == b.low))
    if condition in (C.B, C.L):
        return within(a, a.low, b.high - 1)
    if condition in (C.BE, C.LE):
        return within(a, a.low, b.high)
    if condition in (C.A, C.G):
        return within(a, b.low + 1, a.high)
    return within(a, b.low, a.high)


class State:
    """What is known before an instruction. A register that is not there has what the caller or a call left in it. `compared` are the
    values of which the flags tell, and where they still are; `decided` is whether anything asked before whether a tag is right; `frame` is
    that of the function, and how far behind its beginning anything was read: the arguments there."""

    def __init__(self, registers, slots, frame, compared=None, decided=False):
        self.registers, self.slots, self.frame, self.compared, self.decided = registers, slots, frame, compared, decided

    def copy(self):
        return State(dict(self.registers), dict(self.slots), self.frame, self.compared, self.decided)

    def flags(self, bits):
        """Those flags as one value."""
        values = [value for n, value in enumerate(self.registers[FLAGS]) if bits >> n & 1]
        return values[0] if values and all(value == values[0] for value in values) else mixed(values)

    def set_flags(self, bits, undefined, value, kept):
        """Changes flags; what is undefined, or all if they may be `kept`, may be what it was, too."""
        may_stay = bits if kept else undefined
        self.registers[FLAGS] = Flags(*(
            old if not bits >> n & 1 else join(old, value) if may_stay >> n & 1 else value for n, old in enumerate(self.registers[FLAGS])))

    def merge(self, other, give_up):
        """Takes in what comes from another way; whether that changed anything."""
        changed, mine_absent = False, self.absent()
        if self.compared != other.compared:
            self.compared, changed = None, self.compared is not None
        if other.decided and not self.decided:
            self.decided = changed = True
        for mine, theirs in ((self.registers, other.registers), (self.slots, other.slots)):
            # (What is not there is the same on both sides, or `absent` on one of them is not.)
            missing, absent = (LEFT, LEFT) if mine is self.registers else (mine_absent, other.absent())
            for key, old in list(mine.items()):
                new = theirs.get(key, absent)
                if new is not old and new != old:
                    value = join(old, new)
                    if value != old:
                        mine[key], changed = widened(old, value) if give_up else value, True
            for key, new in theirs.items():
                if key not in mine:
                    value = join(missing, new)
                    if value != missing:
                        mine[key], changed = value, True
        return changed

    # The stack, in slots of eight bytes.

    def absent(self):
        """What a slot has that is not there: nothing, unless something was written nobody knows where."""
        return self.slots.get(SPREAD, UNWRITTEN)

    def slots_of(self, place, size):
        """The slots that may be reached; of very many, those that are there."""
        if place == ANYWHERE:
            return list(self.slots)
        base, low, high, _ = place
        if high + size - low <= WINDOW:
            return [(base, at) for at in range(low & -8, high + size, 8)]
        return [key for key in self.slots if key[0] == base and key[1] + 8 > low and key[1] < high + size]

    def load(self, place, size):
        kind = type(place)
        if place == IMAGE:
            return PUBLIC
        if kind is List:
            if place.kind == "kernels":
                return Code(STEP_CALLED) if size == 8 else PUBLIC
            fields = FIELDS.get(place.kind)
            if fields is None or place.offset is None:
                return PUBLIC
            first, last = place.offset // 8, (place.offset + size - 1) // 8
            parts = tuple(fields[at] if at < len(fields) else PUBLIC for at in range(first, last + 1))
            return PUBLIC if place.offset % 8 or size % 8 else parts[0] if len(parts) == 1 else Wide(parts)
        if kind is Pointer:
            return made_of(place.labels)
        if kind is not Stack or place.base.startswith("argument"):
            return SECRET
        if place.low == place.high:
            return self.load_from(place.base, place.low, size)
        if place.step and (place.high - place.low) // place.step < 32:
            value = None
            for at in range(place.low, place.high + 1, place.step):
                new = self.load_from(place.base, at, size)
                value = new if value is None else join(value, new)
            return value
        labels = [flat(self.slots[key]) for key in self.slots_of(place, size) if key in self.slots] + [self.absent()]
        labels = [value.labels for value in labels if type(value) is Secret and "unwritten" not in value.labels]
        return made_of(frozenset.intersection(*labels)) if labels else SECRET

    def load_from(self, base, at, size):
        first, end = at & -8, at + size
        if base == self.frame[0] and end > self.frame[1]:
            self.frame[1] = end
        if end <= first + 8:
            value = self.slots.get((base, first), self.absent())
            if size == 8 and type(value) is not Bytes:
                return value
            if type(value) is Bytes and at == first and size in (4, 8) and value.bytes[0] != value.bytes[1]:
                return Low(value.bytes[0], mixed_bytes(value.bytes[1:size]))
            if type(value) is Number and at == first and 0 <= value.low and value.high < 1 << 8 * size:
                return value
            return mixed_bytes(bytes_of(value)[at - first:end - first])
        parts = [self.slots.get((base, place), self.absent()) for place in range(first, end, 8)]
        parts = [mixed_bytes(part.bytes) if type(part) is Bytes else part for part in parts]
        secrets = [part.labels for part in parts if type(part) is Secret]
        if secrets:
            return made_of(frozenset.intersection(*secrets))
        return Wide(tuple(parts)) if at == first and size % 8 == 0 else flat(Wide(tuple(parts)))

    def store(self, place, size, value, exactly=True):
        """Writes to the stack; `exactly` unless it may as well write less."""
        if type(self.compared) is tuple:
            self.compared = tuple(None if type(key) is tuple else key for key in self.compared[:2]) + self.compared[2:]
        slots = self.slots
        if type(value) is Low and size in (4, 8) and type(place) is Stack and place.low == place.high and exactly:
            self.store(place, size, value.rest)
            place, size, value = place, 1, value.low
        if place == ANYWHERE or place.low != place.high or not exactly:
            value = flat(value)
            value = made_of(value.labels - TELLS) if type(value) is Secret else piece(value)
            absent = self.absent()
            for key in self.slots_of(place, size):
                old = slots.get(key, absent)
                slots[key] = join(old, value) if old not in SAVED_THERE else old  # nothing but what restores it goes there
            if type(value) is Secret and (place == ANYWHERE or place.high + size - place.low > WINDOW):
                slots[SPREAD] = join(absent, value)
            return
        base, at = place.base, place.low
        if size == 8 and at % 8 == 0:
            slots[base, at] = flat(value) if type(value) in (Low, Bytes) else value.parts[0] if type(value) is Wide else value
            return
        parts = value.parts if type(value) is Wide and at % 8 == 0 and len(value.parts) * 8 >= size else None
        whole = flat(value)
        for first in range(at & -8, at + size, 8):
            part = whole if parts is None else parts[(first - at) // 8]
            if first >= at and first + 8 <= at + size:
                slots[base, first] = PUBLIC if parts is None and type(part) is Number else part
            else:
                old = slots.get((base, first))
                old = bytes_of(self.absent() if old is None else old)
                new = piece(part)
                slots[base, first] = Bytes(tuple(new if at <= first + n < at + size else old[n] for n in range(8)))


def mixed_bytes(values):
    """Several bytes: what all of the secret ones are made of."""
    value = values[0]
    for other in values[1:]:
        if other is not value:
            value = join(value, other)
    return value


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
        self.sections, self.writable = [], []
        for name, address, offset, size in re.findall(
                r"\] (\S+) +\S+ +([0-9a-f]{16}) ([0-9a-f]+) ([0-9a-f]+)", sections):
            if int(address, 16) and name not in (".bss", ".tbss"):
                self.sections.append((int(address, 16), int(offset, 16), int(size, 16)))
            if re.match(r"\.(?:data|bss)(?!\.rel\.ro)", name):
                self.writable.append(range(int(address, 16), int(address, 16) + int(size, 16)))
        relocations = subprocess.run(["readelf", "-W", "-r", path], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
        # Places with the addresses of functions: of outside ones their names, of those within where they are.
        self.imports = {int(place, 16): Code(name) for place, name in re.findall(
            r"^([0-9a-f]+) +[0-9a-f]+ R_X86_64_(?:GLOB_DAT|JUMP_SLO\w*) +[0-9a-f]+ ([\w]+)", relocations, re.M)}
        for place, target in re.findall(r"^([0-9a-f]+) +[0-9a-f]+ R_X86_64_RELATIVE +([0-9a-f]+)", relocations, re.M):
            if int(target, 16) in self.functions:
                changes = self.static(int(place, 16)) != IMAGE  # to the kernels of the backend in use
                self.imports[int(place, 16)] = Code(MESSAGE_CALLED if changes else int(target, 16))

    def static(self, address):
        """A place in the program: constants, or what anything may have been written to."""
        return Pointer(NOTHING) if any(address in section for section in self.writable) else IMAGE

    def code(self, address, size):
        for start, offset, length in self.sections:
            if start <= address < start + length:
                return self.bytes[offset + address - start:][:size]
        raise KeyError(address)


def part(name):
    """Whether a register is meant as a whole (True), its lowest byte (False), or another part (None)."""
    if name in HIGH_BYTES or RegisterExt.is_gpr16(name):
        return None
    return not RegisterExt.is_gpr8(name)


def is_followed(i):
    """Whether the analysis knows what an instruction does, as far as that is not seen from what it reads and writes."""
    flow = i.flow_control
    if (i.rflags_written | i.rflags_set | i.rflags_undefined) & RflagsBits.DF or REFUSED_FEATURES.intersection(i.cpuid_features()):
        return False
    if i.mnemonic in BIT_TESTS and i.op0_kind == OpKind.MEMORY and i.op1_kind == OpKind.REGISTER:
        return False  # goes beyond the operand
    if i.memory_segment in (Register.FS, Register.GS):
        return False  # memory of the thread
    if any(RegisterExt.is_gpr32(r) for r in (i.memory_base, i.memory_index)) and i.mnemonic not in TOUCH_NOTHING:
        return False
    return (flow == FlowControl.NEXT or i.mnemonic in STOPS or flow == FlowControl.RETURN and i.mnemonic == Mnemonic.RET and not i.op_count
            or i.is_jcc_short_or_near or i.is_jcx_short or i.is_jmp_short_or_near or i.is_jmp_near_indirect or i.is_call_near
            or i.is_call_near_indirect)


class Decoded:
    """An instruction, and what of it is asked for again and again."""

    def __init__(self, i, info):
        self.i, self.ip, self.next, self.mnemonic, self.flow = i, i.ip, i.next_ip, i.mnemonic, i.flow_control
        self.condition = i.condition_code

        def register(r):
            return None if r in (Register.NONE, Register.RIP) else RegisterExt.full_register(r)

        self.reads, self.writes = [], []
        for r in info.used_registers():
            full, wide = RegisterExt.full_register(r.register), part(r.register)
            if r.access in READS:
                self.reads.append((full, wide))
            if r.access in WRITES:
                self.writes.append((full, wide, r.access in KEEPS))
        self.memory, self.followed = [], is_followed(i)
        for m in info.used_memory():
            displacement = m.displacement - WORD if m.displacement >= HALF else m.displacement
            is_call = self.flow in (FlowControl.CALL, FlowControl.INDIRECT_CALL) and m.access not in READS
            if i.mnemonic not in TOUCH_NOTHING and not is_call:
                self.memory.append((register(m.base), register(m.index), m.scale, displacement, MemorySizeExt.size(m.memory_size),
                                    m.access in READS, m.access in WRITES, m.access in KEEPS))
            self.followed &= m.address_size != CodeSize.CODE32
        if not self.memory and i.mnemonic not in TOUCH_NOTHING and OpKind.MEMORY in (i.op_kind(n) for n in range(i.op_count)):
            # A hint, such as `prefetch`: it brings the place into the cache.
            self.memory.append((register(i.memory_base), register(i.memory_index), i.memory_index_scale, 0, 1, False, False, False))
        self.kinds = [i.op_kind(n) for n in range(i.op_count)]
        self.names = [i.op_register(n) if kind == OpKind.REGISTER else None for n, kind in enumerate(self.kinds)]
        self.registers = [None if name is None else RegisterExt.full_register(name) for name in self.names]
        addresses = {register for m in self.memory for register in m[:2]} - set(self.registers)
        self.reads = [(full, wide) for full, wide in self.reads if full not in addresses]  # which are looked at by themselves
        self.immediate = None
        if self.kinds and self.kinds[-1] in IMMEDIATES:
            value = i.immediate(i.op_count - 1)
            self.immediate = value - WORD if value >= HALF else value
        if i.mnemonic in (Mnemonic.AND, Mnemonic.TEST) and self.immediate is not None and 0 <= self.immediate < 256:
            self.reads = [(full, False if wide else wide) for full, wide in self.reads]  # the lowest byte alone counts
        self.mask = None if i.op_mask == Register.NONE else RegisterExt.full_register(i.op_mask)
        if MASKED_BY_VECTOR.get(i.mnemonic, i.op_count) < i.op_count:
            self.mask = self.registers[MASKED_BY_VECTOR[i.mnemonic]]
        self.reads_flags, self.changes_flags = i.rflags_read != 0, i.rflags_modified != 0
        # Of how many bytes general registers, or memory beside them, are.
        self.size = 0
        for name in self.names:
            if name is not None and (RegisterExt.is_gpr(name)):
                self.size = RegisterExt.size(name)
                break
        else:
            if not any(name is not None for name in self.names) and self.memory:
                self.size = self.memory[0][4]
        self.is_string = i.is_string_instruction
        self.legacy = i.encoding == EncodingKind.LEGACY
        self.same = len(self.names) >= 2 and self.names[-1] is not None and self.names[-1] == self.names[-2] and self.mask is None


class Function:
    def __init__(self, file, address, factory):
        size, self.name = file.functions[address]
        decoder = Decoder(64, file.code(address, size), ip=address)
        self.code = {i.ip: Decoded(i, factory.info(i)) for i in decoder}
        self.heads = {address}
        self.on_stack = None  # how many arguments it reads from the stack, as far as is known
        calls = any(x.flow in (FlowControl.CALL, FlowControl.INDIRECT_CALL, FlowControl.INDIRECT_BRANCH)
                    or x.flow == FlowControl.UNCONDITIONAL_BRANCH and x.i.near_branch_target not in self.code for x in self.code.values())
        self.looked_at = set(ARGUMENTS) if calls else {
            register for x in self.code.values() for register in [full for full, _ in x.reads] + [r for m in x.memory for r in m[:2]]}
        self.has_wide = False
        self.split = False  # whether states are kept apart that differ in a counter
        self.counters = sorted({x.registers[0] for x in self.code.values() if x.registers and x.registers[0] is not None and (
            x.mnemonic in COUNTS and x.immediate is not None or x.mnemonic in (Mnemonic.INC, Mnemonic.DEC)
            or x.mnemonic == Mnemonic.LEA and RegisterExt.full_register(x.i.memory_base) == x.registers[0])} - {Register.RSP})
        for x in self.code.values():
            if x.flow in (FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH):
                self.heads.add(x.i.near_branch_target)
            if x.flow == FlowControl.CONDITIONAL_BRANCH:
                self.heads.add(x.next)
            self.has_wide |= not x.legacy


class GivenUp(Exception):
    """Something is wrong where it may be known better."""


class Analysis:
    def __init__(self, file):
        self.file = file
        self.info = InstructionInfoFactory()
        self.formatter = Formatter(FormatterSyntax.INTEL)
        self.wrong = {}  # (function, address) -> what
        self.decisions, self.jumps, self.addresses, self.read = set(), set(), set(), set()
        self.known = {}  # function, arguments, what is on the stack -> its result
        self.in_place = set()  # functions of which it must be known where they are called
        self.decoded = {}
        self.ends = set()  # calls that do not return
        self.below = {}  # frames that are aligned anew -> where they begin in that of the function
        self.effects, self.depth, self.attempts = set(), 0, 0

    def decode(self, address):
        if address not in self.decoded:
            self.decoded[address] = Function(self.file, address, self.info)
        return self.decoded[address]

    def report(self, name, x, what):
        if self.attempts:
            raise GivenUp
        self.wrong[name, x.ip] = "%s: %s" % (what, self.formatter.format(x.i))

    def kernel(self, address):
        name = self.file.functions[address][1]
        registers, stack = next((found for pattern, found in SIGNATURES if pattern.search(name)), ((), ()))
        registers = tuple(registers) + (PUBLIC,) * (6 - len(registers))
        found = self.function(address, registers, tuple(stack) + (PUBLIC,) * (8 - len(stack)), {})
        if found.decided and secret(flat(found.rax)):
            self.wrong[name, address] = "what it returns is secret, beside a decision about a secret"
        # What the bounds of numbers say cannot be reached should not be there.
        code, seen, todo = self.decode(address).code, set(), [address]
        while todo:
            ip = todo.pop()
            x = code.get(ip)
            if x is None or ip in seen:
                continue
            seen.add(ip)
            if (name, ip) not in self.read and x.mnemonic not in PADDING:
                self.report(name, x, "this was not reached")
            if x.flow in (FlowControl.CONDITIONAL_BRANCH, FlowControl.UNCONDITIONAL_BRANCH):
                todo.append(x.i.near_branch_target)
            if x.flow in (FlowControl.NEXT, FlowControl.CONDITIONAL_BRANCH, FlowControl.CALL, FlowControl.INDIRECT_CALL) \
                    and ip not in self.ends:
                todo.append(x.next)

    def function(self, address, arguments, stack_arguments, slots):
        """Runs a function on such arguments, or remembers that it was run; what it may write, its caller may."""
        # What it does not look at makes no difference.
        function = self.decode(address)
        arguments = tuple(value if register in function.looked_at else UNWRITTEN for register, value in zip(ARGUMENTS, arguments))
        if function.on_stack is not None:
            stack_arguments = stack_arguments[:function.on_stack]
        key = (address, arguments, stack_arguments, frozenset(slots.items()))
        if key not in self.known:
            self.known[key] = Result(SECRET, SECRET, {}, frozenset((ANYWHERE,)), True)  # for a call of itself
            outer, depth = self.effects, self.depth
            try:
                found = None if function.split else self.attempt(self.run, function, address, arguments, stack_arguments, slots)
                if found is None:
                    function.split, self.effects, self.depth = True, set(), depth + 1
                    found = self.run(function, address, arguments, stack_arguments, slots)
                self.known[key] = Result(*found[:3], frozenset(self.effects), found[3])
            except GivenUp:
                del self.known[key]
                raise
            finally:
                self.effects, self.depth = outer, depth
        self.effects |= self.known[key].effects
        return self.known[key]

    def attempt(self, do, *arguments):
        """Does something; None if anything was wrong."""
        effects, depth, decisions = self.effects, self.depth, set(self.decisions)
        self.attempts += 1
        try:
            self.effects, self.depth = set(), depth + (do == self.run)
            return do(*arguments)
        except GivenUp:
            self.effects, self.depth, self.decisions = effects, depth, decisions
            return None
        finally:
            self.attempts -= 1

    def run(self, function, address, arguments, stack_arguments, slots):
        name, code, heads = function.name, function.code, function.heads
        self.below = {frame: place for frame, place in self.below.items() if not frame.startswith("aligned %d " % self.depth)}
        base = "frame %d" % self.depth
        frame = [base, 8]
        start = State({Register.RSP: Stack(base, 0, 0, 0), FLAGS: Flags(*(SECRET,) * 6), **AS_SAVED}, dict(slots), frame)
        start.registers.update(zip(ARGUMENTS, arguments))
        start.registers = {register: value for register, value in start.registers.items() if value != UNWRITTEN}
        for n, value in enumerate(stack_arguments):
            start.slots[base, 8 + 8 * n] = value
        start.slots = {place: value for place, value in start.slots.items() if value != UNWRITTEN}
        # States are known by the address and, in loops over parts of the stack, by the counters' values as long as these are few.
        states, work, returned = {(address, ()): start}, [(address, ())], []
        visits, seen, variants, decided = collections.Counter(), collections.defaultdict(set), collections.Counter(), False
        while work:
            head = heapq.heappop(work)
            if work and work[0] == head:
                continue
            state, ip = states[head].copy(), head[0]
            while True:
                x = code.get(ip)
                if x is None:
                    if self.attempts:
                        raise GivenUp
                    self.wrong[name, ip] = "control leaves the function"
                    break
                self.read.add((name, ip))
                targets = self.step(function, x, state, returned)
                decided |= state.decided
                if targets is None:
                    ip = x.next
                    if ip not in heads:
                        continue
                    targets = ((ip, state),)
                for target, after in targets:
                    counters = []
                    for register in function.counters if function.split and variants[target] < 256 else ():
                        value = after.registers.get(register)
                        if type(value) is Number and value.low == value.high:
                            values = seen[target, register]
                            values.add(value.low)
                            if len(values) <= 6:
                                counters.append((register, value.low))
                    target = target, tuple(counters)
                    if target not in states:
                        states[target] = after.copy()
                        variants[target[0]] += 1
                    else:
                        visits[target] += 1
                        if not states[target].merge(after, visits[target] > (80 if function.split else 16)):
                            continue
                    heapq.heappush(work, target)
                break
        function.on_stack = max(function.on_stack or 0, (frame[1] - 1) // 8)
        result = None, None, None
        for rax, rdx, left in returned:
            left = {place: value for place, value in left.items()
                    if place[0] != base and not place[0].startswith("aligned %d " % self.depth)}
            if result[2] is None:
                result = rax, rdx, left
            else:
                after = State({}, result[2], frame)
                after.merge(State({}, left, frame), False)
                result = join(result[0], rax), join(result[1], rdx), after.slots
        return *result, decided

    # Places.

    def address(self, state, base, index, scale, displacement):
        registers = state.registers
        if base is None and index is None:
            return self.file.static(displacement)
        value = flat_register(registers.get(base, LEFT)) if base is not None else ZERO
        if index is not None:
            other = flat_register(registers.get(index, LEFT))
            if RegisterExt.is_vector_register(index) and type(other) is not Secret:
                other = PUBLIC
            value = added(value, scaled(other, scale))
        return added(value, constant(displacement)) if displacement else value

    def store(self, name, x, state, place, size, value, exactly=True):
        """Writes, wherever it may be."""
        kind = type(place)
        if kind is Stack:
            if place.base.startswith("argument"):
                self.effects.add((place.base, place.low, place.high + size))
                return
            # From a frame that is aligned anew into the one around it, and the other way.
            beyond = [self.below[place.base][0]] if place.base in self.below and place.high + size > 0 else []
            beyond += [frame for frame, (base, start) in self.below.items() if base == place.base and place.low < start]
            for base in beyond:
                state.store(Stack(base, -INFINITY, INFINITY, 1), 8, value, False)
        if kind is Stack or place == ANYWHERE:
            if place == ANYWHERE:
                self.effects.add(ANYWHERE)
            state.store(place, size, value, exactly)
        elif (place == IMAGE or kind is List) and (secret(flat(value)) or goes_to_stack(value)):
            self.report(name, x, "a secret or a place on the stack is stored where public values are")

    def step(self, function, x, state, returned):
        """The effect of an instruction on the state; returns where it may go on and with what, or None if at the next instruction."""
        name, flow, mnemonic, registers = function.name, x.flow, x.mnemonic, state.registers

        def get(full, wide=True):
            value = registers.get(full, LEFT)
            if type(value) is Low:
                value = value.low if wide is False else flat(value)
            if wide is True:
                return value
            if type(value) is Secret:
                return narrow(value)
            return value if wide is False and type(value) is Number and 0 <= value.low and value.high < 256 else piece(value)

        if not x.followed:
            self.report(name, x, "an instruction that this analysis does not follow")
            if flow != FlowControl.NEXT:
                return ()
        if x.is_string:
            return self.string(name, x, state)

        # Addresses.
        read, write = [], []
        for base, index, scale, displacement, size, reads, writes, keeps in x.memory:
            self.addresses.add((name, x.ip))
            place = self.address(state, base, index, scale, displacement)
            if type(place) is Secret:
                self.report(name, x, "the address depends on a secret")
                place = ANYWHERE if writes else PUBLIC
            if x.mask is not None and secret(get(x.mask)):
                self.report(name, x, "the mask of an access to memory depends on a secret")
            if not size:
                self.report(name, x, "an access of unknown size")
            if index is not None and RegisterExt.is_vector_register(index) and type(place) is Stack:
                place = Stack(place.base, -INFINITY, INFINITY, 1)
            if reads:
                value = state.load(place, size)
                read.append(value if size >= 4 else narrow(value))
            if writes:
                write.append((place, size, keeps or x.mask is not None))

        sources = [get(full, wide) for full, wide in x.reads]
        if mnemonic in SLOW_FOR_SOME and secret(*map(flat, sources + read)):
            self.report(name, x, "a secret is divided, or calculated with in floating point")
        if x.reads_flags:
            self.ask(name, x, state)

        # Where to go on.
        if flow != FlowControl.NEXT:
            return self.go_on(function, x, state, returned, sources + read)

        if mnemonic == Mnemonic.VZEROUPPER:
            return None  # what is left of each register is what it was

        # What is written.
        value = self.value(function, x, state, get, read, sources)
        difference = False
        if mnemonic == Mnemonic.SUB and x.size == 8:
            both = [get(r) if r is not None else constant(x.immediate) if x.kinds[n] in IMMEDIATES else read[0]
                    for n, r in enumerate(x.registers)]
            difference = all(type(v) is Number and v.low >= 0 and v.high < HALF for v in both)
        flags, kept, compared = None, False, state.compared
        if x.changes_flags:
            kept = mnemonic in SHIFTS and x.names[-1] == Register.CL and not counts(get(Register.RCX, False), x.size)
            flags = mixed(sources + read + ([state.flags(x.i.rflags_read)] if x.reads_flags else []))
            flags = flags if type(flags) is Secret else PUBLIC
            compared = None
            if mnemonic in SAME_GIVES_CONSTANT and x.same:
                flags = PUBLIC
            if type(flags) is Secret:
                told = self.told(x, read, sources, get)
                if told is not None:
                    value = made_of(value.labels | told) if type(value) is Secret else value
                    flags = made_of(flags.labels | {"tag", "decision"} | told & {"entire"})

        stack = registers.get(Register.RSP)
        for full, wide, keeps in x.writes:
            if compared is not None and full in compared[:2]:
                compared = tuple(None if key == full else key for key in compared[:2]) + compared[2:]
            if full == Register.RSP:
                if mnemonic == Mnemonic.PUSH:
                    registers[full] = added(stack, constant(-write[0][1]))
                elif mnemonic == Mnemonic.POP and x.registers[0] != Register.RSP:
                    registers[full] = added(stack, constant(x.memory[0][4]))
                elif mnemonic == Mnemonic.LEAVE:
                    registers[full] = added(get(Register.RBP), constant(8))
                elif not is_exact(value):
                    self.report(name, x, "the stack pointer is no longer known")
                else:
                    registers[full] = value
                continue
            if full == Register.RBP and mnemonic == Mnemonic.LEAVE:
                registers[full] = read[0]
                continue
            new = value
            if wide is False:
                old = registers.get(full, LEFT)
                new = Low(piece(value) if type(value) is not Secret else value, old.rest if type(old) is Low else old)
            elif wide is None:
                new = mixed((value, get(full)))
            elif keeps and mnemonic not in MOVES_BY_FLAGS or x.legacy and function.has_wide and RegisterExt.is_vector_register(full):
                new = join(value, get(full))
            registers[full] = new
        if flags is not None:
            state.set_flags(x.i.rflags_modified, x.i.rflags_undefined, flags, kept)
            if flags == PUBLIC and not kept:
                compared = self.compare(x, get, read, value, difference)
        state.compared = compared
        for place, size, keeps in write:
            if mnemonic == Mnemonic.PUSH:
                place = registers[Register.RSP]
            self.store(name, x, state, place, size, value, not keeps)
        return None

    def value(self, function, x, state, get, read, sources):
        """What an instruction makes."""
        mnemonic, names, size = x.mnemonic, x.names, x.size
        everything = sources + read

        def operand(n):
            if x.registers[n] is not None:
                return get(x.registers[n], part(names[n]))
            return constant(x.immediate) if x.kinds[n] in IMMEDIATES else read[0] if read else PUBLIC

        if mnemonic == Mnemonic.LEA:
            i = x.i
            base, index = (None if r in (Register.NONE, Register.RIP) else RegisterExt.full_register(r)
                           for r in (i.memory_base, i.memory_index))
            displacement = i.memory_displacement
            if x.i.is_ip_rel_memory_operand:
                return self.file.static(i.ip_rel_memory_address)
            value = self.address(state, base, index, i.memory_index_scale, displacement - WORD if displacement >= HALF else displacement)
            short = size == 4 or any(RegisterExt.is_gpr32(r) for r in (i.memory_base, i.memory_index))
            return long(value) if short else value
        if mnemonic == Mnemonic.MOV and x.i.op_count == 2:
            value = operand(1)
            if size >= 4 and x.registers[1] is not None:
                value = state.registers.get(x.registers[1], LEFT)
            if read and x.i.is_ip_rel_memory_operand:
                value = self.file.imports.get(x.i.ip_rel_memory_address, value)
            return value if size != 4 else long(value)
        if mnemonic == Mnemonic.PUSH:
            return operand(0)
        if mnemonic == Mnemonic.POP:
            return read[0]
        if mnemonic in SAME_GIVES_CONSTANT and x.same:
            return ZERO if size else PUBLIC
        if mnemonic in TERNARY and x.immediate in (0, -1, 0xff) and x.mask is None:
            return PUBLIC
        if mnemonic in MOVES_BY_FLAGS:
            flags, kept, moved = state.flags(x.i.rflags_read), operand(0), operand(1)
            if state.compared is not None and type(flags) is not Secret:
                moved, kept = (self.under(state, x.registers[n], value, condition) for n, value, condition in (
                    (1, moved, x.condition), (0, kept, OPPOSITE.get(x.condition))))
            value = moved if kept is None else kept if moved is None else join(kept, moved)
            if type(flags) is Secret:
                value = made_of((value.labels if type(value) is Secret else NOTHING) | flags.labels - SPECIAL)
            return value if size != 4 else long(value)
        if size >= 4 and mnemonic in ARITHMETIC and not secret(*everything):
            operands = [operand(n) for n in range(x.i.op_count)]
            if mnemonic in SHIFTS:
                operands[0] = operands[0] if size == 8 else long(operands[0])
                operands[1:] = [anded(count, constant(8 * size - 1)) for count in operands[1:]]
            value = ARITHMETIC[mnemonic](*operands)
            if mnemonic == Mnemonic.AND and size == 8 and type(get(x.registers[0])) is Stack and x.immediate is not None:
                value = self.aligned(x, get(x.registers[0]))
            if value is not None:
                return value if size == 8 else long(value)
        if mnemonic == Mnemonic.MOVZX and not secret(*everything):
            bits = 8 * (read and x.memory[0][4] or RegisterExt.size(names[1]))
            value = operand(1)
            return value if type(value) is Number and 0 <= value.low and value.high < 1 << bits else Number(0, (1 << bits) - 1, 1)
        if mnemonic in (Mnemonic.MOVSXD, Mnemonic.CDQE) and not secret(*everything):
            value = everything[0]
            return value if type(value) is Number and 0 <= value.low and value.high < LONG // 2 else PUBLIC
        if mnemonic in COPIES and x.mask is None:
            return operand(1)
        if mnemonic in TO_VECTOR and not secret(*everything):
            value = operand(1)
            if type(value) is Wide:
                value = value.parts[0]
            return Wide((value, ZERO)) if names[0] is not None and RegisterExt.is_vector_register(names[0]) else value
        if mnemonic in UNPACK and not secret(*everything):
            parts = [value.parts[0] if type(value) is Wide else None for value in (operand(x.i.op_count - 2), operand(x.i.op_count - 1))]
            if None not in parts:
                return Wide(tuple(parts))

        # What is left is made of all that is read.
        if x.reads_flags:
            everything = everything + [state.flags(x.i.rflags_read)]
        if x.mask is not None and not x.i.zeroing_masking and x.registers[0] is not None:
            everything = everything + [get(x.registers[0])]
        value = mixed(everything)
        if type(value) is not Secret:
            return Number(0, 1, 1) if mnemonic in SETS else value
        if len(x.writes) > 1:
            return SECRET  # who knows which of them is made of what
        labels = [part.labels for part in map(flat, everything) if type(part) is Secret]
        union, whole = frozenset().union(*labels), value.labels
        if x.mask is not None:
            return value
        if mnemonic in XORS or mnemonic in TERNARY and x.immediate is not None and x.immediate & 0xff == 0x96:
            whole = union - TELLS
        elif mnemonic in ORS and all(map(complete, labels)):
            whole = union - TELLS
        elif mnemonic in TERNARY and x.immediate is not None and x.immediate & 0xff in OR_OF_XOR:
            vectors = [get(x.registers[0]), get(x.registers[1]), operand(2)]
            alone = vectors.pop(OR_OF_XOR[x.immediate & 0xff])
            pair = frozenset().union(*(part.labels for part in vectors if type(part) is Secret))
            if complete(pair) and type(alone) is Secret and complete(alone.labels):
                whole = union - TELLS
        elif mnemonic in ROUNDS:
            whole = whole | {"rounds"}
        elif mnemonic in KEEPS_LABELS and len(labels) == 1:
            whole = labels[0]
        elif mnemonic in LANES_EQUAL and complete(union):
            whole = union - TELLS | {"lanes"}
        elif mnemonic in (Mnemonic.PMOVMSKB, Mnemonic.VPMOVMSKB) and "lanes" in union and complete(union):
            whole = union - TELLS | {"mask"}
        elif mnemonic in SETS and "decision" in union and complete(union):
            whole = union - {"asked"}
        return made_of(whole)

    @staticmethod
    def told(x, read, sources, get):
        """What the flags, and what is made with them, tell about a tag, if that is all they do."""
        mnemonic = x.mnemonic
        secrets = [value.labels for value in map(flat, read + sources) if type(value) is Secret]
        if not secrets or mnemonic not in WHOLE_TESTS and mnemonic not in KEEPS_DECISION:
            return None
        union, shared = frozenset().union(*secrets), frozenset.intersection(*secrets)
        if not complete(union):
            return None
        if "decision" in shared and mnemonic in KEEPS_DECISION:
            return shared | {"entire"} if mnemonic == Mnemonic.AND and x.immediate is None else shared  # where bits are gathered
        if union & {"lanes", "decision"}:
            return None
        about = frozenset(("tag",)) | union & {"entire"}
        if 0 < x.size < 4:
            about -= {"entire"}
        if "mask" in union:
            ones = x.size == 4 and x.immediate is not None and x.immediate & 0xffff == 0xffff and len(secrets) == 1
            return about | {"wrong"} if ones and mnemonic in (Mnemonic.XOR, Mnemonic.CMP) else None
        if "wrong" in union:
            return about if mnemonic == Mnemonic.TEST and x.same else None
        if mnemonic in (Mnemonic.CMP, Mnemonic.XOR):
            return about if len(secrets) > 1 or x.immediate == 0 else None  # whether two are equal, or one is zero
        if mnemonic == Mnemonic.OR or x.same:
            return about if all(map(complete, secrets)) else None  # whether all is zero
        return None

    @staticmethod
    def compare(x, get, read, value, difference):
        """What the flags tell of: where two values are, the values, and what of them."""
        if x.size < 4:
            return None
        about, places = EQUALITY, [x.registers[0], None]
        if x.mnemonic == Mnemonic.CMP:
            about, places, values = ANYTHING, x.registers[:2], []
            for n in range(2):
                immediate = x.kinds[n] in IMMEDIATES
                values.append(get(places[n]) if places[n] is not None else constant(x.immediate) if immediate else read[0])
        elif x.mnemonic == Mnemonic.TEST and x.same:
            about, values = ANYTHING, [get(x.registers[0]), ZERO]
        elif x.mnemonic in (Mnemonic.ADD, Mnemonic.SUB, Mnemonic.INC, Mnemonic.DEC, Mnemonic.AND):
            values = [value, ZERO]
            if x.mnemonic == Mnemonic.SUB and x.size == 8 and difference:
                about = DIFFERENCE
        else:
            return None
        if x.size == 4 and any(type(v) is not Number or v.low < 0 or v.high >= LONG for v in values):
            return None
        if x.size == 4 and about == ANYTHING and any(v.high >= LONG // 2 for v in values):
            about = UNSIGNED
        return (*places, *values, about)

    @staticmethod
    def under(state, register, value, condition):
        """What a register is if the condition holds, of the flags as they are; None if that cannot be."""
        condition = told_by(state.compared, condition)
        if value is None or condition is None:
            return value
        left, right, a, b, _ = state.compared
        if register is not None and register == left:
            return narrowed(value, condition, b)
        if register is not None and register == right:
            return narrowed(value, SWAPPED[condition], a)
        return value

    def assume(self, state, condition):
        """The state if the condition holds; None if it cannot."""
        state = state.copy()
        condition = told_by(state.compared, condition)
        if condition is None:
            return state
        left, right, a, b, _ = state.compared
        new = narrowed(a, condition, b), narrowed(b, SWAPPED[condition], a)
        if None in new:
            return None
        for register, value in zip((left, right), new):
            if register is not None:
                state.registers[register] = value
        return state

    def aligned(self, x, value):
        """A stack pointer with its last bits cleared."""
        if x.immediate >= 0 or -x.immediate & (-x.immediate - 1):
            return ANYWHERE
        if x.registers[0] == Register.RSP and is_exact(value):
            base = "aligned %d %x" % (self.depth, x.ip)
            self.below[base] = value.base, value.low
            return Stack(base, 0, 0, 0)
        if -INFINITY < value.low:
            return Stack(value.base, value.low + x.immediate + 1, value.high, 1)
        return value

    def string(self, name, x, state):
        """Instructions that go over memory."""
        registers, i = state.registers, x.i
        self.addresses.add((name, x.ip))
        if x.mnemonic not in STRINGS:
            self.report(name, x, "an instruction that this analysis does not follow")
            return None
        size = STRINGS[x.mnemonic]
        repeated = i.has_rep_prefix or i.has_repne_prefix
        count = flat_register(registers.get(Register.RCX, LEFT)) if repeated else constant(1)
        if secret(count):
            self.report(name, x, "a count depends on a secret")
            count = PUBLIC
        length = scaled(count, size)
        loaded, ends = [], {}
        for base, _, _, _, _, reads, writes, _ in x.memory:
            place = registers.get(base, LEFT)
            if secret(place):
                self.report(name, x, "the address depends on a secret")
                place = ANYWHERE
            ends[base] = added(place, length) if repeated else added(place, PUBLIC)
            if reads:
                loaded.append(self.load_many(state, place, length))
        compares = x.mnemonic in STRING_COMPARISONS
        if compares:
            everything = loaded + ([registers.get(Register.RAX, LEFT)] if len(loaded) == 1 else [])
            if repeated and secret(*map(flat, everything)):
                self.report(name, x, "a repetition ends at a secret")
            flags = mixed(everything)
            state.set_flags(i.rflags_modified, i.rflags_undefined, flags if type(flags) is Secret else PUBLIC, repeated)
        for base, _, _, _, _, reads, writes, _ in x.memory:
            if writes:
                value = loaded[0] if loaded else flat(registers.get(Register.RAX, LEFT))
                self.store_many(name, x, state, registers.get(base, LEFT), length, value)
        if not any(m[6] for m in x.memory) and not compares:
            registers[Register.RAX] = mixed((loaded[0], registers.get(Register.RAX, LEFT)))
        for base, place in ends.items():
            registers[base] = place if type(place) is not Stack or not compares else Stack(place.base, -INFINITY, INFINITY, 1)
        if repeated:
            registers[Register.RCX] = PUBLIC if compares else ZERO
        state.compared = None
        return None

    @staticmethod
    def load_many(state, place, length):
        """What lies there, of so many bytes."""
        if type(place) is Stack and is_exact(place) and is_exact(length) and 0 < length.low <= 4096:
            return flat(state.load(place, length.low))
        return flat(state.load(place, 8)) if type(place) is not Stack else SECRET

    def store_many(self, name, x, state, place, length, value):
        value = piece(value)
        if secret(place):
            place = ANYWHERE
        if is_exact(length) and 0 <= length.low <= 1 << 16:
            if length.low:
                self.store(name, x, state, place, length.low, value)
        else:
            most = length.high if type(length) is Number and length.low >= 0 else INFINITY
            self.store(name, x, state, place, most, value, False)

    def ask(self, name, x, state):
        """Looks at flags: after a jump that asked whether a tag is right nothing may ask for more."""
        def is_new(flag):
            return type(flag) is Secret and "decision" in flag.labels and "asked" not in flag.labels and complete(flag.labels)

        flags = state.registers[FLAGS]
        if any(is_new(flag) for n, flag in enumerate(flags) if x.i.rflags_read >> n & 1):
            if x.flow == FlowControl.CONDITIONAL_BRANCH or state.decided:
                self.decide(name, x, state)
                state.registers[FLAGS] = Flags(*(made_of(flag.labels | {"asked"}) if is_new(flag) else flag for flag in flags))

    def decide(self, name, x, state):
        if state.decided:
            self.report(name, x, "not the first decision about a secret")
        state.decided = True

    def leave(self, name, x, state):
        """At the end of a function."""
        if state.registers[Register.RSP] != Stack(state.frame[0], 0, 0, 0):
            self.report(name, x, "the stack pointer is not what it was")
        for register, value in AS_SAVED.items():
            if state.registers.get(register, LEFT) != value:
                self.report(name, x, "a register that is to be saved is not what it was")

    def go_on(self, function, x, state, returned, everything):
        name, flow, registers = function.name, x.flow, state.registers
        if flow == FlowControl.CONDITIONAL_BRANCH:
            self.jumps.add((name, x.ip))
            flags = state.flags(x.i.rflags_read)
            if x.i.is_jcx_short:
                if secret(flat(registers.get(Register.RCX, LEFT))):
                    self.report(name, x, "the jump depends on a secret")
                return (x.i.near_branch_target, state), (x.next, state)
            if type(flags) is Secret:
                if {"decision", "entire"} <= flags.labels and complete(flags.labels) and x.condition in (C.E, C.NE):
                    self.decisions.add((name, x.ip))
                else:
                    self.report(name, x, "the jump depends on a secret")
            ways = (x.i.near_branch_target, x.condition), (x.next, OPPOSITE.get(x.condition))
            ways = [(target, self.assume(state, condition)) for target, condition in ways]
            return [(target, after) for target, after in ways if after is not None]
        if flow == FlowControl.UNCONDITIONAL_BRANCH:
            target = x.i.near_branch_target
            if target not in function.code:
                return self.call(name, x, target, state, returned, tail=True)
            return ((target, state),)
        if flow == FlowControl.INDIRECT_BRANCH:
            if secret(*map(flat, everything)):
                self.report(name, x, "the jump goes to a place that depends on a secret")
            if x.i.is_ip_rel_memory_operand or any(type(value) is Code for value in everything):
                return self.call(name, x, None, state, returned, tail=True)
            self.report(name, x, "a jump through a table, which this analysis does not follow")
            return ()
        if flow == FlowControl.RETURN:
            self.leave(name, x, state)
            returned.append((*(registers.get(r, LEFT) for r in (Register.RAX, Register.RDX)), state.slots))
            return ()
        if flow in (FlowControl.CALL, FlowControl.INDIRECT_CALL):
            if secret(*map(flat, everything)):
                self.report(name, x, "which function is called depends on a secret")
            return self.call(name, x, x.i.near_branch_target if flow == FlowControl.CALL else None, state, returned)
        return ()  # it ends here

    def call(self, name, x, target, state, returned, tail=False):
        registers = state.registers
        if target is not None:
            goal = Code(target) if target in self.file.functions else self.stub(target)
        elif x.i.is_ip_rel_memory_operand:
            goal = self.file.imports.get(x.i.ip_rel_memory_address, Code("?"))
        elif x.registers and x.registers[0] is not None:
            goal = registers.get(x.registers[0], LEFT)
        else:
            goal = state.load(self.address(state, *x.memory[0][:4]), 8)
        if type(goal) is not Code:
            goal = Code("?")
        if type(goal.target) is int and CALLS_KERNEL.search(self.file.functions[goal.target][1]):
            goal = Code(MESSAGE_CALLED)
        if tail:
            self.leave(name, x, state)
        whole = [registers.get(register, LEFT) for register in ARGUMENTS]
        arguments = [flat(value) if type(value) is Low else value for value in whole]
        rsp = registers[Register.RSP]
        on_stack = tuple(state.load_from(rsp.base, rsp.low + 8 * (n + tail), 8) for n in range(8))
        if goal.target in KERNELS_CALLED:
            self.kernel_in_table(name, x, state, arguments + list(on_stack[:KERNELS_CALLED[goal.target]]))
            results = SECRET, LEFT
            if goal.target == MESSAGE_CALLED:
                self.decide(name, x, state)
                results = PUBLIC, LEFT  # whether the tag was right, at the most
        elif type(goal.target) is not int:
            results = self.outside(name, x, goal.target, state, arguments), LEFT
        else:
            panics = PANICS.search(self.file.functions[goal.target][1])
            results = None if panics else self.inside(name, x, goal.target, state, whole, on_stack)
            if results is None:
                self.ends.add(x.ip)
                return ()
        state.registers = registers = {register: registers[register] for register in (*SAVED, Register.RSP) if register in registers}
        registers[Register.RAX], registers[Register.RDX] = results
        registers[FLAGS] = Flags(*(SECRET,) * 6)
        state.compared = None
        if tail:
            returned.append((*results, state.slots))
            return ()
        # Below the stack pointer is what the called function left.
        state.slots = {place: value for place, value in state.slots.items() if place[0] != rsp.base or place[1] >= rsp.low}
        return ((x.next, state),)

    def kernel_in_table(self, name, x, state, arguments):
        """A kernel, which is checked by itself. Behind every pointer into the stack it may write what is made of all that it gets."""
        arguments = [value for value in arguments if value not in (UNWRITTEN, LEFT)]  # it has fewer
        labels = {"rounds"}
        for value in arguments:
            if secret(value):
                self.report(name, x, "an argument of a kernel depends on a secret")
            elif type(value) is Pointer:
                labels |= value.labels
            elif type(value) is Stack and is_exact(value):
                inside = state.load_from(value.base, value.low, 8)
                labels |= inside.labels if type(inside) is Secret and "unwritten" not in inside.labels else NOTHING
        for value in arguments:
            if goes_to_stack(value):
                self.store(name, x, state, value, INFINITY, made_of(frozenset(labels) - SPECIAL), False)
                if is_exact(value):
                    place = value.base, value.low & -8
                    state.slots[place] = join(state.slots.get(place, UNWRITTEN), made_of(frozenset(labels) - SPECIAL))

    def outside(self, name, x, outside, state, arguments):
        count = OUTSIDE.get(outside)
        if count is None:
            self.report(name, x, "calls an unknown function (%s)" % outside)
            return SECRET
        to, source, length = arguments[:3]
        for value in (to, length) if outside == "memset" else (to, source, length):
            if secret(value):
                self.report(name, x, "an argument of %s depends on a secret" % outside)
                return SECRET
        if outside == "memset":
            self.store_many(name, x, state, to, length, source)
        elif outside in ("bcmp", "memcmp"):
            compared = mixed((self.load_many(state, to, length), self.load_many(state, source, length)))
            if secret(compared):
                self.report(name, x, "%s ends where a secret says" % outside)
            return compared
        elif type(to) is Stack and is_exact(to) and is_exact(length) and 0 <= length.low <= 1 << 12 \
                and not to.base.startswith("argument"):
            pieces, at = [], 0
            while at < length.low:
                size = 8 if length.low - at >= 8 else 1
                pieces.append((at, size, state.load(added(source, constant(at)), size)))
                at += size
            for at, size, value in pieces:
                self.store(name, x, state, added(to, constant(at)), size, value)
        else:
            self.store_many(name, x, state, to, length, self.load_many(state, source, length))
        return to

    def inside(self, name, x, target, state, arguments, on_stack):
        """A function of the file: first by itself, and where that is not enough, with what is known here."""
        everything = (*arguments, *on_stack)
        if target not in self.in_place:
            blind = tuple(Stack("argument %d" % n, 0, 0, 0) if type(value) is Stack else value for n, value in enumerate(everything))
            outer = self.effects
            found = self.attempt(self.function, target, blind[:6], blind[6:], {})
            self.effects = outer
            enough = found is not None and all(
                effect != ANYWHERE and max(abs(effect[1]), abs(effect[2])) < INFINITY // 4 for effect in found.effects)
            if enough:
                if found.decided:
                    self.decide(name, x, state)
                if found.slots is None:
                    return None
                for base, low, high in found.effects:
                    place = added(everything[int(base.split()[1])], constant(low))
                    self.store(name, x, state, place, high - low, SECRET, False)

                def back(value):
                    if type(value) is Stack and value.base.startswith("argument"):
                        place = everything[int(value.base.split()[1])]
                        return added(place, Number(value.low, value.high, value.step)) if value.high < INFINITY else ANYWHERE
                    return ANYWHERE if goes_to_stack(value) else value
                return back(found.rax), back(found.rdx)
            self.in_place.add(target)
        found = self.function(target, tuple(arguments), on_stack, state.slots)
        if found.decided:
            self.decide(name, x, state)
        if found.slots is None:
            return None
        state.slots = dict(found.slots)
        return found.rax, found.rdx

    def stub(self, target):
        decoder = Decoder(64, self.file.code(target, 16), ip=target)
        for i in decoder:
            if i.flow_control == FlowControl.INDIRECT_BRANCH and i.is_ip_rel_memory_operand:
                return self.file.imports.get(i.ip_rel_memory_address, Code("?"))
        return Code("?")


def flat_register(value):
    return flat(value) if type(value) in (Low, Wide) else value


def counts(value, size):
    """Whether a shift by so much shifts at all, of a register of so many bytes."""
    return is_exact(value) and type(value) is Number and value.low & (63 if size == 8 else 31) != 0


def bounded(value, most):
    """A number of which no more than the most is known."""
    return Number(0, most, 1 if most else 0) if most < HALF else PUBLIC


def anded(a, b):
    if goes_to_stack(a) or goes_to_stack(b):
        return None
    if is_exact(a) and is_exact(b):
        return constant(a.low & b.low)
    mosts = [value.high for value in (a, b) if type(value) is Number and value.low >= 0]
    for value, mask in ((a, b), (b, a)):
        if type(value) is Number and value.low >= 0 and is_exact(mask) and mask.low < 0 and not -mask.low & (-mask.low - 1):
            low, high = value.low & mask.low, value.high & mask.low
            return number(low, high, -mask.low)
    return bounded(a, min(mosts)) if mosts else PUBLIC


def ored(a, b):
    if goes_to_stack(a) or goes_to_stack(b):
        return None
    if is_exact(a) and is_exact(b):
        return constant(a.low | b.low)
    if all(type(value) is Number and value.low >= 0 for value in (a, b)):
        return bounded(a, (1 << max(a.high.bit_length(), b.high.bit_length())) - 1)
    return PUBLIC


def xored(a, b):
    if is_exact(a) and is_exact(b) and type(a) is type(b) is Number:
        return constant(a.low ^ b.low)
    return None if not all(type(value) is Number and value.low >= 0 for value in (a, b)) else ored(a, b)


def shifted_left(a, b=constant(1)):
    return scaled(a, 1 << b.low) if is_exact(b) and type(b) is Number and not goes_to_stack(a) else None


def shifted_right(a, b=constant(1)):
    if not is_exact(b) or type(b) is not Number or goes_to_stack(a):
        return None
    if type(a) is Number and a.low >= 0:
        return number(a.low >> b.low, a.high >> b.low, 1)
    return bounded(a, (WORD - 1) >> b.low)


ARITHMETIC = {
    Mnemonic.ADD: added, Mnemonic.SUB: subtracted, Mnemonic.INC: lambda a: added(a, constant(1)),
    Mnemonic.DEC: lambda a: added(a, constant(-1)), Mnemonic.AND: anded, Mnemonic.OR: ored, Mnemonic.XOR: xored,
    Mnemonic.SHL: shifted_left, Mnemonic.SHR: shifted_right, Mnemonic.NEG: lambda a: subtracted(ZERO, a),
}
MOVES_BY_FLAGS = {value for mnemonic, value in vars(Mnemonic).items() if re.match(r"CMOV", mnemonic)}
OR_OF_XOR = {0xf6: 0, 0xde: 1, 0xbe: 2}  # which operand of vpternlog is not in the XOR
KERNEL = re.compile(
    r"palladion::low::(?:x86::(?!Features)(\w+)|(portable)|(bitsliced)\w*|(raw)::in_parts)(?:::|\b)"
    r"|^aegis_(verify)_|^aegis\w+_(?:en|de)(crypt)(?:_detached)?$|(planted)_")


def main(arguments):
    options = {}
    for option in ("--only", "--expect"):
        if option in arguments:
            at = arguments.index(option)
            options[option] = arguments[at + 1]
            del arguments[at:at + 2]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__.strip())
        return 2
    only = re.compile(options.get("--only", ""))
    file = File(arguments[-1])
    analyses, kernels = {}, collections.Counter()
    for address, (size, name) in sorted(file.functions.items()):
        kernel = KERNEL.search(name)
        if not kernel or not only.search(name):
            continue
        backend = next(filter(None, kernel.groups()))
        kernels[backend] += 1
        analyses.setdefault(backend, Analysis(file)).kernel(address)
    print("backend         kernels instructions addresses   jumps of which whether a tag was right")
    wrong = []
    for backend, a in sorted(analyses.items()):
        counts = [len(found) for found in (a.read, a.addresses, a.jumps, a.decisions)]
        print("%-15s %7d %12d %9d %7d %d" % (backend, kernels[backend], *counts))
        wrong += ["%x in %s: %s" % (ip, name, what) for (name, ip), what in sorted(a.wrong.items())]
    if not analyses:
        wrong.append("no kernel was found")
    if "--expect" in options:
        expected = {backend: (int(least), int(decisions)) for backend, least, decisions in
                    (entry.split(":") for entry in options["--expect"].split())}
        for backend in sorted(set(expected) | set(analyses)):
            if backend not in expected or backend not in analyses:
                wrong.append("backend %s: %s" % (backend, "is missing" if backend in expected else "is not expected"))
                continue
            least, decisions = expected[backend]
            found = len(analyses[backend].decisions)
            if kernels[backend] < least:
                wrong.append("backend %s: %d kernels, where there should be %d" % (backend, kernels[backend], least))
            if found != decisions:
                wrong.append("backend %s: %d decisions about tags, where there should be %d" % (backend, found, decisions))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.setrecursionlimit(10000)
    sys.exit(main(sys.argv[1:]))
