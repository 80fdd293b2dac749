#!/usr/bin/env python3
"""Makes Go's assembly of the kernels in crates/palladion.

    generate.py            writes kernels_*.s and kernels_*.go for amd64 and arm64 in aegis/
    generate.py --check    fails if they are not what it would write

The crate is compiled with `--cfg palladion_kernels`, which makes a table of kernels
(crates/palladion/src/dispatch/exported.rs), and linked. Each kernel becomes a function of Go's
assembler with the same instructions, but for these changes:

- The stack pointer never moves. What the compiler keeps on the stack is in the frame that Go's
  assembler makes. Nothing is saved for the caller, which in Go expects nothing.
- Frames and constants need no alignment, so aligned moves become unaligned ones.
- A return wipes the frame.

What Go's assembler makes of them is proved by assurance/machine-code.sh. Its bytes are not the Rust
compiler's: beside these changes it encodes some instructions in another way.

Needs the version of Rust below with the component llvm-tools and the standard library for both
targets: rustup toolchain install 1.95.0 -c llvm-tools -t aarch64-linux-android
"""
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

RUST = "1.95.0" # another one makes other code
REPOSITORY = Path(__file__).resolve().parents[2]
HERE = REPOSITORY / "bindings/go/aegis"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).resolve() / "go"

VARIANTS = ["128L", "128X2", "128X4", "256", "256X2", "256X4"]
KERNELS = ["seal", "open", "init", "advance", "finalize"]
BACKENDS = {"vaes-avx512": "vaesAVX512", "vaes-avx2": "vaesAVX2", "aesni-avx": "aesniAVX",
            "armv8-aes": "armAES"}
# The kernels for AMD's Zen cores by which a call gains at least 5 % there: see README.md. Those
# that share a state go together.
ZEN = {("vaes-avx2", "128L"): KERNELS, ("vaes-avx2", "128X2"): ["seal", "open"],
       ("aesni-avx", "128L"): KERNELS}
SCRIPT = """
SECTIONS {
    .text 0 : { *(.text .text.*) }
    .rodata : ALIGN(64) { *(.rodata .rodata.*) }
    .table : { *(.data.rel.ro .data.rel.ro.*) }
    .got : { *(.got .got.*) }
    /DISCARD/ : { *(.eh_frame* .debug* .comment* .note*) }
}
"""


def fail(message):
    sys.exit(f"generate.py: {message}")


def run(*command, **options):
    try:
        return subprocess.run(list(map(str, command)), check=True, capture_output=True,
                              **options).stdout
    except FileNotFoundError as error:
        fail(f"{error.filename} not found")
    except subprocess.CalledProcessError as error:
        error = error.stderr if isinstance(error.stderr, str) else error.stderr.decode()
        fail(f"{command[0]} failed:\n{error}")


class Unfit(Exception):
    """Code that Go cannot call."""


def operands(text):
    """Splits an instruction into its name and its operands."""
    name, _, rest = text.partition(" ")
    return name, re.findall(r"(?:[^,[{(]|\[[^]]*\]|\{[^}]*\})+", rest.replace(", ", ",")) \
        if rest else []


class X86:
    """What is particular to amd64."""
    go, target, options = "amd64", "x86_64-unknown-linux-gnu", ["-Cno-redzone=yes"]
    pieces = [(4, "LONG"), (2, "WORD"), (1, "BYTE")]
    disassemble = ["-M", "intel"]
    jump = re.compile(r"(j[a-z]+) 0x([0-9a-f]+)")
    padding = re.compile(r"nop|int3|xchg\s+ax, ax|data16")
    call = re.compile(r"call|syscall|(?:jmp|notrack jmp) [^0]|ud2|leave|enter")
    macro = "#define WIPE64(at) " + "; ".join(f"MOVUPS X0, (at+{n})(SP)" for n in (0, 16, 32, 48))
    argument, result = "MOVQ call+0(FP), DI", "MOVB AX, ret+8(FP)"
    align = "PCALIGN $16"
    first_local = 0

    aligned = {"vmovdqa": "vmovdqu", "vmovaps": "vmovups", "vmovdqa64": "vmovdqu64"}
    sizes = {"byte": "B", "word": "W", "dword": "L", "qword": "Q"}
    conditions = dict(e="EQ", ne="NE", b="CS", ae="CC", a="HI", be="LS", s="MI", ns="PL",
                      l="LT", ge="GE", g="GT", le="LE")
    integer = {"mov", "add", "sub", "adc", "sbb", "and", "or", "xor", "cmp", "test", "lea", "shl",
               "shr", "inc", "dec", "not", "neg", "imul", "div", "mul"}

    @classmethod
    def without_frame(cls, name, code):
        """Returns the instructions without those for the stack pointer, and the size of the locals.
        Each instruction is [address, bytes, text]."""
        saved, rest, locals_, pushes = [], [], 0, 0
        for position, (at, _, text) in enumerate(code):
            if match := re.fullmatch(r"push (\w+)", text):
                pushes += 1
                if match[1] == "rax" and position == pushes - 1:
                    locals_ += 8 # no register is saved: room for a local
                else:
                    saved.append(match[1])
            elif match := re.fullmatch(r"(?:sub rsp, |add rsp, -)(\w+)", text):
                locals_ += int(match[1], 0)
        if sum(bool(re.match(r"sub rsp, |add rsp, -", text)) for _, _, text in code) \
                + (locals_ == 8 * pushes - 8 * len(saved) > 0) > 1:
            raise Unfit(f"{name} has several frames")
        gone = False # whether the frame is
        for at, data, text in code:
            if re.match(r"push |pop |(add|sub) rsp, ", text):
                gone = bool(re.match(r"pop |add rsp, [^-]|sub rsp, -", text))
                continue
            if gone and re.search(r"\brsp\b", text):
                raise Unfit(f"{name}: {text} after the frame has gone")
            gone = gone and not re.match("ret|jmp", text)
            for index, displacement in re.findall(
                    r"\[rsp((?: \+ [a-z]\w+(?:\*\d)?)?)(?: ([+-] 0x\w+))?\]", text):
                place = int((displacement or "0").replace(" ", ""), 0)
                if not 0 <= place < locals_:
                    raise Unfit(f"{name}: {text} is outside of the {locals_} bytes of the frame")
            written = re.match(r"(?!cmp|test)\w+ [re]?sp\b", text)
            if written or cls.call.match(text):
                raise Unfit(f"{name}: {text}")
            if " ptr [" in text and operands(text)[0] in cls.aligned:
                text = re.sub(r"^\w+", lambda match: cls.aligned[match[0]], text)
            rest.append((at, data, text))
        if (any(re.search(r"\b[yz]mm\d", text) for _, _, text in rest)
                and sum(text == "vzeroupper" for _, _, text in rest)
                < sum(text == "ret" for _, _, text in rest)):
            raise Unfit(f"{name}: no VZEROUPPER before RET")
        if locals_ == 0 and "rbp" in saved:
            locals_ = 8 # Go's assembler saves the frame pointer only if there is a frame
        return rest, locals_

    @staticmethod
    def wipe(size):
        yield "XORPS X0, X0"
        yield from (f"WIPE64({at})" for at in range(0, size - 63, 64))
        yield from (f"MOVUPS X0, {at}(SP)" for at in range(size // 64 * 64, size - 15, 16))
        if size % 16:
            yield f"MOVUPS X0, {size - 16}(SP)" if size > 16 else f"MOVQ X0, {size - 8}(SP)"

    @classmethod
    def register(cls, name):
        if match := re.fullmatch(r"([xyz])mm(\d+)", name):
            return match[1].upper() + match[2]
        if match := re.fullmatch(r"r(\d+)[dwb]?", name):
            return "R" + match[1]
        if match := re.fullmatch(r"k(\d)", name):
            return "K" + match[1]
        if match := re.fullmatch(r"[re]?([abcd]x|[sd]i|bp|sp)l?", name):
            return match[1].upper()
        if match := re.fullmatch(r"([abcd])l", name):
            return match[1].upper() + "X"
        return None

    @staticmethod
    def width(name):
        """Returns the suffix for a general register."""
        if re.fullmatch(r"r\d+|r[a-z]+", name):
            return "Q"
        if re.fullmatch(r"r\d+d|e[a-z]+", name):
            return "L"
        return "B" if re.fullmatch(r"r\d+b|[abcd]l|[sd]il|bpl", name) else "W"

    @classmethod
    def operand(cls, text, place):
        """Returns an operand as Go writes it."""
        if register := cls.register(text):
            return register
        if "[" not in text:
            return f"${int(text, 0):#x}" if int(text, 0) >= 0 else f"$-{-int(text, 0):#x}"
        if "[rip" in text:
            return f"·constants<>+{place}(SB)"
        base = index = ""
        displacement = 0
        for sign, term in re.findall(r"([+-]?) ?([\w*]+)", text[text.index("[") + 1:-1]):
            if match := re.fullmatch(r"(\w+)\*(\w+)|(\w+)\*(\w+)", term):
                scale, name = sorted(match.groups()[:2], key=lambda x: not x.isdigit())
                index = f"({cls.register(name)}*{scale})"
            elif register := cls.register(term):
                if base:
                    index = f"({register}*1)"
                else:
                    base = f"({register})"
            else:
                displacement += int(term, 0) * (-1 if sign == "-" else 1)
        sign = "-" if displacement < 0 else ""
        return (f"{sign}{abs(displacement):#x}" if displacement else "") + base + index

    @classmethod
    def mnemonic(cls, text, place):
        """Returns an instruction as Go writes it, or None."""
        name, parts = operands(text)
        sizes = [cls.sizes[match[1]] for part in parts
                 if (match := re.match(r"(byte|word|dword|qword) ptr \[", part))]
        parts = [re.sub(r"^\w+ ptr ", "", part) for part in parts]
        if name.startswith(("v", "k")):
            mask, zero = "", ""
            for number, part in enumerate(parts):
                if match := re.search(r" \{(k\d)\}", part):
                    mask, zero = match[1], ".Z" if "{z}" in part else ""
                    parts[number] = part[:match.start()]
            values = [cls.operand(part, place) for part in parts][::-1]
            if mask:
                values.insert(len(values) - 1, mask.upper())
            return f"{name.upper()}{zero} {', '.join(values)}".strip()
        values = [cls.operand(part, place) for part in parts]
        general = [cls.width(part) for part in parts if cls.register(part)]
        if name in ("shl", "shr") and len(values) == 1:
            values.append("$1")
        if name in ("shl", "shr"):
            general = general[:1]
        if name in ("movzx",):
            return f"MOV{(sizes or [cls.width(parts[1])])[0]}LZX {values[1]}, {values[0]}"
        if name.startswith("cmov"):
            return f"CMOV{general[0]}{cls.conditions[name[4:]]} {values[1]}, {values[0]}"
        if name.startswith("set"):
            return f"SET{cls.conditions[name[3:]]} {values[0]}"
        if name not in cls.integer:
            return None
        if name == "mov" and values[1] == "$0x0":
            return None # Go would clear the register, and change flags
        size = (general or sizes)[0]
        if name == "imul" and len(values) == 3:
            return None
        order = values if name in ("cmp",) else values[::-1]
        return f"{name.upper()}{size} {', '.join(order)}"

    @classmethod
    def branch(cls, name):
        return "JMP" if name == "jmp" else "J" + cls.conditions[name[1:]]


class Arm:
    """What is particular to arm64."""
    # On Android, R18 belongs to the operating system, as Go has it everywhere. Go's signal handlers
    # expect `g` in R28. Addresses are relative to instructions, not to pages.
    go, target = "arm64", "aarch64-linux-android"
    options = ["-Ccode-model=tiny", "-Ctarget-feature=+reserve-x28"]
    pieces = [(4, "WORD")]
    disassemble = []
    jump = re.compile(r"(b|b\.\w+|cbn?z \w+,|tbn?z \w+, #\w+,) 0x([0-9a-f]+)")
    padding = re.compile(r"nop|udf")
    call = re.compile(r"bl |blr|br |svc|brk|adrp")
    macro = "#define WIPE64(at) " + "; ".join(
        f"STP (ZR, ZR), (at+{n})(RSP)" for n in (0, 16, 32, 48))
    argument, result = "MOVD call+0(FP), R0", "MOVB R0, ret+8(FP)"
    align = None
    first_local = 16 # Go keeps the link register at the stack pointer

    conditions = dict(eq="EQ", ne="NE", lo="LO", hs="HS", hi="HI", ls="LS", lt="LT", ge="GE",
                      gt="GT", le="LE", mi="MI", pl="PL")
    three = {"add": "ADD", "sub": "SUB", "and": "AND", "ands": "ANDS", "orr": "ORR", "eor": "EOR",
             "lsl": "LSL", "lsr": "LSR", "subs": "SUBS", "adds": "ADDS", "umulh": "UMULH",
             "mul": "MUL", "cmp": "CMP", "tst": "TST", "cmn": "CMN"}
    vector = {"eor": "VEOR", "and": "VAND", "orr": "VORR", "bit": "VBIT", "bif": "VBIF",
              "aese": "AESE", "aesmc": "AESMC", "mov": "VMOV", "cmeq": "VCMEQ"}

    @classmethod
    def without_frame(cls, name, code):
        depth, slots = 0, {}
        first = next((i for i, one in enumerate(code) if re.search(r"\bsp\b", one[2])), len(code))
        start = first
        for start, (_, _, text) in enumerate(code[first:] + [(0, b"", "")], first):
            if match := re.fullmatch(r"sub sp, sp, #(\w+)", text):
                depth += int(match[1], 0)
            elif match := re.fullmatch(
                    r"(?:stp|str) ((?:[dx]\d+(?:, )?)+), \[sp(?:, #(-?\w+))?\](!?)", text):
                if any(not 8 <= int(r) <= 15 for r in re.findall(r"d(\d+)", match[1])) or \
                        any(not 19 <= int(r) for r in re.findall(r"x(\d+)", match[1])):
                    break
                at = int(match[2] or "0", 0)
                if match[3]:
                    depth, at = depth - at, 0
                slots[at - depth] = match[1]
            else:
                break
        saved = {at + depth: registers for at, registers in slots.items()}
        locals_ = min(saved, default=depth)
        rest, gone = list(code[:first]), False
        for at, data, text in code[start:]:
            restored = re.fullmatch(
                r"(?:ldp|ldr) ((?:[dx]\d+(?:, )?)+), \[sp(?:, #(\w+))?\](?:, #\w+)?", text)
            if restored and saved.get(int(restored[2] or "0", 0)) == restored[1]:
                gone = True
                continue
            if re.match(r"add sp, sp, #", text):
                gone = True
                continue
            if gone and re.search(r"\bsp\b", text):
                raise Unfit(f"{name}: {text} after the frame has gone")
            gone = gone and not re.match("ret|b ", text)
            if re.match(r"(?!st|cmp|cmn)\w+ sp\b", text) or cls.call.match(text):
                raise Unfit(f"{name}: {text}")
            if re.search(r"\b[wx]30\b", text):
                locals_ = locals_ or 16 # Go's assembler saves it if there is a frame
            if re.search(r"\b[wx](18|28|29)\b", text):
                raise Unfit(f"{name}: {text} uses a register that belongs to Go")
            if match := re.search(r"\[sp(?:, #(-?\w+))?\](?!!|,)|add \w+, sp, #(\w+)", text):
                if not 0 <= int(match[1] or match[2] or "0", 0) < locals_:
                    raise Unfit(f"{name}: {text} is outside of the {locals_} bytes of the frame")
            elif re.search(r"\bsp\b", text) and not re.fullmatch(r"mov \w+, sp", text):
                raise Unfit(f"{name}: {text}")
            rest.append((at, data, text))
        return rest, locals_

    @classmethod
    def wipe(cls, size):
        start, size = cls.first_local, size + cls.first_local
        whole = start + (size - start) // 64 * 64
        yield from (f"WIPE64({at})" for at in range(start, whole, 64))
        yield from (f"STP (ZR, ZR), {at}(RSP)" for at in range(whole, size, 16))

    @staticmethod
    def register(name):
        if name in ("xzr", "wzr"):
            return "ZR"
        if name == "sp":
            return "RSP"
        match = re.fullmatch(r"[xw](\d+)", name)
        return "R" + match[1] if match else None

    @staticmethod
    def element(name):
        """Returns a vector, or an element of one."""
        name, _, kind = name.partition(".")
        if match := re.fullmatch(r"d\[(\d)\]", kind):
            return f"V{name[1:]}.D[{match[1]}]"
        return f"V{name[1:]}.{dict([('16b', 'B16'), ('2d', 'D2')])[kind]}"

    @classmethod
    def address(cls, text):
        """Returns an address, and `.P` if its register changes after the access."""
        match = re.fullmatch(r"\[(\w+)(?:, ?(\w+))?(?:, ?#(-?\w+))?\]", text)
        if not match:
            return None
        base = cls.register(match[1])
        if match[2]:
            return f"({base})({cls.register(match[2])})"
        offset = int(match[3] or "0", 0) + (cls.first_local if match[1] == "sp" else 0)
        return f"{offset or ''}({base})"

    @classmethod
    def mnemonic(cls, text, place):
        name, parts = operands(text)
        if name == "adr":
            return f"MOVD $·constants<>+{place}(SB), {cls.register(parts[0])}"
        if name == "movi":
            return f"VMOVI $0, V{parts[0][1:].split('.')[0]}.B16"
        if name in cls.vector and "." in parts[0] and "[" not in parts[0]:
            return f"{cls.vector[name]} {', '.join(map(cls.element, parts[::-1]))}"
        if name in ("dup", "mov") and "." in parts[0]:
            source = cls.register(parts[1]) or cls.element(parts[1])
            return f"{'VDUP' if name == 'dup' else 'VMOV'} {source}, {cls.element(parts[0])}"
        if name == "fmov":
            one, two = (cls.register(part) or "F" + part[1:] for part in parts)
            return f"FMOVD {two}, {one}"
        if match := re.fullmatch(r"(ld|st)(r|ur|p|rb)", name):
            memory = next(i for i, part in enumerate(parts) if part.startswith("["))
            registers = parts[:memory]
            post = ".P" if memory + 1 < len(parts) else ""
            address = parts[memory]
            if post:
                address = address[:-1] + ", " + parts[memory + 1] + "]"
            kind = registers[0][0]
            values = [cls.register(r) or "F" + r[1:] for r in registers]
            data = values[0] if len(values) == 1 else f"({', '.join(values)})"
            if match[2] == "p":
                go = {"q": f"F{match[1].upper()}PQ", "x": f"{match[1].upper()}P"}.get(kind)
            elif match[2] == "rb":
                go = "MOVBU" if match[1] == "ld" else "MOVB"
            else:
                load = match[1] == "ld"
                go = {"q": "FMOVQ", "d": "FMOVD", "x": "MOVD",
                      "w": "MOVWU" if load else "MOVW"}.get(kind)
            if go is None:
                return None
            place = cls.address(address)
            if not place or (kind == "q" and place.count("(") > 1):
                return None # Go's assembler has no such address for it
            ends = [place, data]
            return f"{go}{post} {', '.join(ends if match[1] == 'ld' else ends[::-1])}"
        if name == "mov":
            value = parts[1]
            if value == "sp":
                return f"ADD ${cls.first_local}, RSP, {cls.register(parts[0])}"
            if value.startswith("#"):
                return f"MOVD ${int(value[1:], 0)}, {cls.register(parts[0])}"
            go = "MOVD" if parts[0][0] in "xs" else "MOVWU"
            return f"{go} {cls.register(value)}, {cls.register(parts[0])}"
        if name in cls.three:
            wide = "W" if parts[0][0] == "w" else ""
            if len(parts) == 4 or not cls.register(parts[0]):
                if len(parts) != 4 or not (shift := re.fullmatch(r"lsl #(\w+)", parts[3])):
                    return None
                parts = [parts[0], parts[1], f"{parts[2]}<<{int(shift[1], 0)}"]
            values = []
            for part in parts:
                register, _, shift = part.partition("<<")
                if part.startswith("#"):
                    offset = cls.first_local if "sp" in parts[1:2] else 0
                    values.append(f"${int(part[1:], 0) + offset}")
                else:
                    values.append(cls.register(register) + (f"<<{shift}" if shift else ""))
            values = values[::-1] if len(values) < 3 else values[:0:-1] + values[:1]
            return f"{cls.three[name]}{wide} {', '.join(values)}"
        if name == "csel":
            a, b, c = map(cls.register, parts[:3])
            return f"CSEL {cls.conditions[parts[3]]}, {b}, {c}, {a}"
        if name == "cset":
            wide = "W" if parts[0][0] == "w" else ""
            return f"CSET{wide} {cls.conditions[parts[1]]}, {cls.register(parts[0])}"
        if name == "ubfx":
            a, b = map(cls.register, parts[:2])
            return f"UBFX ${int(parts[2][1:], 0)}, {b}, ${int(parts[3][1:], 0)}, {a}"
        if name == "msub":
            a, b, c, d = map(cls.register, parts)
            return f"MSUB{'W' if parts[0][0] == 'w' else ''} {c}, {d}, {b}, {a}"
        return None

    @classmethod
    def branch(cls, name):
        if name == "b":
            return "JMP"
        if name.startswith("b."):
            return "B" + cls.conditions[name[2:]]
        name, *parts = name.rstrip(",").replace(",", "").split()
        wide = "W" if name[0] == "c" and parts[0][0] == "w" else ""
        bit = f"${int(parts[1][1:], 0)}, " if len(parts) > 1 else ""
        return f"{name.upper()}{wide} {bit}{cls.register(parts[0])},"


class Kernel:
    """A function of Go's assembler: its name and that in Rust, the instructions that load its
    arguments, its others, and the size of its locals."""

    def __init__(self, name, rust, arguments, body, locals_):
        self.name, self.rust, self.locals = name, rust, locals_
        self.code, self.body = arguments + body, body

    def target(self, at):
        """Returns the address of the first instruction from there on."""
        if self.body[0][0] <= at <= self.body[-1][0]:
            return next(address for address, _, _ in self.body if address >= at)
        raise Unfit(f"{self.name}: a jump to {at:#x} leaves it")


class Code:
    """The linked kernels of one CPU."""

    def __init__(self, cpu):
        self.cpu = cpu
        listing = run("rustc", f"+{RUST}", "--version", "--verbose", text=True)
        host = re.search(r"host: (.*)", listing)[1]
        root = Path(run("rustc", f"+{RUST}", "--print", "sysroot", text=True).strip())
        self.tools = root / "lib/rustlib" / host / "bin"
        if not (self.tools / "llvm-objdump").exists():
            fail(f"Rust {RUST} lacks the component llvm-tools")
        self.link()
        self.instructions = self.without_got(self.disassemble(self.file, self.cpu))
        self.positions = {at: i for i, (at, _, _) in enumerate(self.instructions)}
        self.functions = self.read_functions()
        self.read_table()

    def tool(self, name, *arguments, text=True):
        return run(self.tools / name, *arguments, text=text)

    def link(self):
        cpu, flags = self.cpu, ["--cfg=palladion_kernels", *self.cpu.options]
        # Paths would end up in names of symbols.
        flags.append(f"--remap-path-prefix={REPOSITORY}=.")
        environment = dict(os.environ, CARGO_ENCODED_RUSTFLAGS="\x1f".join(flags),
                           CARGO_PROFILE_RELEASE_LTO="off")
        run("cargo", f"+{RUST}", "rustc", "--quiet", "--locked", "--release", "-p", "palladion",
            "--lib", "--no-default-features", "--features=any-degree", "--target", cpu.target,
            "--target-dir", TARGET, "--", "--emit=obj", "-Ccodegen-units=1",
            "-Csymbol-mangling-version=v0", "-Cpanic=abort", "-Crelocation-model=pie",
            env=environment, cwd=REPOSITORY)
        built = (TARGET / cpu.target / "release/deps").glob("palladion-*.o")
        newest = max(built, key=lambda path: path.stat().st_mtime)
        script, self.file = TARGET / "kernels.ld", TARGET / f"{cpu.go}.elf"
        script.write_text(SCRIPT)
        self.tool("rust-lld", "-flavor", "gnu", "-static", "--gc-sections", "--icf=all",
                  "-ePALLADION_KERNELS", "-uPALLADION_WORK", "-T", script, newest, "-o", self.file)

    def section(self, name, file=None):
        path = TARGET / "section"
        self.tool("llvm-objcopy", "-O", "binary", f"--only-section={name}", file or self.file, path)
        return path.read_bytes()

    def disassemble(self, file, cpu):
        """Returns a list of (address, bytes, text)."""
        listing, result = self.tool("llvm-objdump", "-d", *cpu.disassemble, file), []
        for line in listing.splitlines():
            match = re.match(r" *([0-9a-f]+):((?: [0-9a-f]{2})+|(?: [0-9a-f]{8})+)\s+(.*)", line)
            if match:
                data = bytes.fromhex(match[2]) if cpu is X86 else \
                    int(match[2], 16).to_bytes(4, "little")
                text = re.sub(r"\s*(<.*>|// .*|# .*|// =.*)$", "", match[3])
                result.append((int(match[1], 16), data, re.sub(r"\s+", " ", text)))
        return result

    def without_got(self, code):
        """Replaces loads of addresses from the linker's table by the addresses."""
        headers = self.tool("llvm-readobj", "--sections", self.file)
        match = re.search(r"Name: \.got .*?Address: 0x(\w+)", headers, re.S)
        if not match or not (table := self.section(".got")):
            return code
        start, result = int(match[1], 16), []
        for at, data, text in code:
            if match := re.search(r"\[rip \+ 0x([0-9a-f]+)\]", text):
                to = at + len(data) + int(match[1], 16)
                if 0 <= to - start < len(table):
                    if not (load := re.fullmatch(r"mov (r\w+), qword ptr \[rip.*", text)):
                        raise Unfit(f"{text} uses a table of addresses")
                    to = int.from_bytes(table[to - start:][:8], "little") - at - len(data)
                    text = f"lea {load[1]}, [rip + {to:#x}]"
            result.append((at, data, text))
        return result

    def read_functions(self):
        """Returns the names of functions by address, and finds the tables."""
        names, self.symbols = {}, {}
        for line in self.tool("llvm-nm", "--defined-only", "-C", self.file).splitlines():
            address, kind, name = line.split(maxsplit=2)
            if kind in "tT":
                names.setdefault(int(address, 16), name)
            self.symbols[name] = int(address, 16)
        return names

    def read_table(self):
        """Reads for each backend its name and, for each variant, a dictionary."""
        size = 8 * (4 + len(KERNELS))
        headers = self.tool("llvm-readobj", "--sections", self.file)
        address = {name: int(at, 16) for name, at in
                   re.findall(r"Name: (\.\w+) .*?Address: 0x(\w+)", headers, re.S)}
        self.constants, table = self.section(".rodata"), self.section(".table")
        self.start = address[".rodata"]
        work = self.symbols["PALLADION_WORK"] - self.start
        self.work = self.constants[work:work + 3]
        at = self.symbols["PALLADION_KERNELS"] - address[".table"]
        self.table = []
        symbol = re.search(r"Name: PALLADION_KERNELS.*?Size: (\d+)",
                           self.tool("llvm-readobj", "--symbols", self.file), re.S)
        for row in range(int(symbol[1]) // size):
            name, name_len, longest, _, *kernels = struct.unpack_from(
                f"<{size // 8}Q", table, at + row * size)
            name = self.constants[name - self.start:][:name_len].decode()
            slot = dict(longest=longest, **dict(zip(KERNELS, kernels)))
            if row % len(VARIANTS) == 0:
                self.table.append((name, []))
            self.table[-1][1].append(slot)

    def body(self, at):
        """Returns the instructions of a function, and its name: without the function that only
        loads arguments and jumps to it."""
        code, position = [], self.positions[at]
        while True:
            at, data, text = self.instructions[position]
            match = self.cpu.jump.fullmatch(text)
            if match and match[1] in ("jmp", "b") and (to := int(match[2], 16)) in self.functions:
                break
            code.append((at, data, text))
            if text == "ret":
                return code, "", ""
            position += 1
        arguments, name, end = code, self.functions[to], self.positions[to]
        while True:
            end += 1
            if end == len(self.instructions) or self.instructions[end][0] in self.functions:
                break
        return arguments, self.instructions[self.positions[to]:end], name

    def kernels(self):
        """Returns the kernels, and for each variant the rows of its table."""
        slots = []
        for number, (backend, variants) in enumerate(self.table):
            general = dict(self.table[number + 1:]).get(backend)
            zen = general is not None
            for variant, slot, other in zip(VARIANTS, variants, general or variants):
                if own := ZEN.get((backend, variant)) if zen else KERNELS:
                    slot |= {name: other[name] for name in KERNELS if name not in own}
                    slots.append((backend, zen, variant, slot))
        found, names = {}, {}
        for backend, zen, variant, slot in sorted(slots, key=lambda slot: slot[1]):
            for operation in KERNELS:
                if not slot[operation]:
                    continue
                arguments, body, rust = self.body(slot[operation])
                key = (tuple(text for _, _, text in arguments), body[0][0])
                prefix = BACKENDS[backend] + ("Zen" if zen else "")
                name = prefix + operation[0].upper() + operation[1:]
                if key not in found:
                    found[key] = (arguments, body, rust)
                    names[key] = (name, [])
                names[key][1].append(variant)
                slot[operation] = key
        kernels, final = [], {}
        for key, (name, variants) in names.items():
            family = variants[0][:3]
            shared = len(set(variants)) > 1
            name += family + "All" if shared else variants[0]
            arguments, body, rust = found[key]
            body = [one for one in body if not self.is_padding_at_end(one, body)]
            code, locals_ = self.cpu.without_frame(name, list(body))
            kernels.append(Kernel(name, rust, list(arguments), code, locals_))
            final[key] = name
        used = [self.place(*one) for kernel in kernels for one in kernel.code]
        end = max(place for place in used if place is not None) + 64 # the widest vector
        self.constants = self.constants[:end + -end % 8]
        tables = {variant: [] for variant in VARIANTS}
        for backend, zen, variant, slot in slots:
            row = {operation: final[slot[operation]] for operation in KERNELS if slot[operation]}
            tables[variant].append((backend, zen, min(slot["longest"], 1 << 30), row))
        return kernels, tables

    def is_padding_at_end(self, one, body):
        last = max(at for at, _, text in body if not self.cpu.padding.match(text))
        return one[0] > last

    def place(self, at, data, text):
        """Returns which constant an instruction uses."""
        if match := re.search(r"\[rip ([+-]) 0x([0-9a-f]+)\]", text):
            offset = int(match[2], 16) * (-1 if match[1] == "-" else 1)
            return at + len(data) + offset - self.start
        if match := re.match(r"adr \w+, 0x([0-9a-f]+)|adr \w+, #(-?\w+)", text):
            return (int(match[1], 16) if match[1] else at + int(match[2], 0)) - self.start
        return None

    def text(self, kernel):
        """Returns the lines of a kernel."""
        cpu, code = self.cpu, kernel.code
        targets = {kernel.target(int(match[2], 16))
                   for _, _, text in code if (match := cpu.jump.fullmatch(text))}
        labels = {at: f"l{number}" for number, at in enumerate(sorted(targets))}
        result = kernel.name.lower().find("open") >= 0
        frame = kernel.locals + (cpu.first_local - 8 if kernel.locals and cpu.first_local else 0)
        yield "// " + re.sub(r"\w+::(?=\w)", "", kernel.rust)
        yield f"TEXT ·{kernel.name}(SB), 0, ${frame}-{9 if result else 8}"
        yield "\t" + cpu.argument
        last, pending = code[-1][0], False
        for at, data, text in code:
            if cpu.padding.match(text):
                pending = True
                if at in labels:
                    yield f"{labels[at]}:"
                continue
            if pending and cpu.align and at in labels:
                yield "\t" + cpu.align
            pending = False
            if at in labels:
                yield f"{labels[at]}:"
            if text == "ret":
                if at != last:
                    yield "\tJMP done"
                continue
            if match := cpu.jump.fullmatch(text):
                label = labels[kernel.target(int(match[2], 16))]
                yield f"\t{cpu.branch(match[1])} {label}"
                continue
            go = cpu.mnemonic(text, self.place(at, data, text))
            if not go and re.search(r"\br?sp\b|\brip\b|^adr", text):
                raise Unfit(f"{kernel.name}: {text} has no mnemonic")
            yield "\t" + (go or self.directives(data) + " // " + text)
        if any(text == "ret" and at != last for at, _, text in code):
            yield "done:"
        if code[-1][2] != "ret" and not any(text == "ret" for _, _, text in code):
            raise Unfit(f"{kernel.name} does not return")
        if result:
            yield "\t" + cpu.result
        if any(re.search(r"\bx30\b", text) for _, _, text in code):
            yield "\tMOVD (RSP), R30" # which Go's assembler restores only after calls
        if kernel.locals:
            yield from ("\t" + line for line in cpu.wipe(kernel.locals))
        yield "\tRET"
        yield ""

    def directives(self, code):
        """Returns directives of Go's assembler for bytes."""
        words = []
        while code:
            size, name = next(piece for piece in self.cpu.pieces if piece[0] <= len(code))
            words.append(f"{name} $0x{int.from_bytes(code[:size], 'little'):0{2 * size}x}")
            code = code[size:]
        return "; ".join(words)

    def assembly(self, kernels):
        """Returns the text of the `.s` file."""
        lines = [f"// Code generated by generate.py from crates/palladion with Rust {RUST}. "
                 "DO NOT EDIT.", "", "//go:build !purego", "", '#include "textflag.h"', "",
                 self.cpu.macro, ""]
        for kernel in kernels:
            lines += self.text(kernel)
        data = self.constants
        for at in range(0, len(data), 8):
            word = int.from_bytes(data[at:at + 8], "little")
            if word:
                lines.append(f"DATA ·constants<>+{at}(SB)/8, $0x{word:016x}")
        lines.append(f"GLOBL ·constants<>(SB), RODATA|NOPTR, ${len(data)}")
        return "\n".join(lines) + "\n"

    def go(self, kernels, tables):
        """Returns the text of the file with the tables."""
        lines = [f"// Code generated by generate.py from crates/palladion with Rust {RUST}. "
                 "DO NOT EDIT.", "", "//go:build !purego", "", "package aegis", "",
                 "// What advance does.", "const ("]
        for name, value in zip(["absorb", "encrypt", "decrypt"], self.work):
            lines.append(f"\t{name:7} = {value}")
        lines += [")", ""]
        for kernel in kernels:
            lower = kernel.name.lower()
            kind = "call *message" if "open" in lower or "seal" in lower else "call *arguments"
            result = " bool" if "open" in lower else ""
            lines += ["//go:noescape", f"func {kernel.name}({kind}){result}", ""]
        for variant, rows in tables.items():
            lines += [f"var kernels{variant} = []kernels{{"]
            for backend, zen, longest, row in rows:
                fields = [f'backend: "{backend}"'] + (["zen: true"] if zen else [])
                fields += [f"longest: {longest}"] if longest else []
                lines.append(f"\t{{{', '.join(fields)},")
                for group in KERNELS[:2], KERNELS[2:]:
                    if group[0] in row:
                        fields = [f"{name}: {row[name]}," for name in group if name in row]
                        lines.append("\t\t" + " ".join(fields))
                lines[-1] = lines[-1][:-1] + "},"
            lines += ["}", ""]
        for variant in "128L", "256":
            *_, (_, zen, _, row) = tables[variant]
            lines += [f"// lane{variant[:3]} are kernels for one lane, with the standard's state.",
                      f"var lane{variant[:3]} = kernels{{",
                      f"\tadvance: {row['advance']}, finalize: {row['finalize']},", "}", ""]
        return "\n".join(lines[:-1]) + "\n"


def main():
    check = sys.argv[1:] == ["--check"]
    wrong = []
    for cpu in X86, Arm:
        code = Code(cpu)
        kernels, tables = code.kernels()
        files = {f"kernels_{cpu.go}.s": code.assembly(kernels),
                 f"kernels_{cpu.go}.go": code.go(kernels, tables)}
        for name, text in files.items():
            path = HERE / name
            if check and (not path.exists() or path.read_text() != text):
                wrong.append(name)
            elif not check:
                path.write_text(text)
        print(f"{cpu.go}: {len(kernels)} kernels, {files[f'kernels_{cpu.go}.s'].count(chr(10))} "
              "lines")
    if wrong:
        fail(f"not what it would write: {', '.join(wrong)}")


if __name__ == "__main__":
    try:
        main()
    except Unfit as error:
        fail(error)
