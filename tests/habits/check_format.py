#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every C++ file is as clang-format would write it, and no declaration is split from its type: a long comment at the end of a line
makes clang-format do so, and belongs above the line.

--self-test fails unless a split declaration is found, and nothing else."""
import re
import subprocess
import sys

import sources

TYPE = re.compile(r"^\s+(?!else\b|do\b|return\b)[A-Za-z_].*(?<! >)[\w>*&]$")
NAMES = re.compile(r"^\s+[a-z]\w*( TIER_\w+\(.*\))?( = [^;]+?|\s?\{[^;]*\})?[;,](\s*//.*)?$")


def splits(lines):
    """Numbers of lines that hold a type whose names are on the next one."""
    for number, (line, after) in enumerate(zip(lines, lines[1:]), start=1):
        if TYPE.match(line) and "//" not in line and NAMES.match(after):
            if len(after) - len(after.lstrip()) == len(line) - len(line.lstrip()) + 4 or line.rstrip().endswith(">"):
                yield number


def split_problems(names):
    for name in names:
        for number in splits((sources.ROOT / name).read_text().splitlines()):
            yield f"{name}:{number}: a declaration is split from its type; put its comment above it, or name the type"


def format_problems(names):
    run = subprocess.run(
        [sources.tool("clang-format"), "--dry-run", "-Werror", "--ferror-limit=1", *map(str, names)],
        cwd=sources.ROOT,
        capture_output=True,
        text=True,
    )
    problems = [line for line in run.stderr.splitlines() if "error:" in line]
    if run.returncode and not problems:
        problems = [run.stderr or f"clang-format ended with {run.returncode}"]
    return problems


def self_test():
    split = [
        ["  std::string", "      model;  ///< of the device"],
        ["  std::map<int, int>", "      pages_ TIER_GUARDED_BY(mutex_);"],
        ["  std::uint64_t", "      reads = 0,", "      hits = 0;"],
        ["      Small<Facts, 8>", "          operands;  // all"],
    ]
    whole = [
        ["  std::string model;", "  int x;"],
        ["    else", "      done = true;"],
        ["  // a comment", "      name;"],
        ["    return (a * b) >>", "           c;"],
        ["  if (x)", "      y = 1;"],
    ]
    for lines in split:
        assert list(splits(lines)), lines
    for lines in whole:
        assert not list(splits(lines)), lines
    print("split declarations are found, and nothing else")


if "--self-test" in sys.argv[1:]:
    self_test()
    sys.exit()
names = sources.cpp_files()
sources.report([*format_problems(names), *split_problems(names)], f"format of {len(names)} files")
