// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trainer/plain_memory.hpp"

#include <tier/core/bytes.hpp>

#include <algorithm>
#include <iterator>

namespace training {
namespace {

using namespace tier::literals;

std::size_t rounded(std::size_t bytes) {
  return tier::round_up(std::max<std::size_t>(bytes, 1), PlainPool::alignment);
}

}  // namespace

std::byte* PlainPool::take(std::size_t bytes) {
  bytes = rounded(bytes);
  auto found = by_size_.lower_bound({bytes, nullptr});
  if (found == by_size_.end()) {
    grow(bytes);
    found = by_size_.lower_bound({bytes, nullptr});
  }
  const auto [size, begin] = *found;
  remove_free(begin, size);
  if (size > bytes) add_free(begin + bytes, size - bytes);
  return begin;
}

void PlainPool::give_back(std::byte* piece, std::size_t bytes) {
  bytes = rounded(bytes);
  const auto next = by_address_.lower_bound(piece);
  if (next != by_address_.end() && next->first == piece + bytes) {
    const auto size = next->second;
    remove_free(piece + bytes, size);
    bytes += size;
  }
  const auto after = by_address_.lower_bound(piece);
  if (after != by_address_.begin()) {
    const auto [begin, size] = *std::prev(after);
    if (begin + size == piece) {
      remove_free(begin, size);
      piece = begin;
      bytes += size;
    }
  }
  add_free(piece, bytes);
}

void PlainPool::add_free(std::byte* begin, std::size_t bytes) {
  by_size_.insert({bytes, begin});
  by_address_.insert({begin, bytes});
}

void PlainPool::remove_free(std::byte* begin, std::size_t bytes) {
  by_size_.erase({bytes, begin});
  by_address_.erase(begin);
}

void PlainPool::grow(std::size_t bytes) {
  const auto size = std::max(bytes, (64_MiB).count);
  add_free(source_(size), size);
}

PlainMemory::PlainMemory()
    : pool_{[this](std::size_t bytes) {
        return reinterpret_cast<std::byte*>(buffers_.emplace_back(bytes).data());
      }} {}

Slot PlainMemory::add(std::string /*name*/, std::size_t bytes) {
  slots_.push_back({bytes});
  return slots_.size() - 1;
}

void PlainMemory::run(std::string_view /*kernel*/, std::span<const SlotUse> uses, const Body& body) {
  data_.clear();
  for (const auto& use : uses) {
    auto& entry = slots_[use.slot];
    if (entry.data == nullptr) {
      entry.data = pool_.take(entry.bytes);
      live_ += entry.bytes;
      peak_ = std::max(peak_, live_);
    }
    data_.push_back(entry.data);
    ++operands_.count;
    operands_.bytes += entry.bytes;
  }
  body(data_);
}

void PlainMemory::retire(Slot slot) {
  auto& entry = slots_[slot];
  if (entry.data == nullptr) return;
  pool_.give_back(entry.data, entry.bytes);
  entry.data = nullptr;
  live_ -= entry.bytes;
}

Traffic PlainMemory::traffic() const {
  Traffic traffic;
  traffic.operands = operands_;
  traffic.peaks = {{"dram", peak_}};
  return traffic;
}

}  // namespace training
