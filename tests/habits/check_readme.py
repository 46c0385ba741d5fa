#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The program in the README is the one that CI compiles, and relative links in the prose lead somewhere."""
import re

import sources

PROGRAM = "samples/readme/readme.cpp"
BLOCK = re.compile(r"^```cpp\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def program_problems():
    block = BLOCK.search((sources.ROOT / "README.md").read_text())
    compiled = (sources.ROOT / PROGRAM).read_text().split("\n", 1)[1]  # all but the licence line
    if not block:
        yield "README.md: no block of C++"
    elif block[1].strip() != compiled.strip():
        yield f"README.md: its first block of C++ is not {PROGRAM}"


def broken_links():
    for name in sources.files():
        if name.suffix != ".md":
            continue
        for number, line in enumerate((sources.ROOT / name).read_text().splitlines(), start=1):
            for link in LINK.findall(line):
                if "://" not in link and not (sources.ROOT / name.parent / link).exists():
                    yield f"{name}:{number}: {link} does not exist"


sources.report([*program_problems(), *broken_links()], "the README's program, and links")
