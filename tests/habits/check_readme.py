#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The programs in the README, and the CMakeLists.txt for them, are those that CI builds; it lists the packages that CMake asks for;
relative links in the prose lead somewhere. The README's commands are run in tests/package."""
import re

import sources

# In the README's order. Of further blocks of CMake, tests/package takes what they say.
PROGRAMS = ["samples/readme/readme.cpp", "samples/readme/containers.cpp", "samples/readme/rows.cpp"]
LISTS = "test_package/CMakeLists.txt"
BLOCK = re.compile(r"^```(cpp|cmake)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")

NEEDED = re.compile(r'^ *tier_need(?:_module)?\((?:"[^"]*"|\w+) ([\w-]+)(?: (TIER_\w+))?', re.MULTILINE)
OFF = re.compile(r'^option\((\w+) "[^"]*" OFF\)', re.MULTILINE)


def program_problems():
    blocks = BLOCK.findall((sources.ROOT / "README.md").read_text())
    programs = [text for language, text in blocks if language == "cpp"]
    lists = [text for language, text in blocks if language == "cmake"][:1]
    if len(programs) != len(PROGRAMS):
        yield f"README.md: {len(programs)} blocks of C++, and {len(PROGRAMS)} programs that CI compiles"
    if not lists:
        yield f"README.md: has no {LISTS}"
    for block, name in zip([*programs, *lists], [*PROGRAMS, LISTS]):
        built = (sources.ROOT / name).read_text().split("\n", 1)[1]  # all but the licence line
        if block.strip() != built.strip():
            yield f"README.md: one of its blocks is not {name}"


def missing_packages():
    """What CMake asks for by default, in Debian's names, the README lists."""
    lists = {name: (sources.ROOT / name).read_text() for name in ("CMakeLists.txt", "cmake/need.cmake")}
    off = set(OFF.findall(lists["CMakeLists.txt"]))
    readme = (sources.ROOT / "README.md").read_text()
    for name, text in lists.items():
        needed = NEEDED.findall(text)
        if not needed:
            yield f"{name}: needs no package, says this test"
        for package, option in needed:
            if option not in off and not re.search(rf"(?<![\w-]){package}(?![\w-])", readme):
                yield f"README.md: its list of packages lacks {package}, which {name} needs"


def broken_links():
    for name in sources.files():
        if name.suffix != ".md":
            continue
        for number, line in enumerate((sources.ROOT / name).read_text().splitlines(), start=1):
            for link in LINK.findall(line):
                if "://" not in link and not (sources.ROOT / name.parent / link).exists():
                    yield f"{name}:{number}: {link} does not exist"


sources.report([*program_problems(), *missing_packages(), *broken_links()],
               "the README's programs, CMakeLists.txt and packages, and links")
