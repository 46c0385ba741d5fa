// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Address space in which blocks have fixed addresses, whatever pages are behind them.
#include <tier/core/bytes.hpp>
#include <tier/memory/window_mode.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <system_error>

#include "memory/system/resident_pages.hpp"
#include "memory/windows/address_window.hpp"
#include "memory/windows/fault_threads.hpp"
#include "memory/windows/paged_windows.hpp"
#include "memory/windows/userfaultfd.hpp"
#include "memory/windows/window_areas.hpp"
#include "memory/windows/window_fault.hpp"
#include "memory/windows/window_tags.hpp"

namespace tier {

class PagePolicy;

/// Provides windows, whose addresses stay while the pages behind them come and go. Accesses to absent pages, and stores to
/// protected pages, wait until the fault has been served; those in system calls too, if the process may ask for that.
///
/// It passes each call to one of its parts: `WindowAreas` has the addresses, `WindowTags` knows what lies there,
/// `Userfaultfd` and `FaultThreads` provide pages in mode full, `PagedWindows` deals with the system in mode restricted.
/// \threadsafety  Internally synchronised; the caller orders calls on overlapping ranges.
class WindowSpace {
 public:
  static constexpr std::size_t unit = window_unit;

  /// Returns why this process cannot serve the faults of windows; empty if it can.
  [[nodiscard]] static std::string why_not() { return Userfaultfd::why_not(); }
  /// Makes a space in mode full: pages are absent until the caller provides them.
  /// \throws  `TierError` naming the system call that was refused
  explicit WindowSpace(WindowFaults& faults);
  /// Makes a space in mode restricted: the system provides pages.
  /// \param directory  of the file behind the windows; empty: memory   \param most  bytes that windows can have
  WindowSpace(std::string directory, Bytes most);
  WindowSpace(const WindowSpace&) = delete;
  WindowSpace& operator=(const WindowSpace&) = delete;

  [[nodiscard]] WindowMode mode() const noexcept {
    return pages_ != nullptr ? WindowMode::Full : WindowMode::Restricted;
  }
  /// Returns the directory of the file behind the windows; empty if they lie in memory.
  [[nodiscard]] const std::string& directory() const noexcept { return areas_.directory(); }
  /// False if the child of a fork has no windows.
  [[nodiscard]] bool is_copied_by_fork() const noexcept { return directory().empty() && !is_forbidden_; }

  /// Reserves a window whose pages are absent, and whose addresses are inaccessible before `open`. May make a file: hold no
  /// lock across it.
  /// \param size       whole units   \param alignment  a power of two up to 2 MiB
  /// \throws           `OutOfTierMemory` if there is no address space left
  [[nodiscard]] AddressWindow reserve(std::size_t size, std::size_t alignment);
  /// Makes a part of a window accessible, in whole units.
  /// \throws  `OutOfTierMemory` if the system refuses, `std::bad_alloc`
  void open(std::byte* begin, std::size_t size) { areas_.open(begin, size); }
  /// True if the fault comes from a system call that locks memory (`mlockall`). Then makes the page and the rest of its
  /// unit inaccessible again, so that the system skips it.   \pre  no object uses the page
  bool is_passed_by(const WindowFault& fault) noexcept;
  /// Releases a window. In mode restricted its pages and disk space go back to the system; later if they lie in a file.
  /// \pre  its tags are null, and in mode full its pages absent
  void release(const AddressWindow& window) noexcept;
  /// Sets the tag that `find` returns for the addresses of a part of a window, and of the rest of its last unit.
  static void tag(std::byte* begin, std::size_t size, void* tag) noexcept {
    WindowTags::set(begin, size, tag);
  }
  /// Returns the tag of an address in any window of this process; null elsewhere.   \complexity  O(1)
  [[nodiscard]] static void* find(const void* address) noexcept { return WindowTags::find(address); }
  /// Returns pages to the system: they are then absent in a window, and zeros elsewhere.
  static void drop(std::byte* begin, std::size_t size) noexcept { drop_pages(begin, size); }
  /// Makes accesses raise SIGSEGV; accesses to any window, if the process has no mapping left to split off this range.
  /// \pre  in the child of a fork, in which no thread serves faults and there is no other thread
  void forbid(std::byte* begin, std::size_t size) noexcept;

  // Only in mode restricted, for whole pages: see `PagedWindows`. In mode full nothing is to be done.
  std::error_code take_space(std::byte* begin, std::size_t size) noexcept;
  void give_space_back(std::byte* begin, std::size_t size) noexcept;
  void want(std::byte* begin, std::size_t size, bool in_memory) noexcept {
    if (paged_ != nullptr) paged_->want(begin, size, in_memory);
  }
  bool settle() noexcept { return paged_ != nullptr && paged_->settle(); }

  // Only in mode full, for whole pages: see `Userfaultfd`.
  bool fill(std::byte* to, const std::byte* from, std::size_t size, bool protect,
            const PagePolicy* policy) noexcept {
    return pages_->fill(to, from, size, protect, policy);
  }
  std::error_code fill_holes(std::byte* begin, std::size_t size, const PagePolicy* policy) const noexcept {
    return pages_->fill_holes(begin, size, policy);
  }
  static const std::byte* zeros() noexcept { return Userfaultfd::zeros(); }
  std::size_t move(std::byte* to, std::byte* from, std::size_t size) noexcept {
    return pages_->move(to, from, size);
  }
  bool protect(std::byte* begin, std::size_t size) noexcept { return pages_->protect(begin, size); }
  void unprotect(std::byte* begin, std::size_t size) noexcept { pages_->unprotect(begin, size); }
  void wake(std::byte* begin, std::size_t size) noexcept { pages_->wake(begin, size); }
  bool poison(std::byte* begin, std::size_t size) noexcept { return pages_->poison(begin, size); }
  bool accept(std::byte* begin, std::size_t size) noexcept { return pages_->accept(begin, size); }

  /// Returns the ordinary memory that metadata of windows takes.
  [[nodiscard]] Bytes metadata() { return areas_.metadata(); }

 private:
  std::shared_ptr<Userfaultfd> pages_;  // null in mode restricted
  WindowAreas areas_;
  bool is_forbidden_ = false;              // the whole space, in the child of a fork
  std::unique_ptr<PagedWindows> paged_;    // null in mode full
  std::unique_ptr<FaultThreads> threads_;  // null in mode restricted; last: they use all of these
};

}  // namespace tier
