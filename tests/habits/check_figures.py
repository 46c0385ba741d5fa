#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The sizes of classes, functions and files in src/, which must not grow beyond their limits again.

--print      prints the figures, the largest first, instead of the problems
--self-test  plants breaches in a temporary tree and fails unless each is found
"""
import json
import re
import subprocess
import sys
from collections import defaultdict

import sources

MOST_METHODS = 40
MOST_MEMBERS = 15
MOST_LINES_OF_A_FILE = 500
MOST_LINES_OF_A_FUNCTION = 60
MOST_OPT_OUTS = 15  # of the analysis of locks, in src/manager

# What may be larger; the README of its folder says why.
LARGE_CLASSES = {
    "ManagerCore": "the facade: one method for each call of Manager",
}


def tags(root, names):
    """What ctags finds: one dictionary for each definition or declaration."""
    command = [sources.tool("ctags"), "--output-format=json", "--fields=+neKZS", "--kinds-C++=+p", "--language-force=C++",
               "--sort=no", "-I", "TIER_GUARDED_BY+,TIER_REQUIRES+,TIER_EXCLUDES+,TIER_NO_THREAD_SAFETY_ANALYSIS,"
               "TIER_EXPORT,TIER_INTERNAL", "-f", "-", *map(str, names)]
    output = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def without_comments(text):
    """The text with comments and literals blanked, line by line as before."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
    return pattern.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


class Figures:
    def __init__(self, root, names):
        self.root = root
        self.names = [n for n in names if n.parts[0] == "src"]
        self.text = {str(n): without_comments((root / n).read_text()).splitlines() for n in self.names}
        self.classes = {}  # (path, name): [methods, members]
        self.functions = []  # (lines, path, line, name)
        self._read(tags(root, self.names))

    def _line(self, tag):
        return self.text[tag["path"]][tag["line"] - 1]

    def _read(self, found):
        bounds = defaultdict(list)
        for tag in found:
            if tag["kind"] in ("class", "struct") and "end" in tag:
                bounds[tag["path"]].append((tag["line"], tag["end"], tag["name"]))
                self.classes.setdefault((tag["path"], tag["name"]), [0, 0])
        for tag in found:
            if tag["kind"] == "function" and "end" in tag:
                lines = tag["end"] - tag["line"] + 1
                self.functions.append((lines, tag["path"], tag["line"], tag.get("scope", "") + "::" + tag["name"]))
            around = [b for b in bounds[tag["path"]] if b[0] < tag["line"] <= b[1]]
            if not around or tag.get("scopeKind") not in ("class", "struct"):
                continue
            key = (tag["path"], max(around)[2])
            line = self._line(tag)
            if tag["kind"] in ("prototype", "function") and "= delete" not in line:
                self.classes[key][0] += 1
            if tag["kind"] == "member" and not re.search(r"\b(static|using|typedef)\b", line):
                self.classes[key][1] += 1

    def opt_outs(self):
        return [
            (path, number)
            for path, lines in self.text.items()
            if path.startswith("src/manager/")
            for number, line in enumerate(lines, start=1)
            for _ in range(line.count("TIER_NO_THREAD_SAFETY_ANALYSIS"))
        ]

    def raw_uses_of_state(self):
        """Places where the word of a block is changed by other means than the transitions of BlockState."""
        pattern = re.compile(r"\bstate\.(fetch_\w+|exchange|compare_exchange\w*)\(")
        return [(path, n) for path, lines in self.text.items() for n, line in enumerate(lines, start=1) if pattern.search(line)]

    def without_header(self):
        for name in self.names:
            if name.suffix != ".cpp":
                continue
            public = (self.root / "include/tier" / name.parts[1]).rglob(f"{name.stem}.hpp")
            if not (self.root / name.with_suffix(".hpp")).is_file() and not any(public):
                yield str(name)


def problems_in(f):
    found = []
    for (path, name), (methods, members) in sorted(f.classes.items()):
        if name in LARGE_CLASSES:
            continue
        if methods > MOST_METHODS:
            found.append(f"{path}: {name} has {methods} methods, more than {MOST_METHODS}")
        if members > MOST_MEMBERS and not is_record(f, path, name):
            found.append(f"{path}: {name} has {members} data members, more than {MOST_MEMBERS}")
    for lines, path, line, name in f.functions:
        if lines > MOST_LINES_OF_A_FUNCTION:
            found.append(f"{path}:{line}: {name} has {lines} lines, more than {MOST_LINES_OF_A_FUNCTION}")
    for path, lines in f.text.items():
        if len(lines) > MOST_LINES_OF_A_FILE:
            found.append(f"{path}: {len(lines)} lines, more than {MOST_LINES_OF_A_FILE}")
    found += [f"{path}: has no header of its name" for path in f.without_header()]
    found += [f"{path}:{n}: changes the word of a block; call a transition of BlockState" for path, n in f.raw_uses_of_state()]
    opt_outs = f.opt_outs()
    if len(opt_outs) > MOST_OPT_OUTS:
        last, line = opt_outs[-1]
        found.append(f"{last}:{line}: src/manager opts out of the analysis of locks {len(opt_outs)} times, more than {MOST_OPT_OUTS}: "
                     + ", ".join(f"{path}:{n}" for path, n in opt_outs))
    return found


def is_record(f, path, name):
    """True for a plain record: a struct without functions but those that only ask."""
    return f.classes[(path, name)][0] <= 4


def print_figures(f):
    print("methods  members  class")
    ranked = sorted(f.classes.items(), key=lambda item: -item[1][0] - item[1][1])
    for (path, name), (methods, members) in ranked[:20]:
        print(f"{methods:7}  {members:7}  {name}  ({path})")
    print("\nlines  function")
    for lines, path, line, name in sorted(f.functions, reverse=True)[:20]:
        print(f"{lines:5}  {name}  ({path}:{line})")
    print("\nlines  file")
    for path, lines in sorted(f.text.items(), key=lambda item: -len(item[1]))[:20]:
        print(f"{len(lines):5}  {path}")
    print(f"\n{len(f.opt_outs())} opt-outs of the analysis of locks in src/manager, "
          f"{len(f.raw_uses_of_state())} raw uses of a block's word, "
          f"{len(list(f.without_header()))} sources without a header")


def body(kind, count):
    return "\n".join(kind.format(i) for i in range(count))


PLANTED = {
    "src/core/methods.hpp": "class Methods {\n" + body("  void f{}();", MOST_METHODS + 1) + "\n};",
    "src/core/members.hpp": "class Members {\n" + body("  void f{}();", 5) + body("\n  int m{}_;", MOST_MEMBERS + 1) + "\n};",
    "src/core/function.hpp": "inline void f() {\n" + body("  g({});", MOST_LINES_OF_A_FUNCTION) + "\n}",
    "src/core/file.hpp": body("int f{}();", MOST_LINES_OF_A_FILE + 1),
    "src/core/alone.cpp": "int alone();",
    "src/core/word.hpp": "inline void f(Block& b) { b.state.fetch_or(1); }",
    "src/manager/opt_outs.hpp": body("void f{}() TIER_NO_THREAD_SAFETY_ANALYSIS;", MOST_OPT_OUTS + 1),
}
SOUND = {
    "src/core/most.hpp": "class Most {\n" + body("  void f{}();", MOST_METHODS) + body("\n  int m{}_;", MOST_MEMBERS) + "\n};",
    "src/core/long.hpp": "inline void f() {\n" + body("  g({});", MOST_LINES_OF_A_FUNCTION - 2) + "\n}",
    "src/core/record.hpp": "struct Record {\n" + body("  int m{} = 0;", MOST_MEMBERS + 5) + "\n};",
    "src/core/pair.cpp": "int pair();",
    "src/core/pair.hpp": "int pair();",
    "src/core/published.cpp": "int published();",
    "include/tier/core/published.hpp": "int published();",
    "src/core/comment.hpp": "// b.state.fetch_or(1) belongs to BlockState",
}


if __name__ == "__main__":
    if "--self-test" in sys.argv[1:]:
        sources.report_planted(PLANTED, SOUND, lambda root, names: problems_in(Figures(root, names)))
    figures = Figures(sources.ROOT, sources.cpp_files())
    if "--print" in sys.argv[1:]:
        print_figures(figures)
    else:
        sources.report(problems_in(figures), f"the sizes of {len(figures.classes)} classes and {len(figures.functions)} functions")
