// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Address space in which blocks have fixed addresses, whatever pages are behind them.
#include <tier/core/bytes.hpp>
#include <tier/core/config.hpp>
#include <tier/core/mutex.hpp>
#include <tier/memory/region_heap.hpp>
#include <tier/memory/window_mode.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "memory/system/growing_memory.hpp"

namespace tier {

class PagePolicy;

/// A fault: an access to an absent page, or a store to a write-protected page.
struct WindowFault {
  std::byte* address = nullptr;
  bool write = false;
  bool present = false;     ///< the page is present and write-protected
  int thread = 0;           ///< id of the thread that accessed the page
  std::uint64_t since = 0;  ///< `WindowFaults::ended_blocks` before the fault was read
  unsigned tries = 0;       ///< attempts that found no room
  std::uint64_t waiting_since_ns = 0;
};

/// A reserved range of addresses.
struct AddressWindow {
  std::byte* address = nullptr;
  std::size_t size = 0;
  RegionHeap::Slot slot = RegionHeap::none;
};

/// Serves faults. The window space's own threads call it, several at once.
class WindowFaults {
 public:
  virtual ~WindowFaults() = default;
  /// Returns the number of objects that have ended. A fault read before the latest end may be stale: its thread, woken with
  /// others, may have gone on and let go of the object.
  [[nodiscard]] virtual std::uint64_t ended_blocks() const noexcept = 0;
  /// Prepares the page so that the access can be tried again, and calls `wake`.
  /// \param may_wait  allows waiting for copies, which may touch windows themselves; the manager's lock may always be taken
  /// \return          false if it must be called again, after other faults: it would have to wait and may not, or has
  ///                  waited a little and found no room
  virtual bool on_fault(WindowFault& fault, bool may_wait) noexcept = 0;
};

/// Reserves address space, divides it into windows, and controls their pages. Accesses to absent pages, and stores to
/// protected pages, wait until the fault has been served; those in system calls too, if the process may ask for that.
/// \threadsafety  Internally synchronised; the caller orders calls on overlapping ranges.
class WindowSpace {
 public:
  /// The unit of window addresses and sizes: whole pages on any supported system.
  static constexpr std::size_t unit = std::size_t{64} << 10;

  /// Returns why this process cannot serve the faults of windows; empty if it can.
  [[nodiscard]] static std::string why_not();
  /// Makes a space in mode full: pages are absent until the caller provides them.
  /// \throws  `TierError` naming the system call that was refused
  explicit WindowSpace(WindowFaults& faults);
  /// Makes a space in mode restricted: the system provides pages.
  /// \param directory  of the file behind the windows; empty: memory   \param most  bytes that windows can have
  WindowSpace(std::string directory, Bytes most);
  ~WindowSpace();
  WindowSpace(const WindowSpace&) = delete;
  WindowSpace& operator=(const WindowSpace&) = delete;

  [[nodiscard]] WindowMode mode() const noexcept {
    return server_ != nullptr ? WindowMode::Full : WindowMode::Restricted;
  }
  /// Returns the directory of the file behind the windows; empty if they lie in memory.
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  /// False if the child of a fork has no windows.
  [[nodiscard]] bool is_copied_by_fork() const noexcept { return directory_.empty() && !is_forbidden_; }

  /// Reserves a window whose pages are absent, and whose addresses are inaccessible before `open`. May make a file: hold no
  /// lock across it.
  /// \param size       whole units   \param alignment  a power of two up to 2 MiB
  /// \throws           `OutOfTierMemory` if there is no address space left
  [[nodiscard]] AddressWindow reserve(std::size_t size, std::size_t alignment) TIER_EXCLUDES(mutex_);
  /// Makes a part of a window accessible, in whole units.
  /// \throws  `OutOfTierMemory` if the system refuses, `std::bad_alloc`
  void open(std::byte* begin, std::size_t size) TIER_EXCLUDES(mutex_);
  /// True if the fault comes from a system call that locks memory (`mlockall`). Then makes the page and the rest of its
  /// unit inaccessible again, so that the system skips it.   \pre  no object uses the page
  bool is_passed_by(const WindowFault& fault) noexcept TIER_EXCLUDES(mutex_);
  /// Releases a window. In mode restricted its pages and disk space go back to the system; later if they lie in a file.
  /// \pre  its tags are null, and in mode full its pages absent
  void release(const AddressWindow& window) noexcept TIER_EXCLUDES(mutex_);
  /// Sets the tag that `find` returns for the addresses of a part of a window, and of the rest of its last unit.
  static void tag(std::byte* begin, std::size_t size, void* tag) noexcept;
  /// Returns the tag of an address in any window of this process; null elsewhere.   \complexity  O(1)
  [[nodiscard]] static void* find(const void* address) noexcept;

  // Only in mode restricted, for whole pages.
  /// Takes disk space, so that no access fails for lack of it. If windows lie in memory, only checks that there is enough.
  /// Waits for the disk: hold no lock across it.
  std::error_code take_space(std::byte* begin, std::size_t size) noexcept TIER_EXCLUDES(mutex_);
  /// Returns pages and disk space to the system. Waits for the disk: hold no lock across it.
  void give_space_back(std::byte* begin, std::size_t size) noexcept TIER_EXCLUDES(mutex_);
  /// Advises the system, soon, to read the pages ahead or to give them up first; it may ignore the advice.
  void want(std::byte* begin, std::size_t size, bool in_memory) noexcept TIER_EXCLUDES(mutex_);
  /// Waits until windows released before have gone back to the system.   \return  true if any task was pending
  bool settle() noexcept TIER_EXCLUDES(mutex_);

  // Only in mode full, for whole pages. Threads that wait for pages made present go on after `wake`.
  /// Makes absent pages present with the bytes at `from`, in memory that the system provides.
  /// \param policy  NUMA policy for that memory; null: this thread's own policy
  /// \return        false if there is no memory; pages made present before stay present
  bool fill(std::byte* to, const std::byte* from, std::size_t size, bool protect,
            const PagePolicy* policy) noexcept;
  /// Makes the absent pages of a range present with zeros, protected so that a store to them is reported. Other threads may
  /// touch or fill them meanwhile.   \return  the system's error if it has no memory for them
  std::error_code fill_holes(std::byte* begin, std::size_t size, const PagePolicy* policy) const noexcept;
  /// Returns zeros, as many bytes as a huge page has. They are never written, so the system needs one page for all of them.
  static const std::byte* zeros() noexcept;
  /// Moves the pages of one range of private memory to another in which they are absent: from a window to memory passed to
  /// `accept`, or back.   \return  the bytes moved; the system may refuse the rest
  std::size_t move(std::byte* to, std::byte* from, std::size_t size) noexcept;
  /// Returns pages to the system: they are then absent in a window, and zeros elsewhere.
  static void drop(std::byte* begin, std::size_t size) noexcept;
  /// Makes accesses raise SIGSEGV; accesses to any window, if the process has no mapping left to split off this range.
  /// \pre  in the child of a fork, in which no thread serves faults and there is no other thread
  void forbid(std::byte* begin, std::size_t size) noexcept TIER_NO_THREAD_SAFETY_ANALYSIS;
  /// Write-protects pages: from its return on, stores wait.   \return  false if there is no memory for that
  bool protect(std::byte* begin, std::size_t size) noexcept;
  /// Lets stores through. Threads that wait for that go on after `wake`.
  void unprotect(std::byte* begin, std::size_t size) noexcept;
  /// Makes waiting threads try their access again.
  void wake(std::byte* begin, std::size_t size) noexcept;
  /// Makes accesses raise SIGBUS.   \return  false if the system cannot do that (before Linux 6.6)
  bool poison(std::byte* begin, std::size_t size) noexcept;
  /// Lets `move` bring pages to memory outside windows; in windows it always may.
  bool accept(std::byte* begin, std::size_t size) noexcept;

  /// Returns the ordinary memory that metadata of windows takes.
  [[nodiscard]] Bytes metadata() TIER_EXCLUDES(mutex_);

 private:
  struct Area;
  struct Server;
  struct FileWorker;
  std::optional<AddressWindow> carve(std::size_t size, std::size_t alignment) noexcept TIER_REQUIRES(mutex_);
  void prepare(const Area& area) const;
  [[nodiscard]] std::unique_ptr<Area> make_area(std::size_t wanted, std::size_t alignment) const;
  Area* area_of(const std::byte* address) const noexcept TIER_REQUIRES(mutex_);
  /// A task for the worker.
  struct FileTask {
    AddressWindow window{};  // to release; if its address is null, the system gets advice on the range below
    std::byte* begin = nullptr;
    std::size_t size = 0;
    bool in_memory = false;
  };
  void carry_out(const FileTask& task) noexcept TIER_EXCLUDES(mutex_);
  void tell(const FileTask& task) noexcept TIER_EXCLUDES(mutex_);
  Area& area_at(const std::byte* address) noexcept TIER_EXCLUDES(mutex_);
  void release_now(const AddressWindow& window) noexcept TIER_REQUIRES(mutex_);
  void free(const AddressWindow& window) noexcept TIER_REQUIRES(mutex_);
  void free_resting() noexcept TIER_REQUIRES(mutex_);

  /// In checked builds the addresses of the last windows released are not reused yet, so that a late use is detected; in
  /// mode restricted by SIGSEGV, because nothing may be read or written there.
  static constexpr std::size_t most_resting = 256;

  std::shared_ptr<Server> server_;  // null in mode restricted
  std::string directory_;
  Bytes most_;
  GrowingMemory growing_;  // for restricted windows that lie in no file
  Mutex mutex_;
  std::vector<std::unique_ptr<Area>> areas_ TIER_GUARDED_BY(mutex_);
  std::array<AddressWindow, detail::checked ? most_resting : 0> resting_ TIER_GUARDED_BY(mutex_);
  std::size_t released_ TIER_GUARDED_BY(mutex_) = 0;  // number of windows released so far
  bool is_forbidden_ = false;                         // the whole space, in the child of a fork
  std::unique_ptr<FileWorker> worker_;  // last: its thread uses all of these; null without files
};

}  // namespace tier
