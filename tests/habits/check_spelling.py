#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""codespell finds nothing, in prose or in comments; .codespellrc holds the words that are right after all."""
import subprocess

import sources

codespell = sources.tool("codespell")
names = [name for name in sources.files() if name.name != "LICENSE"]
run = subprocess.run([codespell, *map(str, names)], cwd=sources.ROOT, capture_output=True, text=True)
problems = run.stdout.splitlines()
if run.returncode and not problems:
    problems = [run.stderr or f"codespell ended with {run.returncode}"]
sources.report(problems, f"spelling of {len(names)} files")
