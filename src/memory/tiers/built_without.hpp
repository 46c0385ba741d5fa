// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Refuses tiers that need a library without which this one was built.
#include <string>

namespace tier {

/// Refuses a tier.
/// \param option  of the build, by which it gets the library   \param package  Debian's name of the library
/// \throws  `ConfigError` naming them all
[[noreturn]] void throw_built_without(const std::string& tier, const char* option, const char* library,
                                      const char* package);

}  // namespace tier
