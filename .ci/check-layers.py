#!/usr/bin/env python3
"""Fails if files of a crate import each other in a circle, and names the circle.

    check-layers.py [SRC...]        the crates around the core, by default those in CRATES
    check-layers.py --floors SRC    the core: a folder of FLOORS may import only from floors below

An import counts as one from the file that defines the name, even if another file re-exports it. A
re-export by the file of a folder (`mod.rs`, `lib.rs`) is no import. Tests do not count, nor do
macros that are in scope without an import.
"""
import re
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

CRATES = ["crates/palladion-bench/src", "crates/palladion-capi/src", "crates/palladion-cli/src",
          "crates/palladion-file/src", "crates/palladion-object-store/src",
          "crates/palladion-output/src", "crates/palladion-raf/src",
          "crates/palladion-recipients/src", "bindings/js/src", "bindings/python/src"]
# From the bottom up. All other modules are above these.
FLOORS = ["memory", "block", "machine", "soft", "driver", "arch", "dispatch", "interface"]

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
        path = path.removesuffix("::self").removeprefix("::").split("::")
        return [(path, name or path[-1])]
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
    """The file and the text of each module, without comments, strings and tests. A module's name is
    a tuple; () is the crate root."""
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
    """For each module, the others that it imports, and where."""
    modules, names, inner, found = read(src), {}, set(), []
    for module, (_, text) in modules.items():
        inline = [(match.start(), item_end(text, match.start()), match[1])
                  for match in re.finditer(r"\bmod\s+(\w+)\s*{", text)]
        inner |= {(module, name) for _, _, name in inline}
        is_folder = any(other[:-1] == module for other in modules if other)

        def scope(at):
            return (*module, *(name for start, end, name in inline if start < at < end))

        for name in re.findall(r"#\[macro_export\]\s*macro_rules!\s*(\w+)", text):
            names.setdefault(((), name), []).append((module, ["self", name]))
        for use in USE.finditer(text):
            for path, name in leaves(use[2]):
                names.setdefault((module, name), []).append((scope(use.start()), path))
                if not (is_folder and use[1]):
                    found.append((module, scope(use.start()), path, use.start()))
        found += [(module, scope(match.start()), match[0].split("::"), match.start())
                  for match in PATH.finditer(USE.sub(blank, text))]

    def defined_in(scope, path, seen=frozenset()):
        """The modules of this crate that define what the path leads to, unless that is a module.
        Conditional compilation can make them several."""
        relative = path[0] not in ("crate", "super", "self")
        scope, path = ((), path[1:]) if path[0] == "crate" else (scope, path)
        while path[:1] in (["super"], ["self"]):
            scope, path = scope[:-1] if path[0] == "super" else scope, path[1:]
        while scope not in modules:
            scope = scope[:-1]
        while path and (*scope, path[0]) in modules:
            scope, path, relative = (*scope, path[0]), path[1:], False
        if not path or relative and (scope, path[0]) not in names.keys() | inner:
            return set()
        first = (scope, path[0])
        if first in seen or first not in names:
            return {scope}
        return set().union(*(defined_in(to, [*start, *path[1:]], seen | {first})
                             for to, start in names[first]))

    edges = {module: {} for module in modules}
    for module, scope, path, at in found:
        for to in defined_in(scope, path) - {module}:
            file, text = modules[module]
            edges[module].setdefault(to, f"{file}:{text.count(chr(10), 0, at) + 1}")
    return edges


def check(src, floors):
    edges = imports(Path(src))
    floor = {module: floors.index(module[0]) if module and module[0] in floors else len(floors)
             for module in edges}
    name = {module: "::".join(("crate", *module)) for module in edges}
    wrong = [f"{where}: {name[module]} imports {name[to]}, which is not on a floor below it"
             for module, uses in edges.items() for to, where in uses.items()
             if floor[module] <= floor[to] and module[:1] != to[:1] and floor[module] < len(floors)]
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        circle = error.args[1][::-1]
        wrong.append(f"{src}: a circle: {' -> '.join(name[module] for module in circle)}")
        wrong += [f"  {edges[module][to]}: {name[module]} imports {name[to]}"
                  for module, to in zip(circle, circle[1:])]
    print(*(wrong or [f"{src}: {len(edges)} modules, no circle"]), sep="\n")
    return not wrong


if __name__ == "__main__":
    arguments = sys.argv[1:]
    floors = FLOORS if arguments[:1] == ["--floors"] else []
    sys.exit(not all([check(src, floors) for src in arguments[bool(floors):] or CRATES]))
