// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a shared library shows of itself: nothing but what is marked so.
#include <tier/core/standard.hpp>

/// For a function that a `.cpp` defines, an exception, and a class with such members, with virtual ones or with a static
/// variable in an inline one. tests/package/check_symbols.py compares the marks with what the headers declare.
#define TIER_EXPORT [[gnu::visibility("default")]]
/// For a class inside one that is marked: its members stay in the library.
#define TIER_INTERNAL [[gnu::visibility("hidden")]]
