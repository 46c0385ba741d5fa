// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tables of each kind, on a manager of two tiers in plain memory.
#include "support/memory_tier.hpp"
#include "support/test_manager.hpp"

#include <tier/table/row_table.hpp>

#include <first_touch/first_touch_rows.hpp>
#include <hint_aware/hint_aware_rows.hpp>
#include <lru/lru_rows.hpp>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tier::test {

enum class Kind {
  Whole,   ///< all in the fast tier
  Rows,    ///< the slow tier is addressable: single rows move
  Blocks,  ///< it is not: blocks of 512 bytes move
};

inline std::unique_ptr<RowPolicy> row_policy(std::string_view name) {
  if (name == "lru") return make_lru_rows();
  if (name == "first_touch") return make_first_touch_rows();
  return make_hint_aware_rows();
}

/// The values that `rig` tables begin with: every row differs, and no sum of them is exact by chance.
inline float first_value(RowId row, std::size_t column) {
  return 0.1F * static_cast<float>(row % 1009) + 0.01F * static_cast<float>(column) - 3;
}

/// A manager, its slow tier, and what its tables share.
struct Rig {
  using MakeTier = std::function<std::unique_ptr<MemoryTier>(MemoryTierOptions)>;

  explicit Rig(Kind table_kind, unsigned threads = 2,
               const MakeTier& make_slow = std::make_unique<MemoryTier, MemoryTierOptions>)
      : kind{table_kind} {
    auto fast =
        std::make_unique<MemoryTier>(MemoryTierOptions{"fast", 16_MiB, std::chrono::nanoseconds{10}, true});
    auto behind = make_slow({"slow", 32_MiB, std::chrono::nanoseconds{1000}, kind != Kind::Blocks});
    slow = behind.get();
    std::vector<std::unique_ptr<Tier>> tiers;
    tiers.push_back(std::move(fast));
    tiers.push_back(std::move(behind));
    manager = Manager::make(std::move(tiers), std::make_unique<FetchingPolicy>(), {.threads = 1});
    context = std::make_shared<TableContext>(manager, threads);
  }

  /// \param slots  rows that the cache holds, unless the kind is whole
  [[nodiscard]] RowTable<float> table(std::uint64_t rows, std::size_t dim, std::uint64_t slots,
                                      std::string_view policy = "hint_aware",
                                      std::size_t state_columns = 1) const {
    return RowTable<float>{context, options(rows, dim, slots, policy, state_columns)};
  }
  [[nodiscard]] TableOptions options(std::uint64_t rows, std::size_t dim, std::uint64_t slots,
                                     std::string_view policy = "hint_aware",
                                     std::size_t state_columns = 1) const {
    TableOptions options;
    options.rows = rows;
    options.dim = dim;
    options.state_columns = state_columns;
    options.slots = kind == Kind::Whole ? rows : slots;
    options.policy = row_policy(policy);
    options.name = "clicks";
    options.initial = [](RowId row, std::span<float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = first_value(row, i);
    };
    return options;
  }

  Kind kind;
  MemoryTier* slow;
  std::shared_ptr<Manager> manager;
  std::shared_ptr<TableContext> context;
};

/// A table in plain arrays, one row after the other, and the obvious arithmetic.
class PlainTable {
 public:
  PlainTable(std::size_t rows, std::size_t dim) : dim_{dim}, values_(rows * dim), states_(rows) {
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t i = 0; i < dim; ++i) values_[row * dim + i] = first_value(static_cast<RowId>(row), i);
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
    for (std::size_t id = 0; id < seen.size(); ++id)
      if (seen[id])
        optimizer(std::span{row(static_cast<RowId>(id)), dim_}, std::span{&states_[id], 1},
                  std::span<const float>{&sums[id * dim_], dim_});
  }
  void scatter(const std::vector<RowId>& ids, const std::vector<float>& rows) {
    for (std::size_t i = 0; i < ids.size(); ++i) std::copy_n(&rows[i * dim_], dim_, row(ids[i]));
  }

  void set_states(std::vector<float> states) { states_ = std::move(states); }

  [[nodiscard]] const std::vector<float>& values() const { return values_; }
  [[nodiscard]] const std::vector<float>& states() const { return states_; }

 private:
  float* row(RowId id) { return &values_[id * dim_]; }
  [[nodiscard]] const float* row(RowId id) const { return &values_[id * dim_]; }

  std::size_t dim_;
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

}  // namespace tier::test
