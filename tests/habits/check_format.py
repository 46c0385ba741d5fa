#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every C++ file is as clang-format would write it."""
import subprocess

import sources

clang_format = sources.tool("clang-format")
names = sources.cpp_files()
run = subprocess.run(
    [clang_format, "--dry-run", "-Werror", "--ferror-limit=1", *map(str, names)],
    cwd=sources.ROOT,
    capture_output=True,
    text=True,
)
problems = [line for line in run.stderr.splitlines() if "error:" in line]
if run.returncode and not problems:
    problems = [run.stderr or f"clang-format ended with {run.returncode}"]
sources.report(problems, f"format of {len(names)} files")
