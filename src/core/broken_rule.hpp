// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What is wrong with bytes or a line, on its way to the code that knows their file and place.
#include <stdexcept>

namespace tier {

class BrokenRule : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tier
