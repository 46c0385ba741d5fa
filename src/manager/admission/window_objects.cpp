// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "window_objects.hpp"

#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <memory>
#include <utility>

#include "manager/movement/watermarks.hpp"
#include "memory/system/pages.hpp"

namespace tier {

/// Takes a cached window, or reserves addresses for a new one; the caller counts as one of its blocks.
ObjectWindow* WindowObjects::window_for(std::size_t whole, std::size_t end, std::size_t alignment,
                                        MutexLock& lock) {
  constexpr auto huge_page = TierSet::huge_page;
  if (ObjectWindow* const cached = store_.windows.take(whole, end, alignment)) return cached;
  ObjectWindow* const window = store_.windows.add();
  try {
    auto& space = store_.pages.space();
    state_.monitor.without_lock(lock, [&] {
      window->range =
          space.reserve(whole, whole >= huge_page ? huge_page : std::max(alignment, WindowSpace::unit));
    });
  } catch (...) {
    store_.windows.let_go(*window);
    throw;
  }
  return window;
}

Object& WindowObjects::create(std::size_t size, std::size_t most, std::size_t alignment,
                              std::string_view name, MutexLock& lock) {
  const CallInProgress call{state_, store_, movement_.compactor};
  const auto whole = round_up(std::max<std::size_t>(most, 1), WindowSpace::unit);
  if (whole < most) throw OutOfTierMemory{"a window cannot have more bytes than there are addresses"};
  // The last block ends soon after its contents: up to 64 KiB more would double many objects.
  const auto end = std::min(
      whole, round_up(std::max<std::size_t>(size, 1), std::max(page_size(), store_.tiers.io_alignment())));
  const auto let_go_of = [this](ObjectWindow* w) { store_.windows.let_go(*w); };
  const std::unique_ptr<ObjectWindow, decltype(let_go_of)> window{window_for(whole, end, alignment, lock),
                                                                  let_go_of};
  auto blocks = new_blocks(*window, 0, end, name, lock);
  Object* object = nullptr;
  try {
    object = &store_.catalog.add_object(*blocks.front(), 0, size, name);
  } catch (...) {
    discard(blocks, lock);
    throw;
  }
  for (auto* b : blocks) b->record->object = object;
  object->window = window->range.address;
  object->blocks = std::move(blocks);
  store_.catalog.note_memory(*object);
  object->cut = object->blocks.size() > 1;
  objects_.tell(*object, ObjectChange::Made, alignment);
  state_.clock.advance();
  check_watermarks(state_, store_);
  return *object;
}

void WindowObjects::grow(Object& object, std::size_t size, MutexLock& lock) {
  const CallInProgress call{state_, store_, movement_.compactor};
  ObjectWindow& window = *object.block->record->window;
  TIER_VERIFY(size <= window.range.size, "an object must not grow beyond its window");
  auto end = object.size;
  while (end < size) end = std::min(window.range.size, end + std::min(end, store_.window_block));
  const auto blocks = new_blocks(window, object.size, end, object.name, lock);
  try {
    object.blocks.insert(object.blocks.end(), blocks.begin(), blocks.end());
    store_.catalog.note_memory(object);
  } catch (...) {
    discard(blocks, lock);
    throw;
  }
  for (auto* b : blocks) b->record->object = &object;
  object.size = end;
  object.cut = object.blocks.size() > 1;
  objects_.tell(object, ObjectChange::Grown);
  state_.clock.advance();
  check_watermarks(state_, store_);
}

/// Makes blocks for a part of a window, each with a place in a tier; all of them or none.
std::vector<Block*> WindowObjects::new_blocks(ObjectWindow& window, std::size_t begin, std::size_t end,
                                              std::string_view name, MutexLock& lock) {
  std::vector<Block*> blocks;
  if (window.cached.empty()) {
    store_.pages.existing_space()->open(window.range.address + begin, end - begin);
    take_space(window, begin, end, lock);
  }
  try {
    constexpr std::size_t smaller = std::bit_width(TierSet::huge_page / WindowSpace::unit);
    blocks.reserve((end - begin) / store_.window_block + smaller);
    for (std::size_t at = begin, size = 0; at < end; at += size) {
      size = std::min({store_.window_block, at == 0 ? store_.window_block : at, end - at});
      Block& b = new_block_at(window, at, size);
      blocks.push_back(&b);
      store_.blocks.set_primary(b, places_.find(b, name, lock));
    }
  } catch (...) {
    discard(blocks, lock);
    store_.windows.drop_pages(window);
    if (store_.pages.existing_space()->mode() == WindowMode::Restricted)
      state_.monitor.without_lock(lock, [&] {
        store_.pages.existing_space()->give_space_back(window.range.address + begin, end - begin);
      });
    throw;
  }
  return blocks;
}

void WindowObjects::take_space(const ObjectWindow& window, std::size_t begin, std::size_t end,
                               MutexLock& lock) {
  if (store_.pages.existing_space()->mode() == WindowMode::Full) return;
  std::error_code error;
  state_.monitor.without_lock(lock, [&] {
    error = store_.pages.existing_space()->take_space(window.range.address + begin, end - begin);
  });
  if (!error) return;
  std::array<char, 500> text{};
  std::snprintf(text.data(), text.size(), "no disk space for a window in \"%s\": %s",
                store_.pages.existing_space()->directory().c_str(), error.message().c_str());
  throw OutOfTierMemory{text.data(), error};
}

Block& WindowObjects::new_block_at(ObjectWindow& window, std::size_t offset, std::size_t size) {
  Block& b = store_.blocks.add(size, page_size());
  b.record->window = &window;
  b.record->window_address = window.range.address + offset;
  ++window.blocks;
  WindowSpace::tag(b.record->window_address, size, &b);
  return b;
}

/// Frees blocks that no object has yet. They may have moved already, to make room for the next.
void WindowObjects::discard(std::span<Block* const> blocks, MutexLock& lock) noexcept {
  // They are pinned, so that none begins to move, and not retired: a mover's access to a retired block ends the program.
  for (auto* b : blocks) b->state.pin_anyway();
  for (auto* b : blocks) {
    if (auto* const transfer = b->record->transfer) movement_.transfers.revoke(*transfer, lock);
    store_.blocks.discard(*b);
  }
}

}  // namespace tier
