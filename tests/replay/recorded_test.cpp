// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  What a program did, a replay of its recording does again, migration by migration.
#include "machines.hpp"
#include "support/seed.hpp"
#include "support/temporary_directory.hpp"

#include <tier/replay/replay.hpp>
#include <tier/runtime/policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/hints.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>
#include <tier/trace/files.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

using namespace tier;
using namespace tier::test;

namespace {

using Lines = std::vector<std::string>;

std::string line(std::string_view name, std::string_view from, std::string_view to, std::uint64_t bytes,
                 std::string_view cause) {
  return std::string{name} + ' ' + std::string{from} + '>' + std::string{to} + ' ' + std::to_string(bytes) +
         ' ' + std::string{cause};
}

Lines migrations_in(const trace::Trace& trace) {
  static constexpr std::array causes{"hint", "miss", "forced", "evict", "compact", "plan"};
  Lines lines;
  for (const auto event : trace.events()) {
    if (event.kind != trace::EventKind::Migration) continue;
    const auto& m = trace.migration(event);
    lines.push_back(line(trace.name(trace.tensor(m.tensor).name), trace.name(m.from), trace.name(m.to),
                         m.size.count, causes.at(static_cast<std::size_t>(m.cause))));
  }
  return lines;
}

/// The same, as a replay tells it.
class Migrations final : public Observer {
 public:
  explicit Migrations(std::vector<std::string> tiers) : tiers_{std::move(tiers)} {}
  void on_allocation(const AllocationEvent& e) noexcept override { names_[e.block] = e.name; }
  void on_migration(const MigrationEvent& e) noexcept override {
    lines.push_back(
        line(names_[e.block], tiers_.at(e.from), tiers_.at(e.to), e.bytes.count, to_string(e.cause)));
  }
  Lines lines;

 private:
  std::vector<std::string> tiers_;
  std::map<BlockId, std::string> names_;
};

const std::vector<std::string> tier_names{"dram", "emulated:cxl"};
constexpr auto fast = 1_MiB, slow = 32_MiB;

/// Kernels, hints and ends of tensors at random, one thread, no copies in the background.
void run_program(const std::string& policy, const std::string& file, std::mt19937_64& random) {
  RuntimeOptions options;
  options.tiers = {tiers::dram(fast), tiers::emulated("cxl", slow)};
  options.policy = policy;
  options.threads = 1;
  options.movers = 0;
  options.trace = file;
  Runtime runtime{options};
  std::vector<std::unique_ptr<Tensor<float>>> tensors;
  int made = 0;
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto make = [&] {
    const auto count = 64 + below(48 << 10);
    tensors.push_back(std::make_unique<Tensor<float>>(runtime, Shape{count}, "t" + std::to_string(made++)));
    KernelScope k{"fill", overwrites(*tensors.back())};
  };
  for (int i = 0; i < 8; ++i) make();
  for (int step = 0; step < 400; ++step) {
    std::ranges::shuffle(tensors, random);
    auto &a = *tensors[0], &b = *tensors[1], &c = *tensors[2];
    switch (below(8)) {
      case 0:
        if (tensors.size() < 24) make();
        break;
      case 1:
        if (tensors.size() > 6) tensors.pop_back();
        break;
      case 2: {
        tier::retire(a);
        KernelScope k{"again", reads(b), overwrites(a)};
        break;
      }
      case 3:
        tier::archive(a);
        break;
      case 4:
        runtime.end_of_step();
        break;
      case 5: {
        KernelScope k{"write", updates(b), overwrites(a)};  // in the order of roles, as recordings have it
        break;
      }
      default:
        KernelScope k{"mix", reads(a, b), updates(c)};
    }
  }
}

Lines replayed(const trace::Trace& trace, const std::function<std::unique_ptr<Policy>()>& policy) {
  auto machine = small_machine();
  machine.devices.resize(2);
  for (std::size_t t = 0; t < 2; ++t) machine.devices[t].name = tier_names[t];
  machine.slow_downs.clear();
  Migrations seen{tier_names};
  replay::Options options{.passes = 1, .asynchronous = false};
  options.observer = &seen;
  (void)replay::run(
      trace, machine, {{"dram", fast}, {"emulated:cxl", slow}}, [&](const FutureUses&) { return policy(); },
      options);
  return seen.lines;
}

/// As lru, but the one used last leaves.
class UsedLast final : public Policy {
 public:
  std::string_view name() const noexcept override { return "used_last"; }
  bool wants_kernels() const noexcept override { return true; }
  Placement place(const AllocationEvent&, PolicyContext&) override { return {0, true}; }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {0, false}; }
  std::uint64_t rank(const BlockFacts& block) const noexcept override { return ~block.last_use; }
  void on_kernel_end(const KernelEvent& event, PolicyContext& context) override {
    for (const auto& operand : event.operands) context.rerank(operand.block);
  }
  RunChoice choose(const RoomRequest&, std::span<const Run>, PolicyContext&) override { return {0, {}}; }
};

}  // namespace

TEST_CASE(
    "a replay of a recording moves what the program moved, in the same order; under another policy it does "
    "not") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const TemporaryDirectory folder;
  std::size_t all = 0;
  for (const std::string policy :
       {"lru", "hint_aware", "hint_aware:mode=LM", "hint_aware:mode=L", "first_touch"}) {
    CAPTURE(policy);
    const auto file = folder.path() + "/" + policy + ".tt";
    run_program(policy, file, random);
    const auto trace = trace::read_file(file);
    const auto lived = migrations_in(trace);
    const auto again = replayed(trace, [&] { return make_policy(policy); });
    all += lived.size();
    std::size_t same = 0;
    while (same < std::min(lived.size(), again.size()) && lived[same] == again[same]) ++same;
    CAPTURE(same);
    CHECK((same < lived.size() ? lived[same] : "") == (same < again.size() ? again[same] : ""));
    CHECK(lived.size() == again.size());
    if (policy == "lru") CHECK(replayed(trace, [] { return std::make_unique<UsedLast>(); }) != lived);
  }
  CHECK(all > 100);
}
