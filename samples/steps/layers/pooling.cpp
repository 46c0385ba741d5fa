// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <optional>

#include "steps/layers/layers.hpp"

namespace training {
namespace {

using dnnl::algorithm;
using Forward = dnnl::pooling_forward;
using Backward = dnnl::pooling_backward;

/// Pools. A mean excludes padding; a maximum keeps its place for the backward pass.
class LoweredPooling final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void forward(Lowering& step) override {
    const auto x = step.of(input());
    const auto y = step.output(self());
    const auto kind =
        step.is_training() ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
    const Forward::desc desc{kind,      how(),    step.desc(x), step.desc(y),
                             strides(), kernel(), padding(),    padding()};
    forward_ = Forward::primitive_desc{desc, step.attributes(), cpu()};
    Lowering::NewKernel pool{
        .name = named("f"),
        .op = "pool_f",
        .phase = Phase::Forward,
        .operands = {{DNNL_ARG_SRC, x, Role::Reads}, {DNNL_ARG_DST, y, Role::Overwrites}}};
    if (const auto places = forward_.workspace_desc(); places.get_size() > 0) {
      places_ = step.tensor(named("places"), Kind::Statistics, places);
      pool.operands.push_back({DNNL_ARG_WORKSPACE, *places_, Role::Overwrites});
    }
    step.add(std::move(pool), forward_);
  }

  void backward(Lowering& step) override {
    const auto dy = step.gradient(self());
    const auto dx = step.new_gradient(layer(), input());
    const Backward::desc desc{how(), step.desc(dx), step.desc(dy), strides(), kernel(), padding(), padding()};
    const Backward::primitive_desc primitive{desc, step.attributes(), cpu(), forward_};
    Lowering::NewKernel pool{
        .name = named("b"),
        .op = "pool_b",
        .phase = Phase::Backward,
        .operands = {{DNNL_ARG_DIFF_DST, dy, Role::Reads}, {DNNL_ARG_DIFF_SRC, dx, Role::Overwrites}}};
    if (places_) pool.operands.push_back({DNNL_ARG_WORKSPACE, *places_, Role::Reads});
    step.add(std::move(pool), primitive);
    step.contribute(input(), dx);
  }

 private:
  [[nodiscard]] const Pooling& a() const { return std::get<Pooling>(layer().attributes); }
  [[nodiscard]] algorithm how() const {
    return a().kind == PoolKind::Max ? algorithm::pooling_max : algorithm::pooling_avg_exclude_padding;
  }
  [[nodiscard]] Dims strides() const { return {a().stride[0], a().stride[1]}; }
  [[nodiscard]] Dims kernel() const { return {a().kernel[0], a().kernel[1]}; }
  [[nodiscard]] Dims padding() const { return {a().padding[0], a().padding[1]}; }

  Forward::primitive_desc forward_;
  std::optional<TensorId> places_;
};

}  // namespace

Lowered lower_pooling(const Layer& layer, Value self) {
  return std::make_unique<LoweredPooling>(layer, self);
}

}  // namespace training
