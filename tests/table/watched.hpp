// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A table with eight rows in a block, on a slow tier that records its requests.
#include "memory/io/io_pieces.hpp"
#include "rig.hpp"

#include <tier/core/mutex.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace tier::test {

inline constexpr RowId rows_in_block = 8;
inline constexpr std::size_t dim = 15;  // with its state a row takes 64 bytes
inline constexpr std::size_t row_bytes = 64, block_bytes = 512;

/// Records requests as a device sees them, and knows the earlier contents of each row.
class WatchedTier final : public MemoryTier {
 public:
  using MemoryTier::MemoryTier;

  struct Seen {
    std::uint64_t write_operations = 0, blocks_written = 0, rows_changed = 0, blocks_read = 0;
  };
  /// Called in the middle of a transfer, before its bytes move; set it while nothing moves.
  std::function<void(Direction, std::span<const IoRequest>)> meanwhile;

  void transfer(Direction direction, std::span<IoRequest> requests) noexcept override {
    if (!home_) home_ = requests.front().offset;  // the initial contents
    if (meanwhile) meanwhile(direction, requests);
    Seen seen;
    if (direction == Direction::Write) seen.write_operations = operations(requests);
    for (auto& request : requests) {
      const auto changed = direction == Direction::Write ? rows_that_differ(request) : 0;
      MemoryTier::transfer(direction, {&request, 1});
      if (request.error) continue;
      (direction == Direction::Write ? seen.blocks_written : seen.blocks_read) += request.size / block_bytes;
      seen.rows_changed += changed;
    }
    const MutexLock lock{mutex_};
    seen_.write_operations += seen.write_operations;
    seen_.blocks_written += seen.blocks_written;
    seen_.rows_changed += seen.rows_changed;
    seen_.blocks_read += seen.blocks_read;
  }
  /// Returns the requests since the last call.
  Seen take() {
    const MutexLock lock{mutex_};
    return std::exchange(seen_, {});
  }
  [[nodiscard]] std::uint64_t home() const { return *home_; }
  [[nodiscard]] RowId block_of(const IoRequest& request) const {
    return static_cast<RowId>((request.offset - home()) / block_bytes);
  }
  /// True if this tier holds a row, with its state, as the model has it.
  [[nodiscard]] bool has(RowId row, const PlainTable& plain) {
    const auto* const here = reinterpret_cast<const float*>(contents() + home() + row * row_bytes);
    return plain.row_is(row, here, here + dim);
  }

 private:
  std::uint64_t rows_that_differ(const IoRequest& request) {
    std::uint64_t count = 0;
    for (std::size_t at = 0; at < request.size; at += row_bytes)
      count += std::memcmp(request.memory + at, contents() + request.offset + at, row_bytes) != 0;
    return count;
  }

  std::optional<std::uint64_t> home_;
  Mutex mutex_;
  Seen seen_ TIER_GUARDED_BY(mutex_);
};

/// Keeps a table with eight rows in a block, on a watched tier.
class Watched {
 public:
  explicit Watched(RowId rows, RowId blocks_cached, std::string_view policy = "lru")
      : rig_{Kind::Blocks, 2,
             [](MemoryTierOptions options) {
               options.capacity = 256_KiB;
               return std::make_unique<WatchedTier>(std::move(options));
             }},
        table{rig_.table(rows, dim, std::uint64_t{blocks_cached} * rows_in_block, policy)},
        plain{rows, dim} {
    slow().take();
  }

  [[nodiscard]] WatchedTier& slow() { return static_cast<WatchedTier&>(*rig_.slow); }
  void update(const std::vector<RowId>& ids, float gradient = -1.0F) {
    const std::vector<float> gradients(ids.size() * dim, gradient);
    auto after = plain;
    after.update(ids, gradients, Sgd{1.0F});
    table.update(ids, std::span<const float>{gradients}, Sgd{1.0F});
    plain = after;
  }
  void gather(const std::vector<RowId>& ids) {
    const auto rows = test::gather(table, ids);
    CHECK(same_bits(rows, plain.gather(ids)));
  }
  /// Returns the rows that differ in the slow tier from the model.
  [[nodiscard]] std::vector<RowId> behind() {
    std::vector<RowId> rows;
    for (RowId row = 0; row < table.rows(); ++row)
      if (!slow().has(row, plain)) rows.push_back(row);
    return rows;
  }
  TableStatistics take_statistics() {
    const auto statistics = table.statistics();
    table.reset_statistics();
    return statistics;
  }
  void fail_writes_of(RowId row) { fail(Direction::Write, row); }
  void fail(Direction broken, RowId row) {
    slow().fails = [this, broken, row](Direction direction, std::uint64_t offset, std::uint64_t size) {
      const auto at = slow().home() + std::uint64_t{row} * row_bytes;
      const bool bad = direction == broken && offset <= at && at < offset + size;
      return bad ? std::make_error_code(std::errc::io_error) : std::error_code{};
    };
  }
  void heal() { slow().fails = {}; }

 private:
  Rig rig_;

 public:
  RowTable<float> table;
  PlainTable plain;
};

inline std::vector<RowId> from(RowId first, RowId count) {
  std::vector<RowId> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}
/// Returns the first row of each of these blocks.
inline std::vector<RowId> in_blocks(RowId first, RowId count) {
  std::vector<RowId> ids;
  for (RowId i = 0; i < count; ++i) ids.push_back((first + i) * rows_in_block);
  return ids;
}

}  // namespace tier::test
