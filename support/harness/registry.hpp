// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The measurements of a benchmark program, for its main function.
#include "harness/rows.hpp"

#include <string>
#include <vector>

namespace tier::bench {

struct Registered {
  std::string id;
  Measurement measurement;
};

/// Returns all measurements of `add_rows`, in order.
std::vector<Registered>& registry();

}  // namespace tier::bench
