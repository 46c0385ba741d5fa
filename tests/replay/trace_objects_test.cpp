// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/trace_objects.hpp"

#include <tier/memory/tiers.hpp>
#include <tier/runtime/policies.hpp>

#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <vector>

namespace tier::trace_objects_test {

using replay::Schedule;
using replay::TraceObjects;
using trace::TensorKind;

namespace {

constexpr Bytes size = 1_MiB;

std::shared_ptr<Manager> make_manager() {
  std::vector<std::unique_ptr<Tier>> tiers;
  tiers.push_back(make_tier(tiers::simulated("cxl", 1_GiB)));
  return Manager::make(std::move(tiers), make_policy("lru"), {.movers = 0});
}

trace::Hint revival(trace::Trace& trace) {
  trace::Hint hint;
  hint.hint = trace.add_name(replay::revive_hint);
  return hint;
}

}  // namespace

TEST_CASE("a tensor has one object from its first use until it is retired") {
  trace::Trace trace;
  const auto tensor = trace.declare(1, size, TensorKind::Activation, "a");
  Schedule schedule{trace, 1};
  const auto manager = make_manager();
  TraceObjects objects{trace, *manager, schedule};
  CHECK(objects.find(tensor).object == nullptr);
  const auto object = objects.get(tensor);
  CHECK(object.object->name == "a");
  CHECK(objects.get(tensor) == object);
  CHECK(objects.find(tensor) == object);
  objects.retire(std::array{tensor});
  CHECK(objects.find(tensor).object == nullptr);
  CHECK(manager->statistics().objects == 0);
}

TEST_CASE("activations end with the iteration, parameters and gradients do not") {
  trace::Trace trace;
  const auto activation = trace.declare(1, size, TensorKind::Activation, "");
  const auto parameter = trace.declare(2, size, TensorKind::Parameter, "");
  const auto gradient = trace.declare(3, size, TensorKind::Gradient, "");
  Schedule schedule{trace, 1};
  const auto manager = make_manager();
  TraceObjects objects{trace, *manager, schedule};
  for (const auto tensor : {activation, parameter, gradient}) std::ignore = objects.get(tensor);
  objects.end_iteration();
  CHECK(objects.find(activation).object == nullptr);
  CHECK(objects.find(parameter).object != nullptr);
  CHECK(objects.find(gradient).object != nullptr);
  objects.clear();
}

TEST_CASE("an object that the recording revives is kept when it is retired, and becomes the next tensor's") {
  trace::Trace trace;
  const auto before = trace.declare(1, size, TensorKind::Parameter, "");
  const auto now = trace.declare(2, size, TensorKind::Parameter, "");
  const std::array revived{now, before};
  trace.add(revival(trace), revived);
  Schedule schedule{trace, 1};
  const auto manager = make_manager();
  TraceObjects objects{trace, *manager, schedule};
  objects.place({.tensor = before, .alignment = 64_B});
  const auto object = objects.find(before);
  REQUIRE(object.object != nullptr);
  objects.retire(std::array{before});
  CHECK(objects.find(before) == object);
  objects.revive(revived);
  CHECK(objects.find(before).object == nullptr);
  CHECK(objects.find(now) == object);
  objects.clear();
}

}  // namespace tier::trace_objects_test
