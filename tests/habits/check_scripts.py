#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs are executable, shell scripts parse and stop at the first error."""
import os
import subprocess

import sources


def first_line(name):
    with open(sources.ROOT / name, "rb") as file:
        return file.readline().decode(errors="replace").strip()


def problems_of(name):
    shebang = first_line(name)
    executable = os.access(sources.ROOT / name, os.X_OK)
    if shebang.startswith("#!") != executable:
        yield f"{name}:1: " + ("is executable but has no #! line" if executable else "has a #! line but is not executable")
    if not (shebang.endswith("bash") or name.suffix == ".sh"):
        return
    parsed = subprocess.run(["bash", "-n", str(name)], cwd=sources.ROOT, capture_output=True, text=True)
    yield from parsed.stderr.splitlines()
    if executable and "set -euo pipefail" not in (sources.ROOT / name).read_text():
        yield f"{name}:1: does not set -euo pipefail"


names = [name for name in sources.files() if not (sources.ROOT / name).is_symlink()]
sources.report([problem for name in names for problem in problems_of(name)], f"modes and scripts of {len(names)} files")
