// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Windows whose pages the system provides.
#include <cstddef>
#include <memory>
#include <system_error>

#include "memory/system/growing_memory.hpp"
#include "memory/windows/address_window.hpp"
#include "memory/windows/window_areas.hpp"

namespace tier {

/// Takes memory or disk space for windows that the system pages, gives it back, and advises the system what will be used. If
/// windows lie in files, a thread of its own makes the calls that may wait for a disk and that nobody waits for.
/// \threadsafety  Internally synchronised; the caller orders calls on overlapping ranges.
class PagedWindows {
 public:
  /// \pre     `areas` outlives this
  /// \throws  `TierError` if there can be no thread
  explicit PagedWindows(WindowAreas& areas);
  ~PagedWindows();
  PagedWindows(const PagedWindows&) = delete;
  PagedWindows& operator=(const PagedWindows&) = delete;

  /// Releases a window with its pages and its space; later if it lies in a file.
  void release(const AddressWindow& window) noexcept;
  /// Takes disk space, so that no access fails for lack of it. If windows lie in memory, only checks that there is enough.
  /// Waits for the disk: hold no lock across it.
  std::error_code take_space(std::byte* begin, std::size_t size) noexcept;
  /// Returns pages and disk space to the system. Waits for the disk: hold no lock across it.
  void give_space_back(std::byte* begin, std::size_t size) noexcept;
  /// Advises the system, soon, to read the pages ahead or to give them up first; it may ignore the advice.
  void want(std::byte* begin, std::size_t size, bool in_memory) noexcept;
  /// Waits until windows released before have gone back to the system.   \return  true if any task was pending
  bool settle() noexcept;

 private:
  class FileWorker;
  /// A task for the worker.
  struct FileTask {
    AddressWindow window{};  // to release; if its address is null, the system gets advice on the range below
    std::byte* begin = nullptr;
    std::size_t size = 0;
    bool in_memory = false;
  };
  void carry_out(const FileTask& task) noexcept;
  void advise(const FileTask& task) noexcept;

  WindowAreas& areas_;
  GrowingMemory growing_;               // for windows that lie in no file
  std::unique_ptr<FileWorker> worker_;  // last: its thread uses all of these; null without files
};

}  // namespace tier
