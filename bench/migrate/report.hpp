// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A report that users can send: the machine, and the time of each way.
#include <tier/memory/discovery.hpp>

#include <string>
#include <vector>

#include "measurement.hpp"

namespace migrate {

struct Report {
  tier::Machine machine;
  Nodes nodes;
  int repeats = 0;
  std::vector<ObjectResult> objects;
};

[[nodiscard]] std::string to_text(const Report& report);
[[nodiscard]] std::string to_json(const Report& report);

}  // namespace migrate
