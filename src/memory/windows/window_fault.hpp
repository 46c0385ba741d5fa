// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Faults in windows, and who serves them.
#include <cstddef>
#include <cstdint>

namespace tier {

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

/// Serves faults. The window space's own threads call it, several at once.
class WindowFaults {
 public:
  virtual ~WindowFaults() = default;
  /// Returns a count that grows whenever a block of a window ends. A fault read before the latest end may be stale: its thread, woken with
  /// others, may have gone on and let go of the object.
  [[nodiscard]] virtual std::uint64_t ended_blocks() const noexcept = 0;
  /// Prepares the page so that the access can be tried again, and calls `wake`.
  /// \param may_wait  allows waiting for copies, which may touch windows themselves; the manager's lock may always be taken
  /// \return          false if it must be called again, after other faults: it would have to wait and may not, or has
  ///                  waited a little and found no room
  virtual bool on_fault(WindowFault& fault, bool may_wait) noexcept = 0;
};

}  // namespace tier
