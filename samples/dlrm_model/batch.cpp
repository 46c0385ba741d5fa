// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch.hpp"

#include <tier/core/error.hpp>

#include <algorithm>
#include <limits>

namespace dlrm {
BatchReader::BatchReader(Log& log, Stretch stretch, std::size_t samples, std::vector<RowId> rows,
                         std::size_t epochs)
    : log_{log}, stretch_{stretch}, samples_{samples}, rows_{std::move(rows)}, epochs_left_{epochs} {
  start_epoch();
}

void BatchReader::start_epoch() {
  --epochs_left_;
  log_.rewind();
  for (position_ = 0; position_ < stretch_.first && log_.next(record_); ++position_) {
  }
}

std::optional<Batch> BatchReader::next() {
  auto batch = read();
  if (batch.used == 0 && epochs_left_ > 0) {
    start_epoch();
    batch = read();
  }
  if (batch.used == 0) return {};
  batch.number = number_++;
  return batch;
}

Batch BatchReader::read() {
  Batch batch;
  batch.labels.resize(samples_);
  batch.dense.resize(samples_ * log_.shape().dense);
  batch.lookups.resize(rows_.size());
  for (auto& lookup : batch.lookups) lookup.starts.push_back(0);
  for (; batch.used < samples_ && position_ < stretch_.last && log_.next(record_); ++position_) {
    add(batch, batch.used++, record_);
  }
  for (auto& lookup : batch.lookups) lookup.starts.resize(samples_ + 1, lookup.starts.back());
  return batch;
}

void BatchReader::add(Batch& batch, std::size_t sample, const Record& record) const {
  batch.labels[sample] = record.label;
  std::copy(record.dense.begin(), record.dense.end(),
            batch.dense.begin() + static_cast<std::ptrdiff_t>(sample * record.dense.size()));
  for (std::size_t table = 0; table < rows_.size(); ++table) {
    auto& lookup = batch.lookups[table];
    for (const auto id : record.ids[table]) lookup.ids.push_back(static_cast<RowId>(id % rows_[table]));
    if (lookup.ids.size() > std::numeric_limits<std::uint32_t>::max())
      throw tier::ConfigError{"a batch has more than 4294967295 ids of one table: make --batch smaller"};
    lookup.starts.push_back(static_cast<std::uint32_t>(lookup.ids.size()));
  }
}

}  // namespace dlrm
