// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/tier_graph.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/runtime/policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "hardware/homes.hpp"
#include "hardware/machine.hpp"
#include "support/placement.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"

namespace tier::real_tiers_test {
namespace {

using test::given;
using test::GivenNode;

/// Returns the kind that docs/specs.md gives for such a node.
NodeKind kind_of(const GivenNode& node) {
  if (!node.cpus.empty()) return NodeKind::Dram;
  if (!node.at_boot && !given()->devdax.empty()) return NodeKind::Persistent;
  const bool fast = node.mib_per_second && *node.mib_per_second >= 2 * *given()->nodes.front().mib_per_second;
  return fast ? NodeKind::Hbm : NodeKind::Cxl;
}

/// Returns a tier on each node with memory, in order of nodes: a quarter of its free memory, `most` at most.
std::vector<TierSpec> tiers_of_nodes(Bytes most) {
  std::vector<TierSpec> specs;
  for (const auto& node : discover().nodes)
    specs.push_back(tiers::numa(std::to_string(node.id), std::min(most, Bytes{node.free.count / 4})));
  return specs;
}

/// Keeps objects of 256 KiB beside a model of their bytes, and reads and writes them in scopes at random.
class Objects {
 public:
  Objects(Runtime& runtime, std::size_t number, std::uint64_t seed) : random_{seed}, model_(number) {
    for (std::size_t i = 0; i < number; ++i) {
      tensors_.emplace_back(runtime, Shape{256, 256});
      write(i);
    }
  }
  void step() {
    const auto i = random_() % model_.size();
    if (random_() % 3 == 0)
      write(i);
    else
      read(i);
    if (random_() % 4 == 0) archive(tensors_[random_() % model_.size()]);
    if (random_() % 4 == 0) will_read(tensors_[random_() % model_.size()]);
  }
  /// Checks the bytes of all objects, and that the kernel has each page on the node of the tier that the runtime reports.
  void check(const Runtime& runtime) const {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      CAPTURE(i);
      const ReadScope in{tensors_[i]};
      const auto values = in[tensors_[i]].elements();
      CHECK(std::ranges::count(values, model_[i]) == count);
      const auto home = test::home_of(runtime, tensors_[i].object().id());
      CHECK(test::pages_astray(std::as_bytes(values), test::node_of(runtime, home)) == 0);
    }
  }

 private:
  void read(std::size_t i) const {
    const ReadScope in{tensors_[i]};
    CHECK(std::ranges::count(in[tensors_[i]].elements(), model_[i]) == count);
  }
  void write(std::size_t i) {
    model_[i] = static_cast<float>(random_() % 1'000'000);
    WriteScope out{overwrites(tensors_[i])};
    std::ranges::fill(out[tensors_[i]].elements(), model_[i]);
  }
  static constexpr std::ptrdiff_t count = 256 * 256;

  std::mt19937_64 random_;
  std::vector<float> model_;
  std::vector<Tensor<float>> tensors_;
};

}  // namespace

TEST_CASE("nodes are found with the kind, the speed and the memory tier that the machine was given") {
  if (!given()) return test::lacks_description();
  const auto machine = discover();
  REQUIRE(machine.nodes.size() == given()->nodes.size());
  for (std::size_t i = 0; i < machine.nodes.size(); ++i) {
    const auto& found = machine.nodes[i];
    const auto& node = given()->nodes[i];
    CAPTURE(found.id);
    CHECK(found.kind == kind_of(node));
    CHECK(found.allowed);
    CHECK(found.memory_tier);
    REQUIRE(found.distances.size() == machine.nodes.size());
    CHECK(found.distances[i] == 10);
    CHECK(found.speed.read_latency.count() == node.latency_ns.value_or(0));
    CHECK(found.speed.write_latency.count() == node.latency_ns.value_or(0));
    const double rate = 1'048'576.0 * node.mib_per_second.value_or(0);
    CHECK(found.speed.read_bytes_per_second == rate);
    CHECK(found.speed.write_bytes_per_second == rate);
  }
}

TEST_CASE("tiers that are made are as fast as firmware says of their nodes, or else as they were measured") {
  if (!given()) return test::lacks_description();
  auto machine = discover();
  const NodeSpeed measured{5e9, 4e9, std::chrono::nanoseconds{700}, std::chrono::nanoseconds{700}};
  for (auto& node : machine.nodes) node.measured = measured;
  for (const auto& node : given()->nodes) {
    CAPTURE(node.id);
    const auto spec = tiers::numa(std::to_string(node.id), 1_MiB);
    const auto assumed = *find_model("cxl");
    const double rate =
        node.mib_per_second ? 1'048'576.0 * *node.mib_per_second : assumed.read_bytes_per_second;
    const auto model = make_tier(spec)->model(), known = make_tier(spec, machine)->model();
    CHECK(model.read_bytes_per_second == rate);
    CHECK(model.write_bytes_per_second == rate);
    CHECK(model.latency.count() == node.latency_ns.value_or(static_cast<unsigned>(assumed.latency.count())));
    CHECK(known.read_bytes_per_second == (node.mib_per_second ? rate : measured.read_bytes_per_second));
    CHECK(known.latency == (node.latency_ns ? model.latency : measured.read_latency));
  }
  const auto home = make_tier(tiers::numa("0", 1_MiB))->model(),
             plain = make_tier(tiers::dram(1_MiB))->model();
  CHECK(plain.read_bytes_per_second == home.read_bytes_per_second);
  CHECK(plain.latency == home.latency);
}

TEST_CASE("DAX devices and file systems are found as they were set up") {
  if (!given()) return test::lacks_description();
  if (given()->fsdax.empty()) return test::not_given("persistent memory");
  const auto machine = discover();
  REQUIRE(machine.dax_mounts.size() == 1);
  CHECK(machine.dax_mounts.front().directory == given()->fsdax);
  CHECK(machine.dax_mounts.front().free > 0_B);
  REQUIRE(machine.dax_devices.size() == 2);
  CHECK(std::ranges::count(machine.dax_devices, true, &DaxDevice::is_memory) == 1);
  for (const auto& device : machine.dax_devices) {
    CHECK(device.is_persistent);
    CHECK(device.size >= 128_MiB);
  }
}

TEST_CASE("groups are the nodes from fast to slow, and a role's memory is on its nodes") {
  if (!given()) return test::lacks_description();
  const TierGraph graph{discover()};
  std::string order;
  for (const auto& group : graph.groups()) order += group.node_list() + " ";
  const bool has_hbm = given()->nodes.size() > 2;
  CHECK(order == (has_hbm ? "2 0 1 3 " : "0 1 "));
  std::map<std::string, unsigned> roles{{"fastest", has_hbm ? 2 : 0}, {"largest", 0}, {"cxl", 1}};
  if (has_hbm) roles["hbm"] = 2;
  for (const auto& [role, node] : roles) {
    CAPTURE(role);
    const auto tier = make_tier(tiers::role(role, 8_MiB));
    const std::span bytes{tier->base(), (8_MiB).count};
    CHECK(test::placement_of(bytes) == test::all_on(node, bytes));
  }
  if (!has_hbm) CHECK_THROWS(make_tier(tiers::role("hbm", 1_MiB)));
}

TEST_CASE("memkind's kinds have each page on their node: HBW on HBM, DAX_KMEM on memory of a device") {
  if (!given()) return test::lacks_description();
  bool has_hbm = false;
  for (const auto& node : given()->nodes) {
    const bool is_hbm = kind_of(node) == NodeKind::Hbm;
    has_hbm = has_hbm || is_hbm;
    if (node.at_boot && !is_hbm) continue;
    CAPTURE(node.id);
    const auto tier = make_tier(tiers::memkind(is_hbm ? "HBW" : "DAX_KMEM", 8_MiB));
    const std::span bytes{tier->base(), (8_MiB).count};
    CHECK(test::placement_of(bytes) == test::all_on(node.id, bytes));
    const auto where = "memory by memkind of node " + std::to_string(node.id);
    CHECK((tier->description() + ',').starts_with(where + ','));  // the rest tells the kind of pages
  }
  if (!has_hbm) CHECK_THROWS_AS(make_tier(tiers::memkind("HBW", 1_MiB)), TierError);
}

TEST_CASE(
    "under every policy objects keep their bytes on all nodes, and are page by page where the runtime says") {
  if (discover().nodes.size() < 2) return test::lacks("second NUMA node");
  const auto seed = test::seed();
  CAPTURE(seed);
  auto policies = policy_names();
  // Where CXL memory is emulated each access takes microseconds: one policy, which the seed picks. Other nodes have all.
  const bool has_cxl =
      std::ranges::any_of(discover().nodes, [](const auto& node) { return node.kind == NodeKind::Cxl; });
  if (has_cxl && !test::long_form()) policies = {policies[seed % policies.size()]};
  for (const auto& policy : policies) {
    CAPTURE(policy);
    auto specs = tiers_of_nodes(1536_KiB);
    specs.back().size = 10_MiB;
    Runtime runtime{{.tiers = specs, .policy = policy}};
    Objects objects{runtime, 30, seed};
    for (int i = 0; i < 120; ++i) {
      objects.step();
      if (i % 40 == 39) runtime.end_of_step();
    }
    objects.check(runtime);
    for (const auto& tier : runtime.statistics().tiers) {
      CAPTURE(tier.name);
      CHECK(tier.high_water > 0_B);
    }
  }
}

TEST_CASE("a runtime of what the machine has uses each kind of its memory") {
  if (!given()) return test::lacks_description();
  const auto runtime = Runtime::discover();
  std::string names;
  for (const auto& tier : runtime.statistics().tiers) names += tier.name + " ";
  CAPTURE(names);
  for (const auto& node : given()->nodes)
    CHECK(names.find("numa:" + std::to_string(node.id) + " ") != std::string::npos);
}

}  // namespace tier::real_tiers_test
