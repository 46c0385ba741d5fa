// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A table's rows in the slow tier, where each has its place.
#include <tier/core/mutex.hpp>
#include <tier/manager/manager.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <vector>

#include "table/row_layout.hpp"

namespace tier::detail {

/// A row that is to move.
struct RowIo {
  RowId row;
  std::byte* memory;
  std::error_code error{};
};

/// What a transfer took, as the slow tier sees it.
struct StoreTraffic {
  std::uint64_t bytes_in = 0, bytes_out = 0;  ///< out of the slow tier, and into it
  std::uint64_t reads = 0, writes = 0;        ///< rows, or blocks of them
};

/// Moves rows between memory and their places in the slow tier.
///
/// Where the slow tier moves blocks of several rows, they pass through buffers. A row is read with its block; one that
/// is written is put into its block, which is read first unless all its rows are given. One thread at a time moves
/// blocks, so that none of two rows of a block is lost that are written at the same time.
/// \threadsafety  Internally synchronised. A row that is being written is moved by nobody else.
class RowStore {
 public:
  /// \param buffers  memory of whole blocks, at least one where rows are in blocks; aligned for the slow tier
  RowStore(const RowLayout& layout, PlacedStorage storage, std::span<std::byte> buffers);

  [[nodiscard]] Tier& tier() const noexcept { return storage_.tier(); }
  [[nodiscard]] TierIndex tier_index() const noexcept { return storage_.tier_index(); }
  /// Where the rows are, one after the other; null where the CPU does not address them.
  [[nodiscard]] std::byte* address() const noexcept { return storage_.address(); }

  /// Where in the tier a block is, or a row where each is one.
  [[nodiscard]] std::uint64_t place_of(RowId block) const noexcept {
    return storage_.offset() + std::uint64_t{block} * layout_.block_bytes;
  }

  /// Writes blocks (rows, where each is one) from `first` on, all at once.   \pre  Nothing else moves.
  [[nodiscard]] std::error_code write_blocks(RowId first, std::span<std::byte> memory) noexcept;
  /// Moves rows; sets the error of each that could not be moved. What does not fit the buffers goes in turns.
  /// \param rows      ascending, each once
  /// \param requests  whose memory is used; it has room for so many as there are rows
  StoreTraffic transfer(Direction direction, std::span<RowIo> rows, std::vector<IoRequest>& requests) noexcept
      TIER_EXCLUDES(mutex_);

 private:
  /// One that moves: the rows of it that were asked for.
  struct Block {
    RowId index;
    std::span<RowIo> rows;
    std::error_code error{};
  };

  StoreTraffic transfer_rows(Direction direction, std::span<RowIo> rows,
                             std::vector<IoRequest>& requests) noexcept;
  std::size_t list_blocks(std::span<RowIo> rows) noexcept TIER_REQUIRES(mutex_);
  /// Those for which `which` holds and that have not failed.   \return  how many went well
  template <class F>
  std::uint64_t transfer_blocks(Direction direction, const F& which) noexcept TIER_REQUIRES(mutex_);
  [[nodiscard]] bool is_whole(const Block& block) const noexcept {
    return block.rows.size() == layout_.rows_in(block.index);
  }
  void clear_padding(const Block& block) noexcept TIER_REQUIRES(mutex_);
  [[nodiscard]] std::byte* in_buffer(const Block& block, RowId row) const noexcept TIER_REQUIRES(mutex_);

  const RowLayout layout_;
  PlacedStorage storage_;
  const std::size_t most_blocks_;  // that fit the buffers
  Mutex mutex_;
  const std::span<std::byte> buffers_ TIER_GUARDED_BY(mutex_);
  std::vector<Block> blocks_ TIER_GUARDED_BY(mutex_);  // those in the buffers, in their order
  std::vector<IoRequest> requests_ TIER_GUARDED_BY(mutex_);
};

}  // namespace tier::detail
