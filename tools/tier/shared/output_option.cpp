// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "output_option.hpp"

#include <tier/core/error.hpp>

#include <filesystem>
#include <system_error>

namespace tier::tool {
namespace {

namespace fs = std::filesystem;

/// True if both paths name one file. Devices, such as /dev/null, can be written twice.
bool is_one_file(const fs::path& one, const fs::path& other) {
  std::error_code unknown;
  if (fs::exists(one, unknown) && fs::exists(other, unknown))
    return fs::equivalent(one, other, unknown) && !fs::is_character_file(one, unknown);
  return fs::weakly_canonical(fs::absolute(one), unknown) ==
         fs::weakly_canonical(fs::absolute(other), unknown);
}

}  // namespace

void check_apart(const OutputOption& one, const OutputOption& other) {
  if (one.path.empty() || other.path.empty()) return;
  const bool first = one.path == "-", second = other.path == "-";
  if (first && second)
    throw ConfigError{one.name + " and " + other.name +
                      " cannot both be the standard output; give one of them a file"};
  if (!first && !second && is_one_file(one.path, other.path))
    throw ConfigError{one.name + " and " + other.name + " cannot both be \"" + other.path +
                      "\"; give one of them another file"};
}

}  // namespace tier::tool
