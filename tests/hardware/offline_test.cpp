// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A node whose memory goes offline under a tier.
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "hardware/kernel_settings.hpp"
#include "hardware/machine.hpp"
#include "support/message_of.hpp"

namespace tier::offline_test {
namespace {

using test::given;

/// Takes all memory of a node offline for a while; the kernel moves its pages elsewhere.
class Offline {
 public:
  explicit Offline(unsigned node) {
    const std::string system = "/sys/devices/system/";
    for (const auto& entry :
         std::filesystem::directory_iterator{system + "node/node" + std::to_string(node)}) {
      const auto state = system + "memory/" + entry.path().filename().string() + "/state";
      if (!std::filesystem::exists(state)) continue;
      CAPTURE(state);
      CHECK(test::write_to(state, "offline"));
      blocks_.push_back(state);
    }
    REQUIRE(!blocks_.empty());
  }
  ~Offline() {
    for (const auto& block : blocks_) CHECK(test::write_to(block, "online_movable"));
  }
  Offline(const Offline&) = delete;
  Offline& operator=(const Offline&) = delete;

 private:
  std::vector<std::string> blocks_;
};

/// Fills each tensor, of 1 MiB, with one value.
void fill(std::vector<Tensor<float>>& tensors, float value) {
  for (auto& tensor : tensors) {
    WriteScope out{overwrites(tensor)};
    std::ranges::fill(out[tensor].elements(), value);
  }
}
void check(const std::vector<Tensor<float>>& tensors, float value) {
  for (const auto& tensor : tensors) {
    const ReadScope in{tensor};
    CHECK(std::ranges::count(in[tensor].elements(), value) == 256 * 1024);
  }
}

}  // namespace

TEST_CASE(
    "objects on a node that goes offline keep their values, the tier tells where they are, and a new one is "
    "refused") {
  if (!given()) return test::lacks_description();
  const auto found = std::ranges::find(given()->nodes, false, &test::GivenNode::at_boot);
  REQUIRE(found != given()->nodes.end());
  const auto spec = tiers::numa(std::to_string(found->id), 12_MiB);
  Runtime runtime{{.tiers = {tiers::numa("0", 2_MiB), spec}, .policy = "lru"}};
  std::vector<Tensor<float>> tensors;
  for (int i = 0; i < 8; ++i) tensors.emplace_back(runtime, Shape{256, 1024});
  fill(tensors, 1);
  const auto told = [&] { return runtime.manager()->tier(1).description(); };
  CHECK(told().ends_with(", all are there"));
  {
    const Offline offline{found->id};
    check(tensors, 1);
    CAPTURE(told());
    CHECK(told().find(" are elsewhere: node ") != std::string::npos);
    CHECK(std::ranges::count(discover().nodes, found->id, &NumaNode::id) == 0);
    const auto refusal = test::message_of<TierError>([&] { std::ignore = make_tier(spec); });
    CHECK(refusal == "node " + std::to_string(found->id) + " for tier numa:" + std::to_string(found->id) +
                         ": the node has no memory: Cannot allocate memory");
    fill(tensors, 2);
    check(tensors, 2);
  }
  check(tensors, 2);
  runtime.manager()->check_invariants();
  CHECK(make_tier(spec)->description().ends_with(", all are there"));
}

}  // namespace tier::offline_test
