// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/row_store.hpp"

#include <cstring>
#include <utility>

namespace tier::detail {

RowStore::RowStore(const RowLayout& layout, PlacedStorage storage, std::span<std::byte> buffers)
    : layout_{layout},
      storage_{std::move(storage)},
      most_blocks_{buffers.size() / layout.block_bytes},
      buffers_{buffers} {
  const MutexLock lock{mutex_};
  blocks_.reserve(most_blocks_);
  requests_.reserve(most_blocks_);
}

std::error_code RowStore::write_blocks(RowId first, std::span<std::byte> memory) noexcept {
  IoRequest request{place_of(first), memory.data(), memory.size(), {}};
  tier().transfer(Direction::Write, {&request, 1});
  return request.error;
}

StoreTraffic RowStore::transfer(Direction direction, std::span<RowIo> rows,
                                std::vector<IoRequest>& requests) noexcept {
  if (cut_off_) {
    for (auto& row : rows) row.error = std::make_error_code(std::errc::operation_not_permitted);
    return {};
  }
  if (layout_.block_rows == 1) return transfer_rows(direction, rows, requests);
  StoreTraffic traffic;
  while (!rows.empty()) {
    const MutexLock lock{mutex_};  // released between rounds, so that other threads can move blocks
    rows = rows.subspan(list_blocks(rows));
    const bool reads = direction == Direction::Read;
    traffic.reads +=
        transfer_blocks(Direction::Read, [&](const Block& block) { return reads || !is_whole(block); });
    for (auto& block : blocks_) {
      if (block.error) continue;
      if (!reads && is_whole(block)) clear_padding(block);
      for (auto& row : block.rows) {
        auto* const buffer = in_buffer(block, row.row);
        std::memcpy(reads ? row.memory : buffer, reads ? buffer : row.memory, layout_.row_bytes);
      }
    }
    if (!reads) traffic.writes += transfer_blocks(Direction::Write, [](const Block&) { return true; });
    for (const auto& block : blocks_)
      for (auto& row : block.rows) row.error = block.error;
  }
  traffic.bytes_in = traffic.reads * layout_.block_bytes;
  traffic.bytes_out = traffic.writes * layout_.block_bytes;
  return traffic;
}

StoreTraffic RowStore::transfer_rows(Direction direction, std::span<RowIo> rows,
                                     std::vector<IoRequest>& requests) noexcept {
  requests.clear();
  for (const auto& row : rows) requests.push_back({place_of(row.row), row.memory, layout_.row_bytes, {}});
  tier().transfer(direction, requests);
  std::uint64_t moved = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].error = requests[i].error;
    moved += !requests[i].error;
  }
  if (direction == Direction::Read) return {.bytes_in = moved * layout_.row_bytes, .reads = moved};
  return {.bytes_out = moved * layout_.row_bytes, .writes = moved};
}

// Lists the blocks of the first rows, at most as many as there are buffers.   \return  how many rows these are
std::size_t RowStore::list_blocks(std::span<RowIo> rows) noexcept {
  blocks_.clear();
  std::size_t end = 0;
  while (end < rows.size() && blocks_.size() < most_blocks_) {
    const auto begin = end;
    const auto index = rows[begin].row / layout_.block_rows;
    while (end < rows.size() && rows[end].row / layout_.block_rows == index) ++end;
    blocks_.push_back({index, rows.subspan(begin, end - begin), {}});
  }
  return end;
}

template <class F>
std::uint64_t RowStore::transfer_blocks(Direction direction, const F& which) noexcept {
  requests_.clear();
  const auto moves = [&](const Block& block) { return !block.error && which(block); };
  for (const auto& block : blocks_)
    if (moves(block))
      requests_.push_back({place_of(block.index),
                           in_buffer(block, block.index * layout_.block_rows),
                           layout_.block_bytes,
                           {}});
  if (requests_.empty()) return 0;
  tier().transfer(direction, requests_);
  std::uint64_t moved = 0;
  auto request = requests_.begin();
  for (auto& block : blocks_) {
    if (!moves(block)) continue;
    block.error = request->error;
    moved += !request->error;
    ++request;
  }
  return moved;
}

// Zeros the padding of a block, so that it is the same in every run.
void RowStore::clear_padding(const Block& block) noexcept {
  const auto used = layout_.rows_in(block.index) * layout_.row_bytes;
  std::memset(in_buffer(block, block.index * layout_.block_rows) + used, 0, layout_.block_bytes - used);
}

std::byte* RowStore::in_buffer(const Block& block, RowId row) const noexcept {
  const auto buffer = static_cast<std::size_t>(&block - blocks_.data());
  return buffers_.data() + buffer * layout_.block_bytes +
         (row - block.index * layout_.block_rows) * layout_.row_bytes;
}

}  // namespace tier::detail
