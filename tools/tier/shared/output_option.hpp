// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Options that name a file to write.
#include <string>

namespace tier::tool {

struct OutputOption {
  std::string name, path;  ///< the path is empty if the option was not given
};

/// \throws  `ConfigError` if both are the standard output or the same file, which the second would overwrite
void check_apart(const OutputOption& one, const OutputOption& other);

}  // namespace tier::tool
