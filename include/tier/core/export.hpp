// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Marks the symbols that a shared library exports; all others are hidden.
#include <tier/core/standard.hpp>

/// Marks functions defined in a `.cpp`, exceptions, and classes that have such functions, virtual functions, or a static
/// variable in an inline function. tests/package/check_symbols.py compares the marks with what the headers declare.
#define TIER_EXPORT [[gnu::visibility("default")]]
/// Marks a class nested in an exported one whose members stay hidden.
#define TIER_INTERNAL [[gnu::visibility("hidden")]]
