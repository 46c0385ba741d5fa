#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No free function of a public header has a name that others' code looks up by its arguments and means its own by.

A container over tier::Allocator is associated with namespace tier, so that a JSON library, a formatter or a swap on it
finds what we declare there.
"""
import re

import sources

# Customisation points of the standard, and of libraries that many programs use.
NAMES = (
    "to_json from_json adl_serializer format_as formatter hash_value tag_invoke serialize load save archive_size "
    "swap iter_swap iter_move begin end cbegin cend rbegin rend size ssize empty data get get_if visit "
    "exchange forward move addressof distance advance next prev relocate construct destroy allocate deallocate "
    "print print_value dump parse read write encode decode convert AbslHashValue AbslStringify PrintTo "
    "copy to_string prefetch"
).split()
# Declarations in a namespace begin in the first column: .clang-format sees to that. They may go on in further lines.
DECLARATION = re.compile(
    r'^(?!#|//)[A-Za-z_\[](?:[^;{}()="/]|\[\[[^\]]*\]\])*?(?<![\w:.>])(' + "|".join(NAMES) + r")\(([^()]*)", re.MULTILINE
)
# These are on purpose.
ALLOWED = {
    "copy": (r"std::span<std::byte> \w+, std::span<const std::byte> \w+", "bytes alone, and no container of others' is that"),
    "prefetch": (r"const T& \w+", "what the library prefetches is an operand, of which its concept says what it may be"),
    "to_string": (r"(?:const )?(?:[A-Z]\w+|std::span<const [A-Z]\w+>)&? \w+", "one type of ours, which nothing of others' is"),
}


def problems(header, text):
    for found in DECLARATION.finditer(text):
        name, parameters = found[1], found[2]
        if name in ALLOWED and re.fullmatch(ALLOWED[name][0], parameters):
            continue
        number = text.count("\n", 0, found.start(1)) + 1
        line = text.splitlines()[number - 1].strip()
        yield f"{header}:{number}: {name}() is a name that others look up by its arguments: {line}"


def self_test():
    caught = [
        "[[nodiscard]] TIER_EXPORT std::string to_json(std::span<const int> objects);",
        "[[nodiscard]] TIER_EXPORT\nstd::string to_json(std::span<const int> objects);",
        "template <class T>\n[[nodiscard]] std::unordered_map<std::string,\n                   int>\nparse(const T& text);",
        "template <class T>\nvoid copy(const T& from, T& to);",
        "template <class T>\n  requires(sizeof(T) > 1)\nstd::string to_string(const T& any) {",
    ]
    for text in caught:
        assert len(list(problems("a.hpp", text))) == 1, text
    for passed in (
        "  void swap(int& other);", "inline constexpr ObjectsToJson to_json{};", "inline constexpr int most = max(1, size(2));",
        "/// As read(2) is.\nint take(int file);", "std::string to_string(const Shape& shape);",
        "void copy(std::span<std::byte> dst, std::span<const std::byte> src);",
    ):  # fmt: skip
        assert not list(problems("a.hpp", passed)), passed


self_test()
headers = [name for name in sources.cpp_files() if str(name).startswith("include/")]
found = [problem for header in headers for problem in problems(header, (sources.ROOT / header).read_text())]
sources.report(found, f"free functions of {len(headers)} headers")
