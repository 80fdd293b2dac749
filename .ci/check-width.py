#!/usr/bin/env python3
"""Fails if a comment is longer than 100 columns. (rustfmt wraps code, but not comments.)"""

import re
import subprocess
import sys

COMMENT = {"py": "#", "sh": "#"} | dict.fromkeys(["rs", "ts", "mjs", "c", "h", "in"], r"//|\*")
names = subprocess.check_output(["git", "ls-files"], text=True).split("\n")
long = [
    f"{name}:{number}: {len(line)} columns"
    for name in names
    if (comment := COMMENT.get(name.rpartition(".")[2]))
    for number, line in enumerate(open(name, encoding="utf-8").read().split("\n"), 1)
    if len(line) > 100 and re.match(rf"\s*({comment})", line)
]
if long:
    sys.exit("\n".join(long))
