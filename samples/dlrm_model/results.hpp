// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The results of a run.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace dlrm {

/// A table's part of fast memory that is too small for all tables.
struct TableShare {
  std::string table;
  std::uint64_t rows = 0;
  std::uint64_t slots = 0;  ///< rows that fit
  std::uint64_t bytes = 0;  ///< including all that these need there

  friend bool operator==(const TableShare&, const TableShare&) = default;
};

/// The work of the memory while the model learned. A run on plain memory moves nothing and always hits. Shares are those of
/// `harness/shares.hpp`.
struct Traffic {
  double fast_share = 1;                               ///< of rows gathered and updated
  double on_time_share = 1;                            ///< of the accesses: those that did not wait
  std::map<std::string, std::uint64_t> bytes_moved{};  ///< by "FROM>TO"
  std::map<std::string, std::uint64_t> memory{};       ///< peak use by tier; none on plain memory
  std::uint64_t in_place_bytes = 0;                    ///< of rows used in the slow tier
  double read_amplification = 0;     ///< bytes fetched per byte of the rows wanted; NaN: unknown
  double bytes_per_written_row = 0;  ///< written back per changed row; NaN: unknown
  double stalled_s = 0;              ///< summed over threads; NaN: unknown
  std::uint64_t peak_bytes = 0;
  std::uint64_t overhead_bytes = 0;  ///< of the peak: metadata, staging, queues
  std::vector<TableShare> shares{};  ///< of the fast memory; none if tables do not divide it
};

struct RunResult {
  std::string name;
  std::string fast;          ///< memory for its tables, as given by the option
  std::string share;         ///< how they divide it, as given by the option
  bool complete = true;      ///< learned to the end
  bool out_of_time = false;  ///< incomplete because its time was up; then neither tested nor summed up
  std::uint64_t samples = 0;
  double samples_per_s = 0;
  double learning_s = 0;    ///< wall time
  std::size_t threads = 1;  ///< compute threads
  double input_s = 0;       ///< time spent reading the log
  double train_loss = 0;    ///< smoothed over the last batches
  double auc = std::numeric_limits<double>::quiet_NaN();
  double log_loss = std::numeric_limits<double>::quiet_NaN();
  /// Covers every weight and every batch's loss; equal for runs that computed the same.
  std::optional<std::uint64_t> checksum{};
  Traffic traffic;
  std::vector<RunResult> variants{};  ///< the runs of which this is the fastest; none if it is the only one

  /// Returns the stalled share of the time of all threads; 0 before any time has passed.
  [[nodiscard]] double stalled_share() const;
};

}  // namespace dlrm
