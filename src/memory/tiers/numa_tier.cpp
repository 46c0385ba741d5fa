// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/numa_tier.hpp"

#include <tier/core/error.hpp>

#include <string>
#include <tuple>
#include <utility>

#include "memory/tiers/built_without.hpp"
#include "memory/tiers/dram_tier.hpp"
#include "memory/values/node_list.hpp"

namespace tier {

std::unique_ptr<Tier> make_numa_tier(const TierSpec& spec, std::vector<NumaNode> measured) {
  std::ignore = parse_node_list(spec.nodes);
  if (!NumaSystem::is_built_in())
    throw_built_without("numa:" + spec.nodes, "TIER_WITH_NUMA", "libnuma", "libnuma-dev");
  return make_numa_tier(spec, std::make_shared<NumaSystem>(SystemPaths{}, std::move(measured)));
}

std::unique_ptr<Tier> make_numa_tier(const TierSpec& spec, std::shared_ptr<const NumaSystem> system) {
  const auto name = "numa:" + spec.nodes;
  auto nodes = std::make_unique<NumaNodes>(spec.nodes, name, std::move(system));
  if (spec.prefault)  // first, because the system would end the program
    if (const auto lacking = nodes->lacking(spec.size.count, spec.pages); !lacking.empty())
      throw TierError{std::make_error_code(std::errc::not_enough_memory),
                      "memory of " + to_human(spec.size) + " for tier " + name + " (" + lacking + ")"};
  const auto model = nodes->model();
  return std::make_unique<DramTier>(spec, name, model, std::move(nodes));
}

}  // namespace tier
