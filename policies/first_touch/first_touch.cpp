// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "first_touch.hpp"

#include <tier/core/error.hpp>

namespace tier {
namespace {

class FirstTouch final : public Policy {
 public:
  std::string_view name() const noexcept override { return "first_touch"; }
  Placement place(const AllocationEvent&, PolicyContext&) override { return {0, false}; }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {no_tier, true}; }
};

}  // namespace

std::unique_ptr<Policy> make_first_touch(PolicyOptions options) {
  if (!options.empty())
    throw ConfigError{"unknown option", options.front().first, 0, "no options for first_touch"};
  return std::make_unique<FirstTouch>();
}

}  // namespace tier
