// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "click_logs/generated_log.hpp"

#include <fmt/format.h>

#include <cmath>

namespace dlrm {

using sample::mix;
using sample::unit;

namespace {

constexpr std::size_t dense_features = 13;  // the same as in Criteo's logs
// Spreads of the two parts of the logit, chosen so that a model with the hidden weights has an AUC of about 0.85.
constexpr double dense_spread = 1.0;
constexpr double ids_spread = 1.5;
constexpr double root_12 = 3.4641016151377544;  // scales a uniform variable to variance 1

// Streams of random words under one seed.
enum Stream : std::uint64_t { dense_value = 1, dense_weight, row_weight, click_drawn, table_seed };

double centred(std::uint64_t word) { return (unit(word) - 0.5) * root_12; }

}  // namespace

GeneratedLog::GeneratedLog(const GeneratedLogOptions& options) : options_{options} {
  shape_.dense = dense_features;
  for (std::size_t table = 0; table < options_.rows.size(); ++table) {
    shape_.features.push_back(fmt::format("T{}", table));
    tables_.emplace_back(options_.skew, options_.rows[table], mix(options_.seed, table_seed, table));
  }
}

bool GeneratedLog::next(Record& record) {
  if (next_ == options_.records) return false;
  const double logit = draw_dense(record) + draw_ids(record);
  const double chance = 1 / (1 + std::exp(-logit));
  record.label = unit(mix(options_.seed, click_drawn, next_)) < chance ? 1.0F : 0.0F;
  ++next_;
  return true;
}

double GeneratedLog::draw_dense(Record& record) const {
  record.dense.resize(dense_features);
  double sum = 0;
  for (std::size_t i = 0; i < dense_features; ++i) {
    const double value = centred(mix(options_.seed, dense_value, next_, i));
    record.dense[i] = static_cast<float>(value);
    sum += value * centred(mix(options_.seed, dense_weight, i));
  }
  return sum * dense_spread / std::sqrt(static_cast<double>(dense_features));
}

double GeneratedLog::draw_ids(Record& record) const {
  record.ids.resize(tables_.size());
  double sum = 0;
  for (std::size_t table = 0; table < tables_.size(); ++table) {
    auto& ids = record.ids[table];
    ids.resize(options_.pooling);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ids[i] = tables_[table].row(next_ * ids.size() + i);
      sum += centred(mix(options_.seed, row_weight, table, ids[i]));
    }
  }
  return sum * ids_spread / std::sqrt(static_cast<double>(tables_.size() * options_.pooling));
}

}  // namespace dlrm
