#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-tidy has nothing to say about the library: check_tidy.py BUILD_FOLDER. Minutes, so only with TIER_LONG=1."""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sources

if not sources.is_long():
    print("skipped: takes minutes; TIER_LONG=1 runs it")
    sys.exit(sources.SKIPPED)

clang_tidy = sources.tool("clang-tidy")
folder = sys.argv[1]
listed = [Path(entry["file"]) for entry in json.loads(Path(folder, "compile_commands.json").read_text())]
names = [path for path in listed if path.is_relative_to(sources.ROOT / "src")]


def complaints(path):
    run = subprocess.run([clang_tidy, "-p", folder, "--quiet", str(path)], capture_output=True, text=True)
    return run.stdout if run.returncode or run.stdout.strip() else ""


with ThreadPoolExecutor(os.cpu_count()) as pool:
    problems = [text for text in pool.map(complaints, names) if text]
sources.report(problems, f"clang-tidy of {len(names)} files")
