// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <string>

#include "dlrm_model/model.hpp"
#include "dlrm_model/plain_memory.hpp"

namespace model_test {

using namespace dlrm;

namespace {

using Weights = std::map<std::string, std::vector<double>>;

const std::vector<std::vector<RowId>> bags[] = {
    {{0, 2, 2}, {4}, {}, {1, 0}, {}},  // of table 0: a row twice in a bag, rows in several bags, an empty bag
    {{1}, {1}, {0, 2}, {2}, {}}};

ModelOptions small_model(Optimizer optimizer, float rate) {
  return {.batch = 5,
          .dense = 3,
          .dim = 4,
          .rows = {5, 3},
          .bottom = {6},
          .top = {7, 5},
          .seed = 1,  // a seed for which no unit is exactly at its ReLU's kink, where there is no gradient
          .learning = {.optimizer = optimizer, .rate = rate}};
}

/// Returns four samples and one unused place.
Batch small_batch() {
  Batch batch;
  batch.used = 4;
  batch.labels = {1, 0, 0, 1, 0};
  batch.dense = {0.5F, -1, 2, 1, 0.25F, -0.5F, -2, 1, 1, 0.75F, -0.125F, 1.5F, 0, 0, 0};
  for (const auto& of_table : bags) {
    auto& lookup = batch.lookups.emplace_back();
    lookup.starts = {0};
    for (std::size_t sample = 0; sample < of_table.size(); ++sample) {
      lookup.ids.insert(lookup.ids.end(), of_table[sample].begin(), of_table[sample].end());
      lookup.starts.push_back(static_cast<std::uint32_t>(lookup.ids.size()));
    }
  }
  return batch;
}

Weights weights_of(const Dlrm<PlainMemory>& model) {
  Weights weights;
  model.visit_weights([&](const std::string& name, std::span<const float> values) {
    weights[name].insert(weights[name].end(), values.begin(), values.end());
  });
  return weights;
}

std::vector<double> reference_mlp(const Weights& weights, const std::string& name, std::vector<double> x,
                                  bool relu_at_the_end) {
  for (int layer = 0; weights.contains(name + "." + std::to_string(layer) + ".weights"); ++layer) {
    const auto& w = weights.at(name + "." + std::to_string(layer) + ".weights");
    const auto& b = weights.at(name + "." + std::to_string(layer) + ".bias");
    const bool last = !weights.contains(name + "." + std::to_string(layer + 1) + ".weights");
    std::vector<double> y = b;
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (std::size_t j = 0; j < x.size(); ++j) y[i] += w[i * x.size() + j] * x[j];
      if (!last || relu_at_the_end) y[i] = std::max(y[i], 0.0);
    }
    x = y;
  }
  return x;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Computes the loss again, in double and as plainly as possible.
double reference_loss(const Weights& weights, const Batch& batch, std::size_t dim) {
  double loss = 0;
  for (std::size_t sample = 0; sample < batch.used; ++sample) {
    std::vector<std::vector<double>> features{
        reference_mlp(weights, "bottom",
                      {batch.dense.begin() + static_cast<std::ptrdiff_t>(3 * sample),
                       batch.dense.begin() + static_cast<std::ptrdiff_t>(3 * sample + 3)},
                      true)};
    for (std::size_t table = 0; table < batch.lookups.size(); ++table) {
      auto& sum = features.emplace_back(dim);
      for (const auto id : bags[table][sample]) {
        for (std::size_t i = 0; i < dim; ++i)
          sum[i] += weights.at("table." + std::to_string(table))[id * dim + i];
      }
    }
    auto pairs = features[0];
    for (std::size_t i = 1; i < features.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) pairs.push_back(dot(features[i], features[j]));
    }
    const double logit = reference_mlp(weights, "top", pairs, false)[0];
    loss += std::log1p(std::exp(-logit)) + (1 - static_cast<double>(batch.labels[sample])) * logit;
  }
  return loss / static_cast<double>(batch.used);
}

/// Enlarges rows, because initial ones are too small to affect the loss.
void enlarge_rows(Dlrm<PlainMemory>& model, const Batch& batch) {
  for (int i = 0; i < 20; ++i) model.train(batch);
}

}  // namespace

TEST_CASE("every gradient is that of finite differences, embedding rows included") {
  PlainMemory memory;
  Dlrm model{memory, small_model(Optimizer::Sgd, 1)};  // so that a step equals the gradient
  const auto batch = small_batch();
  enlarge_rows(model, batch);
  auto weights = weights_of(model);
  CHECK(weights.size() == 2 * 2 + 2 * 3 + 2);
  CHECK(model.train(batch) == doctest::Approx(reference_loss(weights, batch, 4)).epsilon(1e-5));
  const auto after = weights_of(model);
  std::size_t moved = 0;
  for (auto& entry : weights) {
    const auto& name = entry.first;
    auto& values = entry.second;
    for (std::size_t i = 0; i < values.size(); ++i) {
      CAPTURE(name);
      CAPTURE(i);
      const double value = values[i];
      const double gradient = value - after.at(name)[i];
      values[i] = value + 1e-6;
      const double above = reference_loss(weights, batch, 4);
      values[i] = value - 1e-6;
      const double below = reference_loss(weights, batch, 4);
      values[i] = value;
      CHECK(std::abs(gradient - (above - below) / 2e-6) < 1e-6 + 1e-4 * std::abs(gradient));
      moved += gradient != 0 ? 1 : 0;
    }
  }
  CHECK(moved > 50);
}

TEST_CASE("row-wise Adagrad divides a row's step by the root of its mean squared gradients") {
  const auto batch = small_batch();
  PlainMemory memory;
  Dlrm sgd{memory, small_model(Optimizer::Sgd, 1)};
  Dlrm adagrad{memory, small_model(Optimizer::Adagrad, 0.5F)};
  const auto before = weights_of(sgd);
  sgd.train(batch);
  adagrad.train(batch);
  const auto after_sgd = weights_of(sgd);
  const auto after_adagrad = weights_of(adagrad);
  for (const std::size_t row : {0U, 1U, 2U, 3U, 4U}) {
    CAPTURE(row);
    double mean_square = 0;
    std::vector<double> gradient(4);
    for (std::size_t i = 0; i < 4; ++i) {
      gradient[i] = before.at("table.0")[row * 4 + i] - after_sgd.at("table.0")[row * 4 + i];
      mean_square += gradient[i] * gradient[i] / 4;
    }
    const auto& values = after_adagrad.at("table.0");
    CHECK(values[20 + row] == doctest::Approx(mean_square).epsilon(1e-3));
    for (std::size_t i = 0; i < 4; ++i) {
      const double step = mean_square == 0 ? 0 : 0.5 * gradient[i] / std::sqrt(mean_square);
      CHECK(values[row * 4 + i] == doctest::Approx(before.at("table.0")[row * 4 + i] - step).epsilon(1e-3));
    }
    CHECK((mean_square > 0) == (row != 3));  // no bag has row 3
  }
}

TEST_CASE("places of a batch that are not used change nothing") {
  const auto train_twice = [](float junk) {
    PlainMemory memory;
    Dlrm model{memory, small_model(Optimizer::Adagrad, 0.1F)};
    auto batch = small_batch();
    batch.labels[4] = 1;
    std::fill(batch.dense.begin() + 12, batch.dense.end(), junk);
    model.train(batch);
    model.train(batch);
    return weights_of(model);
  };
  CHECK(train_twice(0) == train_twice(3));
}

TEST_CASE("predictions are the logits that the loss is made of") {
  PlainMemory memory;
  Dlrm model{memory, small_model(Optimizer::Sgd, 0.1F)};
  const auto batch = small_batch();
  const auto weights = weights_of(model);
  double loss = 0;
  std::size_t count = 0;
  model.predict(batch, [&](float logit) {
    loss += std::log1p(std::exp(-static_cast<double>(logit))) +
            (1 - static_cast<double>(batch.labels[count++])) * static_cast<double>(logit);
  });
  CHECK(count == 4);
  CHECK(loss / 4 == doctest::Approx(reference_loss(weights, batch, 4)).epsilon(1e-5));
  CHECK(weights_of(model) == weights);
}

}  // namespace model_test
