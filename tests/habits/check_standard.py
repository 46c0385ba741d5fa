#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each public header says in one sentence that it needs C++20, and lets an older compiler read no further.

check_standard.py GENERATED COMPILER   (the folder of generated headers)
"""
import re
import subprocess
import sys

import sources

GENERATED, COMPILER = sys.argv[1:]
SENTENCE = "libtier needs C++20: compile with -std=c++20, in CMake target_compile_features(YOUR_TARGET PRIVATE cxx_std_20)"
ERROR = re.compile(r"^\S+: (?:fatal )?error: ", re.MULTILINE)
MOST = 2  # the sentence, and the file that is not there, which ends the compilation


def told(header, standard):
    """What the compiler says of a program that includes the header alone."""
    folders = ["-I", str(sources.ROOT / "include"), "-I", GENERATED]
    return subprocess.run(
        [COMPILER, f"-std={standard}", "-fsyntax-only", *folders, "-x", "c++", "-"],
        input=f"#include <{header}>\n",
        capture_output=True,
        text=True,
    )


def problems(headers):
    for header in headers:
        ended = told(header, "c++17")
        errors = ERROR.findall(ended.stderr)
        if ended.returncode == 0 or not errors:
            yield f"{header}: compiles as C++17"
        elif SENTENCE not in ended.stderr[ended.stderr.index(errors[0]) :].splitlines()[0] or len(errors) > MOST:
            yield f"{header}: {len(errors)} errors as C++17:\n{ended.stderr[:1000]}"


headers = [str(name.relative_to("include")) for name in sources.cpp_files() if name.parts[0] == "include"]
found = list(problems([*headers, "tier/core/config.hpp"]))
if told("tier/core/standard.hpp", "c++20").returncode != 0:
    found.append("tier/core/standard.hpp: refuses C++20")
sources.report(found, f"{len(headers) + 1} public headers read as C++17")
