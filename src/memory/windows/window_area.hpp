// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A reserved range of addresses with its windows.
#include <tier/core/bytes.hpp>
#include <tier/memory/region_heap.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "memory/io/scratch_file.hpp"
#include "memory/windows/address_window.hpp"
#include "memory/windows/open_ranges.hpp"
#include "memory/windows/reserved_addresses.hpp"
#include "memory/windows/window_tags.hpp"

namespace tier {

/// Divides reserved addresses into windows, and makes these accessible.
/// \threadsafety  Externally synchronised (`WindowAreas`); addresses and file never change.
class WindowArea {
 public:
  /// \param file  what lies behind the addresses; null: memory
  /// \throws      `OutOfTierMemory`, `std::bad_alloc`
  WindowArea(ReservedAddresses addresses, std::unique_ptr<ScratchFile> file);

  [[nodiscard]] std::byte* begin() const noexcept { return addresses_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return addresses_.get_deleter().size; }
  [[nodiscard]] bool contains(const std::byte* address) const noexcept {
    return address >= begin() && address < begin() + size();
  }
  /// \pre  it contains the address
  [[nodiscard]] std::uint64_t offset_of(const std::byte* address) const noexcept {
    return static_cast<std::uint64_t>(address - begin());
  }
  [[nodiscard]] ScratchFile* file() const noexcept { return file_.get(); }

  /// Takes addresses for a window; nothing if there are none.
  [[nodiscard]] std::optional<AddressWindow> carve(std::size_t size, std::size_t alignment) noexcept;
  /// Gives the addresses of a window to others.
  void free(const AddressWindow& window) noexcept { heap_.free(window.slot); }

  /// Makes a part accessible.
  /// \return  false, with `errno`, if the system refuses
  /// \throws  `std::bad_alloc`
  [[nodiscard]] bool open(std::byte* part, std::size_t size);
  /// Makes a page and the rest of its unit inaccessible.   \throws  `std::bad_alloc`
  void close(std::byte* page);

  [[nodiscard]] Bytes metadata() const noexcept;

 private:
  bool open_range(std::size_t from, std::size_t to);

  ReservedAddresses addresses_;
  RegionHeap heap_;
  std::unique_ptr<ScratchFile> file_;
  WindowTags tags_;
  OpenRanges open_;         // accessible so far
  std::size_t opened_ = 0;  // all offsets below it are, or were, open
};

}  // namespace tier
