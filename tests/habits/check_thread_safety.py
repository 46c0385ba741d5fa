#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clang's thread-safety analysis of the library has nothing to say: check_thread_safety.py BUILD_FOLDER

Takes each file's flags from compile_commands.json, whichever compiler that was written for. Sources that are compiled together
are analysed together. A planted breach must be found first, or the analysis is not looking.
"""
import os
import shlex
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sources

ANALYSIS = ["-Wall", "-Wextra", "-Wthread-safety", "-Wthread-safety-beta", "-Werror"]
COMMON = '#include "manager/manager_core.hpp"\n'  # most files read what this does: once for all of them
PLANTED = """#include <tier/core/mutex.hpp>
struct Planted {
  tier::Mutex mutex;
  int value TIER_GUARDED_BY(mutex) = 0;
  void breach() { ++value; }
};
"""


def flags(entry):
    """The definitions, include paths and language of one compile command."""
    words = iter(shlex.split(entry["command"]))
    for word in words:
        if word in ("-I", "-isystem", "-D"):
            yield from (word, next(words))
        elif word.startswith(("-I", "-isystem", "-D", "-std=")):
            yield word


def analyse(clang, arguments):
    """What it has to say."""
    run = subprocess.run([clang, *ANALYSIS, *arguments], capture_output=True, text=True)
    return run.stderr if run.returncode else ""


def analyse_all(clang, flags, files, pool):
    """Files that have the same flags."""
    with tempfile.TemporaryDirectory() as folder:
        source, common = Path(folder, "common.hpp"), Path(folder, "common.pch")
        source.write_text(COMMON)
        if problem := analyse(clang, [*flags, "-x", "c++-header", str(source), "-o", str(common)]):
            return [problem]
        check = ["-fsyntax-only", "-include-pch", str(common), *flags]
        return [text for text in pool.map(lambda file: analyse(clang, [*check, file]), files) if text]


def finds_planted(clang):
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "planted.cpp")
        source.write_text(PLANTED)
        return "thread-safety" in analyse(clang, ["-fsyntax-only", "-std=c++20", f"-I{sources.ROOT / 'include'}", str(source)])


def is_library(path):
    name = Path(path)
    return name.is_relative_to(sources.ROOT / "src") or (
        name.is_relative_to(sources.ROOT / "policies") and not name.stem.endswith(("_test", "_bench"))
    )


clang = sources.tool("clang++")
groups = defaultdict(list)  # of files to compile, by their flags
analysed = 0
for entry in sources.raw_commands(sys.argv[1]):
    together = sources.sources_of(entry)
    if all(map(is_library, together)):
        groups[tuple(flags(entry))].append(entry["file"])
        analysed += len(together)
with ThreadPoolExecutor(os.cpu_count()) as pool:
    problems = [text for group in groups.items() for text in analyse_all(clang, *group, pool)]
if not finds_planted(clang):
    problems.append("the planted breach of a lock was not found")
if not groups:
    problems.append("no file of the library in compile_commands.json")
sources.report(problems, f"locks of {analysed} files")
