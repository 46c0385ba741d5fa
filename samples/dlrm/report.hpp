// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a run has to say: as a table and as JSON.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlrm {

/// What a table got of fast memory that is too small for all.
struct TableShare {
  std::string table;
  std::uint64_t rows = 0;
  std::uint64_t slots = 0;  ///< rows that fit
  std::uint64_t bytes = 0;  ///< with all that they need there

  friend bool operator==(const TableShare&, const TableShare&) = default;
};

/// What the memory did while the model learned. A run on plain memory moves nothing and hits always. The shares are those
/// of `harness/shares.hpp`.
struct Traffic {
  double fast_share = 1;                               ///< of rows gathered and updated
  double on_time_share = 1;                            ///< of the accesses: those that did not wait
  std::map<std::string, std::uint64_t> bytes_moved{};  ///< by "FROM>TO"
  std::map<std::string, std::uint64_t> memory{};       ///< the most in use, by tier; none on plain memory
  std::uint64_t in_place_bytes = 0;                    ///< of rows, used in the slow tier
  double read_amplification = 0;     ///< bytes fetched for each byte of the rows wanted; NaN: not known
  double bytes_per_written_row = 0;  ///< written back for each row that had been changed; NaN: not known
  double stalled_s = 0;              ///< summed over threads; NaN: not known
  std::uint64_t peak_bytes = 0;
  std::uint64_t overhead_bytes = 0;  ///< of the peak: metadata, staging, queues
  std::vector<TableShare> shares{};  ///< of the fast memory; none where tables do not divide it
};

struct RunResult {
  std::string name;
  std::string fast;          ///< memory that its tables were to have, as an option says it
  std::string share;         ///< how they were to share it, likewise
  bool complete = true;      ///< learned to its end
  bool out_of_time = false;  ///< not complete because its time was up; then neither tested nor summed up
  std::uint64_t samples = 0;
  double samples_per_s = 0;
  double learning_s = 0;    ///< wall time
  std::size_t threads = 1;  ///< that compute
  double input_s = 0;       ///< of the time: reading the log
  double train_loss = 0;    ///< mean over the last epoch's batches seen
  double auc = std::numeric_limits<double>::quiet_NaN();
  double log_loss = std::numeric_limits<double>::quiet_NaN();
  /// Of every weight and every batch's loss: equal for runs that computed the same.
  std::optional<std::uint64_t> checksum{};
  Traffic traffic;
  std::vector<RunResult> variants{};  ///< of which this is the fastest; none: it is the only one

  /// Of the time that all threads had; 0 before any has passed.
  [[nodiscard]] double stalled_share() const;
};

/// The table that ends a run of the program.
[[nodiscard]] std::string to_table(std::span<const RunResult> runs);
/// A line for each run whose tables divide fast memory: what each table got.
[[nodiscard]] std::string to_shares(std::span<const RunResult> runs);
/// {"runs": [...]}; numbers that are not finite are null.
[[nodiscard]] std::string to_json(std::span<const RunResult> runs);
/// The runs of such a text.   \throws  `tier::TierError` if it is none
[[nodiscard]] std::vector<RunResult> from_json(std::string_view text);

}  // namespace dlrm
