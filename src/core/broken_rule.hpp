// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Reports malformed input to the caller, which adds the file and the position.
#include <stdexcept>

namespace tier {

class BrokenRule : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tier
