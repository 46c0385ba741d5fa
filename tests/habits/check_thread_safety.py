#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clang's thread-safety analysis ends the build of a library with a breach: check_thread_safety.py BUILD_FOLDER

A planted breach must be an error to the compile command of one of the library's sources.
"""
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import sources

PLANTED = """#include <tier/core/mutex.hpp>
struct Planted {
  tier::Mutex mutex;
  int value TIER_GUARDED_BY(mutex) = 0;
  void breach() { %s++value; }
};
"""


def is_library(path):
    return Path(path).is_relative_to(sources.ROOT / "src")


def compiles(command, program):
    """\\return  (true if it does, what the compiler says)"""
    words = shlex.split(command)
    words = words[: words.index("-o")] + ["-fsyntax-only", "-x", "c++"]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "planted.cpp")
        source.write_text(program)
        run = subprocess.run([*words, str(source)], capture_output=True, text=True, cwd=sys.argv[1])
        return run.returncode == 0, run.stderr


problems = []
commands = [entry["command"] for entry in sources.raw_commands(sys.argv[1]) if all(map(is_library, sources.sources_of(entry)))]
if not commands:
    problems.append("no file of the library in compile_commands.json")
for command in commands[:1]:
    good, said = compiles(command, PLANTED % "const tier::MutexLock lock{mutex}; ")
    if not good:
        problems.append(f"what holds its lock does not compile: {said}")
    good, said = compiles(command, PLANTED % "")
    if good or "thread-safety" not in said:
        problems.append(f"the planted breach of a lock is not an error: {said}")
sources.report(problems, "a planted breach of a lock")
