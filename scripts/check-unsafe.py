#!/usr/bin/env python3
"""Counts the unsafe code in the Rust of this repository, and checks that it is where it may be.

    scripts/check-unsafe.py

Prints a table, one line for each file, and fails if

  - there is unsafe code in a file that is not in the list below, or a file of the list has none (any more);
  - a block, or an implementation, has no SAFETY comment. (Clippy denies such blocks where it compiles the code; here those for
    other CPUs and systems, and the programs outside the workspace, are looked at too);
  - the root of a crate lacks `#![forbid(unsafe_code)]`, or, where modules of it are in the list, `#![deny(unsafe_code)]`.

Counted are words of the program: none in comments, strings and characters. At the end it plants defects in copies, in memory, and
fails if one of them is not found. Needs Python 3.8 and git; takes a few seconds. (cargo-geiger, the known tool, counts what one build
compiles and would not see the code for other CPUs.)
"""

import functools
import os
import re
import subprocess
import sys

# Where unsafe code may be, and why. A name that ends with `/` stands for the folder.
ALLOWED = {
    "crates/palladion/src/memory/": "buffers that may be the same",
    "crates/palladion/src/block/": "loads and stores of vectors",
    "crates/palladion/src/machine/": "loads and stores of states",
    "crates/palladion/src/soft/": "loads and stores of states in planes",
    "crates/palladion/src/arch/": "instructions that not every CPU has",
    "crates/palladion/src/driver/": "kernels, which trust their pointers and the CPU",
    "crates/palladion/src/dispatch/": "a pointer to the table in use",
    "crates/palladion/src/proof/": "runs the kernels on memory of its own",
    "crates/palladion/src/hazmat.rs": "functions over pointers, for bindings",
    "crates/palladion/benches/sbox.rs": "calls an instruction that it has looked for",
    "crates/palladion/tests/common/fenced.rs": "memory with pages around it that cannot be touched",
    "crates/palladion/tests/all/bounds.rs": "reads a byte too many, for AddressSanitizer to find",
    "fuzz/fuzz_targets/capi.rs": "calls the C interface",
    "fuzz/fuzz_targets/craf.rs": "calls the C interface, and is called by it",
    "crates/palladion-capi/src/memory.rs": "C's pointers: buffers and states",
    "crates/palladion-capi/src/aead.rs": "takes C's pointers",
    "crates/palladion-capi/src/mac.rs": "takes C's pointers",
    "crates/palladion-capi/src/raf.rs": "C's callbacks and memory",
    "crates/palladion-capi/src/extra.rs": "takes C's pointers",
    "crates/palladion-capi/src/batch.rs": "C's arrays of messages",
    "crates/palladion-capi/src/exports.rs": "names that C links to",
    "crates/palladion-capi/src/number.rs": "C's error number on Windows",
    "crates/palladion-bench/src/subjects/foreign.rs": "libraries that are loaded",
    "crates/palladion-bench/src/subjects/aegis.rs": "calls one of them",
    "crates/palladion-bench/src/subjects/openssl.rs": "calls one of them",
    "crates/palladion-bench/peer-aegis/src/": "is such a library, and calls libaegis's C functions",
    "firmware/count/src/cortex_m.rs": "the emulator's calls on a machine without a system",
    "crates/palladion-assurance/src/bin/wiping/watch.rs": "looks at the stack and at what was dropped",
    "bindings/python/src/buffer.rs": "Python's buffer protocol",
    "bindings/python/src/cipher.rs": "a message in one call, over Python's buffers",
    "bindings/python/src/column.rs": "new bytes objects, filled before anybody sees them",
    "bindings/python/src/pieces.rs": "output into a buffer of Python's",
    "bindings/js/src/lib.rs": "a name that JavaScript links to",
    "bindings/js/src/memory.rs": "the memory shared with JavaScript",
    "bindings/js/src/cipher.rs": "functions that JavaScript calls",
    "bindings/js/src/pieces.rs": "functions that JavaScript calls",
    "bindings/js/src/file.rs": "functions that JavaScript calls",
    "firmware/board/src/lib.rs": "a call of the emulator",
    "firmware/board/src/bin/stack.rs": "paints the stack, and looks how far down it was used",
    "firmware/one-shot/src/main.rs": "names for the linker",
}

KINDS = ["block", "fn", "impl", "trait", "extern", "attribute", "type"]

TOKEN = re.compile(
    r"""
      (?P<comment>//[^\n]*)
    | (?P<nested>/\*)
    | (?P<raw>\b(?:b|c)?r(?P<hashes>\#*)"(?:.|\n)*?"(?P=hashes))
    | (?P<string>(?:\b[bc])?"(?:[^"\\]|\\(?:.|\n))*")
    | (?P<char>(?:\bb)?'(?:[^'\\\n]|\\(?:u\{[0-9a-fA-F_]*\}|x[0-9a-fA-F]{2}|.))')
    | (?P<lifetime>'[^\W\d]\w*)
    | (?P<word>(?:r\#)?\w+)
    | (?P<space>\s+)
    | (?P<mark>.)
    """,
    re.VERBOSE,
)


def tokens(text):
    """Pairs of kind and text, without space: words, marks, strings ("s"), comments ("c")."""
    at = 0
    while at < len(text):
        m = TOKEN.match(text, at)
        kind = m.lastgroup if m.lastgroup != "hashes" else "raw"
        end = m.end()
        if kind == "nested":
            depth = 0
            for edge in re.finditer(r"/\*|\*/", text[at:]):
                depth += 1 if edge.group() == "/*" else -1
                if depth == 0:
                    end = at + edge.end()
                    break
            else:
                raise ValueError("a comment without an end")
            kind = "comment"
        if kind == "comment":
            yield "c", text[at:end], at
        elif kind in ("raw", "string", "char"):
            yield "s", '""', at
        elif kind != "space":
            yield kind, text[at:end], at
        at = end


@functools.lru_cache(maxsize=None)  # what is planted changes one file of many
def unsafe_code(text):
    """For each use of the word `unsafe`: its kind, its line, and whether a SAFETY comment explains it."""
    return list(each_unsafe(text))


def each_unsafe(text):
    all_tokens = list(tokens(text))
    code = [i for i, token in enumerate(all_tokens) if token[0] != "c"]
    for n, i in enumerate(code):
        kind, word, at = all_tokens[i]
        if (kind, word) != ("word", "unsafe"):
            continue
        following = [all_tokens[j][1] for j in code[n + 1 : n + 5]]
        after_extern = following[1:] if following[0] == "extern" else following
        if after_extern[0] == '""' and following[0] == "extern":
            after_extern = after_extern[1:]
        if following[0] == "{":
            found = "block"
        elif after_extern[0] == "fn":
            found = "type" if after_extern[1] == "(" else "fn"
        elif following[0] == "extern" and after_extern[0] == "{":
            found = "extern"
        elif following[0] in ("impl", "trait"):
            found = following[0]
        elif following[0] == "(":
            found = "attribute"
        else:
            found = "unknown: unsafe " + " ".join(following)
        # Looks back to where the statement begins, or the field or the arm of a match that it is
        # in: a comment may stand above that, or in it, or in any case on the line before. (A comma
        # ends the search if it is not one between arguments.)
        explained, uncertain, past_comma, depth = False, False, False, 0
        for j in range(i - 1, -1, -1):
            kind, word, place = all_tokens[j]
            line_ends = text.count("\n", place, at)
            if kind == "c":
                if "SAFETY:" in word:
                    explained = explained or line_ends <= 1 + word.count("\n")
                    explained, uncertain = explained or not past_comma, True
            elif word in (")", "]"):
                depth += 1
            elif word in ("(", "["):
                if depth:
                    depth -= 1
                else:
                    explained, past_comma = explained or uncertain, False
            elif depth == 0 and word == ",":
                past_comma = True
            elif depth == 0 and (word == ";" or word in ("{", "}") and line_ends > 0):
                break
        yield found, text.count("\n", 0, at) + 1, explained


def allowed(path, places):
    return any(path == place or (place.endswith("/") and path.startswith(place)) for place in places)


def is_root(path):
    return re.search(r"(^|/)src/(lib|main)\.rs$|(^|/)src/bin/[^/]*\.rs$", path)


@functools.lru_cache(maxsize=None)
def inner_attributes(text):
    """The attributes `#![...]` of a file, without space."""
    return re.findall(r"#!\[([^\]]*)\]", "".join(word for kind, word, _ in tokens(text) if kind != "c"))


def check(files, places):
    """The table's lines (path, counts), and the problems, of a dictionary from path to text."""
    table, problems = [], []
    for path, text in sorted(files.items()):
        counts = dict.fromkeys(KINDS, 0)
        for kind, line, explained in unsafe_code(text):
            if kind not in counts:
                problems.append(f"{path}:{line}: {kind}")
                continue
            counts[kind] += 1
            if not allowed(path, places):
                problems.append(f"{path}:{line}: unsafe {kind} where there may be none")
            if kind in ("block", "impl") and not explained:
                problems.append(f"{path}:{line}: unsafe {kind} without a SAFETY comment")
        if any(counts.values()):
            table.append((path, counts))
        if is_root(path) and not allowed(path, places):
            below = any(p.startswith(os.path.dirname(path) + "/") and allowed(p, places) for p in files)
            wanted = "deny(unsafe_code)" if below and "/bin/" not in path else "forbid(unsafe_code)"
            if wanted not in inner_attributes(text):
                problems.append(f"{path}: lacks #![{wanted}]")
    for place in places:
        if not any(path == place or path.startswith(place) and place.endswith("/") for path, _ in table):
            problems.append(f"{place}: in the list, but it has no unsafe code")
    return table, problems


def show(table):
    width = max(len(path) for path, _ in table)
    print(f"{'file':{width}}" + "".join(f"{kind:>11}" for kind in KINDS))
    total = dict.fromkeys(KINDS, 0)
    groups = {}
    for path, counts in table:
        print(f"{path:{width}}" + "".join(f"{counts[kind] or '':>11}" for kind in KINDS))
        group = groups.setdefault(path.split("/src/")[0].split("/tests/")[0].split("/benches/")[0], dict.fromkeys(KINDS, 0))
        for kind in KINDS:
            total[kind] += counts[kind]
            group[kind] += counts[kind]
    print()
    for group, counts in [*groups.items(), ("total", total)]:
        print(f"{group:{width}}" + "".join(f"{counts[kind] or '':>11}" for kind in KINDS))


def plant(files):
    """Fails if a planted defect is not found, or something is found where there is none."""
    safe, root, denying = "crates/palladion/src/cipher.rs", "crates/palladion-file/src/lib.rs", "crates/palladion/src/lib.rs"
    low = "crates/palladion/src/memory/inout.rs"

    def problems(changes, places=ALLOWED):
        return check({**files, **changes}, places)[1]

    block = "\nfn planted(p: &u8) -> u8 { /* SAFETY: a reference. */ unsafe { *(p as *const u8) } }\n"
    bare = block.replace("SAFETY:", "fine:")
    listed_file = next(place for place in ALLOWED if not place.endswith("/"))
    defects = {
        "a block in a safe file": {safe: files[safe] + block},
        "a function in a safe file": {safe: files[safe] + "unsafe fn planted() {}"},
        "an implementation in a safe file": {safe: files[safe] + "// SAFETY: none.\nunsafe impl Send for Planted {}"},
        "a name for the linker in a safe file": {safe: files[safe] + "#[unsafe(no_mangle)] fn planted() {}"},
        "a block after a lifetime that looks like a character": {safe: "fn f<'a>(c: &'a u8) { g('\\'', '\"', b'\\''); unsafe { } }"},
        "a block after a raw string": {safe: 'const A: &str = r#"\\"#; fn f() { unsafe { } }'},
        "a block after nested comments": {safe: "/* /* */ unsafe */ fn f() { unsafe { } }"},
        "a block without a comment": {low: files[low] + bare},
        "a comment of an earlier statement": {low: files[low] + "fn f() { // SAFETY: of another.\n g();\n unsafe { } }"},
        "a root without forbid": {root: files[root].replace("#![forbid(unsafe_code)]", "// #![forbid(unsafe_code)]")},
        "a root without deny": {denying: files[denying].replace("#![deny(unsafe_code)]", "")},
        "a file of the list without unsafe code": {listed_file: ""},
    }
    clean = {
        "comments": '// unsafe { }\n/* unsafe { /* unsafe fn */ unsafe { } */',
        "strings": 'const A: &[&str] = &["unsafe { \\" unsafe {", r#"unsafe " {"#, r"unsafe {\\"]; const B: &[u8] = b"unsafe {";',
        "words": "fn unsafe_not() {} fn r#unsafe() {} // not the keyword",
    }
    failed = [f"not found: {name}" for name, changes in defects.items() if not problems(changes)]
    failed += [f"found in {name}: {p}" for name, text in clean.items() for p in problems({safe: files[safe] + text})]
    for place in ALLOWED:
        if not problems({}, {p: why for p, why in ALLOWED.items() if p != place}):
            failed.append(f"nothing is found without {place} in the list")
    if failed:
        sys.exit("\n".join(failed))
    print(f"\nplanted: {len(defects)} defects and {len(ALLOWED)} gaps in the list, all found; none found in {', '.join(clean)}")


def main():
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    if sys.argv[1:]:
        sys.exit(__doc__)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.rs"], check=True, capture_output=True, text=True
    ).stdout.split("\0")
    files = {path: open(path, encoding="utf-8").read() for path in listed if path and os.path.exists(path)}
    table, problems = check(files, ALLOWED)
    show(table)
    if problems:
        sys.exit("\n" + "\n".join(problems))
    plant(files)


if __name__ == "__main__":
    main()
