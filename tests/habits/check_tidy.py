#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""clang-tidy has nothing to say about the library: check_tidy.py BUILD_FOLDER. Minutes, so only with TIER_LONG=1."""
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import sources

if not sources.is_long():
    print("skipped: takes minutes; TIER_LONG=1 runs it")
    sys.exit(sources.SKIPPED)

clang_tidy = sources.tool("clang-tidy")
entries = [entry for entry in sources.commands(sys.argv[1]) if Path(entry["file"]).is_relative_to(sources.ROOT / "src")]
names = [entry["file"] for entry in entries]


def complaints(folder, path):
    run = subprocess.run([clang_tidy, "-p", folder, "--quiet", path], capture_output=True, text=True)
    return run.stdout if run.returncode or run.stdout.strip() else ""


with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
    Path(folder, "compile_commands.json").write_text(json.dumps(entries))
    problems = [text for text in pool.map(lambda name: complaints(folder, name), names) if text]
sources.report(problems, f"clang-tidy of {len(names)} files")
