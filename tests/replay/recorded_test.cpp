// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A replay of a program's recording repeats what the program did, migration by migration.
#include "machines.hpp"
#include "support/seed.hpp"
#include "support/temporary_directory.hpp"

#include <tier/replay/replay.hpp>
#include <tier/replay/two_level.hpp>
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

namespace tier::recorded_test {

using namespace tier::test;

namespace {

using Lines = std::vector<std::string>;

std::string migration(std::string_view name, std::string_view from, std::string_view to, std::uint64_t bytes,
                      std::string_view cause) {
  return std::string{name} + ' ' + std::string{from} + '>' + std::string{to} + ' ' + std::to_string(bytes) +
         ' ' + std::string{cause};
}

const std::vector<std::string> places{"fast", "slow"};

/// Names small objects alike: beside a tier that moves blocks several share one, and an event may name any of them.
std::string name_of(std::string_view name, std::size_t size) {
  return size < 4096 ? "small" : std::string{name};
}

/// Returns the replay's name of a recorded tier.
const std::string& place(std::string_view tier) { return places.at(tier == "dram" ? 0 : 1); }

/// Returns a line with the tiers of a recorded kernel's operands.
std::string kernel(std::string_view name, std::string_view placement) {
  std::string text{name};
  for (std::size_t at = 0; at <= placement.size();) {
    const auto end = std::min(placement.find(',', at), placement.size());
    text += ' ' + place(placement.substr(at, end - at));
    at = end + 1;
  }
  return text;
}

/// Returns the migrations and the tiers of each kernel's operands, in order.
Lines events_in(const trace::Trace& trace) {
  static constexpr std::array causes{"hint", "miss", "forced", "evict", "compact", "plan"};
  Lines lines;
  std::string_view op;
  for (const auto event : trace.events()) {
    if (event.kind == trace::EventKind::Kernel) op = trace.name(trace.kernel(event).op);
    if (event.kind == trace::EventKind::Measurement)
      lines.push_back(kernel(op, trace.name(trace.measurement(event).placement)));
    if (event.kind != trace::EventKind::Migration) continue;
    const auto& m = trace.migration(event);
    const auto& t = trace.tensor(m.tensor);
    lines.push_back(migration(name_of(trace.name(t.name), t.size.count), place(trace.name(m.from)),
                              place(trace.name(m.to)), m.size.count,
                              causes.at(static_cast<std::size_t>(m.cause))));
  }
  return lines;
}

/// Records the same events of a replay.
class Events final : public Observer {
 public:
  void on_object(const ObjectEvent& e) noexcept override {
    const auto& object = *e.object.object;
    if (e.change == ObjectChange::Made) names_[object.block->id] = name_of(object.name, object.size);
  }
  void on_migration(const MigrationEvent& e) noexcept override {
    lines.push_back(
        migration(names_[e.block], places.at(e.from), places.at(e.to), e.bytes.count, to_string(e.cause)));
  }
  void on_kernel_begin(const KernelEvent& e) noexcept override {
    std::string text{e.name};
    for (const auto& operand : e.operands) text += ' ' + places.at(operand.tier);
    lines.push_back(std::move(text));
  }
  Lines lines;

 private:
  std::map<BlockId, std::string> names_;
};

constexpr auto fast = 1_MiB, slow = 32_MiB;

/// Makes random kernels, hints and ends of tensors on one thread, without copies in the background.
void run_program(const TierSpec& slow_tier, const std::string& policy, const std::string& file,
                 std::mt19937_64& random) {
  RuntimeOptions options;
  options.tiers = {tiers::dram(fast), slow_tier};
  options.policy = policy;
  options.threads = 1;
  options.movers = 0;
  options.trace = file;
  Runtime runtime{options};
  std::vector<std::unique_ptr<Tensor<float>>> tensors;
  int made = 0;
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto make = [&] {
    const auto count = below(4) == 0 ? 1 + below(1000) : 64 + below(48 << 10);
    tensors.push_back(std::make_unique<Tensor<float>>(runtime, Shape{count}, "t" + std::to_string(made++)));
    KernelScope k{"fill", overwrites(*tensors.back())};
  };
  for (int i = 0; i < 20; ++i) make();
  for (int step = 0; step < 600; ++step) {
    std::ranges::shuffle(tensors, random);
    auto &a = *tensors[0], &b = *tensors[1], &c = *tensors[2];
    switch (below(11)) {
      case 0:
        if (tensors.size() < 32) make();
        break;
      case 1:
        if (tensors.size() > 16) tensors.pop_back();
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
        KernelScope k{"write", updates(b), overwrites(a)};  // in the order of roles, as in recordings
        break;
      }
      case 6:
        tier::will_use(a, b);
        break;
      case 7:
        tier::will_read(a);
        tier::will_write(b);
        break;
      case 8:
        std::ignore = tier::prefetch(c);
        break;
      default:
        KernelScope k{"mix", reads(a, b), updates(c)};
    }
  }
}

Lines replayed(const trace::Trace& trace, const std::string& device,
               const std::function<std::unique_ptr<Policy>()>& policy) {
  Events seen;
  replay::Options options{.passes = 1, .asynchronous = false};
  options.observer = &seen;
  (void)replay::run(
      trace, small_machine(), {{"fast", fast}, {device, slow}}, [&](const FutureUses&) { return policy(); },
      options);
  return seen.lines;
}

/// The same as lru, but evicts the block used last.
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
    "a replay of a recording moves what the program moved, and has operands where it had them, in the same "
    "order; under another policy it does not") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const TemporaryDirectory folder;
  const auto moves = [](const Lines& lines) {
    return std::ranges::count_if(lines, [](const auto& line) { return line.find('>') != line.npos; });
  };
  std::string device;
  TierSpec slow_tier;
  SUBCASE("in front of memory") {
    device = "slow";
    slow_tier = tiers::emulated("cxl", slow);
  }
  SUBCASE("in front of a file, with small objects in groups") {
    device = "disk";
    slow_tier = tiers::file(folder.path(), slow);
  }
  std::ptrdiff_t all = 0;
  for (const std::string policy : {"lru", "hint_aware:mode=0", "hint_aware:mode=L", "hint_aware:mode=LM",
                                   "hint_aware:mode=LMP", "first_touch"}) {
    CAPTURE(policy);
    const auto file = folder.path() + "/" + policy + ".tt";
    run_program(slow_tier, policy, file, random);
    const auto trace = trace::read_file(file);
    const auto lived = events_in(trace);
    const auto again = replayed(trace, device, [&] { return make_policy(policy); });
    all += moves(lived);
    std::size_t same = 0;
    while (same < std::min(lived.size(), again.size()) && lived[same] == again[same]) ++same;
    CAPTURE(same);
    CHECK((same < lived.size() ? lived[same] : "") == (same < again.size() ? again[same] : ""));
    CHECK(lived.size() == again.size());
    if (policy == "lru") CHECK(replayed(trace, device, [] { return std::make_unique<UsedLast>(); }) != lived);
  }
  CHECK(all > 100);
}

TEST_CASE("a recording replays on a hardware cache, too, as often as is asked for") {
  const TemporaryDirectory folder;
  const auto file = folder.path() + "/run.tt";
  {
    RuntimeOptions options;
    options.tiers = {tiers::dram(fast), tiers::emulated("cxl", slow)};
    options.trace = file;
    Runtime runtime{options};
    Tensor<float> x{runtime, {16384}, "x"}, y{runtime, {16384}, "y"}, z{runtime, {16384}, "z"};
    { const KernelScope first{"first", reads(x), updates(y), overwrites(z)}; }
    { const KernelScope second{"second", reads(z), updates(y)}; }
  }
  const auto trace = trace::read_file(file);
  REQUIRE(trace.tensors().size() == 3);
  CHECK(std::ranges::count(trace.tensors(), trace::TensorKind::Parameter, &trace::Tensor::kind) == 2);
  for (const bool frees_early : {false, true}) {
    CAPTURE(frees_early);
    const auto r = replay::run_two_level(trace, small_machine(), {{"fast", fast}, {"slow", slow}},
                                         {.passes = 2, .frees_early = frees_early, .sector = 64_B});
    CHECK(r.cache->hits + r.cache->clean_misses + r.cache->dirty_misses == 7 * (64_KiB).count / 64);
  }
}

}  // namespace tier::recorded_test
