// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The operating system's own tiering beside ours. It demotes plain memory from a node under pressure, and moves
///        used pages to a faster node (NUMA balancing). Tiers' memory stays where the manager says, unless under pressure.
#include <doctest/doctest.h>
#include <tier/memory/discovery.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "hardware/homes.hpp"
#include "hardware/kernel_settings.hpp"
#include "hardware/machine.hpp"
#include "support/placement.hpp"

namespace tier::kernel_tiering_test {
namespace {

using test::given;
using test::Setting;
using Clock = std::chrono::steady_clock;

constexpr const char* demotion = "/sys/kernel/mm/numa/demotion_enabled";
constexpr const char* balancing = "/proc/sys/kernel/numa_balancing";

/// The node with the CPUs, and the nearest one that the kernel ranks as slower.
struct TwoNodes {
  unsigned home, slower;
};

/// Returns none if it has ended the test case; settings are changed in emulated machines alone.
std::optional<TwoNodes> two_nodes() {
  if (!given()) return test::lacks_description(), std::nullopt;
  if (std::ranges::any_of(given()->nodes, [](const auto& node) { return node.device == "cxl"; }))
    return test::not_given("slower node that is fast enough"), std::nullopt;
  const auto nodes = discover().nodes;
  const auto& home = nodes.front();
  REQUIRE(!home.cpus.empty());
  for (const auto& node : nodes)
    if (node.memory_tier > home.memory_tier) return TwoNodes{home.id, node.id};
  return test::lacks("node that the kernel takes for slower than that of the CPUs"), std::nullopt;
}

/// Owns small pages without a memory policy, which no tier has; each word holds its index.
class PlainMemory {
 public:
  explicit PlainMemory(Bytes size) : pages_{size} {
    REQUIRE(::madvise(pages_.bytes().data(), size.count, MADV_NOHUGEPAGE) == 0);
    for (std::size_t i = 0; i < words().size(); ++i) words()[i] = i;
  }
  /// Reads all words and checks them.
  void check() const {
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < words().size(); ++i) wrong += words()[i] == i ? 0 : 1;
    CHECK(wrong == 0);
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return pages_.bytes(); }
  [[nodiscard]] std::size_t pages_on(unsigned node) const {
    return test::placement_of(bytes()).pages[static_cast<int>(node)];
  }
  [[nodiscard]] std::size_t pages() const { return test::page_addresses(bytes()).size(); }

 private:
  [[nodiscard]] std::span<volatile std::size_t> words() const {
    return {reinterpret_cast<std::size_t*>(bytes().data()), bytes().size() / sizeof(std::size_t)};
  }
  test::Pages pages_;
};

/// Keeps objects in tiers on two nodes, and uses them in place.
class Objects {
 public:
  explicit Objects(const TwoNodes& nodes)
      : runtime_{{.tiers = {tiers::numa(std::to_string(nodes.home), 5_MiB),
                            tiers::numa(std::to_string(nodes.slower), 5_MiB)},
                  .policy = "first_touch"}} {
    for (int i = 0; i < 8; ++i) {
      auto& tensor = tensors_.emplace_back(runtime_, Shape{256, 1024});
      WriteScope out{overwrites(tensor)};
      std::ranges::fill(out[tensor].elements(), static_cast<float>(i));
    }
  }
  /// Reads all objects and checks them.
  void check() const {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const ReadScope in{tensors_[i]};
      CHECK(std::ranges::count(in[tensors_[i]].elements(), static_cast<float>(i)) == 256 * 1024);
    }
  }
  /// Returns how many pages of objects are not on their tier's node.
  [[nodiscard]] std::size_t pages_astray() const {
    std::set<TierIndex> homes;
    std::size_t astray = 0;
    for (const auto& tensor : tensors_) {
      const ReadScope in{tensor};
      const auto home = test::home_of(runtime_, tensor.object().id());
      homes.insert(home);
      astray += test::pages_astray(std::as_bytes(in[tensor].elements()), test::node_of(runtime_, home));
    }
    CHECK(homes.size() == 2);
    return astray;
  }
  [[nodiscard]] std::string descriptions() const {
    return runtime_.manager()->tier(0).description() + "; " + runtime_.manager()->tier(1).description();
  }

 private:
  Runtime runtime_;
  std::vector<Tensor<float>> tensors_;
};

/// Reclaims memory of a group until `enough` pages have left their node, or 100 times.
void press(const test::ControlGroup& group, const auto& pages_left, std::size_t enough) {
  for (int i = 0; i < 100 && pages_left() < enough; ++i) static_cast<void>(group.set("memory.reclaim", "1M"));
}

}  // namespace

TEST_CASE(
    "under pressure the kernel demotes plain memory to a slower node, and objects stay where the manager "
    "says") {
  const auto nodes = two_nodes();
  if (!nodes) return;
  const Setting demotes{demotion, "true"};
  if (!demotes.taken()) return test::lacks(std::string{"demotion by the kernel ("} + demotion + ")");
  const test::ControlGroup group;
  if (!group.set("memory.reclaim", "0")) return test::lacks("control groups of version 2 (memory.reclaim)");
  const Objects objects{*nodes};
  const auto plain = [&] {
    const test::ControlGroup::Stay in{group};
    return std::make_unique<PlainMemory>(16_MiB);
  }();
  REQUIRE(plain->pages_on(nodes->home) == plain->pages());
  press(
      group, [&] { return plain->pages() - plain->pages_on(nodes->home); }, plain->pages() / 2);
  CAPTURE(test::placement_of(plain->bytes()));
  CHECK(plain->pages_on(nodes->home) <= plain->pages() / 2);
  CHECK(plain->pages_on(nodes->slower) > 0);
  plain->check();
  CHECK(objects.pages_astray() == 0);
  objects.check();
}

TEST_CASE("objects keep their values where the kernel demotes their tiers' pages, and the tiers tell") {
  const auto nodes = two_nodes();
  if (!nodes) return;
  const Setting demotes{demotion, "true"};
  const test::ControlGroup group;
  if (!demotes.taken() || !group.set("memory.reclaim", "0"))
    return test::lacks("demotion by the kernel, or no control groups of version 2");
  const auto objects = [&] {
    const test::ControlGroup::Stay in{group};
    return std::make_unique<Objects>(*nodes);
  }();
  REQUIRE(objects->pages_astray() == 0);
  press(
      group, [&] { return objects->pages_astray(); }, 512);
  const auto astray = objects->pages_astray();
  CHECK(astray > 0);  // as docs/specs.md says, bound or not
  CHECK(objects->descriptions().find(" are elsewhere: node ") != std::string::npos);
  objects->check();
}

TEST_CASE(
    "the kernel brings plain memory that is used to a faster node, and objects stay where the manager says") {
  const auto nodes = two_nodes();
  if (!nodes) return;
  const Setting balances{balancing, "2"};
  if (!balances.taken()) return test::lacks(std::string{"NUMA balancing by the kernel ("} + balancing + ")");
  const Objects objects{*nodes};
  const PlainMemory plain{4_MiB};
  REQUIRE(test::move_to(plain.bytes(), nodes->slower) == test::PagePlacement{});
  REQUIRE(plain.pages_on(nodes->slower) == plain.pages());
  // The kernel scans for used pages once a second at most.
  const auto end = Clock::now() + std::chrono::seconds{60};
  while (plain.pages_on(nodes->home) < plain.pages() / 2 && Clock::now() < end) {
    plain.check();
    objects.check();
  }
  CAPTURE(test::placement_of(plain.bytes()));
  CHECK(plain.pages_on(nodes->home) >= plain.pages() / 2);
  CHECK(objects.pages_astray() == 0);
}

}  // namespace tier::kernel_tiering_test
