// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lru.hpp"

#include <tier/core/error.hpp>

namespace tier {
namespace {

class Lru final : public Policy {
 public:
  std::string_view name() const noexcept override { return "lru"; }
  Placement place(const AllocationEvent&, PolicyContext&) override { return {0, true}; }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {0, false}; }
  bool prefers(const Run& run, std::uint64_t rank) const noexcept override { return run.hottest < rank; }
};

}  // namespace

std::unique_ptr<Policy> make_lru(PolicyOptions options) {
  if (!options.empty()) throw ConfigError{"unknown option", options.front().first, 0, "no options for lru"};
  return std::make_unique<Lru>();
}

}  // namespace tier
