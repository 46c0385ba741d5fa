// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Layers with kernels of our own: input, dropout, embedding, loss.
#include "common/hashing.hpp"
#include "steps/functions.hpp"
#include "steps/layers/layers.hpp"

namespace training {
namespace {

std::size_t count_in(const Dims& dims) { return static_cast<std::size_t>(count_of(dims)); }

class LoweredInput final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void forward(Lowering& step) override {
    const auto x = step.tensor(named("x"), Kind::Input, dense(layer().shape));
    step.set_output(self(), x);
    const auto labels = step.labels();
    const auto count = count_in(layer().shape);
    const auto rows = count_in(step.desc(labels).dims());
    step.add({.name = named("f"),
              .op = "input",
              .phase = Phase::Forward,
              .operands = {{0, x, Role::Overwrites}, {0, labels, Role::Overwrites}},
              .function = [=](std::span<float* const> data, Iteration& iteration) {
                iteration.fill({data[0], count}, {data[1], rows});
              }});
  }
};

class LoweredDropout final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void forward(Lowering& step) override {
    const auto x = step.of(input());
    if (!step.is_training()) return step.set_output(self(), x);
    const auto y = step.output_in_place(self());
    add(step, named("f"), "dropout_f", Phase::Forward, x, y);
  }

  void backward(Lowering& step) override {
    const auto dy = step.gradient(self());
    const auto dx = step.is_own(dy) ? dy : step.new_gradient(layer(), input());
    add(step, named("b"), "dropout_b", Phase::Backward, dy, dx);
    step.contribute(input(), dx);
  }

 private:
  void add(Lowering& step, std::string name, std::string op, Phase phase, TensorId from, TensorId to) {
    const auto share = std::get<Dropout>(layer().attributes).share;
    step.add({.name = std::move(name),
              .op = std::move(op),
              .phase = phase,
              .operands = {{0, from, from == to ? Role::Updates : Role::Reads},
                           {0, to, from == to ? Role::Updates : Role::Overwrites}},
              .function = [share, count = count_in(layer().shape), place = self().layer](
                              std::span<float* const> data, Iteration& iteration) {
                const auto key = sample::mix(iteration.seed, iteration.number, std::uint64_t{place});
                drop_out(count, share, key, data[0], data[1]);
              }});
  }
};

class LoweredEmbedding final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void declare(Lowering& step) override {
    table_ = step.learned(named("w"), dense({a().count, a().width}), {.deviation = 0.1F});
  }

  void forward(Lowering& step) override {
    const auto y = step.output(self());
    step.add(
        {.name = named("f"),
         .op = "embed_f",
         .phase = Phase::Forward,
         .operands = {{0, step.of(input()), Role::Reads}, {0, table_, Role::Reads}, {0, y, Role::Overwrites}},
         .function = [s = sizes()](std::span<float* const> data, Iteration&) {
           embed(s.count, s.width, s.rows, data[0], data[1], data[2]);
         }});
  }

  void backward(Lowering& step) override {
    const auto dw = step.tensor(named("dw"), Kind::Gradient, step.desc(table_));
    step.add({.name = named("b"),
              .op = "embed_b",
              .phase = Phase::Backward,
              .operands = {{0, step.of(input()), Role::Reads},
                           {0, step.gradient(self()), Role::Reads},
                           {0, dw, Role::Overwrites}},
              .function = [s = sizes()](std::span<float* const> data, Iteration&) {
                embed_back(s.count, s.width, s.rows, data[0], data[1], data[2]);
              }});
    step.learn(table_, dw);
  }

 private:
  struct Sizes {
    std::size_t count, width, rows;
  };
  [[nodiscard]] const Embedding& a() const { return std::get<Embedding>(layer().attributes); }
  [[nodiscard]] Sizes sizes() const {
    const auto& shape = layer().shape;
    return {count_in({shape[0], shape[1]}), static_cast<std::size_t>(a().width),
            static_cast<std::size_t>(a().count)};
  }

  TensorId table_ = 0;
};

class LoweredSoftmaxLoss final : public LoweredLayer {
 public:
  using LoweredLayer::LoweredLayer;

  void forward(Lowering& step) override {
    const auto& logits = step.shape(input());
    shape_ = {count_in(layer().shape), static_cast<std::size_t>(logits.back())};
    probabilities_ = step.tensor(named("p"), Kind::Activation, dense(logits));
    const auto losses = step.tensor(named("y"), Kind::Temporary, dense(layer().shape));
    step.add({.name = named("f"),
              .op = "loss",
              .phase = Phase::Forward,
              .operands = {{0, step.of(input()), Role::Reads},
                           {0, step.labels(), Role::Reads},
                           {0, probabilities_, Role::Overwrites},
                           {0, losses, Role::Overwrites}},
              .function = [shape = shape_](std::span<float* const> data, Iteration& iteration) {
                softmax_losses(shape, data[0], data[1], data[2], data[3]);
                add_up(shape, data[2], data[1], data[3], iteration);
              }});
  }

  void backward(Lowering& step) override {
    const auto dx = step.new_gradient(layer(), input());
    step.add({.name = named("b"),
              .op = "softmax_b",
              .phase = Phase::Backward,
              .operands = {{0, probabilities_, Role::Reads},
                           {0, step.labels(), Role::Reads},
                           {0, dx, Role::Overwrites}},
              .function = [shape = shape_](std::span<float* const> data, Iteration&) {
                softmax_gradient(shape, data[0], data[1], data[2]);
              }});
    step.contribute(input(), dx);
  }

 private:
  LossShape shape_{};
  TensorId probabilities_ = 0;
};

}  // namespace

Lowered lower_input(const Layer& layer, Value self) { return std::make_unique<LoweredInput>(layer, self); }
Lowered lower_dropout(const Layer& layer, Value self) {
  return std::make_unique<LoweredDropout>(layer, self);
}
Lowered lower_embedding(const Layer& layer, Value self) {
  return std::make_unique<LoweredEmbedding>(layer, self);
}
Lowered lower_softmax_loss(const Layer& layer, Value self) {
  return std::make_unique<LoweredSoftmaxLoss>(layer, self);
}

}  // namespace training
