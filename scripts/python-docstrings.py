#!/usr/bin/env python3
"""Writes the docstrings of the native part of the Python package into its stub, where editors and
the site find them. Their one home is the doc comments in bindings/python/src.

    scripts/python-docstrings.py [--check]

Run it with the package installed. --check writes nothing, and fails if the stub would change.
"""

import ast
import inspect
import pathlib
import sys
import textwrap

import palladion
from palladion import _native

STUB = pathlib.Path(__file__).parents[1] / "bindings/python/python/palladion/_native.pyi"


def public(body, owner):
    """Yields each class and function with its docstring. Editors take the first overload's."""
    seen = set()
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name not in seen:
            seen.add(node.name)
            value = vars(owner).get(node.name)
            if node.name[0] != "_" and (owner is not _native or node.name in palladion.__all__):
                yield node, inspect.getdoc(value)
                if isinstance(node, ast.ClassDef):
                    yield from public(node.body, value)


def quoted(text, indent):
    """Returns the lines of a docstring of at most 100 columns."""
    paragraphs = text.replace("\\", "\\\\").split("\n\n")
    wrapped = "\n\n".join(
        each if each.startswith(">>>") else textwrap.fill(each, 94 - indent) for each in paragraphs
    )
    end = '\n"""' if "\n" in wrapped else '"""'
    return textwrap.indent(f'"""{wrapped}{end}', " " * indent).split("\n")


def documented(stub):
    lines = stub.split("\n")
    for node, text in reversed(list(public(ast.parse(stub).body, _native))):
        first, indent = node.body[0], node.col_offset + 4
        start = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", []))])
        if ast.get_docstring(node) is not None:
            del lines[start - 1 : first.end_lineno]
        elif isinstance(first, ast.Expr):
            # The body is "...", on the last line of the signature.
            lines[start - 1] = lines[start - 1].removesuffix(" ...")
            start += 1
        lines[start - 1 : start - 1] = quoted(text, indent)
    return "\n".join(lines)


before = STUB.read_text()
after = documented(before)
if sys.argv[1:] != ["--check"]:
    STUB.write_text(after)
elif before != after:
    sys.exit(f"{STUB.name} lacks docstrings of bindings/python/src: run this without --check")
