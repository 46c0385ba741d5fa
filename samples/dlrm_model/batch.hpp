// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Batches for the model, and a reader that makes them from a log.
#include <tier/policy/row_policy.hpp>

#include <optional>
#include <span>

#include "click_logs/log.hpp"

namespace dlrm {

using tier::RowId;

/// The rows of one table that one batch needs: a bag of rows per sample.
struct Lookup {
  std::vector<RowId> ids;             ///< all bags, one after the other
  std::vector<std::uint32_t> starts;  ///< bag `s` is `ids[starts[s] .. starts[s + 1])`

  [[nodiscard]] std::size_t samples() const { return starts.size() - 1; }
  [[nodiscard]] std::span<const RowId> bag(std::size_t sample) const {
    return std::span{ids}.subspan(starts[sample], starts[sample + 1] - starts[sample]);
  }
};

/// A batch of the size that the model was made for. If the log has run out, the last samples are empty and not `used`.
struct Batch {
  std::uint64_t number = 0;  ///< from 0, over all epochs of a run
  std::size_t used = 0;
  std::vector<float> labels;    ///< [samples]
  std::vector<float> dense;     ///< [samples, dense features]
  std::vector<Lookup> lookups;  ///< one per table
};

/// The records [first, last) of a log.
struct Stretch {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

/// Reads a stretch of a log as batches, once or several times.
class BatchReader {
 public:
  /// Rewinds `log`, which must outlive the reader.   \param rows  of each table; ids are taken modulo these
  BatchReader(Log& log, Stretch stretch, std::size_t samples, std::vector<RowId> rows,
              std::size_t epochs = 1);
  std::optional<Batch> next();

 private:
  void start_epoch();
  [[nodiscard]] Batch read();
  void add(Batch& batch, std::size_t sample, const Record& record) const;

  Log& log_;
  Stretch stretch_;
  std::size_t samples_;
  std::vector<RowId> rows_;
  std::size_t epochs_left_;
  std::uint64_t position_ = 0;
  std::uint64_t number_ = 0;
  Record record_;
};

}  // namespace dlrm
