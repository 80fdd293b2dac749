#!/usr/bin/env python3
"""Fails if a line of code or prose has more than 100 columns.

Markdown tables may be wider, and so may lines with a URL. So may generated files, test vectors,
lock files, CSV, drawings, and JSON, which cannot break a string.
"""

import re
import subprocess
import sys

EXEMPT = re.compile(
    r"\.(csv|json|lock|sum|svg)$|^(api|fuzz/corpus|reference|vectors)/.*\.txt$|^fuzz/corpus/"
    r"|^bindings/go/aegis/kernels_(amd64|arm64)\.(s|go)$"
    r"|^docs/benchmarks/(raf\.md|[^/]+/(README\.md|machine\.txt))$"  # what programs print
)
names = subprocess.check_output(["git", "ls-files"], text=True).splitlines()
long = [
    f"{name}:{number}: {len(line)} columns"
    for name in names
    if not EXEMPT.search(name)
    for number, line in enumerate(open(name, errors="replace").read().split("\n"), 1)
    if len(line) > 100 and "://" not in line
    if not (name.endswith(".md") and line.lstrip().startswith("|"))
]
if long:
    sys.exit("\n".join(long))
