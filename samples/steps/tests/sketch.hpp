// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Steps written by hand.
#include <initializer_list>
#include <string>
#include <utility>

#include "steps/step.hpp"

namespace training::test {

inline constexpr auto reads = Role::Reads;
inline constexpr auto writes = Role::Overwrites;

/// A step written by hand: first its tensors with sizes, then its kernels.
struct Sketch {
  Step step;

  TensorId tensor(Kind kind, std::size_t bytes) {
    step.tensors.push_back(
        {.name = "t" + std::to_string(step.tensors.size()), .kind = kind, .desc = {}, .bytes = bytes});
    if (kind == Kind::Parameter) step.parameters.push_back({step.tensors.size() - 1, {}});
    return step.tensors.size() - 1;
  }
  Kernel& kernel(Phase phase, std::initializer_list<Use> uses) {
    Kernel kernel;
    kernel.phase = phase;
    kernel.uses = uses;
    return step.kernels.emplace_back(std::move(kernel));
  }
};

}  // namespace training::test
