// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The rows of a table that a generated log touches, and how often.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/hashing.hpp"

namespace sample {

/// One bucket of a production log's histogram: the share of touched rows that were touched `above < n <= 2 above` times,
/// and the share of all accesses to them. From github.com/facebookresearch/dlrm_datasets (MIT), commit 6f46ba7,
/// embedding_bag/2021/locality_stats.txt, whole batch: 887 M accesses to 128 M rows of 856 tables.
struct LocalityBucket {
  std::uint32_t above;
  double rows;
  double accesses;
};
inline constexpr LocalityBucket production_2021[] = {
    {0, 0.473, 0.069},    {1, 0.152, 0.044},    {2, 0.139, 0.068},    {4, 0.112, 0.101},
    {8, 0.072, 0.121},    {16, 0.032, 0.104},   {32, 0.011, 0.073},   {64, 0.005, 0.058},
    {128, 0.002, 0.052},  {256, 0.001, 0.050},  {512, 0.000, 0.049},  {1024, 0.000, 0.048},
    {2048, 0.000, 0.048}, {4096, 0.000, 0.043}, {8192, 0.000, 0.031}, {16384, 0.000, 0.023},
    {32768, 0.000, 0.019}};
inline constexpr double production_accesses_per_row = 887'017'990.0 / 128'435'723.0;

/// A bijection of [0, size): a keyed shuffle that needs no table.
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t key);
  [[nodiscard]] std::uint64_t operator()(std::uint64_t i) const;

 private:
  std::uint64_t size_, key_, mask_;
  unsigned shift_;
};

/// The sequence of rows that one table is asked for. Element `i` is a pure function of `i` and the seed.
class AccessSkew {
 public:
  /// \param name  "production": every 6.9 accesses per row (a *period*) have the histogram above and touch every row, in an
  ///              order shuffled anew each period; "uniform"; or the exponent of a Zipf law
  /// \throws      `ConfigError` for any other name
  AccessSkew(std::string_view name, std::uint64_t rows, std::uint64_t seed);

  [[nodiscard]] std::uint64_t row(std::uint64_t access) const;
  /// Returns the number of accesses after which the histogram repeats; 1 if accesses are independent.
  [[nodiscard]] std::uint64_t period() const { return period_; }

 private:
  /// Rows with neighbouring ranks, and the accesses of a period that go to them.
  struct Group {
    std::uint64_t first_access, accesses, first_row, rows;
  };
  void use_production_histogram();
  [[nodiscard]] std::uint64_t rank(std::uint64_t access) const;
  [[nodiscard]] std::uint64_t zipf_rank(double u) const;

  std::uint64_t rows_, seed_;
  std::uint64_t period_ = 1;
  double exponent_ = 0;
  std::vector<Group> groups_;  // hottest first; empty unless "production"
  Permutation scatter_;        // from ranks to rows
};

}  // namespace sample
