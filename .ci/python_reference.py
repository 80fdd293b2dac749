"""Makes the reference of the Python package for the site, from its sources and their docstrings."""

import ast
import os
import re
import textwrap

PACKAGE = "bindings/python/python/palladion"
#: Each module, and the files with what is in it.
MODULES = {
    "palladion": ["__init__.py", "_native.pyi"],
    "palladion.files": ["files.py"],
    "palladion.aio": ["aio.py"],
    "palladion.raf": ["raf.py"],
    "palladion.columns": ["columns.py"],
    "palladion.fsspec": ["fsspec.py"],
}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def markdown(node):
    """Returns a docstring, which is reStructuredText."""
    text = ast.get_docstring(node) or ""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text).replace("``", "`")
    return "\n\n".join(
        f"```python\n{each}\n```" if each.startswith(">>>") else each for each in text.split("\n\n")
    )


def signatures(name, functions, constants):
    """Yields the signature of a function, or of each overload where there is nothing else."""
    plain = [each for each in functions if "overload" not in map(ast.unparse, each.decorator_list)]
    for function in plain or functions:
        arguments, result = function.args, function.returns
        for place in (arguments.posonlyargs, arguments.args):
            if place and place[0].arg in ("self", "cls"):
                del place[0]
        made = function.name in ("__init__", "__new__")
        result = f" -> {ast.unparse(result)}" if result and not made else ""
        waits = "async " if isinstance(function, ast.AsyncFunctionDef) else ""
        text = f"{waits}{name}({ast.unparse(arguments)}){result}"
        if "property" in map(ast.unparse, function.decorator_list):
            text = name + result.replace(" ->", ":")
        text = re.sub(r"\b_[A-Z_]+\b", lambda match: constants.get(match[0], match[0]), text)
        # Break lines after commas only.
        text = text.replace(" ", "\xa0").replace(",\xa0", ", ")
        yield textwrap.fill(text, 88, subsequent_indent="\xa0" * 4).replace("\xa0", " ")


def entry(level, name, lines, *texts):
    code = "```python\n" + "\n".join(lines) + "\n```"
    return "\n\n".join([f"{'#' * level} {name}", code, *filter(None, texts)])


def described(name, nodes, source, constants):
    """Yields the entries of a class and its members, or of a function."""
    node = nodes[0]
    if isinstance(node, FUNCTIONS):
        yield entry(3, name, signatures(name, nodes, constants), *map(markdown, nodes))
        return
    members = {}
    for each in node.body:
        if isinstance(each, FUNCTIONS):
            members.setdefault(each.name, []).append(each)
    made = [] if name.endswith("Error") else members.get("__init__", members.get("__new__", []))
    bases = ", ".join(each for each in map(ast.unparse, node.bases) if each[0] != "_")
    lines = [f"class {name}({bases})".removesuffix("()"), *signatures(name, made, constants)]
    segment = ast.get_source_segment(source, node)
    comments = re.findall(r"((?:^ +#: .*\n)+) +(?:self\.)?(\w+)", segment, re.M)
    attributes = [
        f"- `{each}`: {' '.join(text.replace('#:', '').split())}" for text, each in comments
    ]
    yield entry(3, name, lines, markdown(node), "\n".join(attributes))
    for member, functions in members.items():
        if member[0] != "_":
            yield entry(4, f"{name}.{member}", signatures(member, functions, constants),
                        *map(markdown, functions))


def page():
    parts = [
        "# Python reference",
        "Every class and function, with the text that `help()` and editors show. "
        "[Python](python.md) is the introduction. `Buffer` is any object with the buffer protocol, "
        "`_B` the type of the one that you pass, and `Path` is str, bytes or `os.PathLike`.",
    ]
    for module, files in MODULES.items():
        found, constants, public = {}, {}, []
        for file in files:
            with open(os.path.join(PACKAGE, file), encoding="utf-8") as opened:
                source = opened.read()
            tree = ast.parse(source)
            if file == files[0]:
                parts += [f"## {module}", markdown(tree)]
            for node in tree.body:
                if isinstance(node, (ast.ClassDef, *FUNCTIONS)):
                    found.setdefault(node.name, ([], source))[0].append(node)
                elif isinstance(node, ast.Assign):
                    name = ast.unparse(node.targets[0])
                    if name == "__all__":
                        public = ast.literal_eval(node.value)
                    elif not isinstance(node.value, ast.Call):
                        constants[name] = ast.unparse(node.value)
        for name in public:
            if name in found:
                parts += described(name, *found[name], constants)
    return "\n\n".join(parts) + "\n"
