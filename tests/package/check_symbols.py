#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A shared library shows what the installed headers declare, and nothing else: check_symbols.py FOLDER

The static library has every symbol, so it also tells what the shared one hides. Whose name the headers declare is to be
visible (TIER_EXPORT), whatever else is not. Instances of templates of std are left out: they are weak, and the same in
every program. Both complaints are first provoked with names that deserve them.
"""
import re
import subprocess
import sys
from pathlib import Path

import package

# Of a symbol as nm shows it: what it is (a vtable, say), and the name without template arguments and parameters.
OF = re.compile(r"^(?:(?P<kind>vtable|typeinfo|typeinfo name|VTT|guard variable|non-virtual thunk|construction vtable) (?:for|to) )?")


def without_arguments(symbol):
    """tier::A::f<int>(int) const -> tier::A::f"""
    symbol = OF.sub("", symbol.replace("(anonymous namespace)", "anonymous")).split("(")[0]
    while (cut := re.sub(r"<[^<>]*>", "", symbol)) != symbol:
        symbol = cut
    return symbol.split("[")[0].split(" ")[-1]


def symbols(library, *options):
    """(kind, name) of the library's own defined symbols; weak instances that any program may have are not."""
    listed = subprocess.run(["nm", "-C", "--defined-only", *options, str(library)], capture_output=True, text=True, check=True)
    found = set()
    for line in listed.stdout.splitlines():
        match = re.match(r"^[0-9a-f]* ([TDRBVu]) (.*)$", line)
        if match and (name := without_arguments(match[2])).startswith("tier::"):
            found.add((OF.match(match[2])["kind"] or "", name))
    return found


SCOPE = re.compile(
    r"namespace (?P<namespace>[\w:]+) \{"
    r"|\b(?:class|struct) (?:TIER_\w+ |\[\[\w+\]\] |alignas\(\w+\) )*(?P<type>\w+)(?: final)?(?: :[^;{}()]*)?(?P<defined> ?[;{])"
    r"|(?P<brace>[{}])"
)


class Declared:
    """What the installed headers declare."""

    def __init__(self, include):
        self.text, self.namespaces, self.defined, self.named = "", set(), set(), set()
        for path in sorted(include.rglob("*.hpp")):
            self._add(re.sub(r"//[^\n]*", "", path.read_text()))
        self.named -= self.defined  # `struct Impl;` stays in the library

    def _add(self, text):
        self.text += text
        scopes = []
        for match in SCOPE.finditer(text):
            if match["brace"] == "}":
                scopes.pop()
            elif match["brace"]:
                scopes.append("")
            elif match["namespace"]:
                scopes.append(match["namespace"])
                self.namespaces.add("::".join(scopes))
            else:
                name = "::".join([*filter(None, scopes), match["type"]])
                (self.defined if match["defined"].endswith("{") else self.named).add(name)
                if match["defined"].endswith("{"):
                    scopes.append(match["type"])

    def has(self, name):
        parts = name.split("::")
        outer = ["::".join(parts[:length]) for length in range(1, len(parts) + 1)]
        if any(prefix in self.named for prefix in outer) or "anonymous" in parts:
            return False
        if any(prefix in self.defined for prefix in outer):
            return True
        # A function or variable of a namespace: at the start of a line, where members of classes are not.
        declares = rf"^(?!inline constexpr)\S.*[\s&*]{re.escape(parts[-1])}(\(| =)"
        return outer[-2] in self.namespaces and re.search(declares, self.text, re.MULTILINE) is not None


def complaints(shown, every, declared):
    for kind, name in sorted(shown):
        if not declared.has(name):
            yield f"{kind} {name} is visible, and no installed header declares it".strip()
    for kind, name in sorted(every - shown):
        if kind not in ("guard variable", "non-virtual thunk") and declared.has(name):
            yield f"{kind} {name} is hidden, and an installed header declares it: TIER_EXPORT is missing".strip()


work = package.Work(sys.argv[1])
declared = Declared(work.prefix("static") / "include")
shown = symbols(work.prefix("shared") / "lib" / "libtier.so", "-D")
every = symbols(work.prefix("static") / "lib" / "libtier.a")
planted = [
    *complaints({("", "tier::ManagerCore::enter"), ("", "tier::CopyEngine::Impl::run")}, set(), declared),
    *complaints(set(), {("", "tier::Runtime::from_spec"), ("", "tier::parse_bytes"), ("vtable", "tier::Policy")}, declared),
]
problems = list(complaints(shown, every, declared))
if len(planted) != 5:
    problems.append(f"of 5 planted breaches it found {planted}")
package.report(problems, f"{len(shown)} visible symbols and {len(every - shown)} hidden ones")
