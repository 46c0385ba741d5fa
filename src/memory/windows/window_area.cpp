// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/windows/window_area.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "memory/system/mapping.hpp"
#include "memory/system/pages.hpp"

namespace tier {

WindowArea::WindowArea(ReservedAddresses addresses, std::unique_ptr<ScratchFile> file)
    : addresses_{std::move(addresses)},
      heap_{Bytes{size()}, Bytes{window_unit}},
      file_{std::move(file)},
      tags_{begin(), size()} {}

std::optional<AddressWindow> WindowArea::carve(std::size_t size, std::size_t alignment) noexcept {
  const auto slot = heap_.allocate(Bytes{size}, std::max(alignment, window_unit), this);
  if (slot == RegionHeap::none) return std::nullopt;
  return AddressWindow{begin() + heap_.offset(slot), size, slot};
}

/// Addresses are reserved unlocked and stay so, because a locked page could not move away. They are opened from the
/// beginning without gaps: ranges that are opened apart and used stay separate mappings even after the gap between them is
/// opened, and the system fills no block that lies in two mappings.
bool WindowArea::open(std::byte* part, std::size_t size) {
  const auto at = offset_of(part);
  // Large windows begin at huge pages; opened together with the gaps between them, they take one mapping.
  const auto first = std::min(at / window_unit * window_unit, opened_);
  const auto last =
      std::min(round_up(at + size, size < huge_page_bytes ? window_unit : huge_page_bytes), this->size());
  if (open_.contain(first, last)) return true;
  const bool few = open_.count() < OpenRanges::most;
  return (few && open_range(first, last)) || open_range(0, this->size());
}

bool WindowArea::open_range(std::size_t from, std::size_t to) {
  if (!open_reserved(begin() + from, to - from)) return false;
  open_.add(from, to);
  opened_ = std::max(opened_, to);
  return true;
}

void WindowArea::close(std::byte* page) {
  const auto from = offset_of(page), to = round_up(from + 1, window_unit);
  open_.remove(from / window_unit * window_unit, to);
  ::mprotect(page, to - from, PROT_NONE);
}

Bytes WindowArea::metadata() const noexcept {
  return Bytes{sizeof(WindowArea) + opened_ / window_unit * sizeof(std::atomic<void*>)} + heap_.metadata();
}

}  // namespace tier
