// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "steps/functions.hpp"
#include "steps/layers/lowered_norm.hpp"

namespace training {
namespace {

using dnnl::normalization_flags;
using dnnl::prop_kind;
using Forward = dnnl::batch_normalization_forward;
using Backward = dnnl::batch_normalization_backward;

constexpr float epsilon = 1e-5F;

/// Normalises by the batch's statistics; for prediction by running ones, which each training step updates.
class LoweredBatchNorm final : public LoweredNorm {
 public:
  using LoweredNorm::LoweredNorm;

  void declare(Lowering& step) override {
    const auto channels = step.shape(input())[1];
    per_channel_ = dense({channels});
    declare_scale_shift(step, channels);
    running_mean_ = step.parameter(named("running_mean"), per_channel_, {});
    running_variance_ = step.parameter(named("running_variance"), per_channel_, {.value = 1});
  }

  void forward(Lowering& step) override {
    const auto x = step.of(input());
    const auto y = step.output(self());
    if (!step.is_training()) return step.add(by_statistics(step, "f", {running_mean_, running_variance_}));
    const Forward::desc desc{prop_kind::forward_training, step.desc(x), epsilon,
                             normalization_flags::use_scale_shift};
    forward_ = Forward::primitive_desc{desc, step.attributes(), cpu()};
    mean_ = step.tensor(named("mean"), Kind::Statistics, per_channel_);
    variance_ = step.tensor(named("variance"), Kind::Statistics, per_channel_);
    step.add({.name = named("f"),
              .op = "bn_f",
              .phase = Phase::Forward,
              .operands = {{DNNL_ARG_SRC, x, Role::Reads},
                           {DNNL_ARG_SCALE_SHIFT, scale_shift_, Role::Reads},
                           {DNNL_ARG_MEAN, mean_, Role::Overwrites},
                           {DNNL_ARG_VARIANCE, variance_, Role::Overwrites},
                           {DNNL_ARG_DST, y, Role::Overwrites}}},
             forward_);
    step.can_repeat_with_relu(
        self(), by_statistics(step, "again", {mean_, variance_}, normalization_flags::fuse_norm_relu));
    follow_statistics(step);
  }

  void backward(Lowering& step) override {
    const auto x = step.of(input());
    const auto dy = step.gradient(self());
    const Backward::desc desc{prop_kind::backward, step.desc(dy), step.desc(x), epsilon,
                              normalization_flags::use_scale_shift};
    const Backward::primitive_desc primitive{desc, step.attributes(), cpu(), forward_};
    add_backward(step, "bn_b", primitive);
  }

 private:
  struct Statistics {
    TensorId mean, variance;
  };
  /// Makes a kernel that uses the given statistics. It takes no scratchpad.
  [[nodiscard]] Lowering::NewKernel by_statistics(const Lowering& step, std::string_view what,
                                                  const Statistics& statistics,
                                                  normalization_flags more = {}) const {
    const auto x = step.of(input());
    const auto flags = normalization_flags::use_scale_shift | normalization_flags::use_global_stats | more;
    const Forward::desc desc{prop_kind::forward_inference, step.desc(x), epsilon, flags};
    return {.name = named(what),
            .op = "bn_f",
            .phase = step.is_training() ? Phase::Backward : Phase::Forward,
            .operands = {{DNNL_ARG_SRC, x, Role::Reads},
                         {DNNL_ARG_SCALE_SHIFT, scale_shift_, Role::Reads},
                         {DNNL_ARG_MEAN, statistics.mean, Role::Reads},
                         {DNNL_ARG_VARIANCE, statistics.variance, Role::Reads},
                         {DNNL_ARG_DST, step.of(self()), Role::Overwrites}},
            .primitive = Forward::primitive_desc{desc, cpu()}};
  }

  void follow_statistics(Lowering& step) {
    const auto channels = static_cast<std::size_t>(step.shape(input())[1]);
    step.add({.name = named("follow"),
              .op = "bn_stats",
              .phase = Phase::Forward,
              .operands = {{0, mean_, Role::Reads},
                           {0, running_mean_, Role::Updates},
                           {0, variance_, Role::Reads},
                           {0, running_variance_, Role::Updates}},
              .function = [channels](std::span<float* const> data, Iteration&) {
                follow(channels, data[0], data[1]);
                follow(channels, data[2], data[3]);
              }});
  }

  dnnl::memory::desc per_channel_;
  TensorId running_mean_ = 0, running_variance_ = 0;
  Forward::primitive_desc forward_;
};

}  // namespace

Lowered lower_batch_norm(const Layer& layer, Value self) {
  return std::make_unique<LoweredBatchNorm>(layer, self);
}

}  // namespace training
