// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tables of each kind, on a manager of two tiers in plain memory.
#include "support/memory_tier.hpp"
#include "support/test_manager.hpp"
#include "table/plain_table.hpp"

#include <tier/runtime/row_policies.hpp>
#include <tier/table/row_table.hpp>

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
  Direct,  ///< the same, and policies may use rows in place, without a lock
  Blocks,  ///< the slow tier is not addressable: blocks of 512 bytes move
};

inline constexpr const char* row_policies[] = {"belady", "first_touch", "hint_aware", "lfu", "lru"};
/// \param name  one of the row policies; `belady` gets a recording that no run follows
inline std::unique_ptr<RowPolicy> row_policy(std::string_view name) {
  if (name != "belady") return make_row_policy(name);
  std::vector<RowId> recorded;
  for (RowId i = 0; i < 10'000; ++i) recorded.push_back(i * i % 97);
  return make_belady_rows(std::move(recorded));
}

/// Keeps a manager, its slow tier, and the state that its tables share.
struct Rig {
  using MakeTier = std::function<std::unique_ptr<MemoryTier>(MemoryTierOptions)>;

  explicit Rig(Kind table_kind, unsigned threads = 2,
               const MakeTier& make_slow = std::make_unique<MemoryTier, MemoryTierOptions>)
      : kind{table_kind} {
    auto fast =
        std::make_unique<MemoryTier>(MemoryTierOptions{"fast", 16_MiB, std::chrono::nanoseconds{10}, true});
    auto behind = make_slow(
        {"slow", 32_MiB, std::chrono::nanoseconds{1000}, kind != Kind::Blocks, false, kind != Kind::Direct});
    slow = behind.get();
    std::vector<std::unique_ptr<Tier>> tiers;
    tiers.push_back(std::move(fast));
    tiers.push_back(std::move(behind));
    manager =
        Manager::make(std::move(tiers), std::make_unique<FetchingPolicy>(), {.threads = 1, .yields = false});
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
    options.storage = stored.storage;
    options.stochastic_seed = stored.seed;
    options.slots = kind == Kind::Whole ? rows : slots;
    options.policy = row_policy(policy);
    options.name = "clicks";
    options.initial = [](RowId row, std::span<float> values) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = first_value(row, i);
    };
    return options;
  }

  Kind kind;
  StoredAs stored{};  ///< of tables made from now on
  MemoryTier* slow;
  std::shared_ptr<Manager> manager;
  std::shared_ptr<TableContext> context;
};

}  // namespace tier::test
