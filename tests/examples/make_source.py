# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes one C++ source of the examples in the comments of public headers: make_source.py OUTPUT

An example is what stands in a comment between \\code{.cpp} and \\endcode. It becomes the body of a function, and the function a
test; lines that include headers come first in it, and are taken out of the function. Fails where a public class has no comment,
or no example and no reason here to have none.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "include"

# Classes without an example of their own, and why.
BY_OTHERS = {
    "AllocationGroup": "GroupResource",
    "Chain": "ChainGuard",
    "CopyTask": "CopyEngine",
    "FunctionRef": "Arena",
    "PolicyContext": "Policy",
    "PooledResource": "PoolResource",
    "RowFacts": "RowPolicy",
    "SlotFilter": "RowPolicy",
}  # is shown in the example of
MACHINERY = {
    "BackgroundWork", "BlockState", "Companion", "CondVar", "FutureUses", "Manager", "Mutex", "MutexLock", "NamePool",
    "ObjectHandle", "PlacedStorage", "Pool", "RegionHeap", "ThreadObserver", "UseClock", "VirtualClock",
}  # fmt: skip  # public since other layers, tests and tools of the library use it: programs do not make one

CLASS = re.compile(r"^(class|struct) (?:\[\[\w+\]\] |alignas\(\d+\) |TIER_\w+(?:\(.*?\))? )*(\w+(?:<.*>)?(?:::\w+)?)[^;]*$")
BEGIN, END = "/// \\code{.cpp}", "/// \\endcode"
NAMESPACE = re.compile(r"^(?:inline )?namespace ([\w:]*) ?\{")
LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'')
OWN_RUNTIME = re.compile(r"\bruntime(?: = |\{)")


class Example:
    def __init__(self, header, line, lines):
        self.header, self.line = header, line
        self.includes = [text for text in lines if text.startswith("#include")]
        self.body = lines[len(self.includes) :]

    @property
    def takes_runtime(self):
        text = "\n".join(self.body)
        return re.search(r"\bruntime\b", text) is not None and OWN_RUNTIME.search(text) is None

    def function(self, number):
        """The example as a function, and the test that calls it; `#line` has errors point to the header."""
        place = f"{self.header.relative_to(INCLUDE / 'tier')}:{self.line}"
        yield f"void example_{number}({'tier::Runtime& runtime' if self.takes_runtime else ''}) {{"
        yield f'#line {self.line + 1 + len(self.includes)} "{self.header}"'
        yield from self.body
        yield "}"
        yield f'#line {number} "examples"'
        yield f'TEST_CASE("the example at {place} does what it says") {{'
        yield f"  tier::test::Scene scene; example_{number}({'scene.runtime()' if self.takes_runtime else ''});"
        yield "}"


def examples_in(header, lines):
    """The examples of a header; raises ValueError for one that does not end, or has nothing in it."""
    begin = None
    for number, line in enumerate(lines, start=1):
        line = line.strip()
        if begin is None:
            begin = number if line == BEGIN else None
            continue
        if line != END and line != "///" and not line.startswith("/// "):
            raise ValueError(f"{header.relative_to(ROOT)}:{number}: the example of line {begin} has no {END[4:]}")
        if line == END:
            if begin + 1 == number:
                raise ValueError(f"{header.relative_to(ROOT)}:{begin}: an empty example")
            yield Example(header, begin, [text.strip()[4:] for text in lines[begin : number - 1]])
            begin = None


def comment_above(lines, index):
    """The lines of the comment of what is declared at `index`, passing over `template` and `requires`."""
    end = index
    while end > 0 and re.match(r"template <|  \S|requires", lines[end - 1]):
        end -= 1
    begin = end
    while begin > 0 and lines[begin - 1].startswith("///"):
        begin -= 1
    return lines[begin:end]


def classes_in(lines):
    """The kind, name and comment of each class or struct at the scope of a namespace that is not `detail`."""
    depth, namespaces = 0, []  # of each namespace: the depth around it, and its name
    for index, line in enumerate(lines):
        code = LITERAL.sub("", line.split("//")[0])
        if match := NAMESPACE.match(line):
            namespaces.append((depth, match[1]))
        elif (match := CLASS.match(line)) and "{" in line and not any("detail" in name for _, name in namespaces):
            yield match[1], match[2], comment_above(lines, index)
        depth += code.count("{") - code.count("}")
        while namespaces and depth <= namespaces[-1][0]:
            namespaces.pop()


def problems_in(header, lines, seen):
    for kind, name, comment in classes_in(lines):
        place, plain = f"{header.relative_to(ROOT)}: {name}", re.sub(r"<.*>", "", name)
        if plain.startswith("std::") or plain == "ScopeTraits":
            continue  # specialisations of what is explained where it is declared
        if not comment:
            yield f"{place} has no comment"
            continue
        has = BEGIN in comment
        if plain in MACHINERY or plain in BY_OTHERS:
            seen.add(plain)
            if has:
                yield f"{place} has an example, and is listed in make_source.py as one that needs none"
        elif kind == "class" and not has:
            yield f"{place} has no example of its use between {BEGIN[4:]} and {END[4:]}"


def source_of(examples):
    yield "// Made by tests/examples/make_source.py of the comments in include/tier."
    yield '#include "examples/scene.hpp"'
    headers = {f"#include <{example.header.relative_to(INCLUDE)}>" for example in examples}
    yield from sorted(headers | {line for example in examples for line in example.includes})
    yield "#undef NDEBUG  // examples state by assert() what holds"
    yield "#include <cassert>"
    yield "// An example declares what it shows, and may not go on to use it."
    yield '#pragma GCC diagnostic ignored "-Wunused-variable"'
    yield '#pragma GCC diagnostic ignored "-Wunused-but-set-variable"'
    yield "namespace {"
    yield "using namespace tier::literals;"
    for number, example in enumerate(examples, start=1):
        yield from example.function(number)
    yield "}  // namespace"


def main(output):
    problems, examples, seen = [], [], set()
    for header in sorted(INCLUDE.rglob("*.hpp")):
        lines = header.read_text().splitlines()
        try:
            examples += examples_in(header, lines)
        except ValueError as error:
            problems.append(str(error))
        if "detail" not in header.parts and header.name != "fwd.hpp":
            problems += problems_in(header, lines, seen)
    problems += [f"{name} is listed in make_source.py, and is no public class" for name in sorted({*BY_OTHERS, *MACHINERY} - seen)]
    if not examples:
        problems.append("include/tier: no header has an example")
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(1)
    Path(output).write_text("\n".join(source_of(examples)) + "\n")
    print(f"{len(examples)} examples in public headers")


if __name__ == "__main__":
    main(sys.argv[1])
