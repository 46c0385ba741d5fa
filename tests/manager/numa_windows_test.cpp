// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Windows over tiers on NUMA nodes: each page is on a node of the tier that holds its block.
#include <doctest/doctest.h>
#include <tier/memory/tiers.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "manager/rig.hpp"
#include "manager/window_fire.hpp"
#include "memory/system/page_policy.hpp"
#include "memory/system/pages.hpp"
#include "memory/system/system_files.hpp"
#include "support/hardware.hpp"
#include "support/test_manager.hpp"
#include "support/windows.hpp"

namespace tier::numa_windows_test {

using namespace tier::literals;
using namespace tier::test;

namespace {

/// Memory whose windows interleave their pages over all nodes, even if there is only one.
class InTurns final : public MemoryTier {
 public:
  InTurns(MemoryTierOptions options, const std::vector<unsigned>& nodes)
      : MemoryTier{std::move(options)}, policy_{PagePolicy::Mode::Interleave, nodes} {
    page_policy_ = &policy_;
  }

 private:
  PagePolicy policy_;
};

/// Leaves blocks where they are when they are read.
class StayingPolicy final : public Policy {
 public:
  std::string_view name() const noexcept override { return "staying"; }
  Placement place(const AllocationEvent&, PolicyContext&) override { return {0, true}; }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {no_tier, false}; }
};

/// Returns how many pages all programs of the system have interleaved so far.
std::size_t taken_in_turns(const std::vector<unsigned>& nodes) {
  std::size_t sum = 0;
  for (const auto node : nodes)
    sum += read_value(NumaSystem{}.node_path(node) + "/numastat", "interleave_hit");
  return sum;
}

}  // namespace

TEST_SUITE_BEGIN("hardware");

TEST_CASE("the system takes a window's pages as the tier of their block says, and others as it likes") {
  if (!has_windows()) return;
  const auto nodes = nodes_of_machine(1);
  if (nodes.empty()) return;
  for (const bool in_turns : {false, true}) {
    CAPTURE(in_turns);
    std::vector<std::unique_ptr<Tier>> tiers;
    if (in_turns)
      tiers.push_back(std::make_unique<InTurns>(fast_tier(8_MiB), nodes));
    else
      tiers.push_back(std::make_unique<MemoryTier>(fast_tier(8_MiB)));
    tiers.push_back(std::make_unique<MemoryTier>(slow_tier(8_MiB, false)));
    const auto manager =
        Manager::make(std::move(tiers), std::make_unique<FetchingPolicy>(),
                      {.threads = 1, .yields = false, .windows = WindowMode::Full, .window_blocks = 64_KiB});
    auto before = taken_in_turns(nodes);
    const auto object = manager->create_window(4_MiB, 64, "windowed");
    std::byte* const begin = object.ref().object->window;
    const auto pages = (4_MiB).count / page_size();
    std::memset(begin, 7, (4_MiB).count);  // new pages
    const auto fresh = taken_in_turns(nodes) - before;
    migrate(*manager, object, 1);
    before = taken_in_turns(nodes);
    CHECK(begin[0] == std::byte{7});
    migrate(*manager, object, 0);  // fetched pages
    for (std::size_t at = 0; at < (4_MiB).count; at += page_size()) CHECK(begin[at] == std::byte{7});
    const auto brought = taken_in_turns(nodes) - before;
    if (in_turns) {
      CHECK(fresh >= pages);
      CHECK(brought >= pages);
    } else {  // other programs interleave few pages
      CHECK(fresh < pages / 4);
      CHECK(brought < pages / 4);
    }
  }
}

TEST_CASE(
    "blocks of windows lie on the node of their tier, after each migration and however large they are") {
  if (!has_windows()) return;
  const auto nodes = nodes_of_machine(1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto first = nodes[i], second = nodes[(i + 1) % nodes.size()];  // each node is first, and second
    for (const auto block : {64_KiB, 2_MiB})
      for (const auto pages : {PageKind::Huge, PageKind::Small}) {
        CAPTURE(first);
        CAPTURE(second);
        CAPTURE(block.count);
        std::vector<TierSpec> specs;
        for (const auto node : {first, second}) {
          specs.push_back(tiers::numa(std::to_string(node), 16_MiB));
          specs.back().pages = pages;
        }
        const auto manager = make_manager(specs, WindowMode::Full, block, std::make_unique<StayingPolicy>());
        // Tiers of a machine with two kinds of nodes are sorted by speed.
        const auto node_of = [&](TierIndex t) {
          const std::string name{manager->statistics().tiers[t].name};
          return static_cast<unsigned>(std::stoul(name.substr(name.find(':') + 1)));
        };
        const auto object = manager->create_window(8_MiB, 64, "windowed");
        std::byte* const begin = object.ref().object->window;
        std::memset(begin, 7, (8_MiB).count);
        CHECK(are_all_on(begin, (8_MiB).count, node_of(0)));
        char value = 7;
        for (const TierIndex there : {TierIndex{1}, TierIndex{0}, TierIndex{1}, TierIndex{1}, TierIndex{0}}) {
          migrate(*manager, object, there);
          CHECK(
              std::all_of(begin, begin + (8_MiB).count, [&](std::byte b) { return b == std::byte(value); }));
          CHECK(are_all_on(begin, (8_MiB).count, node_of(there)));
          if (there == 1) std::memset(begin, ++value, (8_MiB).count);
          CHECK(are_all_on(begin, (8_MiB).count, node_of(there)));
        }
        manager->quiesce();
        manager->check_invariants();
      }
  }
}

TEST_SUITE_END();

}  // namespace tier::numa_windows_test
