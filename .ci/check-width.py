#!/usr/bin/env python3
"""Fails if a line has more than 100 columns: a comment anywhere, any line in the folders in WHOLE.

Elsewhere rustfmt wraps the code. A line with a URL may be longer, and so may HTML and Markdown.
"""

import re
import subprocess
import sys

WHOLE = ("bindings/", "crates/palladion-bench/", "crates/palladion-capi/tests/", "examples/")
COMMENT = {"py": "#", "sh": "#", "pyi": "#"} | dict.fromkeys(
    ["rs", "ts", "mjs", "css", "c", "h", "inc", "in"], r"//|/?\*"
)
names = subprocess.check_output(["git", "ls-files"], text=True).split("\n")
long = [
    f"{name}:{number}: {len(line)} columns"
    for name in names
    if (comment := COMMENT.get(name.rpartition(".")[2]))
    for number, line in enumerate(open(name, encoding="utf-8").read().split("\n"), 1)
    if len(line) > 100 and "://" not in line
    if name.startswith(WHOLE) or re.match(rf"\s*({comment})", line)
]
if long:
    sys.exit("\n".join(long))
