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
    "print print_value dump parse read write encode decode convert AbslHashValue AbslStringify PrintTo"
).split()
# Declarations in a namespace begin in the first column: .clang-format sees to that.
DECLARATION = re.compile(r"^[A-Za-z_\[].*?(?<![\w:.>])(" + "|".join(NAMES) + r")\(")


def problems(header, text):
    for number, line in enumerate(text.splitlines(), 1):
        found = DECLARATION.match(line)
        if found and "=" not in line[: found.start(1)]:
            yield f"{header}:{number}: {found[1]}() is a name that others look up by its arguments: {line.strip()}"


def self_test():
    caught = "[[nodiscard]] TIER_EXPORT std::string to_json(std::span<const int> objects);"
    assert list(problems("a.hpp", caught)), caught
    for passed in ("  void swap(int& other);", "inline constexpr ObjectsToJson to_json{};", "inline constexpr int most = max(1, size(2));"):
        assert not list(problems("a.hpp", passed)), passed


self_test()
headers = [name for name in sources.cpp_files() if str(name).startswith("include/")]
found = [problem for header in headers for problem in problems(header, (sources.ROOT / header).read_text())]
sources.report(found, f"free functions of {len(headers)} headers")
