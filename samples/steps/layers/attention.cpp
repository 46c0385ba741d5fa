// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cmath>
#include <tuple>

#include "steps/functions.hpp"
#include "steps/layers/layers.hpp"

namespace training {
namespace {

using dnnl::memory;

constexpr int keys = 3;  // softmax is along this axis of the scores

/// A tensor as [batch, heads, rows, columns]; products take each matrix.
struct Matrices {
  TensorId tensor = 0;
  memory::desc desc;

  [[nodiscard]] Matrices transposed() const { return {tensor, desc.permute_axes({0, 1, 3, 2})}; }
};

/// Vaswani et al., 2017: softmax(Q K^T / sqrt(width of a head)) V. Heads are columns of rows, accessed by strides.
class LoweredAttention final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void forward(Lowering& step) override {
    const auto x = step.of(input());
    const Dims dims{batch(), heads(), steps(), steps()};
    std::ignore = count_of(dims);
    const memory::desc scores{dims, memory::data_type::f32, memory::format_tag::abcd};
    probabilities_ = {step.tensor(named("p"), Kind::Activation, scores), scores};
    multiply(step, "scores", Phase::Forward, part(x, query), part(x, key).transposed(),
             {probabilities_, Role::Overwrites, scale()});
    mask(step);
    add_softmax(step);
    multiply(step, "f", Phase::Forward, probabilities_, part(x, value),
             {whole(step.output(self())), Role::Overwrites});
  }

  /// A masked score has a probability of 0, and therefore no gradient.
  void backward(Lowering& step) override {
    const auto x = step.of(input());
    const auto dy = whole(step.gradient(self()));
    const auto dx = step.new_gradient(layer(), input());
    const Matrices ds{step.tensor(named("dp"), Kind::Gradient, probabilities_.desc), probabilities_.desc};
    constexpr auto back = Phase::Backward;
    multiply(step, "dv", back, probabilities_.transposed(), dy, {part(dx, value), Role::Overwrites});
    multiply(step, "dp", back, dy, part(x, value).transposed(), {ds, Role::Overwrites});
    add_softmax_backward(step, ds);
    multiply(step, "dq", back, ds, part(x, key), {part(dx, query), Role::Updates, scale()});
    multiply(step, "dk", back, ds.transposed(), part(x, query), {part(dx, key), Role::Updates, scale()});
    step.contribute(input(), dx);
  }

 private:
  enum Part : std::uint8_t { query, key, value };

  [[nodiscard]] std::int64_t heads() const { return std::get<Attention>(layer().attributes).heads; }
  [[nodiscard]] std::int64_t steps() const { return layer().shape[0]; }
  [[nodiscard]] std::int64_t batch() const { return layer().shape[1]; }
  [[nodiscard]] std::int64_t width_of_head() const { return layer().shape[2] / heads(); }
  [[nodiscard]] float scale() const { return 1 / std::sqrt(static_cast<float>(width_of_head())); }

  /// Describes rows of `count` heads side by side, [steps, batch, count * width of a head] in memory.
  [[nodiscard]] memory::desc by_head(std::int64_t count) const {
    const auto row = count * width_of_head();
    return {{batch(), count, steps(), width_of_head()},
            memory::data_type::f32,
            Dims{row, width_of_head(), batch() * row, 1}};
  }
  [[nodiscard]] Matrices whole(TensorId tensor) const { return {tensor, by_head(heads())}; }
  /// Returns one of the parts that the input has side by side.
  [[nodiscard]] Matrices part(TensorId tensor, Part which) const {
    return {tensor,
            by_head(3 * heads())
                .submemory_desc({batch(), heads(), steps(), width_of_head()}, {0, which * heads(), 0, 0})};
  }

  struct Product {
    Matrices matrices;
    Role role{};  ///< of the tensor; the matrices may be a part of it
    float scale = 1;
  };
  void multiply(Lowering& step, const char* name, Phase phase, const Matrices& a, const Matrices& b,
                const Product& product) {
    auto attributes = step.attributes();
    if (product.scale != 1) attributes.set_output_scales(0, {product.scale});
    const auto& c = product.matrices;
    const dnnl::matmul::primitive_desc primitive{{a.desc, b.desc, c.desc}, attributes, cpu()};
    const auto flops =
        2 * static_cast<double>(count_of(c.desc.dims())) * static_cast<double>(a.desc.dims()[3]);
    step.add({.name = named(name),
              .op = phase == Phase::Forward ? "matmul_f" : "matmul_b",
              .phase = phase,
              .operands = {{DNNL_ARG_SRC, a.tensor, Role::Reads, a.desc},
                           {DNNL_ARG_WEIGHTS, b.tensor, Role::Reads, b.desc},
                           {DNNL_ARG_DST, c.tensor, product.role, c.desc}},
              .flops = flops},
             primitive);
  }

  void mask(Lowering& step) {
    const auto count = static_cast<std::size_t>(batch() * heads());
    step.add({.name = named("mask"),
              .op = "mask",
              .phase = Phase::Forward,
              .operands = {{0, probabilities_.tensor, Role::Updates}},
              .function = [count, n = static_cast<std::size_t>(steps())](
                              std::span<float* const> data, Iteration&) { mask_later(count, n, data[0]); }});
  }

  /// Adds a softmax in place; its gradient is in place, too.
  void add_softmax(Lowering& step) {
    const dnnl::softmax_forward::desc desc{dnnl::prop_kind::forward_training, probabilities_.desc, keys};
    softmax_ = dnnl::softmax_forward::primitive_desc{desc, step.attributes(), cpu()};
    step.add({.name = named("softmax"),
              .op = "softmax_f",
              .phase = Phase::Forward,
              .operands = {{DNNL_ARG_SRC, probabilities_.tensor, Role::Updates},
                           {DNNL_ARG_DST, probabilities_.tensor, Role::Updates}}},
             softmax_);
  }

  void add_softmax_backward(Lowering& step, const Matrices& ds) {
    const dnnl::softmax_backward::desc desc{ds.desc, probabilities_.desc, keys};
    const dnnl::softmax_backward::primitive_desc primitive{desc, step.attributes(), cpu(), softmax_};
    step.add({.name = named("ds"),
              .op = "softmax_b",
              .phase = Phase::Backward,
              .operands = {{DNNL_ARG_DST, probabilities_.tensor, Role::Reads},
                           {DNNL_ARG_DIFF_DST, ds.tensor, Role::Updates},
                           {DNNL_ARG_DIFF_SRC, ds.tensor, Role::Updates}}},
             primitive);
  }

  Matrices probabilities_;
  dnnl::softmax_forward::primitive_desc softmax_;
};

}  // namespace

Lowered lower_attention(const Layer& layer, Value self) {
  return std::make_unique<LoweredAttention>(layer, self);
}

}  // namespace training
