#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every file that can carry a comment names its licence at the top."""
import sources

IDENTIFIER = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
# JSON has no comments, nor have screenshots; the licence itself needs none, and test data is what it is.
EXEMPT_SUFFIXES = {".json", ".txt", ".csv", ".dat", ".bin", ".gz", ".png"}
EXEMPT_NAMES = {"LICENSE", "usage", ".gitignore", ".gitattributes"}


def needs_licence(name):
    return name.name == "CMakeLists.txt" or (name.suffix not in EXEMPT_SUFFIXES and name.name not in EXEMPT_NAMES)


names = [name for name in sources.files() if needs_licence(name)]
problems = []
for name in names:
    top = (sources.ROOT / name).read_text(errors="replace").splitlines()[:3]
    if not any(IDENTIFIER in line for line in top):
        problems.append(f"{name}:1: no line with {IDENTIFIER}")
sources.report(problems, f"licence lines of {len(names)} files")
