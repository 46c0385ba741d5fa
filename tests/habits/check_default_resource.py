#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The library never uses the default pmr resource: check_default_resource.py LIBRARY COMPILER

A program may set a default resource that lies in a tier; the library's own containers must not end up there. Symbols
find what a search cannot: a default-constructed or copied pmr container calls get_default_resource inside the standard
library's headers. A search finds what symbols cannot: a template that nobody has instantiated yet.
The check first compiles a planted breach and fails unless it finds that one.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import sources

SYMBOL = "get_default_resource"
# Resources that take it when a program makes them without an upstream, as the standard's do: inline, in the program.
TAKES_IT = {"include/tier/pmr/pool_resource.hpp"}
CALL = re.compile(r"\b[gs]et_default_resource\b")
PLANTED = "#include <vector>\n#include <memory_resource>\nstd::pmr::vector<int> f() { return std::pmr::vector<int>(3); }\n"


def objects_that_call(nm, binary):
    listed = subprocess.run([nm, "-A", "--undefined-only", str(binary)], capture_output=True, text=True, check=True)
    return [line.split(":")[-2] if ":" in line else line for line in listed.stdout.splitlines() if SYMBOL in line]


def finds_planted(nm, compiler):
    with tempfile.TemporaryDirectory() as folder:
        source, binary = Path(folder, "planted.cpp"), Path(folder, "planted.o")
        source.write_text(PLANTED)
        subprocess.run([compiler, "-std=c++20", "-c", str(source), "-o", str(binary)], check=True)
        return bool(objects_that_call(nm, binary))


def spelled_out():
    for name in sources.cpp_files():
        if name.parts[0] not in ("include", "src", "policies") or re.search(r"_(test|bench)\.cpp$", name.name):
            continue
        if str(name) in TAKES_IT:
            continue
        for number, line in enumerate((sources.ROOT / name).read_text().splitlines(), start=1):
            if CALL.search(line.split("//")[0]):
                yield f"{name}:{number}: names the default pmr resource"


library, compiler = sys.argv[1:]
nm = sources.tool("nm")
problems = [f"{name}: calls {SYMBOL}" for name in objects_that_call(nm, library)] + list(spelled_out())
if not finds_planted(nm, compiler):
    problems.append("the planted use of the default resource was not found")
sources.report(problems, "use of the default pmr resource")
