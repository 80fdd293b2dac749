#!/usr/bin/env python3
"""Fails if modules of a crate import each other in a circle, and names the circle.

    check-layers.py [SRC...]        the crates around the core, by default those in CRATES
    check-layers.py --floors SRC    the core: a module of FLOORS may import only from floors below

A module is a top-level file or folder of SRC; the files of the folders in SPLIT count one by one.
Tests do not count. An import through the crate root counts as one from the module that lib.rs
re-exports it from.
"""
import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

CRATES = ["crates/palladion-cli/src", "crates/palladion-file/src", "crates/palladion-raf/src",
          "bindings/python/src"]
# From the bottom up. All other modules are above these.
FLOORS = ["memory", "block", "machine", "soft", "driver", "arch", "dispatch"]
SPLIT = {"raf"}
ROOT = "the crate root"

COMMENT_OR_STRING = re.compile(
    r"""//[^\n]*|/\*.*?\*/|r(\#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.[^']*|[^'\\])'""", re.S)
TEST = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]")
USE = re.compile(r"(\bpub\s*(?:\([^)]*\)\s*)?)?\buse\s+([^;]+);")
PATH = re.compile(r"(?<![\w:])\w+(?:::\w+)+")


def item_end(text, start):
    """Where the item that begins at `start` ends: at its semicolon or its closing brace."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth < 0 or depth == 0 and text[at] in ";}":
            return at
    return len(text)


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def leaves(tree):
    """The paths of a use tree, each with the name that it gets."""
    prefix, brace, rest = tree.partition("{")
    if not brace:
        path, _, name = (word.strip() for word in tree.partition(" as "))
        return [(path.removesuffix("::self").split("::"), name or path.split("::")[-1])]
    depth, branches = 0, [""]
    for char in rest[:rest.rindex("}")]:
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            branches.append("")
        else:
            branches[-1] += char
    return [leaf for branch in branches if branch.strip()
            for leaf in leaves(prefix.strip() + branch.strip())]


def read(src):
    """The text of each module, without comments, strings and tests. A module's name is a tuple; ()
    is the crate root."""
    texts, tests = {}, []
    for file in sorted(src.rglob("*.rs")):
        module = file.relative_to(src).with_suffix("").parts
        module = module[:-1] if module[-1] in ("mod", "lib", "main") else module
        text = COMMENT_OR_STRING.sub(blank, file.read_text())
        while test := TEST.search(text):
            end = item_end(text, test.end()) + 1
            inside = re.findall(r"\bmod\s+(\w+)\s*;", text[test.end():end])
            tests += [(*module, name) for name in inside]
            text = text[:test.start()] + re.sub(r"[^\n]", " ", text[test.start():end]) + text[end:]
        texts[module] = (file, text)
    return {module: text for module, text in texts.items()
            if not any(module[:len(test)] == test for test in tests)}


def imports(src):
    """For each top-level module, the others that it imports, and where."""
    modules, root_names, paths = read(src), {}, []

    def resolve(scope, path):
        if path[0] == "crate":
            scope, path = (), path[1:]
        while path[:1] in (["super"], ["self"]):
            scope, path = scope[:-1] if path[0] == "super" else scope, path[1:]
        while path and (*scope, path[0]) in modules:
            scope, path = (*scope, path[0]), path[1:]
        return scope if scope or not path else root_names.get(path[0], ())

    for module, (file, text) in sorted(modules.items()):  # the crate root comes first
        macros = re.findall(r"#\[macro_export\]\s*macro_rules!\s*(\w+)", text)
        root_names |= dict.fromkeys(macros, module)
        inline = [(match.start(), item_end(text, match.start()), match[1])
                  for match in re.finditer(r"\bmod\s+(\w+)\s*{", text)]
        found = [(match.start(), match[0].split("::"))
                 for match in PATH.finditer(USE.sub(blank, text))]
        for use in USE.finditer(text):
            for path, name in leaves(use[2]):
                if not module and use[1]:
                    root_names[name] = resolve((), path)
                else:
                    found.append((use.start(), path))
        for at, path in found:
            scope = (*module, *(name for start, end, name in inline if start < at < end))
            if path[0] in ("crate", "super", "self") or (*module, path[0]) in modules:
                paths.append((module, scope, path, f"{file}:{text.count(chr(10), 0, at) + 1}"))

    def top(module):
        return "::".join(module[:2] if module[0] in SPLIT else module[:1]) if module else ROOT

    edges = {top(module): {} for module in modules}
    for module, scope, path, where in paths:
        if top(module) != (to := top(resolve(scope, path))):
            edges[top(module)].setdefault(to, where)
    return edges


def check(src, floors):
    edges = imports(Path(src))
    floor = {module: floors.index(module) if module in floors else len(floors) for module in edges}
    wrong = [f"{where}: {module} imports {to}, which is not on a floor below it"
             for module, uses in edges.items() for to, where in uses.items()
             if floor[module] <= floor[to] and module in floors]
    try:
        TopologicalSorter({module: uses for module, uses in edges.items()
                           if not floors or module != ROOT}).prepare()
    except CycleError as error:
        circle = error.args[1][::-1]
        wrong.append(f"{src}: a circle: {' -> '.join(circle)}")
        wrong += [f"  {edges[module][to]}: {module} imports {to}"
                  for module, to in zip(circle, circle[1:])]
    print(*(wrong or [f"{src}: {len(edges)} modules, no circle"]), sep="\n")
    return not wrong


arguments = sys.argv[1:]
floors = FLOORS if arguments[:1] == ["--floors"] else []
sys.exit(not all([check(src, floors) for src in arguments[bool(floors):] or CRATES]))
