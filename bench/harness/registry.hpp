// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The measurements that a benchmark program holds; for its main function.
#include "harness/rows.hpp"

#include <string>
#include <vector>

namespace tier::bench {

struct Registered {
  std::string id;
  Measurement measurement;
};

/// All that `add_rows` was told, in that order.
std::vector<Registered>& registry();

}  // namespace tier::bench
