#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a scope or a hint cannot be given gets one error, which says in a sentence what to do.

check_refusals.py GENERATED COMPILER   (the folder of generated headers)
"""
import functools
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import sources

GENERATED, COMPILER = sys.argv[1:]
work = tempfile.TemporaryDirectory()
HEADERS = """#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>
#include <list>
#include <memory_resource>
#include <vector>
{include}
"""
PROGRAM = """#include "headers.hpp"
using namespace tier;
void f(Tensor<float>& x, const Tensor<float>& c, std::pmr::vector<int>& p, const std::pmr::list<int>& l,
       std::vector<int>& v, std::vector<const Tensor<float>*>& s, Tensor<float> (*make)()) {{
  {statement};
}}
"""
CONTAINERS = "#include <tier/pmr/container_scopes.hpp>"
NEEDS_INCLUDE = "for scopes and hints on containers #include <tier/pmr/container_scopes.hpp>"
NOT_OURS = "a scope or a hint needs an object in libtier's memory: a Tensor, rows of one, a container of std::pmr"
CONST = "a const object can be read, not written: take a ReadScope or reads(...), or make it non-const"
TEMPORARY = "a scope or a hint refers to its operand, which must not be a temporary: give it a name"
WRONG_ROLE = "these operands do not fit here: a ReadScope takes objects or reads(...), a WriteScope objects"
REFUSED = [
    ("", "ReadScope in{p}", NEEDS_INCLUDE),
    ("", "WriteScope out{x, p}", NEEDS_INCLUDE),
    ("", 'KernelScope k{"k", reads(p)}', NEEDS_INCLUDE),
    ("", "ArchiveScope a{p}", NEEDS_INCLUDE),
    ("", "will_use(x, l)", NEEDS_INCLUDE),
    ("", "std::ignore = prefetch(p)", NEEDS_INCLUDE),
    (CONTAINERS, "ReadScope in{v}", NOT_OURS),
    (CONTAINERS, "WriteScope out{v}", NOT_OURS),
    (CONTAINERS, 'KernelScope k{"k", updates(v)}', NOT_OURS),
    (CONTAINERS, "ArchiveScope a{x, v}", NOT_OURS),
    (CONTAINERS, "will_read(v)", NOT_OURS),
    (CONTAINERS, "archive(v)", NOT_OURS),
    (CONTAINERS, "WriteScope out{c}", CONST),
    (CONTAINERS, "WriteScope out{l}", CONST),
    (CONTAINERS, 'KernelScope k{"k", reads(x), overwrites(c)}', CONST),
    (CONTAINERS, "auto written = updates(s)", CONST),
    (CONTAINERS, "will_write(c)", CONST),
    (CONTAINERS, "ReadScope in{make()}", TEMPORARY),
    (CONTAINERS, "auto read = reads(make())", TEMPORARY),
    (CONTAINERS, "ReadScope in{updates(x)}", WRONG_ROLE),
    (CONTAINERS, "WriteScope out{reads(x)}", WRONG_ROLE),
    (CONTAINERS, 'KernelScope k{"k", reads(x, p)}', WRONG_ROLE),
    (CONTAINERS, "auto o = overwrites(p)", "a container or a resource can be read or updated, not overwritten"),
    (CONTAINERS, "ReadScope in{p}; in.in(p)", "a scope gives views of tensors and of rows only; use a container itself"),
    (CONTAINERS, "migrate(x, 0)", "migrate() moves only what is in windows"),
]
ACCEPTED = [
    ("", 'KernelScope k{"k", reads(x, c), updates(x)}; k.in(c); k.out(x); Scope moved{std::move(k)}'),
    ("", "ReadScope in{x, c}; ReadScope moved{std::move(in)}; moved[x]; auto& [xv, cv] = moved"),
    (CONTAINERS, "ReadScope in{p, l, x}; WriteScope out{p, x, overwrites(x)}; ArchiveScope a{p, x}; will_use(p, l, c)"),
]
MOST_LINES = 40  # with the places from which templates were used


FLAGS = ["-std=c++20", "-I", str(sources.ROOT / "include"), "-I", GENERATED]


@functools.cache
def folder_of(include):
    """A folder with the headers of all programs that include this, compiled ahead where the compiler can."""
    folder = Path(work.name, str(len(include)))
    folder.mkdir()
    header = folder / "headers.hpp"
    header.write_text(HEADERS.format(include=include))
    subprocess.run([COMPILER, *FLAGS, "-x", "c++-header", str(header), "-o", f"{header}.gch"], capture_output=True)
    return folder


def told(include, statement):
    """What the compiler says of the statement."""
    return subprocess.run(
        [COMPILER, *FLAGS, "-I", str(folder_of(include)), "-fsyntax-only", "-x", "c++", "-"],
        input=PROGRAM.format(statement=statement),
        capture_output=True,
        text=True,
    )


def problems():
    for include, statement, sentence in REFUSED:
        ended = told(include, statement)
        errors = [line for line in ended.stderr.splitlines() if re.search(r": (?:fatal )?error: ", line)]
        if len(errors) != 1 or f"libtier: {sentence}" not in errors[0] or ended.stderr.count("\n") > MOST_LINES:
            yield f"{statement}: not \"{sentence}\", but\n{ended.stderr}"
    for include, statement in ACCEPTED:
        ended = told(include, statement)
        if ended.returncode != 0:
            yield f"{statement}: refused\n{ended.stderr}"


sources.report(list(problems()), f"{len(REFUSED)} statements that are refused and {len(ACCEPTED)} that are not")
