#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clang's thread-safety analysis of the library has nothing to say: check_thread_safety.py BUILD_FOLDER

Takes each file's flags from compile_commands.json, whichever compiler that was written for. A planted breach must be
found first, or the analysis is not looking.
"""
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sources

ANALYSIS = ["-O0", "-Wall", "-Wextra", "-Wthread-safety", "-Wthread-safety-beta", "-Werror"]
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


def analyse(clang, arguments, source):
    """Compiles what is analysed: ccache, where it is installed, knows files that have not changed."""
    launcher = [found] if (found := shutil.which("ccache")) else []
    with tempfile.TemporaryDirectory() as folder:
        command = [*launcher, clang, *ANALYSIS, *arguments, "-c", str(source), "-o", str(Path(folder, "unused.o"))]
        run = subprocess.run(command, capture_output=True, text=True)
    return run.stderr if run.returncode else ""


def finds_planted(clang):
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "planted.cpp")
        source.write_text(PLANTED)
        return "thread-safety" in analyse(clang, ["-std=c++20", f"-I{sources.ROOT / 'include'}"], source)


def is_library(path):
    name = Path(path)
    return name.is_relative_to(sources.ROOT / "src") or (
        name.is_relative_to(sources.ROOT / "policies") and not name.stem.endswith(("_test", "_bench"))
    )


clang = sources.tool("clang++")
entries = json.loads(Path(sys.argv[1], "compile_commands.json").read_text())
entries = [entry for entry in entries if is_library(entry["file"])]
with ThreadPoolExecutor(os.cpu_count()) as pool:
    problems = [text for text in pool.map(lambda e: analyse(clang, list(flags(e)), e["file"]), entries) if text]
if not finds_planted(clang):
    problems.append("the planted breach of a lock was not found")
if not entries:
    problems.append("no file of the library in compile_commands.json")
sources.report(problems, f"locks of {len(entries)} files")
