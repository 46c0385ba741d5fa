// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The model of a row table, and comparisons of the two.
#include <tier/table/row_table.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <vector>

#include "table/narrow_values.hpp"

namespace tier::test {

/// The initial values of `rig` tables: every row differs, and no sum of them is exact by chance.
inline float first_value(RowId row, std::size_t column) {
  return 0.1F * static_cast<float>(row % 1009) + 0.01F * static_cast<float>(column) - 3;
}

/// A table's options for its storage.
struct StoredAs {
  RowStorage storage = RowStorage::Float;
  std::optional<std::uint64_t> seed{};

  /// Returns `value` as it reads after it was stored by change number `change`.
  [[nodiscard]] float operator()(float value, RowId row, std::size_t column, std::uint64_t change) const {
    if (storage == RowStorage::Float) return value;
    return storage == RowStorage::Half ? as<detail::Half>(value, row, column, change)
                                       : as<detail::BFloat16>(value, row, column, change);
  }

 private:
  template <class Value>
  [[nodiscard]] float as(float value, RowId row, std::size_t column, std::uint64_t change) const {
    if (!seed) return Value::load(Value::store(value, detail::NearestEven{}));
    const auto of_row = detail::random_of_row(*seed, change, row);
    const detail::Stochastic round{detail::random_of_value(of_row, static_cast<std::uint32_t>(column))};
    return Value::load(Value::store(value, round));
  }
};

/// A table in plain arrays, one row after the other, with simple arithmetic.
class PlainTable {
 public:
  PlainTable(std::size_t rows, std::size_t dim, StoredAs stored = {})
      : dim_{dim}, stored_{stored}, values_(rows * dim), states_(rows) {
    for (std::size_t at = 0; at < rows * dim; ++at)
      values_[at] = first_value(static_cast<RowId>(at / dim), at % dim);
    for (std::size_t row = 0; row < rows; ++row) store(static_cast<RowId>(row));
    ++changes_;
  }

  [[nodiscard]] std::vector<float> gather(const std::vector<RowId>& ids) const {
    std::vector<float> out;
    for (const auto id : ids) out.insert(out.end(), row(id), row(id) + dim_);
    return out;
  }
  [[nodiscard]] std::vector<float> pooled(const std::vector<RowId>& ids,
                                          const std::vector<std::uint32_t>& offsets) const {
    std::vector<float> out((offsets.size() - 1) * dim_, 0.0F);
    for (std::size_t bag = 0; bag + 1 < offsets.size(); ++bag)
      for (auto i = offsets[bag]; i < offsets[bag + 1]; ++i)
        for (std::size_t c = 0; c < dim_; ++c) out[bag * dim_ + c] += row(ids[i])[c];
    return out;
  }
  template <class F>
  void update(const std::vector<RowId>& ids, const std::vector<float>& gradients, const F& optimizer) {
    std::vector<float> sums(values_.size());
    std::vector<bool> seen(states_.size());
    for (std::size_t i = 0; i < ids.size(); ++i)
      for (std::size_t c = 0; c < dim_; ++c) {
        auto& sum = sums[ids[i] * dim_ + c];
        sum = seen[ids[i]] ? sum + gradients[i * dim_ + c] : gradients[i * dim_ + c];
        if (c + 1 == dim_) seen[ids[i]] = true;
      }
    for (std::size_t id = 0; id < seen.size(); ++id) {
      if (!seen[id]) continue;
      optimizer(std::span{row(static_cast<RowId>(id)), dim_}, std::span{&states_[id], 1},
                std::span<const float>{&sums[id * dim_], dim_});
      store(static_cast<RowId>(id));
    }
    changes_ += !ids.empty();
  }
  void scatter(const std::vector<RowId>& ids, const std::vector<float>& rows) {
    for (std::size_t i = 0; i < ids.size(); ++i) std::copy_n(&rows[i * dim_], dim_, row(ids[i]));
    for (const auto id : std::set<RowId>{ids.begin(), ids.end()}) store(id);
    changes_ += !ids.empty();
  }

  /// Copies a row with its state from another table.
  void take_row(const PlainTable& from, RowId id) {
    std::copy_n(from.row(id), dim_, row(id));
    states_[id] = from.states_[id];
  }

  /// True if a row and its state equal these, bit by bit.
  [[nodiscard]] bool row_is(RowId id, const float* values, const float* state) const {
    return std::memcmp(row(id), values, dim_ * sizeof(float)) == 0 &&
           std::memcmp(&states_[id], state, sizeof(float)) == 0;
  }

  [[nodiscard]] const std::vector<float>& values() const { return values_; }
  [[nodiscard]] const std::vector<float>& states() const { return states_; }

 private:
  float* row(RowId id) { return &values_[id * dim_]; }
  [[nodiscard]] const float* row(RowId id) const { return &values_[id * dim_]; }
  void store(RowId id) {
    for (std::size_t i = 0; i < dim_; ++i) row(id)[i] = stored_(row(id)[i], id, i, changes_);
  }

  std::size_t dim_;
  StoredAs stored_;
  std::uint64_t changes_ = 0;
  std::vector<float> values_, states_;
};

inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

inline std::vector<float> gather(RowTable<float>& table, const std::vector<RowId>& ids) {
  std::vector<float> out(ids.size() * table.dim());
  table.gather(ids, out);
  return out;
}
inline std::vector<float> all_rows(RowTable<float>& table) {
  std::vector<float> out(table.rows() * table.dim());
  table.read_rows(0, out);
  return out;
}
inline std::vector<float> all_states(RowTable<float>& table) {
  std::vector<float> out(table.rows() * table.state_columns());
  table.read_states(0, out);
  return out;
}

/// True if each row, with its state, is unchanged or as a call makes it that may have stopped half way.
/// \param plain  the table before the call; on return its present contents   \param after  the table after a whole call
inline bool is_between(RowTable<float>& table, PlainTable& plain, const PlainTable& after) {
  const auto values = all_rows(table), states = all_states(table);
  for (RowId row = 0; row < table.rows(); ++row) {
    if (plain.row_is(row, &values[row * table.dim()], &states[row])) continue;
    if (!after.row_is(row, &values[row * table.dim()], &states[row])) return false;
    plain.take_row(after, row);
  }
  return true;
}
inline bool is(RowTable<float>& table, const PlainTable& plain) {
  return same_bits(all_rows(table), plain.values()) && same_bits(all_states(table), plain.states());
}

}  // namespace tier::test
