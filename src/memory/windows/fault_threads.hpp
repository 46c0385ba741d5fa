// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Threads that have the faults of windows served.
#include <memory>
#include <thread>
#include <vector>

#include "memory/windows/userfaultfd.hpp"
#include "memory/windows/window_fault.hpp"

namespace tier {

/// Reads the faults of windows on threads of its own and passes each to the object that serves it. A fault that has to wait
/// is put off until others have been served; one thread never waits, so that faults of the copies that others wait for are
/// served, too.
/// \threadsafety  Confined to the thread that has it, or to one that it has started.
class FaultThreads {
 public:
  /// Starts the threads. They keep `memory` alive.   \pre  `faults` outlives this
  /// \throws  `TierError` naming the system call that was refused
  FaultThreads(std::shared_ptr<Userfaultfd> memory, WindowFaults& faults);
  /// Ends the threads, and waits for them; one of them may call it, too, and then ends later.
  ~FaultThreads();
  FaultThreads(const FaultThreads&) = delete;
  FaultThreads& operator=(const FaultThreads&) = delete;

 private:
  class Server;
  void stop() noexcept;

  std::shared_ptr<Server> server_;  // the threads share it: one that ends later still needs it
  std::vector<std::thread> threads_;
};

}  // namespace tier
