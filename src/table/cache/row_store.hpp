// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The rows of a table in the slow tier, each at a fixed place.
#include <tier/core/mutex.hpp>
#include <tier/manager/manager.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <vector>

#include "table/rows/row_layout.hpp"

namespace tier::detail {

/// A row to move, and its memory.
struct RowIo {
  RowId row;
  RowAddress memory;
  std::error_code error{};
};

/// Counts what a transfer moved, as the slow tier sees it.
struct StoreTraffic {
  std::uint64_t bytes_in = 0, bytes_out = 0;  ///< read from the slow tier, and written to it
  std::uint64_t reads = 0, writes = 0;        ///< rows, or blocks of them
};

/// Moves rows between memory and their places in the slow tier.
///
/// If the slow tier moves blocks of several rows, they pass through buffers. A row is read with its block. A written row
/// is put into its block, which is read first unless all its rows are given. One thread at a time moves blocks, so that
/// two concurrent writes to one block cannot lose each other's rows.
/// \threadsafety  Internally synchronised. The caller ensures that no other thread moves a row that is being written.
class RowStore {
 public:
  /// \param buffers  memory of whole blocks, at least one if rows are in blocks; aligned for the slow tier
  RowStore(const RowLayout& layout, PlacedStorage storage, std::span<std::byte> buffers);

  [[nodiscard]] Tier& tier() const noexcept { return storage_.tier(); }
  [[nodiscard]] TierIndex tier_index() const noexcept { return storage_.tier_index(); }
  /// Returns the rows.   \pre  the CPU can address them
  [[nodiscard]] const RowArray& rows() const noexcept { return rows_; }
  /// Returns the error of a row that the CPU cannot read in the tier, see `Tier::access_error`.
  [[nodiscard]] std::error_code access_error(RowId row) const noexcept;

  /// Cuts the rows off, in the child of a fork: the tier's files are the parent's. Each transfer fails from now on.
  /// \pre  No transfer runs.
  void cut_off() noexcept { cut_off_ = true; }
  [[nodiscard]] bool is_cut_off() const noexcept { return cut_off_; }

  /// Returns the offset in the tier of a block, or of a row if each row is a block.   \pre  homes are no array
  [[nodiscard]] std::uint64_t place_of(RowId block) const noexcept {
    return storage_.offset() + std::uint64_t{block} * layout_.block_bytes;
  }

  /// Writes rows from `first` on, which begins a block, all at once.
  /// \param memory  `count` rows as they live, see `RowLayout::home`   \pre  No other transfer runs.
  [[nodiscard]] std::error_code write_rows(RowId first, RowId count, std::byte* memory) noexcept;
  /// Moves rows; sets the error of each that could not be moved. Works in rounds of as many blocks as there are buffers.
  /// \param rows      ascending, without duplicates
  /// \param requests  scratch memory, with capacity for two requests a row
  StoreTraffic transfer(Direction direction, std::span<RowIo> rows, std::vector<IoRequest>& requests) noexcept
      TIER_EXCLUDES(mutex_);

 private:
  /// A block to move, with those of its rows that were asked for.
  struct Block {
    RowId index;
    std::span<RowIo> rows;
    std::error_code error{};
  };

  /// Lists the requests of one row: its values, and its state, if that lies apart from them at either end.
  void list_requests(const RowIo& row, std::vector<IoRequest>& requests) const noexcept;
  void copy_row(const RowAddress& to, const RowAddress& from) const noexcept;
  StoreTraffic transfer_rows(Direction direction, std::span<RowIo> rows,
                             std::vector<IoRequest>& requests) noexcept;
  std::size_t list_blocks(std::span<RowIo> rows) noexcept TIER_REQUIRES(mutex_);
  /// Moves the blocks for which `which` holds and that have not failed.   \return  how many succeeded
  template <class F>
  std::uint64_t transfer_blocks(Direction direction, const F& which) noexcept TIER_REQUIRES(mutex_);
  [[nodiscard]] bool is_whole(const Block& block) const noexcept {
    return block.rows.size() == layout_.rows_in(block.index);
  }
  void clear_padding(const Block& block) noexcept TIER_REQUIRES(mutex_);
  [[nodiscard]] std::byte* buffer_of(const Block& block) const noexcept TIER_REQUIRES(mutex_);

  const RowLayout layout_;
  PlacedStorage storage_;
  const RowArray rows_;            // if the CPU can address them
  const std::size_t most_blocks_;  // that fit the buffers
  bool cut_off_ = false;           // set in the child before `fork` returns there
  Mutex mutex_;
  const std::span<std::byte> buffers_ TIER_GUARDED_BY(mutex_);
  std::vector<Block> blocks_ TIER_GUARDED_BY(mutex_);  // the blocks in the buffers, in their order
  std::vector<IoRequest> requests_ TIER_GUARDED_BY(mutex_);
};

}  // namespace tier::detail
