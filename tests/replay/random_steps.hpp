// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Random traces that resemble programs: kernels over tensors whose sizes fit a small machine.
#include <tier/trace/trace.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tier::test {

struct StepShape {
  std::size_t parameters = 8, kernels = 200, iterations = 1;
  std::uint64_t smallest = 512, largest = 1 << 20;  ///< bytes of a tensor
  std::size_t most_alive = 40;
  bool archives = true, retires = true;
  bool retires_parameters = true;  ///< now and then, but two stay
};

/// \return  a trace that keeps all rules
inline trace::Trace random_steps(std::mt19937_64& random, const StepShape& shape) {
  using namespace trace;
  Trace trace;
  std::vector<TensorIndex> parameters, alive;
  std::uint64_t id = 0;
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  const auto declare = [&](TensorKind kind) {
    const auto size = shape.smallest + random() % (shape.largest - shape.smallest + 1);
    const auto name = "t" + std::to_string(id);
    return trace.declare(id++, {size}, kind, name);
  };
  for (std::size_t i = 0; i < shape.parameters; ++i) parameters.push_back(declare(TensorKind::Parameter));
  constexpr std::array ops{"conv3_f", "conv1_d", "bn_b", "relu_f", "fc_w", "unheard_of"};
  for (std::size_t iteration = 0; iteration < shape.iterations; ++iteration) {
    for (std::size_t k = 0; k < shape.kernels; ++k) {
      std::vector<tier::trace::Operand> operands;
      const auto has = [&](TensorIndex t) {
        return std::ranges::any_of(operands, [&](const tier::trace::Operand& o) { return o.tensor == t; });
      };
      const auto size = [&](TensorIndex t) { return trace.tensor(t).size; };
      for (auto n = below(3); n > 0 && !alive.empty(); --n)
        if (const auto t = alive[below(alive.size())]; !has(t)) operands.push_back({size(t), t, Role::Reads});
      if (!parameters.empty())
        if (const auto t = parameters[below(parameters.size())]; !has(t))
          operands.push_back({Bytes{random() % (size(t).count + 1)}, t, Role::Reads});
      if (alive.size() < shape.most_alive) {
        alive.push_back(declare(TensorKind::Activation));
        operands.push_back({size(alive.back()), alive.back(), Role::Creates});
      }
      if (!parameters.empty() && below(4) == 0)
        if (const auto t = parameters[below(parameters.size())]; !has(t))
          operands.push_back({size(t), t, Role::Updates});
      if (!alive.empty() && below(8) == 0)
        if (const auto t = alive[below(alive.size())]; !has(t))
          operands.push_back({size(t), t, Role::Overwrites});
      if (operands.empty()) continue;
      trace.add_kernel(ops.at(below(ops.size())), Phase::Forward,
                       static_cast<double>(below(1000) * 1'000'000), operands);
      if (shape.archives && !alive.empty() && below(4) == 0)
        trace.add_archive(std::vector{alive[below(alive.size())]});
      while (shape.retires && !alive.empty() && (alive.size() >= shape.most_alive || below(3) == 0)) {
        const auto at = below(alive.size());
        trace.add_retire(std::vector{alive[at]});
        alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
      }
      if (shape.retires_parameters && parameters.size() > 2 && below(16) == 0) {
        trace.add_retire(std::vector{parameters.back()});
        parameters.pop_back();
      }
    }
    trace.add_end_of_iteration();
    alive.clear();
  }
  return trace;
}

}  // namespace tier::test
