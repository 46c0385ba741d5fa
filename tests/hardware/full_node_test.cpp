// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A node without room beside a tier: the system would end a program that asks it for more.
#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/pmr/container_scopes.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>

#include <algorithm>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

#include "hardware/machine.hpp"
#include "support/placement.hpp"
#include "support/windows.hpp"

namespace tier::full_node_test {
namespace {

using List = std::pmr::vector<std::uint32_t>;

constexpr std::size_t lists = 16, length = 256 * 1024;  // 1 MiB each

/// Returns memory-only nodes that no other program uses: an expander and HBM. Prints a message if the machine has none.
std::vector<NumaNode> quiet_nodes() {
  std::vector<NumaNode> found;
  if (!test::given()) return test::lacks_description(), found;
  for (const auto& node : discover().nodes)
    for (const auto& given : test::given()->nodes)
      if (node.id == given.id && given.cpus.empty() && given.at_boot) found.push_back(node);
  if (found.empty()) test::not_given("node of memory alone at boot");
  return found;
}

/// Stands for other programs of the machine: takes the free memory of a node, and no more.
class Others {
 public:
  explicit Others(unsigned node) : node_{node} {}

  void take_what_is_free() {
    std::thread{[this] {  // its memory policy ends with this thread
      const unsigned long nodes = 1UL << node_;
      const bool set = ::syscall(SYS_set_mempolicy, MPOL_PREFERRED, &nodes, 8 * sizeof nodes + 1) == 0;
      CHECK(set);
      if (!set) return;
      do {
        taken_.push_back(std::make_unique<test::Pages>(1_MiB));
        std::memset(taken_.back()->bytes().data(), 1, (1_MiB).count);
      } while (test::placement_of(taken_.back()->bytes()) == test::all_on(node_, taken_.back()->bytes()));
    }}
        .join();
  }
  [[nodiscard]] std::size_t mib() const { return taken_.size(); }

 private:
  unsigned node_;
  std::vector<std::unique_ptr<test::Pages>> taken_;
};

}  // namespace

TEST_CASE("a tier may have all that its node is said to have, and more is refused") {
  for (const auto& node : quiet_nodes()) {
    std::string refusal;
    for (auto size = node.total; size > 1_MiB; size -= 1_MiB) {
      CAPTURE(size);
      try {
        const Runtime runtime{{.tiers = {tiers::numa(std::to_string(node.id), size)}, .policy = "lru"}};
        const auto told = runtime.manager()->tier(0).description();
        CHECK(told.find("faulted in at once") != std::string::npos);
        CHECK(told.ends_with(", all are there"));
        break;
      } catch (const TierError& e) {
        refusal = e.what();
      }
    }
    CAPTURE(refusal);
    CHECK(refusal.find("(node " + std::to_string(node.id) + " has ") != std::string::npos);
  }
}

TEST_CASE("objects keep their values, and their addresses, where others take what their tier gives back") {
  if (!test::has_windows()) return;
  for (const auto& node : quiet_nodes()) {
    const auto id = std::to_string(node.id);
    CAPTURE(id);
    // The faster tier does not have room for all.
    Runtime runtime{{.tiers = {tiers::numa(id, 10_MiB), tiers::numa("0", 10_MiB)},
                     .policy = "lru",
                     .windows = WindowMode::Full}};
    MigratingResource memory{runtime};
    std::pmr::vector<List> all{&memory};
    for (std::uint32_t i = 0; i < lists; ++i) all.emplace_back(length, i);
    Others others{node.id};
    for (std::uint32_t round = 0; round < 3; ++round) {
      others.take_what_is_free();
      for (std::uint32_t i = 0; i < lists; ++i) {
        const auto* const address = all[i].data();
        const WriteScope out{updates(all[i])};
        CHECK(std::ranges::count(all[i], i + round) == static_cast<std::ptrdiff_t>(length));
        std::ranges::fill(all[i], i + round + 1);
        CHECK(all[i].data() == address);
      }
    }
    CHECK(others.mib() > 8);
    const auto statistics = runtime.statistics();
    CHECK(statistics.windows == WindowMode::Full);
    CHECK(statistics.bytes_moved(0, 1) > (20_MiB).count);
    CHECK(statistics.bytes_moved(1, 0) > (20_MiB).count);
    for (std::uint32_t i = 0; i < lists; ++i)
      CHECK(std::ranges::count(all[i], i + 3) == static_cast<std::ptrdiff_t>(length));
    runtime.manager()->check_invariants();
  }
}

}  // namespace tier::full_node_test
