// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A deep learning recommendation model on any kind of memory.
///
/// dense -> bottom layers --+
///                          +-> pairwise dot products -> top layers -> logit
/// ids -> embedding sums ---+
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "common/hashing.hpp"
#include "dense_kernels.hpp"
#include "embedding.hpp"

namespace dlrm {

using sample::hash_text;
using sample::mix;
using sample::unit;

struct ModelOptions {
  std::size_t batch = 0;            ///< samples
  std::size_t dense = 0;            ///< features
  std::size_t dim = 0;              ///< of every embedding
  std::vector<RowId> rows;          ///< one per table
  std::vector<std::size_t> bottom;  ///< widths of the hidden layers; a layer of width `dim` follows
  std::vector<std::size_t> top;     ///< the same; a layer of width 1 follows
  std::uint64_t seed = 1;
  Learning learning;
  tier::RowStorage storage = tier::RowStorage::Float;
};

/// Returns `first`, then `widths`, then `last`.
std::vector<std::size_t> chain(std::size_t first, std::vector<std::size_t> widths, std::size_t last);

/// Returns the floats in all tensors of the model, without its tables.
std::size_t dense_floats(const ModelOptions& options);

/// A chain of linear layers with gradients and optimiser state. A ReLU follows each layer, the last one only if asked.
template <class Memory>
class Mlp {
 public:
  using Tensor = typename Memory::Tensor;

  Mlp(Memory& memory, std::string name, const ModelOptions& options, std::vector<std::size_t> widths,
      bool relu_at_the_end);

  void forward(const Tensor& x);
  /// Computes the gradients of all weights, and of the input if asked, from `output_gradient()`, which it changes.
  void backward(const Tensor& x, Tensor* input_gradient);
  void step();

  [[nodiscard]] const Tensor& output() const { return layers_.back().y; }
  [[nodiscard]] Tensor& output_gradient() { return layers_.back().dy; }

  template <class Visit>
  void visit_weights(Visit&& visit) const;

 private:
  struct Layer {
    std::string name;
    LinearLayer kernel;
    Tensor w, b, y;       // weights, bias, output
    Tensor dw, db, dy;    // their gradients
    Tensor sum_w, sum_b;  // Adagrad's sums of squares; one element with SGD
  };
  Layer make_layer(std::size_t index, std::size_t in, std::size_t out, bool relu);
  void initialise(Layer& layer, std::size_t index, std::size_t in, std::size_t out);

  Memory& memory_;
  std::string name_;
  ModelOptions options_;
  std::vector<Layer> layers_;
};

template <class Memory>
class Dlrm {
 public:
  Dlrm(Memory& memory, ModelOptions options);

  Dlrm(const Dlrm&) = delete;
  Dlrm& operator=(const Dlrm&) = delete;

  /// Announces a batch, in order of use. This is advice.   \pre  the batch lives until it is used or cancelled
  void prefetch(const Batch& batch);
  void cancel(const Batch& batch);

  /// Makes one step of learning.   \return  the mean loss before it
  double train(const Batch& batch);
  /// Calls `predicted(logit)` for each used sample of the batch.
  template <class Predicted>
  void predict(const Batch& batch, Predicted&& predicted);

  /// Calls `visit(name, values)` for everything that was learned, including optimiser state beside rows, always in the same
  /// order. A table comes in several stretches.
  template <class Visit>
  void visit_weights(Visit&& visit) const;

 private:
  using Tensor = typename Memory::Tensor;

  [[nodiscard]] std::size_t features() const { return 1 + options_.rows.size(); }
  void forward(const Batch& batch);
  void embed(const Batch& batch);
  double loss(const Batch& batch);
  void backward();
  void step(const Batch& batch);
  Memory& memory_;
  ModelOptions options_;
  Interaction interaction_;
  Tensor dense_;  // [batch, dense features]
  Mlp<Memory> bottom_;
  std::vector<std::unique_ptr<EmbeddingTable>> tables_;
  std::vector<Tensor> sums_, sum_gradients_;  // by table, of its bags: [batch, dim]
  Tensor embedded_, embedded_gradient_;       // [batch, features, dim]
  Tensor products_;                           // scratch memory of the interaction
  Tensor pairs_, pairs_gradient_;             // output of the interaction
  Mlp<Memory> top_;
  std::vector<const Tensor*> parts_;  // of embedded_: the bottom's output and the sums
  std::vector<Tensor*> part_gradients_;
};

template <class Memory>
Mlp<Memory>::Mlp(Memory& memory, std::string name, const ModelOptions& options,
                 std::vector<std::size_t> widths, bool relu_at_the_end)
    : memory_{memory}, name_{std::move(name)}, options_{options} {
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    layers_.push_back(make_layer(i, widths[i], widths[i + 1], relu_at_the_end || i + 2 < widths.size()));
    initialise(layers_.back(), i, widths[i], widths[i + 1]);
  }
}

template <class Memory>
auto Mlp<Memory>::make_layer(std::size_t index, std::size_t in, std::size_t out, bool relu) -> Layer {
  const auto name = fmt::format("{}.{}", name_, index);
  const auto tensor = [&](std::string_view part, std::size_t count) {
    return memory_.tensor(fmt::format("{}.{}", name, part), count);
  };
  const bool sums = options_.learning.optimizer == Optimizer::Adagrad;
  return {.name = name,
          .kernel = LinearLayer{options_.batch, in, out, relu},
          .w = tensor("weights", out * in),
          .b = tensor("bias", out),
          .y = tensor("output", options_.batch * out),
          .dw = tensor("weights_gradient", out * in),
          .db = tensor("bias_gradient", out),
          .dy = tensor("output_gradient", options_.batch * out),
          .sum_w = tensor("weights_sum", sums ? out * in : 1),
          .sum_b = tensor("bias_sum", sums ? out : 1)};
}

// Uniform, with the spread that preserves the variance of the signal (Glorot and Bengio, 2010).
template <class Memory>
void Mlp<Memory>::initialise(Layer& layer, std::size_t index, std::size_t in, std::size_t out) {
  const auto k = memory_.kernel("initialise", overwrites(layer.w, layer.b, layer.sum_w, layer.sum_b));
  const double spread = std::sqrt(6.0 / static_cast<double>(in + out));
  const auto key = mix(options_.seed, hash_text(name_), index);
  float* w = k.out(layer.w).data();
  for (std::size_t i = 0; i < in * out; ++i) w[i] = static_cast<float>((2 * unit(mix(key, i)) - 1) * spread);
  std::fill_n(k.out(layer.b).data(), out, 0.0F);
  std::fill_n(k.out(layer.sum_w).data(), layer.sum_w.count(), 0.0F);
  std::fill_n(k.out(layer.sum_b).data(), layer.sum_b.count(), 0.0F);
}

template <class Memory>
void Mlp<Memory>::forward(const Tensor& input) {
  const Tensor* x = &input;
  for (auto& layer : layers_) {
    const auto k = memory_.kernel(layer.name + ".forward", reads(*x, layer.w, layer.b), overwrites(layer.y));
    layer.kernel.forward(k.in(*x).data(), k.in(layer.w).data(), k.in(layer.b).data(), k.out(layer.y).data());
    x = &layer.y;
  }
}

template <class Memory>
void Mlp<Memory>::backward(const Tensor& input, Tensor* input_gradient) {
  for (std::size_t i = layers_.size(); i-- > 0;) {
    auto& layer = layers_[i];
    const Tensor& x = i == 0 ? input : layers_[i - 1].y;
    Tensor* dx = i == 0 ? input_gradient : &layers_[i - 1].dy;
    if (layer.kernel.relu()) {
      const auto k = memory_.kernel(layer.name + ".backward_relu", reads(layer.y), updates(layer.dy));
      layer.kernel.backward_relu(k.in(layer.y).data(), k.out(layer.dy).data());
    }
    {
      const auto k = memory_.kernel(layer.name + ".backward_weights", reads(x, layer.dy),
                                    overwrites(layer.dw, layer.db));
      layer.kernel.backward_weights(k.in(x).data(), k.in(layer.dy).data(), k.out(layer.dw).data(),
                                    k.out(layer.db).data());
    }
    if (dx) {
      const auto k = memory_.kernel(layer.name + ".backward_data", reads(layer.dy, layer.w), overwrites(*dx));
      layer.kernel.backward_data(k.in(layer.dy).data(), k.in(layer.w).data(), k.out(*dx).data());
    }
  }
}

template <class Memory>
void Mlp<Memory>::step() {
  const auto learn = [this](const std::string& name, Tensor& w, const Tensor& g, Tensor& sum) {
    if (options_.learning.optimizer == Optimizer::Sgd) {
      const auto k = memory_.kernel(name + ".sgd", reads(g), updates(w));
      return step_sgd(k.out(w).data(), k.in(g).data(), w.count(), options_.learning.rate);
    }
    const auto k = memory_.kernel(name + ".adagrad", reads(g), updates(w, sum));
    step_adagrad(k.out(w).data(), k.in(g).data(), k.out(sum).data(), w.count(), options_.learning.rate);
  };
  for (auto& layer : layers_) {
    learn(layer.name + ".weights", layer.w, layer.dw, layer.sum_w);
    learn(layer.name + ".bias", layer.b, layer.db, layer.sum_b);
  }
}

template <class Memory>
template <class Visit>
void Mlp<Memory>::visit_weights(Visit&& visit) const {
  for (const auto& layer : layers_) {
    const auto k = memory_.kernel(layer.name + ".visit", reads(layer.w, layer.b));
    visit(layer.name + ".weights", std::span{k.in(layer.w).data(), layer.w.count()});
    visit(layer.name + ".bias", std::span{k.in(layer.b).data(), layer.b.count()});
  }
}

template <class Memory>
Dlrm<Memory>::Dlrm(Memory& memory, ModelOptions options)
    : memory_{memory},
      options_{std::move(options)},
      interaction_{options_.batch, features(), options_.dim},
      dense_{memory_.tensor("dense", options_.batch * options_.dense)},
      bottom_{memory_, "bottom", options_, chain(options_.dense, options_.bottom, options_.dim), true},
      embedded_{memory_.tensor("embedded", options_.batch * features() * options_.dim)},
      embedded_gradient_{memory_.tensor("embedded_gradient", options_.batch * features() * options_.dim)},
      products_{memory_.tensor("products", options_.batch * features() * features())},
      pairs_{memory_.tensor("pairs", options_.batch * Interaction::width(features(), options_.dim))},
      pairs_gradient_{
          memory_.tensor("pairs_gradient", options_.batch * Interaction::width(features(), options_.dim))},
      top_{memory_, "top", options_, chain(Interaction::width(features(), options_.dim), options_.top, 1),
           false} {
  for (std::size_t table = 0; table < options_.rows.size(); ++table) {
    tables_.push_back(memory_.table({.table = table,
                                     .rows = options_.rows[table],
                                     .dim = options_.dim,
                                     .seed = options_.seed,
                                     .learning = options_.learning,
                                     .storage = options_.storage}));
    const auto count = options_.batch * options_.dim;
    sums_.push_back(memory_.tensor(fmt::format("sums.{}", table), count));
    sum_gradients_.push_back(memory_.tensor(fmt::format("sum_gradients.{}", table), count));
  }
  parts_.push_back(&bottom_.output());
  part_gradients_.push_back(&bottom_.output_gradient());
  for (const auto& sum : sums_) parts_.push_back(&sum);
  for (auto& gradient : sum_gradients_) part_gradients_.push_back(&gradient);
}

template <class Memory>
void Dlrm<Memory>::prefetch(const Batch& batch) {
  for (std::size_t t = 0; t < tables_.size(); ++t) tables_[t]->prefetch(batch.lookups[t]);
}

template <class Memory>
void Dlrm<Memory>::cancel(const Batch& batch) {
  for (std::size_t t = 0; t < tables_.size(); ++t) tables_[t]->cancel(batch.lookups[t]);
}

template <class Memory>
double Dlrm<Memory>::train(const Batch& batch) {
  forward(batch);
  const double mean = loss(batch);
  backward();
  step(batch);
  memory_.end_of_step();
  return mean;
}

template <class Memory>
template <class Predicted>
void Dlrm<Memory>::predict(const Batch& batch, Predicted&& predicted) {
  forward(batch);
  for (auto& table : tables_) table->finish();
  const auto k = memory_.kernel("predict", reads(top_.output()));
  const float* logits = k.in(top_.output()).data();
  for (std::size_t i = 0; i < batch.used; ++i) predicted(logits[i]);
}

template <class Memory>
void Dlrm<Memory>::forward(const Batch& batch) {
  {
    const auto k = memory_.kernel("dense", overwrites(dense_));
    std::copy(batch.dense.begin(), batch.dense.end(), k.out(dense_).data());
  }
  bottom_.forward(dense_);
  embed(batch);
  {
    const auto k = memory_.kernel("interaction.forward", reads(embedded_), overwrites(products_, pairs_));
    interaction_.forward(k.in(embedded_).data(), k.out(products_).data(), k.out(pairs_).data());
  }
  top_.forward(pairs_);
}

template <class Memory>
void Dlrm<Memory>::embed(const Batch& batch) {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const auto k = memory_.kernel("lookup", overwrites(sums_[t]));
    tables_[t]->gather(batch.lookups[t], {k.out(sums_[t]).data(), sums_[t].count()});
  }
  const auto k = memory_.kernel("concatenate", reads(parts_), overwrites(embedded_));
  std::vector<const float*> parts;
  for (const auto* part : parts_) parts.push_back(k.in(*part).data());
  concatenate(parts, options_.batch, options_.dim, k.out(embedded_).data());
}

template <class Memory>
double Dlrm<Memory>::loss(const Batch& batch) {
  const auto k = memory_.kernel("loss", reads(top_.output()), overwrites(top_.output_gradient()));
  return loss_and_gradient(k.in(top_.output()).data(), std::span{batch.labels}.first(batch.used),
                           options_.batch, k.out(top_.output_gradient()).data());
}

template <class Memory>
void Dlrm<Memory>::backward() {
  top_.backward(pairs_, &pairs_gradient_);
  {
    const auto k = memory_.kernel("interaction.backward", reads(embedded_, pairs_gradient_),
                                  overwrites(products_, embedded_gradient_));
    interaction_.backward(k.in(embedded_).data(), k.in(pairs_gradient_).data(), k.out(products_).data(),
                          k.out(embedded_gradient_).data());
  }
  {
    const auto k = memory_.kernel("split", reads(embedded_gradient_), overwrites(part_gradients_));
    std::vector<float*> parts;
    for (auto* part : part_gradients_) parts.push_back(k.out(*part).data());
    split(k.in(embedded_gradient_).data(), options_.batch, options_.dim, parts);
  }
  bottom_.backward(dense_, nullptr);
}

template <class Memory>
void Dlrm<Memory>::step(const Batch& batch) {
  top_.step();
  bottom_.step();
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const auto k = memory_.kernel("update", reads(sum_gradients_[t]));
    tables_[t]->update(batch.lookups[t], {k.in(sum_gradients_[t]).data(), sum_gradients_[t].count()});
  }
}

template <class Memory>
template <class Visit>
void Dlrm<Memory>::visit_weights(Visit&& visit) const {
  bottom_.visit_weights(visit);
  top_.visit_weights(visit);
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    tables_[t]->read_all([&](std::span<const float> rows) { visit(fmt::format("table.{}", t), rows); });
  }
}

}  // namespace dlrm
