// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Stops with one error if the language is older than C++20. Every other header includes this one first.

#if __cplusplus < 202002L
#error \
    "libtier needs C++20: compile with -std=c++20, in CMake target_compile_features(YOUR_TARGET PRIVATE cxx_std_20)"
#include <libtier needs C++20>  // No such file exists, so compilers stop here instead of printing a thousand errors.
#endif
