// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Makes one run: learns from the first nine tenths of a log and tests on the last.
#include <fmt/format.h>
#include <tier/core/error.hpp>

#include <atomic>
#include <chrono>
#include <deque>
#include <system_error>

#include "common/checksum.hpp"
#include "metrics.hpp"
#include "model.hpp"
#include "progress.hpp"
#include "results.hpp"

namespace dlrm {

struct TrainOptions {
  Stretch learn_from;
  Stretch test_on;
  std::size_t epochs = 1;
  std::size_t lookahead = 2;  ///< batches announced ahead of the current one
};

/// Learns batch by batch while the next ones are announced and their rows prefetched.
/// \tparam Memory  like `PlainMemory`: tensors, kernels, tables, and `traffic()` and `hit_share()` so far
template <class Memory>
class Trainer {
 public:
  Trainer(Memory& memory, const ModelOptions& model, const TrainOptions& options, Log& log,
          const std::atomic<bool>& stop)
      : memory_{memory},
        model_options_{model},
        options_{options},
        log_{log},
        stop_{stop},
        model_{memory, model} {}

  /// Trains and tests. Ends early with the results so far if `stop` is set or a table throws `OutOfTime`; the batch in
  /// progress then counts as learned.
  RunResult run(const std::string& name, Progress& progress);

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

  void learn(RunResult& result, Progress& progress);
  void look_ahead(BatchReader& reader, RunResult& result);
  void test(RunResult& result);
  void add_weights();

  Memory& memory_;
  ModelOptions model_options_;
  TrainOptions options_;
  Log& log_;
  const std::atomic<bool>& stop_;
  Dlrm<Memory> model_;
  std::deque<Batch> window_;  // the current batch, then those announced
  sample::Checksum checksum_;
};

template <class Memory>
RunResult Trainer<Memory>::run(const std::string& name, Progress& progress) {
  RunResult result;
  result.name = name;
  learn(result, progress);
  result.traffic = memory_.traffic();  // before the test and the checksum move data
  if (result.out_of_time) return result;
  test(result);
  add_weights();
  result.checksum = checksum_.value();
  return result;
}

template <class Memory>
void Trainer<Memory>::learn(RunResult& result, Progress& progress) {
  BatchReader reader{log_, options_.learn_from, model_options_.batch, model_options_.rows, options_.epochs};
  const auto total = (options_.learn_from.last - options_.learn_from.first) * options_.epochs;
  const auto start = Clock::now();
  double smooth_loss = 0;
  for (look_ahead(reader, result); !window_.empty() && !stop_ && !result.out_of_time;
       look_ahead(reader, result)) {
    const auto batch = std::move(window_.front());
    window_.pop_front();
    try {
      const double loss = model_.train(batch);
      checksum_.add(loss);
      smooth_loss += (loss - smooth_loss) * (result.samples == 0 ? 1 : 0.05);
    } catch (const OutOfTime&) {
      result.out_of_time = true;
    }
    result.samples += batch.used;
    if (progress.due()) {
      progress.draw(progress_line(result.name, {.samples = result.samples,
                                                .total = total,
                                                .seconds = seconds(Clock::now() - start),
                                                .loss = smooth_loss,
                                                .fast_share = memory_.hit_share()}));
    }
  }
  progress.clear();
  for (const auto& batch : window_) model_.cancel(batch);
  window_.clear();
  result.complete = result.samples == total && !result.out_of_time;
  if (!result.complete && !result.out_of_time && !stop_)
    throw tier::TierError{
        std::make_error_code(std::errc::io_error),
        fmt::format("the log gave {} of the {} records that it had when it was read through: it "
                    "has changed meanwhile",
                    result.samples, total)};
  result.train_loss = smooth_loss;
  result.learning_s = seconds(Clock::now() - start);
  result.samples_per_s = static_cast<double>(result.samples) / result.learning_s;
}

template <class Memory>
void Trainer<Memory>::look_ahead(BatchReader& reader, RunResult& result) {
  while (window_.size() <= options_.lookahead) {
    const auto start = Clock::now();
    auto batch = reader.next();
    result.input_s += seconds(Clock::now() - start);
    if (!batch) return;
    window_.push_back(std::move(*batch));
    if (window_.size() > 1) model_.prefetch(window_.back());  // the first is needed at once
  }
}

template <class Memory>
void Trainer<Memory>::test(RunResult& result) {
  BatchReader reader{log_, options_.test_on, model_options_.batch, model_options_.rows};
  std::vector<Prediction> predictions;
  while (const auto batch = reader.next()) {
    std::size_t i = 0;
    model_.predict(
        *batch, [&](float logit) { predictions.push_back({.logit = logit, .label = batch->labels[i++]}); });
  }
  result.auc = auc(predictions);
  result.log_loss = log_loss(predictions);
}

template <class Memory>
void Trainer<Memory>::add_weights() {
  model_.visit_weights(
      [this](const std::string&, std::span<const float> values) { checksum_.add(std::as_bytes(values)); });
}

}  // namespace dlrm
