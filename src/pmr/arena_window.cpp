// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pmr/arena_window.hpp"

#include <tier/core/error.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>

#include "memory/windows/window_space.hpp"
#include "pmr/window_memory.hpp"

namespace tier::detail {
namespace {

Bytes whole_units(Bytes maximum) noexcept {
  constexpr auto most = std::numeric_limits<std::size_t>::max() / 2;  // rounds up without overflow
  return {round_up(std::clamp<std::size_t>(maximum.count, 1, most), WindowSpace::unit)};
}

}  // namespace

ArenaWindow::ArenaWindow(std::shared_ptr<Manager> manager, std::string_view name, Bytes maximum,
                         CoveredBlocks& covered)
    : manager_{std::move(manager)}, name_{name}, maximum_{whole_units(maximum)}, covered_{covered} {}

void ArenaWindow::use(std::size_t offset, std::size_t size) {
  const auto before = parts_.size();
  const bool is_new = !handle_;
  Range range{}, changed{before, before};
  try {
    if (parts_.empty() || offset + size > parts_.back().begin + parts_.back().block->size)
      grow_to(offset + size);
    range = parts_in(offset, size);
    changed = {std::min(range.first, before), parts_.size()};
    for (auto i = range.first; i < range.last; ++i) {
      if (!parts_[i].retired) continue;
      manager_->revive(parts_[i].block->id);
      parts_[i].retired = false;
    }
  } catch (...) {
    changed.last = parts_.size();
    is_new ? clear() : retire_unused(changed);
    throw;
  }
  count(range, offset, size, true);
  if (parts_.size() > before) retire_unused(changed);  // alignment may have skipped some
}

void ArenaWindow::leave(std::size_t offset, std::size_t size) noexcept {
  const auto range = parts_in(offset, size);
  count(range, offset, size, false);
  retire_unused(range);
}

void ArenaWindow::clear() noexcept {
  if (handle_) covered_.gives(at(0), handle_.size_bytes().count);
  parts_.clear();
  handle_.reset();
}

std::size_t ArenaWindow::for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const {
  std::size_t visited = 0;
  for (const auto& part : parts_) {
    if (visited == at_most) break;
    if (part.used == 0) continue;
    visit(at(part.begin));
    ++visited;
  }
  return visited;
}

void ArenaWindow::throw_full(std::size_t size, std::size_t alignment, Bytes used) const {
  std::array<char, 300> text{};  // on the stack, because memory is short
  std::snprintf(
      text.data(), text.size(),
      "no room for %zu bytes aligned to %zu in the arena \"%.100s\": %zu of at most %zu bytes are in use",
      size, alignment, name_.c_str(), used.count, maximum_.count);
  throw OutOfTierMemory{text.data()};
}

void ArenaWindow::grow_to(std::size_t size) {
  if (!handle_) handle_ = manager_->reserve_window(maximum_, largest_window_alignment, name_);
  add_new_parts();
  if (const auto& last = parts_.back(); last.begin + last.block->size < size) {
    manager_->grow(handle_.ref(), {size});
    add_new_parts();
  }
}

/// If there is no memory for a part, throws; the next call adds the missing parts.
void ArenaWindow::add_new_parts() {
  const auto& blocks = handle_.ref().object->blocks;
  while (parts_.size() < blocks.size()) {
    const auto begin = parts_.empty() ? 0 : parts_.back().begin + parts_.back().block->size;
    parts_.push_back({begin, blocks[parts_.size()], 0, false});
  }
}

ArenaWindow::Range ArenaWindow::parts_in(std::size_t offset, std::size_t size) const noexcept {
  const auto first = std::upper_bound(parts_.begin(), parts_.end(), offset,
                                      [](std::size_t at, const Part& part) { return at < part.begin; }) -
                     1;
  const auto last =
      std::find_if(first, parts_.end(), [&](const Part& part) { return part.begin >= offset + size; });
  return {static_cast<std::size_t>(first - parts_.begin()), static_cast<std::size_t>(last - parts_.begin())};
}

void ArenaWindow::count(Range range, std::size_t offset, std::size_t size, bool used) noexcept {
  for (auto i = range.first; i < range.last; ++i) {
    Part& part = parts_[i];
    const auto bytes = std::min(offset + size, part.begin + part.block->size) - std::max(offset, part.begin);
    if (used && part.used == 0) covered_.took(at(part.begin), part.block->size);
    part.used = used ? part.used + bytes : part.used - bytes;
  }
}

void ArenaWindow::retire_unused(Range range) noexcept {
  for (auto i = range.first; i < range.last; ++i) {
    Part& part = parts_[i];
    if (part.used > 0 || part.retired) continue;
    covered_.gives(at(part.begin), part.block->size);
    manager_->retire(part.block->id);
    part.retired = true;
  }
}

}  // namespace tier::detail
