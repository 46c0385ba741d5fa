// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  One error where the language is older than C++20. All other headers include this one before anything that needs it.

#if __cplusplus < 202002L
#error \
    "libtier needs C++20: compile with -std=c++20, in CMake target_compile_features(YOUR_TARGET PRIVATE cxx_std_20)"
#include <libtier needs C++20>  // There is no such file, so that compilers stop here, before a thousand errors more.
#endif
