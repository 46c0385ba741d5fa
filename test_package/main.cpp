// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A program against an installed libtier. It uses what must be the same on both sides of a shared library's
///        border: classes derived from ours, exceptions caught by their types, the state of a thread, what a memory
///        resource is besides.
#include <tier/core/config.hpp>
#include <tier/core/error.hpp>
#include <tier/pmr/arena_resource.hpp>
#include <tier/pmr/container_scopes.hpp>
#include <tier/pmr/forwarding_resource.hpp>
#include <tier/pmr/group_resource.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/pmr/pool_resource.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/hints.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <iterator>
#include <list>
#include <memory>
#include <memory_resource>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace {

using namespace tier::literals;

int misses = 0;

/// Fetches what was missed, and counts.
class Counting final : public tier::Policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "counting"; }
  [[nodiscard]] tier::Placement place(const tier::AllocationEvent&, tier::PolicyContext&) override {
    return {};
  }
  [[nodiscard]] tier::MissDecision on_miss(const tier::MissEvent&, tier::PolicyContext&) override {
    ++misses;
    return {};
  }
};

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::exit(EXIT_FAILURE);
}

template <class Error, class F>
bool throws(F&& f) {
  try {
    f();
  } catch (const Error&) {
    return true;
  } catch (...) {
    return false;
  }
  return false;
}

void data_survives(tier::Runtime& runtime) {
  std::vector<tier::Tensor<float>> tensors;
  for (int i = 0; i < 16; ++i) {
    auto& tensor = tensors.emplace_back(runtime, tier::Shape{256, 256});
    tier::WriteScope out{tier::overwrites(tensor)};
    for (float& value : out[tensor].elements()) value = static_cast<float>(i);
  }
  for (int i = 0; i < 16; ++i) {
    const auto& tensor = tensors[static_cast<std::size_t>(i)];
    tier::ReadScope in{tensor};
    for (const float value : in[tensor].elements())
      check(value == static_cast<float>(i), "what was written is read");
  }
  check(misses > 0, "the program's own policy was asked");
}

void scopes_nest(tier::Runtime& runtime) {
  tier::Tensor<float> x{runtime, {16}}, y{runtime, {16}};
  tier::ReadScope outer{x};
  tier::ReadScope inner{y};
  check(inner.chain() == outer.chain(), "a scope under another belongs to its chain");
}

void containers_work() {
  tier::PoolResource pool;
  std::pmr::vector<std::pmr::string> lines{&pool};
  for (int i = 0; i < 1000; ++i) lines.emplace_back(static_cast<std::size_t>(i % 100), 'x');
  std::size_t length = 0;
  for (const auto& line : lines) length += line.size();
  check(length == 49'500, "containers keep what they are given");
}

/// Of the program alone: the library must find in it the base that it knows.
class Counted final : public tier::ForwardingResource {
 public:
  using ForwardingResource::ForwardingResource;
  [[nodiscard]] int allocations() const { return allocations_; }

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    ++allocations_;
    return ForwardingResource::do_allocate(size, alignment);
  }
  int allocations_ = 0;
};

/// Of the object that has an address.
tier::TierIndex tier_of(const tier::Runtime& runtime, const void* address) {
  const auto object = tier::object_of(address);
  check(object.object != nullptr, "an address in a window tells its object");
  for (const auto& each : runtime.object_statistics())
    if (each.id == object.id()) return each.tier;
  return tier::no_tier;
}

/// Containers change tiers and keep their addresses; a scope on one finds what it covers.
template <class Container>
void scopes_cover(const tier::Runtime& runtime, const Container& container) {
  const auto *const first = &*container.begin(), *const last = &*std::prev(container.end());
  const auto are_in = [&](tier::TierIndex tier) {
    return tier_of(runtime, first) == tier && tier_of(runtime, last) == tier;
  };
  tier::migrate(container, 1);
  check(are_in(1), "what is migrated is in that tier");
  const tier::ReadScope in{container};
  check(are_in(0), "a scope brings what its container has");
  check(first == &*container.begin(), "addresses stay");
}

void containers_migrate(std::optional<tier::WindowMode> windows) {
  const tier::Runtime runtime{
      {.tiers = {tier::tiers::dram(8_MiB), tier::tiers::mapped("/var/tmp", 64_MiB)}, .windows = windows}};
  tier::MigratingResource memory{runtime};
  std::pmr::unordered_map<int, std::pmr::vector<int>> lists{&memory};  // 20 MB
  for (int key = 0; key < 100; ++key) lists[key].assign(50'000, key);
  scopes_cover(runtime, lists.at(7));
  long long sum = 0;
  for (const auto& [key, list] : lists) sum += std::accumulate(list.begin(), list.end(), 0LL);
  check(sum == 50'000LL * 4950, "containers larger than fast memory keep what they are given");
  lists.clear();

  tier::GroupResource group{memory};
  const std::pmr::list<int> nodes(10'000, 1, &group);
  scopes_cover(runtime, nodes);

  Counted counted{group};
  const std::pmr::list<int> more(10'000, 1, &counted);
  check(counted.allocations() == 10'000, "a resource of the program's own is called");
  scopes_cover(runtime, more);

  tier::ArenaResource arena{runtime, 16_MiB};
  const std::pmr::vector<std::pmr::string> strings(10'000, "longer than fits into a string itself", &arena);
  scopes_cover(runtime, strings);
  check(tier::object_of(&sum).object == nullptr, "an address elsewhere tells of none");
}

void errors_arrive(tier::Runtime& runtime) {
  const auto too_large = [&] { tier::Tensor<float> t{runtime, {1U << 30}}; };
  check(throws<tier::OutOfTierMemory>(too_large), "a lack of room is an OutOfTierMemory");
  check(throws<std::bad_alloc>(too_large), "and a bad_alloc");
  const auto misspelt = [] { std::ignore = tier::Runtime::from_spec("drum:1GiB"); };
  check(throws<tier::ConfigError>(misspelt), "a spec that is none is a ConfigError");
}

}  // namespace

int main() {
  tier::register_policy("counting", [](tier::PolicyOptions) { return std::make_unique<Counting>(); });
  tier::Runtime runtime{
      {.tiers = {tier::tiers::dram(1_MiB), tier::tiers::mapped("/var/tmp", 16_MiB)}, .policy = "counting"}};
  data_survives(runtime);
  scopes_nest(runtime);
  containers_work();
  for (const auto windows : {std::optional<tier::WindowMode>{}, std::optional{tier::WindowMode::Restricted}})
    containers_migrate(windows);
  errors_arrive(runtime);
  std::puts("libtier " TIER_VERSION " works");
}
