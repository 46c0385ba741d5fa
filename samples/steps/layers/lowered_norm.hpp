// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The shared part of layers that normalise by mean and variance, then scale and shift.
#include <string>
#include <utility>

#include "steps/layers/layers.hpp"

namespace training {

class LoweredNorm : public LoweredLayer {
 protected:
  using LoweredLayer::LoweredLayer;

  /// \param width  values with their own scale and shift
  void declare_scale_shift(Lowering& step, std::int64_t width) {
    scale_shift_ = step.learned(named("w"), dense({2, width}), {.ones = static_cast<std::size_t>(width)});
  }

  /// Adds the backward kernel, which uses the statistics of the forward pass.
  template <class PrimitiveDesc>
  void add_backward(Lowering& step, std::string op, const PrimitiveDesc& primitive) {
    const auto dy = step.gradient(self());
    const auto dx = step.is_own(dy) ? dy : step.new_gradient(layer(), input());
    const auto dw = step.tensor(named("dw"), Kind::Gradient, step.desc(scale_shift_));
    step.add({.name = named("b"),
              .op = std::move(op),
              .phase = Phase::Backward,
              .operands = {{DNNL_ARG_SRC, step.of(input()), Role::Reads},
                           {DNNL_ARG_DIFF_DST, dy, dx == dy ? Role::Updates : Role::Reads},
                           {DNNL_ARG_MEAN, mean_, Role::Reads},
                           {DNNL_ARG_VARIANCE, variance_, Role::Reads},
                           {DNNL_ARG_SCALE_SHIFT, scale_shift_, Role::Reads},
                           {DNNL_ARG_DIFF_SRC, dx, dx == dy ? Role::Updates : Role::Overwrites},
                           {DNNL_ARG_DIFF_SCALE_SHIFT, dw, Role::Overwrites}}},
             primitive);
    step.contribute(input(), dx);
    step.learn(scale_shift_, dw);
  }

  TensorId scale_shift_ = 0, mean_ = 0, variance_ = 0;
};

}  // namespace training
