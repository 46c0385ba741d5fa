// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/cache/row_store.hpp"

#include <array>
#include <cstring>
#include <utility>

namespace tier::detail {

RowStore::RowStore(const RowLayout& layout, PlacedStorage storage, std::span<std::byte> buffers)
    : layout_{layout},
      storage_{std::move(storage)},
      rows_{storage_.address() == nullptr ? RowArray{} : layout_.homes(storage_.address(), layout_.rows)},
      most_blocks_{buffers.size() / layout.block_bytes},
      buffers_{buffers} {
  const MutexLock lock{mutex_};
  blocks_.reserve(most_blocks_);
  requests_.reserve(most_blocks_);
}

std::error_code RowStore::access_error(RowId row) const noexcept {
  const auto offsets = layout_.home_offsets(row);
  const auto error_at = [&](std::uint64_t offset, std::size_t bytes) {
    return tier().access_error(Direction::Read, storage_.offset() + offset, bytes);
  };
  const auto error = error_at(offsets.values, layout_.values_bytes());
  return error || layout_.state_columns == 0 ? error : error_at(offsets.state, layout_.state_bytes());
}

std::error_code RowStore::write_rows(RowId first, RowId count, std::byte* memory) noexcept {
  std::array<IoRequest, 2> requests{};
  std::size_t parts = 1;
  if (layout_.home_is_array) {
    const auto from = layout_.homes(memory, count);
    const auto& use = layout_.use;
    const auto to = layout_.home_offsets(first);
    requests[0] = {storage_.offset() + to.values, from.values, count * use.value_stride, {}};
    requests[1] = {storage_.offset() + to.state, from.states, count * use.state_stride, {}};
    parts += layout_.state_columns != 0;
  } else {
    requests[0] = {place_of(first / layout_.block_rows), memory, layout_.home_bytes(count), {}};
  }
  tier().transfer(Direction::Write, std::span{requests}.first(parts));
  return requests[0].error ? requests[0].error : requests[1].error;
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
        const auto home = layout_.home(buffer_of(block), layout_.block_rows, row.row % layout_.block_rows);
        reads ? copy_row(row.memory, home) : copy_row(home, row.memory);
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
  for (const auto& row : rows) list_requests(row, requests);
  tier().transfer(direction, requests);
  std::uint64_t moved = 0;
  auto request = requests.begin();
  for (auto& row : rows) {
    row.error = request->error;
    while (++request != requests.end() && request->joined)
      if (request->error) row.error = request->error;
    moved += !row.error;
  }
  if (direction == Direction::Read) return {.bytes_in = moved * layout_.row_bytes, .reads = moved};
  return {.bytes_out = moved * layout_.row_bytes, .writes = moved};
}

void RowStore::list_requests(const RowIo& row, std::vector<IoRequest>& requests) const noexcept {
  if (!tier().model().addressable) {
    requests.push_back({place_of(row.row), row.memory.values, layout_.row_bytes, {}});
    return;
  }
  const auto home = layout_.home_offsets(row.row);
  requests.push_back({storage_.offset() + home.values, row.memory.values, layout_.values_bytes(), {}});
  if (layout_.state_columns == 0) return;
  auto* const state = reinterpret_cast<std::byte*>(row.memory.state);
  requests.push_back({storage_.offset() + home.state, state, layout_.state_bytes(), {}, true});
}

void RowStore::copy_row(const RowAddress& to, const RowAddress& from) const noexcept {
  std::memcpy(to.values, from.values, layout_.values_bytes());
  if (layout_.state_columns != 0) std::memcpy(to.state, from.state, layout_.state_bytes());
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
    if (moves(block)) requests_.push_back({place_of(block.index), buffer_of(block), layout_.block_bytes, {}});
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
  std::memset(buffer_of(block) + used, 0, layout_.block_bytes - used);
}

std::byte* RowStore::buffer_of(const Block& block) const noexcept {
  return buffers_.data() + static_cast<std::size_t>(&block - blocks_.data()) * layout_.block_bytes;
}

}  // namespace tier::detail
