// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Options that name a file to write.
#include <string>

namespace tier::tool {

struct OutputOption {
  std::string name, path;  ///< an empty path: it was not given
};

/// \throws  `ConfigError` if both are the standard output or one file, in which the second would take the place of the first
void check_apart(const OutputOption& one, const OutputOption& other);

}  // namespace tier::tool
