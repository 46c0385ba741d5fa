// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The address space of windows.
#include <tier/core/bytes.hpp>
#include <tier/core/config.hpp>
#include <tier/core/mutex.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memory/windows/address_window.hpp"
#include "memory/windows/userfaultfd.hpp"
#include "memory/windows/window_area.hpp"

namespace tier {

/// Reserves address space in large areas, and divides it into windows. In checked builds the addresses of the last windows
/// released are not reused yet, so that a late use is detected; where the system pages, by SIGSEGV, because nothing may be
/// read or written there.
/// \threadsafety  Internally synchronised; the caller orders calls on overlapping ranges.
class WindowAreas {
 public:
  /// \param directory  of files behind the addresses; empty: memory   \param most  bytes that windows in files can have
  /// \param served     serves the faults of all areas; null: the system pages
  WindowAreas(std::string directory, Bytes most, Userfaultfd* served) noexcept;

  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }

  /// Takes a window from an area; nothing if there is no room for it in any.
  [[nodiscard]] std::optional<AddressWindow> take(std::size_t size, std::size_t alignment) noexcept
      TIER_EXCLUDES(mutex_);
  /// Adds an area, and takes a window from it. May make a file.
  /// \throws  `OutOfTierMemory` if there is no address space left
  [[nodiscard]] AddressWindow take_from_new_area(std::size_t size, std::size_t alignment)
      TIER_EXCLUDES(mutex_);
  /// Makes a part of a window accessible.   \throws  `OutOfTierMemory` if the system refuses, `std::bad_alloc`
  void open(std::byte* begin, std::size_t size) TIER_EXCLUDES(mutex_);
  /// Makes a page and the rest of its unit inaccessible.   \throws  `std::bad_alloc`
  void close(std::byte* page) TIER_EXCLUDES(mutex_);
  /// In checked builds, where the system pages, lets any use of a window raise SIGSEGV until the window is reused.
  void forbid_use(const AddressWindow& window) const noexcept;
  /// Gives the addresses of a window to others, in checked builds later.
  void release(const AddressWindow& window) noexcept TIER_EXCLUDES(mutex_);

  /// Returns the area of an address. Areas stay until the end, so its addresses and its file need no lock.
  [[nodiscard]] const WindowArea& at(const std::byte* address) noexcept TIER_EXCLUDES(mutex_);
  /// Makes all areas inaccessible.   \pre  in the child of a fork, where there is no other thread
  void forbid_all() noexcept TIER_NO_THREAD_SAFETY_ANALYSIS;
  /// Returns the ordinary memory that metadata takes.
  [[nodiscard]] Bytes metadata() TIER_EXCLUDES(mutex_);

 private:
  static constexpr std::size_t most_resting = 256;

  [[nodiscard]] bool rests_inaccessible() const noexcept { return detail::checked && served_ == nullptr; }
  std::optional<AddressWindow> carve(std::size_t size, std::size_t alignment) noexcept TIER_REQUIRES(mutex_);
  [[nodiscard]] std::size_t usual_size() const noexcept;
  [[nodiscard]] std::unique_ptr<WindowArea> make_area(std::size_t wanted, std::size_t alignment) const;
  void prepare(std::byte* begin, std::size_t size) const;
  [[nodiscard]] WindowArea* area_of(const std::byte* address) const noexcept TIER_REQUIRES(mutex_);
  void free(const AddressWindow& window) noexcept TIER_REQUIRES(mutex_);
  void free_resting() noexcept TIER_REQUIRES(mutex_);

  std::string directory_;
  Bytes most_;
  Userfaultfd* served_;
  Mutex mutex_;
  std::vector<std::unique_ptr<WindowArea>> areas_ TIER_GUARDED_BY(mutex_);
  std::array<AddressWindow, detail::checked ? most_resting : 0> resting_ TIER_GUARDED_BY(mutex_);
  std::size_t released_ TIER_GUARDED_BY(mutex_) = 0;  // number of windows released so far
};

}  // namespace tier
