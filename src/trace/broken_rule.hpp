// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What is wrong with a line, on its way to whoever knows its file and number.
#include <stdexcept>

namespace tier::trace {

class BrokenRule : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace tier::trace
