// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Policies decide well when it matters: with little fast memory.
#include "machines.hpp"
#include "random_steps.hpp"
#include "support/seed.hpp"

#include <tier/replay/replay.hpp>
#include <tier/runtime/policies.hpp>

#include <doctest/doctest.h>

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tier::policies_test {

using namespace tier::test;

namespace {

/// The same as `lru`, but evicts by another rank: the block used last (a mutant), or any.
class ByRank final : public Policy {
 public:
  explicit ByRank(std::function<std::uint64_t(const BlockFacts&)> rank) : rank_{std::move(rank)} {}
  std::string_view name() const noexcept override { return "by_rank"; }
  Placement place(const AllocationEvent&, PolicyContext&) override { return {0, true}; }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {0, false}; }
  std::uint64_t rank(const BlockFacts& block) const noexcept override { return rank_(block); }
  bool wants_kernels() const noexcept override { return true; }
  void on_kernel_end(const KernelEvent& event, PolicyContext& context) override {
    for (const auto& operand : event.operands) context.rerank(operand.block);
  }
  RunChoice choose(const RoomRequest&, std::span<const Run>, PolicyContext&) override { return {0, {}}; }

 private:
  std::function<std::uint64_t(const BlockFacts&)> rank_;
};

replay::PolicyFactory by_rank(std::function<std::uint64_t(const BlockFacts&)> rank) {
  return [rank](const FutureUses&) { return std::make_unique<ByRank>(rank); };
}
replay::PolicyFactory named(const std::string& spec) {
  return
      [spec](const FutureUses& future) { return spec == "belady" ? make_belady(future) : make_policy(spec); };
}

std::uint64_t read_from_slow(const replay::Result& r) { return r.traffic.back().read; }
std::uint64_t written_to_slow(const replay::Result& r) { return r.traffic.back().written; }

/// A sequence of uses that returns to recent tensors more often than to old ones.
trace::Trace lately_used(std::mt19937_64& random, std::size_t tensors, std::size_t kernels, bool writes) {
  using namespace trace;
  Trace trace;
  for (std::size_t i = 0; i < tensors; ++i)
    trace.declare(i, 64_KiB, TensorKind::Parameter, "p" + std::to_string(i));
  std::vector<TensorIndex> stack;  // the last used is at the end
  for (TensorIndex t = 0; t < tensors; ++t) stack.push_back(t);
  std::geometric_distribution<std::size_t> back{8.0 / static_cast<double>(tensors)};
  for (std::size_t k = 0; k < kernels; ++k) {
    const auto at = stack.size() - 1 - back(random) % stack.size();
    const auto t = stack[at];
    stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(at));
    stack.push_back(t);
    const bool updates = writes && random() % 3 == 0;
    trace.add_kernel("relu_f", Phase::Forward, 0,
                     std::vector<trace::Operand>{{64_KiB, t, updates ? Role::Updates : Role::Reads}});
  }
  trace.add_end_of_iteration();
  return trace;
}

}  // namespace

TEST_CASE("with little fast memory lru beats random victims, which beat those used last") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto trace = lately_used(random, 64, 4000, true);
  const std::vector<replay::SimulatedTier> tiers{{"fast", 1_MiB}, {"slow", 64_MiB}};
  const auto reads = [&](const replay::PolicyFactory& policy) {
    return read_from_slow(replay::run(trace, small_machine(), tiers, policy, {.asynchronous = false}));
  };
  const auto lru = reads(named("lru"));
  std::uint64_t state = seed | 1;
  const auto anyone =
      reads(by_rank([&](const BlockFacts&) { return state = state * 6364136223846793005U + 1; }));
  const auto used_last = reads(by_rank([](const BlockFacts& b) { return ~b.last_use; }));
  CHECK(lru > 0);
  CHECK(static_cast<double>(lru) < 0.95 * static_cast<double>(anyone));
  CHECK(static_cast<double>(anyone) < 0.95 * static_cast<double>(used_last));
}

TEST_CASE("no policy reads less from slow memory than belady, where blocks are of one size") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int i = 0; i < 10; ++i) {
    const auto trace = lately_used(random, 20 + random() % 60, 1000, random() % 2 == 0);
    const std::vector<replay::SimulatedTier> tiers{{"fast", Bytes{(2 + random() % 12) * 65536}},
                                                   {"slow", 64_MiB}};
    const auto reads = [&](const replay::PolicyFactory& policy) {
      return read_from_slow(replay::run(trace, small_machine(), tiers, policy, {.asynchronous = false}));
    };
    const auto best = reads(named("belady"));
    for (const char* policy :
         {"lru", "first_touch", "hint_aware:mode=L", "hint_aware:mode=LMP", "page_migration"}) {
      CAPTURE(policy);
      CHECK(best <= reads(named(policy)));
    }
  }
}

TEST_CASE(
    "belady lets in of a kernel's operands those that are used again first, and none for another that is") {
  using namespace trace;
  Trace trace;
  const auto size = 64_KiB;
  for (const char* name : {"X", "Y", "A", "B"})
    trace.declare(static_cast<std::uint64_t>(name[0]), size, TensorKind::Parameter, name);
  const auto read = [&](std::vector<TensorIndex> tensors) {
    std::vector<trace::Operand> operands;
    for (const auto t : tensors) operands.push_back({size, t, Role::Reads});
    trace.add_kernel("relu_f", Phase::Forward, 0, operands);
  };
  constexpr TensorIndex x = 0, y = 1, a = 2, b = 3;
  for (const auto t : {x, y, x, y}) read({t});
  read({a, b});
  for (const auto t : {y, y, b, a, x}) read({t});
  const std::vector<replay::SimulatedTier> tiers{{"fast", 2 * size}, {"slow", 64_MiB}};
  const auto reads = [&](const char* policy) {
    return read_from_slow(replay::run(trace, small_machine(), tiers, named(policy),
                                      {.passes = 1, .asynchronous = false})) /
           size.count;
  };
  CHECK(reads("first_touch") == 4);
  CHECK(reads("belady") <= 4);
}

TEST_CASE("what has only been read is not written back") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const std::vector<replay::SimulatedTier> tiers{{"fast", 1_MiB}, {"slow", 64_MiB}};
  const auto trace = lately_used(random, 64, 4000, false);
  // The first pass writes back the contents that were initialised in fast memory.
  const auto r = replay::run(trace, small_machine(), tiers, named("lru"), {.asynchronous = false});
  CHECK(read_from_slow(r) > 0);
  CHECK(written_to_slow(r) == 0);
}

TEST_CASE("archived objects leave first") {
  using namespace trace;
  Trace trace;
  constexpr TensorIndex all = 12;
  const auto size = 64_KiB;
  for (TensorIndex t = 0; t < all; ++t)
    trace.declare(t, size, TensorKind::Activation, "a" + std::to_string(t));
  const auto touch = [&](TensorIndex t, Role role) {
    trace.add_kernel("relu_f", Phase::Forward, 0, std::vector<trace::Operand>{{size, t, role}});
  };
  for (TensorIndex t = 0; t < 8; ++t) touch(t, Role::Creates);  // fast memory is full
  trace.add_archive(std::vector<TensorIndex>{4, 5, 6, 7});      // the last used
  for (TensorIndex t = 8; t < all; ++t) touch(t, Role::Creates);
  for (TensorIndex t = 0; t < 4; ++t) touch(t, Role::Reads);
  trace.add_end_of_iteration();
  const std::vector<replay::SimulatedTier> tiers{{"fast", 8 * size}, {"slow", 64_MiB}};
  const replay::Options once{.passes = 1, .asynchronous = false};
  const auto hinted = replay::run(trace, small_machine(), tiers, named("hint_aware"), once);
  CHECK(hinted.evictions == 4);
  CHECK(hinted.inputs_fast_share == 1);
  CHECK(read_from_slow(hinted) == 0);
  CHECK(read_from_slow(replay::run(trace, small_machine(), tiers, named("lru"), once)) == 4 * size.count);
}

}  // namespace tier::policies_test
