#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs in the README are those that CI compiles, and relative links in the prose lead somewhere."""
import re

import sources

PROGRAMS = ["samples/readme/readme.cpp", "samples/readme/rows.cpp"]  # in the README's order
BLOCK = re.compile(r"^```cpp\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def program_problems():
    blocks = BLOCK.findall((sources.ROOT / "README.md").read_text())
    if len(blocks) != len(PROGRAMS):
        yield f"README.md: {len(blocks)} blocks of C++, and {len(PROGRAMS)} programs that CI compiles"
    for block, program in zip(blocks, PROGRAMS):
        compiled = (sources.ROOT / program).read_text().split("\n", 1)[1]  # all but the licence line
        if block.strip() != compiled.strip():
            yield f"README.md: one of its blocks of C++ is not {program}"


def broken_links():
    for name in sources.files():
        if name.suffix != ".md":
            continue
        for number, line in enumerate((sources.ROOT / name).read_text().splitlines(), start=1):
            for link in LINK.findall(line):
                if "://" not in link and not (sources.ROOT / name.parent / link).exists():
                    yield f"{name}:{number}: {link} does not exist"


sources.report([*program_problems(), *broken_links()], "the README's programs, and links")
