// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs programs beside the tests in an emulated machine.
#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <string>

namespace tier::test {

/// Returns the standard output of a command; a check fails if its exit status is not 0.
inline std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  while (const auto read = std::fread(buffer.data(), 1, buffer.size(), pipe))
    text.append(buffer.data(), read);
  CHECK(::pclose(pipe) == 0);
  return text;
}

}  // namespace tier::test
