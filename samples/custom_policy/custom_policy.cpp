// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A custom policy: one class, and one line that gives it a name. docs/policies.md explains it step by step.
#include <tier/core/error.hpp>
#include <tier/policy/policy.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <cstdio>
#include <vector>
using namespace tier::literals;

/// Keeps small blocks in fast memory, and uses large ones where they are.
class SmallFirst final : public tier::Policy {
 public:
  std::string_view name() const noexcept override { return "small_first"; }

  tier::Placement place(const tier::AllocationEvent& event, tier::PolicyContext& context) override {
    if (event.size <= small) return {.tier = 0, .make_room = true};
    return {.tier = context.slower(0), .make_room = false};
  }
  tier::MissDecision on_miss(const tier::MissEvent& event, tier::PolicyContext&) override {
    const bool fetch = event.block.size <= small;
    return {.tier = fetch ? tier::TierIndex{0} : tier::no_tier, .remember = !fetch};
  }
  /// Ranks blocks for eviction: the largest leave first.
  std::uint64_t rank(const tier::BlockFacts& block) const noexcept override {
    return ~std::uint64_t{block.size.count};
  }

 private:
  static constexpr tier::Bytes small = 64_KiB;
};

int main() {
  tier::register_policy("small_first", [](tier::PolicyOptions options) {
    if (!options.empty())
      throw tier::ConfigError{"unknown option", options.front().first, 0, "no options for small_first"};
    return std::make_unique<SmallFirst>();
  });

  tier::Runtime runtime{
      {.tiers = {tier::tiers::dram(1_MiB), tier::tiers::emulated("cxl", 64_MiB)}, .policy = "small_first"}};
  tier::Tensor<float> large{runtime, {256, 1024}, "large"};
  std::vector<tier::Tensor<float>> small;
  for (int i = 0; i < 8; ++i) small.emplace_back(runtime, tier::Shape{4096}, "small");
  for (auto& tensor : small) tier::WriteScope{tier::overwrites(tensor)}[tensor].data()[0] = 1.0F;
  tier::WriteScope{tier::overwrites(large)}[large].data()[0] = 1.0F;

  int fast = 0;
  for (const auto& object : runtime.object_statistics()) fast += object.tier == 0;
  std::printf("%d of 9 objects are in fast memory\n", fast);
}
