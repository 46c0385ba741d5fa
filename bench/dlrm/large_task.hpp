// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The learning task that several measurements of the DLRM share.
#include <benchmark/benchmark.h>
#include <omp.h>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "dlrm/runs.hpp"
#include "harness/rows.hpp"

namespace tier::bench {

inline constexpr std::size_t batches_in_sample = 8;
inline constexpr std::size_t lookahead = 2;

/// Learns from the batches as the program does: later ones are announced and their rows prefetched.
template <class Memory>
void learn(dlrm::Dlrm<Memory>& model, const std::vector<dlrm::Batch>& batches) {
  for (std::size_t i = 1; i < lookahead; ++i) model.prefetch(batches[i]);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    if (i + lookahead < batches.size()) model.prefetch(batches[i + lookahead]);
    benchmark::DoNotOptimize(model.train(batches[i]));
  }
}

/// 4 GB of tables, and a log that is never read twice.
class LargeTask {
 public:
  explicit LargeTask(std::size_t dim) {
    dlrm::Options options;
    options.table_bytes = "4GB";
    options.dim = dim;
    options.samples = 2'000'000;
    omp_set_num_threads(static_cast<int>(dlrm::threads_of(options)));
    for (auto& log : logs_) log = make_log(options);
    const auto experiment = make_experiment(options, *logs_[0]);
    model = experiment.model;
    for (std::size_t side = 0; side < logs_.size(); ++side)
      readers_[side].emplace(*logs_[side], experiment.train.learn_from, model.batch, model.rows);
  }
  /// Reads the next batches of one side; both sides get the same.
  void read(Side side) {
    auto& batches = read_[index(side)];
    batches.clear();
    while (batches.size() < batches_in_sample) batches.push_back(readers_[index(side)]->next().value());
  }
  [[nodiscard]] const std::vector<dlrm::Batch>& batches(Side side) const { return read_[index(side)]; }

  dlrm::ModelOptions model;

 private:
  static std::size_t index(Side side) noexcept { return side == Side::Ours ? 0 : 1; }

  std::array<std::unique_ptr<dlrm::Log>, 2> logs_;
  std::array<std::optional<dlrm::BatchReader>, 2> readers_;
  std::array<std::vector<dlrm::Batch>, 2> read_;
};

}  // namespace tier::bench
