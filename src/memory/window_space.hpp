// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Address space in which blocks have fixed places, whatever pages are behind them.
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

#include "memory/memory_need.hpp"

namespace tier {

class PagePolicy;

/// An access that the system could not carry out: to a page that is absent, or a store to one that is write-protected.
struct WindowFault {
  std::byte* address = nullptr;
  bool write = false;
  bool present = false;     ///< the page is there and write-protected
  int thread = 0;           ///< whose access it is
  std::uint64_t since = 0;  ///< what `WindowFaults::now` was before it was read
  unsigned tries = 0;       ///< that found no room
  std::uint64_t waiting_since_ns = 0;
};

/// A reserved range of addresses.
struct AddressWindow {
  std::byte* address = nullptr;
  std::size_t size = 0;
  RegionHeap::Slot slot = RegionHeap::none;
};

/// Serves faults; called by the window space's own threads, several at once.
class WindowFaults {
 public:
  virtual ~WindowFaults() = default;
  /// A count of objects that have ended. A fault read before the last of them may be of a thread that has gone on since,
  /// woken with others, and has let go of the object.
  [[nodiscard]] virtual std::uint64_t ended_blocks() const noexcept = 0;
  /// Sees to it that the access can be tried again, and calls `wake`.
  /// \param may_wait  for copies, which may touch windows themselves; the manager's lock is no such wait
  /// \return          false if it is to be asked again, after others: it would have to wait and may not, or has waited a
  ///                  little and there is no room
  virtual bool on_fault(WindowFault& fault, bool may_wait) noexcept = 0;
};

/// Reserved address space, carved into windows, and what can be done with the pages there. Accesses to a page that is
/// absent, and stores to one that is protected, wait until whoever serves faults has seen to them: those of system calls
/// too, where the process may ask for that.
/// \threadsafety  Internally synchronised; calls on overlapping ranges are the caller's to order.
class WindowSpace {
 public:
  /// Windows begin at multiples of it and their sizes are multiples of it: a page on any system that we support.
  static constexpr std::size_t unit = std::size_t{64} << 10;

  /// Why this process cannot have one whose faults it serves; empty where it can.
  [[nodiscard]] static std::string why_not();
  /// Pages are absent until somebody gives them: mode full.
  /// \throws  `TierError` naming the system call that is refused
  explicit WindowSpace(WindowFaults& faults);
  /// The system gives pages: mode restricted.
  /// \param directory  of the file behind the windows; empty: memory   \param most  bytes that windows can have
  WindowSpace(std::string directory, Bytes most);
  ~WindowSpace();
  WindowSpace(const WindowSpace&) = delete;
  WindowSpace& operator=(const WindowSpace&) = delete;

  [[nodiscard]] WindowMode mode() const noexcept {
    return server_ != nullptr ? WindowMode::Full : WindowMode::Restricted;
  }
  /// The directory of the file behind the windows; empty: they lie in memory.
  [[nodiscard]] const std::string& directory() const noexcept { return directory_; }
  /// False where the child of a fork has no windows.
  [[nodiscard]] bool is_copied_by_fork() const noexcept { return directory_.empty() && !is_forbidden_; }

  /// A window whose pages are all absent, and whose addresses nobody can access before `open`.
  /// \param size       whole units   \param alignment  a power of two up to 2 MiB
  /// May make a file: hold no lock across it.
  /// \throws           `OutOfTierMemory` if there is no address space left
  [[nodiscard]] AddressWindow reserve(std::size_t size, std::size_t alignment) TIER_EXCLUDES(mutex_);
  /// Makes a part of a window accessible, in whole units.
  /// \throws  `OutOfTierMemory` if the system refuses, `std::bad_alloc`
  void open(std::byte* begin, std::size_t size) TIER_EXCLUDES(mutex_);
  /// If the access is made for a program that locks all its memory (`mlockall`), to a page that nobody uses: makes it, and the
  /// rest of its unit, inaccessible again, so that the system passes it by. \return  false for any other access
  bool is_passed_by(const WindowFault& fault) noexcept TIER_EXCLUDES(mutex_);
  /// In mode restricted its pages and disk space go back to the system, later where they lie in a file.
  /// \pre  its tags are null, and in mode full its pages absent
  void release(const AddressWindow& window) noexcept TIER_EXCLUDES(mutex_);
  /// What `find` gives from now on for the addresses of a part of a window, and of the rest of its last unit.
  static void tag(std::byte* begin, std::size_t size, void* tag) noexcept;
  /// The tag of an address in any window of this process; null elsewhere.   \complexity  O(1)
  [[nodiscard]] static void* find(const void* address) noexcept;

  // In mode restricted, of whole pages.
  /// Takes disk space, so that no access fails for want of it. Nothing where windows lie in memory. Waits for the disk:
  /// hold no lock across it.
  std::error_code take_space(std::byte* begin, std::size_t size) noexcept TIER_EXCLUDES(mutex_);
  /// Gives pages and disk space back. Likewise.
  void give_space_back(std::byte* begin, std::size_t size) noexcept TIER_EXCLUDES(mutex_);
  /// Tells the system whether to have the pages in memory, soon; it need not listen.
  void want(std::byte* begin, std::size_t size, bool in_memory) noexcept TIER_EXCLUDES(mutex_);
  /// Waits until what was released before has gone back to the system.   \return  whether there was something
  bool settle() noexcept TIER_EXCLUDES(mutex_);

  // In mode full. Each takes whole pages. Who waits for what has become present goes on after `wake`.
  /// Makes absent pages present with the bytes at `from`, in memory that the system gives.
  /// \param policy  whence the system takes it; null: from wherever this thread's memory comes
  /// \return        false if there is none; pages made present by then stay so
  bool fill(std::byte* to, const std::byte* from, std::size_t size, bool protect,
            const PagePolicy* policy) noexcept;
  /// Makes the absent pages of a range present, with zeros; protected, so that a store to them is told. Others may touch
  /// or fill them meanwhile.   \return  the system's error if it has no memory for them
  std::error_code fill_holes(std::byte* begin, std::size_t size, const PagePolicy* policy) const noexcept;
  /// Zeros, as many as the largest page has. Never written, so that the system has one page for all of them.
  static const std::byte* zeros() noexcept;
  /// Takes the pages of one range of private memory to another, where they are absent: from a window to memory that was
  /// accepted, or the other way.   \return  the bytes moved; the system may refuse the rest
  std::size_t move(std::byte* to, std::byte* from, std::size_t size) noexcept;
  /// Gives pages back to the system: absent in a window, zeros elsewhere.
  static void drop(std::byte* begin, std::size_t size) noexcept;
  /// Accesses get SIGSEGV; those to any window, if the process has no mapping left to tell this one apart by.
  /// \pre  in the child of a fork, in which nobody serves faults and there is no other thread
  void forbid(std::byte* begin, std::size_t size) noexcept TIER_NO_THREAD_SAFETY_ANALYSIS;
  /// From its return on, stores wait.   \return  false if there is no memory for that
  bool protect(std::byte* begin, std::size_t size) noexcept;
  /// Lets stores through. Who waits for that goes on after `wake`.
  void unprotect(std::byte* begin, std::size_t size) noexcept;
  /// Those who wait try again.
  void wake(std::byte* begin, std::size_t size) noexcept;
  /// Accesses get SIGBUS.   \return  false where the system cannot do that (before Linux 6.6)
  bool poison(std::byte* begin, std::size_t size) noexcept;
  /// `move` may take pages there. Not for memory in windows, where it always may.
  bool accept(std::byte* begin, std::size_t size) noexcept;

  /// Ordinary memory for what is known of windows.
  [[nodiscard]] Bytes metadata() TIER_EXCLUDES(mutex_);

 private:
  struct Area;
  struct Server;
  struct FileWorker;
  std::optional<AddressWindow> carve(std::size_t size, std::size_t alignment) noexcept TIER_REQUIRES(mutex_);
  void prepare(const Area& area) const;
  [[nodiscard]] std::unique_ptr<Area> make_area(std::size_t wanted, std::size_t alignment) const;
  Area* area_of(const std::byte* address) const noexcept TIER_REQUIRES(mutex_);
  /// What the worker is to ask the system for.
  struct FileTask {
    AddressWindow
        window{};  // to be released; without an address the system is told of the range that follows
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

  /// In checked builds the addresses of the last windows released serve no others yet: who still uses them is found out,
  /// in mode restricted by SIGSEGV, since nothing may be read or written there.
  static constexpr std::size_t most_resting = 256;

  std::shared_ptr<Server> server_;  // null: restricted
  std::string directory_;
  Bytes most_;
  GrowingMemory growing_;  // where the system pages windows that lie in no file
  Mutex mutex_;
  std::vector<std::unique_ptr<Area>> areas_ TIER_GUARDED_BY(mutex_);
  std::array<AddressWindow, detail::checked ? most_resting : 0> resting_ TIER_GUARDED_BY(mutex_);
  std::size_t released_ TIER_GUARDED_BY(mutex_) = 0;  // so far
  bool is_forbidden_ = false;                         // all of it, in the child of a fork
  std::unique_ptr<FileWorker> worker_;  // last: it comes to all of these; null where there are no files
};

}  // namespace tier
