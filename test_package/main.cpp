// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A program against an installed libtier. It uses what must be the same on both sides of a shared library's
///        border: classes derived from ours, exceptions caught by their types, the state of a thread.
#include <tier/core/config.hpp>
#include <tier/core/error.hpp>
#include <tier/pmr/pool_resource.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <tuple>
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
  errors_arrive(runtime);
  std::puts("libtier " TIER_VERSION " works");
}
