#!/usr/bin/env python3
"""Makes Go's assembly of the kernels in crates/palladion.

    generate.py            writes kernels_amd64.s, kernels_arm64.s and the tables beside them
    generate.py --check    fails if they are not what it would write

The crate is compiled with `--cfg palladion_kernels`, which makes a table of kernels
(src/dispatch/exported.rs). All that the table reaches is linked at address 0 into one piece of code
with its constants, which needs no relocation and so can stand anywhere. Each instruction becomes
data for Go's assembler, with its mnemonic as a comment.

Needs the version of Rust below with the component llvm-tools and the standard library for both
targets: rustup toolchain install 1.95.0 -c llvm-tools -t aarch64-unknown-linux-gnu
"""
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

RUST = "1.95.0" # another one makes other code
HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")).resolve() / "go"

VARIANTS = ["AEGIS-128L", "AEGIS-128X2", "AEGIS-128X4", "AEGIS-256", "AEGIS-256X2", "AEGIS-256X4"]
KERNELS = ["seal", "open", "init", "absorb", "encrypt", "decrypt", "finalize", "finalizeMAC"]
SCRIPT = """
SECTIONS {
    .text BASE : { *(.text .text.*) }
    .rodata : ALIGN(64) { *(.rodata .rodata.*) }
    .table : { *(.data.rel.ro .data.rel.ro.*) }
    .got : { *(.got .got.*) }
    ASSERT(SIZEOF(.got) == 0, "addresses in tables")
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


class X86:
    """What is particular to amd64."""
    go, target, options = "amd64", "x86_64-unknown-linux-gnu", ["-Cno-redzone=yes", "-Zplt=yes"]
    pieces = [(8, "QUAD"), (4, "LONG"), (2, "WORD"), (1, "BYTE")]
    call = re.compile(r"call\s+0x([0-9a-f]+)")
    jump = re.compile(r"j[a-z]+\s+0x([0-9a-f]+)")
    end = re.compile(r"ret|jmp|ud2|int3")
    disassemble = ["-M", "intel"]
    stub = """
// The kernel's stack is the frame of this function, which Go's prologue has made sure of.
TEXT ·call(SB), 0, $FRAME-25
	MOVQ kernel+0(FP), AX
	MOVQ stack+8(FP), R12
	MOVQ argument+16(FP), DI
	LEAQ ·kernels<>(SB), CX
	ADDQ CX, AX
	MOVQ SP, BX
	LEAQ FRAME(SP), R13
	ANDQ $~15, R13
	MOVQ R13, SP
	CALL AX
	MOVQ BX, SP
	MOVB AX, ret+24(FP)
	XORPS X0, X0
	NEGQ R12
wipe:
	MOVUPS X0, (R13)(R12*1)
	MOVUPS X0, 16(R13)(R12*1)
	ADDQ $32, R12
	JNE wipe
	RET
"""

    @staticmethod
    def frame(text):
        """Returns by how much an instruction moves the stack pointer down, at most. Fails where
        this cannot be told, and at accesses below the stack pointer."""
        if text.startswith("push"):
            return 8
        if match := re.fullmatch(r"(?:sub\s+rsp, |add\s+rsp, -)(\w+)", text):
            return int(match[1], 0)
        written = re.match(r"(?!cmp|test)\w+\s+[re]?sp\b|leave|enter", text)
        if ((written and not re.match(r"(add\s+rsp, |sub\s+rsp, -)", text))
                or re.search(r"\[rsp( - | \+ [a-z])", text)):
            raise Unfit(f"cannot follow the stack pointer: {text}")
        return 0

    @staticmethod
    def check(name, texts):
        """Checks a function for what Go forbids."""
        if any(re.search(r"\b[yz]mm\d", text) for text in texts):
            if texts.count("vzeroupper") < texts.count("ret"):
                raise Unfit(f"{name}: no VZEROUPPER before RET")
        for text in texts:
            if re.match(r"syscall|(call|jmp) [qr]", text):
                raise Unfit(f"{name}: {text}")


class Arm:
    """What is particular to arm64."""
    # Go's signal handlers expect `g` in R28; R18 belongs to the operating system. Addresses are
    # relative to instructions, not to pages.
    go, target = "arm64", "aarch64-unknown-linux-gnu"
    options = ["-Ccode-model=tiny", "-Zfixed-x18", "-Cunsafe-allow-abi-mismatch=fixed-x18",
               "-Ctarget-feature=+reserve-x28"]
    pieces = [(4, "WORD")]
    stub = """
// The kernel's stack is the frame of this function, which Go's prologue has made sure of.
TEXT ·call(SB), 0, $FRAME-25
	MOVD kernel+0(FP), R9
	MOVD stack+8(FP), R20
	MOVD argument+16(FP), R0
	MOVD $·kernels<>(SB), R10
	ADD R10, R9
	MOVD RSP, R19
	ADD $FRAME, R19, R21
	MOVD R21, RSP
	CALL (R9)
	MOVD R19, RSP
	MOVB R0, ret+24(FP)
	SUB R20, R21
wipe:
	STP.P (ZR, ZR), 16(R21)
	STP.P (ZR, ZR), 16(R21)
	SUBS $32, R20
	BNE wipe
	RET
"""
    call = re.compile(r"bl\s+0x([0-9a-f]+)")
    jump = re.compile(r"(?:b|b\.\w+|cbn?z\s+\w+,|tbn?z\s+\w+, #\w+,)\s+0x([0-9a-f]+)")
    end = re.compile(r"ret|b\s|brk|udf")
    disassemble = []

    @staticmethod
    def frame(text):
        if match := re.search(r"\[sp, #-(\w+)\]!", text):
            return int(match[1], 0)
        if match := re.fullmatch(r"sub\s+sp, sp, #(\w+)", text):
            return int(match[1], 0)
        written = re.match(r"(?!st|cmp|cmn)\w+\s+sp\b", text)
        if (written and not re.match(r"add\s+sp, sp, #|(mov|sub|add)\s+sp, x29", text)
                or re.search(r"\[sp, (#-|[wx])", text)):
            raise Unfit(f"cannot follow the stack pointer: {text}")
        return 0

    @staticmethod
    def check(name, texts):
        for text in texts:
            if re.search(r"\b[wx](18|28)\b", text) or re.match(r"svc|blr|br\b|adrp", text):
                raise Unfit(f"{name}: {text}")


class Code:
    """The linked kernels of one CPU."""

    def __init__(self, cpu):
        self.cpu = cpu
        tools = Path(run("rustc", f"+{RUST}", "--print", "sysroot", text=True).strip())
        self.tools = tools / "lib/rustlib/x86_64-unknown-linux-gnu/bin"
        if not (self.tools / "llvm-objdump").exists():
            fail(f"Rust {RUST} lacks the component llvm-tools")
        self.link()
        self.instructions = self.read_instructions()
        self.functions = self.read_functions()
        self.table = self.read_table()

    def tool(self, name, *arguments, text=True):
        return run(self.tools / name, *arguments, text=text)

    def link(self):
        cpu, flags = self.cpu, ["--cfg=palladion_kernels", *self.cpu.options]
        # Paths would end up in names of symbols.
        flags.append(f"--remap-path-prefix={REPOSITORY}=.")
        environment = dict(os.environ, CARGO_ENCODED_RUSTFLAGS="\x1f".join(flags),
                           CARGO_PROFILE_RELEASE_LTO="off", RUSTC_BOOTSTRAP="1")
        run("cargo", f"+{RUST}", "rustc", "--quiet", "--locked", "--release", "-p", "palladion",
            "--lib", "--no-default-features", "--target", cpu.target, "--target-dir", TARGET, "--",
            "--emit=obj", "-Ccodegen-units=1", "-Csymbol-mangling-version=v0", "-Cpanic=abort",
            "-Crelocation-model=pic", "-Zdefault-visibility=hidden", env=environment,
            cwd=REPOSITORY)
        built = (TARGET / cpu.target / "release/deps").glob("palladion-*.o")
        newest = max(built, key=lambda path: path.stat().st_mtime)
        script, self.file = TARGET / "kernels.ld", TARGET / f"{cpu.go}.elf"
        pieces = []
        for base in "0x7654310040", "0": # the second one stays
            script.write_text(SCRIPT.replace("BASE", base))
            self.tool("rust-lld", "-flavor", "gnu", "-static", "--gc-sections", "--icf=all",
                      "-ePALLADION_KERNELS", "-T", script, newest, "-o", self.file)
            pieces.append(self.section(".text") + self.section(".rodata"))
        if pieces[0] != pieces[1]:
            fail("the code depends on its address")

    def section(self, name):
        path = TARGET / "section"
        self.tool("llvm-objcopy", "-O", "binary", f"--only-section={name}", self.file, path)
        return path.read_bytes()

    def read_instructions(self):
        """Returns a list of (address, bytes, text)."""
        listing = self.tool("llvm-objdump", "-d", "-j.text", "--no-show-raw-insn",
                            *self.cpu.disassemble, self.file)
        code, result = self.section(".text"), []
        for line in listing.splitlines():
            if match := re.match(r" *([0-9a-f]+):\s+(.*)", line):
                text = re.sub(r"\s*(<.*>|// .*|# .*)$", "", match[2])
                result.append((int(match[1], 16), re.sub(r"\s+", " ", text)))
        ends = [at for at, _ in result[1:]] + [len(code)]
        return [(at, code[at:end], text) for (at, text), end in zip(result, ends)]

    def read_functions(self):
        """Returns the names of functions by address."""
        listing = self.tool("llvm-nm", "--defined-only", "-C", self.file)
        names = {}
        for line in listing.splitlines():
            address, kind, name = line.split(maxsplit=2)
            if kind in "tT":
                names.setdefault(int(address, 16), name)
            if name == "PALLADION_KERNELS":
                self.table_address = int(address, 16)
        return names

    def read_table(self):
        """Returns for each backend its name and, for each variant, a dictionary."""
        size = 8 * (4 + len(KERNELS))
        headers = self.tool("llvm-readobj", "--sections", self.file)
        address = {name: int(at, 16) for name, at in
                   re.findall(r"Name: (\.\w+) .*?Address: 0x(\w+)", headers, re.S)}
        self.constants, table = self.section(".rodata"), self.section(".table")
        self.start = address[".rodata"]
        at = self.table_address - address[".table"]
        backends = {}
        symbol = re.search(r"Name: PALLADION_KERNELS.*?Size: (\d+)",
                           self.tool("llvm-readobj", "--symbols", self.file), re.S)
        for row in range(int(symbol[1]) // size):
            name, name_len, longest, spills, *kernels = struct.unpack_from(
                f"<{size // 8}Q", table, at + row * size)
            name = self.constants[name - self.start:][:name_len].decode()
            backends.setdefault(row // len(VARIANTS), (name, []))[1].append(
                dict(longest=longest, spills=spills, **dict(zip(KERNELS, kernels))))
        return list(backends.values())

    def frames(self):
        """Returns the number of bytes of stack that each function needs, with its return address
        and the functions that it calls or jumps to."""
        starts = sorted(self.functions)
        own, callees, texts, at = {}, {}, {}, None
        for address, _, text in self.instructions:
            if address in self.functions:
                at = address
                own[at], callees[at], texts[at] = 0, set(), []
            own[at] += self.cpu.frame(text)
            texts[at].append(text)
            for pattern in (self.cpu.call, self.cpu.jump):
                if not (match := pattern.match(text)):
                    continue
                if (to := int(match[1], 16)) in self.functions:
                    callees[at].add(to)
                elif pattern is self.cpu.call:
                    raise Unfit(f"{self.functions[at]} calls something else: {text}")
        for at in starts:
            self.cpu.check(self.functions[at], texts[at])

        def depth(at, above=()):
            if at in above:
                fail(f"{self.functions[at]} calls itself")
            deeper = [depth(to, (*above, at)) for to in callees[at] - {at}]
            return 8 + own[at] + max(deeper, default=0)
        return {at: -(-depth(at) // 32) * 32 for at in starts}

    def assembly(self, frame):
        """Returns the text of the `.s` file."""
        lines = [f"// Code generated by generate.py from crates/palladion with Rust {RUST}. "
                 "DO NOT EDIT.", "", "//go:build !purego", "", '#include "textflag.h"',
                 # 16 bytes for aligning, or for the link register.
                 self.cpu.stub.replace("FRAME", str(frame + 16)),
                 "TEXT ·kernels<>(SB), NOSPLIT|NOFRAME, $0-0", "\tPCALIGN $64"]
        for address, code, text in self.instructions:
            if address in self.functions:
                lines.append(f"\t// {address:#x} {self.functions[address]}")
            # Registers tell how wide an access to memory is.
            text = re.sub(r"[a-z]+ ptr (?=\[[^]]*\]$|.*mm)| (?=[-+*] )|(?<=[-+*]) ", "", text)
            lines.append(f"\t{self.directives(code)} // {text}")
        padding = self.start - len(self.section(".text"))
        lines.append("\t// constants")
        data = bytes(padding) + self.constants
        data += bytes(-len(data) % 8)
        width = self.cpu.pieces[0][0]
        for at in range(0, len(data), 4 * width):
            lines.append(f"\t{self.directives(data[at:at + 4 * width])}")
        return "\n".join(lines) + "\n"

    def directives(self, code):
        """Returns directives of Go's assembler for bytes."""
        words = []
        while code:
            size, name = next(piece for piece in self.cpu.pieces if piece[0] <= len(code))
            words.append(f"{name} $0x{int.from_bytes(code[:size], 'little'):0{2 * size}x}")
            code = code[size:]
        return "; ".join(words)

    def go(self, frames):
        """Returns the text of the file with the table."""
        largest = max(frames[at] for _, variants in self.table for kernels in variants
                      for name, at in kernels.items() if name in KERNELS and at)
        lines = [f"// Code generated by generate.py from crates/palladion with Rust {RUST}. "
                 "DO NOT EDIT.", "", "//go:build !purego", "", "package palladion", "",
                 "// compiled lists the backends, the fastest first.",
                 f"var compiled = [...]backend{{"]
        for number, (name, variants) in enumerate(self.table):
            zen = name in [other for other, _ in self.table[number + 1:]]
            lines.append(f'\t{{name: "{name}", zen: {str(zen).lower()}, kernels: [6]kernels{{')
            for kernels in variants:
                longest = min(kernels["longest"], 1 << 30)
                fields = [f"longest: {longest}"]
                fields += [f"{kernel}: kernel{{{kernels[kernel]:#x}, {frames[kernels[kernel]]}}}"
                           for kernel in KERNELS if kernels[kernel]]
                lines.append("\t\t{" + ", ".join(fields) + "},")
            lines.append("\t}},")
        return largest, "\n".join([*lines, "}", ""])


def check_the_checks():
    """Checks that what Go cannot call is found."""
    for cpu, text, frame in [
            (X86, "push rbx", 8), (X86, "sub rsp, 0x28", 40), (X86, "add rsp, -0x80", 128),
            (X86, "add rsp, 0x28", 0), (X86, "vmovdqa xmmword ptr [rsp + 0x10], xmm1", 0),
            (Arm, "stp x29, x30, [sp, #-0x60]!", 96), (Arm, "sub sp, sp, #0x40", 64),
            (Arm, "str q0, [sp, #0x40]", 0), (Arm, "ldp x29, x30, [sp], #0x60", 0)]:
        assert cpu.frame(text) == frame, text
    for cpu, text in [
            (X86, "mov qword ptr [rsp - 0x8], rax"), (X86, "mov byte ptr [rsp + rcx], al"),
            (X86, "and rsp, -0x40"), (X86, "mov rsp, rbp"), (X86, "pop rsp"), (X86, "leave"),
            (X86, "call rax"), (X86, "jmp qword ptr [rip + 0x20]"), (X86, "syscall"),
            (Arm, "str x0, [sp, #-0x8]"), (Arm, "mov sp, x9"), (Arm, "str x0, [sp, x1]"),
            (Arm, "mov x28, x0"), (Arm, "ldr w18, [x0]"), (Arm, "adrp x0, 0x1000"),
            (Arm, "blr x8")]:
        try:
            cpu.frame(text)
            cpu.check("", [text])
        except Unfit:
            continue
        fail(f"not found: {text}")
    try:
        X86.check("", ["vpxor ymm0, ymm0, ymm1", "ret"])
    except Unfit:
        return
    fail("a missing VZEROUPPER is not found")


def main():
    check_the_checks()
    check = sys.argv[1:] == ["--check"]
    wrong = []
    for cpu in X86, Arm:
        code = Code(cpu)
        frames = code.frames()
        largest, table = code.go(frames)
        files = {f"kernels_{cpu.go}.s": code.assembly(largest), f"kernels_{cpu.go}.go": table}
        for name, text in files.items():
            path = HERE / name
            if check and (not path.exists() or path.read_text() != text):
                wrong.append(name)
            elif not check:
                path.write_text(text)
        print(f"{cpu.go}: {len(code.instructions)} instructions, frames up to {largest} bytes")
    if wrong:
        fail(f"not what it would write: {', '.join(wrong)}")


if __name__ == "__main__":
    try:
        main()
    except Unfit as error:
        fail(error)
