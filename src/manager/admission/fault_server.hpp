// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Accesses to absent pages of windows, and stores to protected ones.
#include <tier/manager/manager.hpp>

#include <cstdint>
#include <memory>

#include "advice.hpp"
#include "gate.hpp"
#include "manager/movement/movement.hpp"
#include "manager/state/state.hpp"
#include "manager/store/store.hpp"
#include "memory/windows/window_space.hpp"

namespace tier {

/// Serves the faults of windows: brings the block that the program has touched, or lets its store through. An access has no
/// caller to throw to: where there is no room it is tried again, bytes that cannot be read end in SIGBUS, and an access to
/// what is no object any more ends the program with a message.
/// \threadsafety  Called by the threads of the window space, several at once; takes the manager's lock.
class FaultServer final : public WindowFaults {
 public:
  FaultServer(Manager& manager, State& state, Store& store, Movement& movement, Gate& gate,
              Advice& advice) noexcept
      : manager_{manager}, state_{state}, store_{store}, movement_{movement}, gate_{gate}, advice_{advice} {
    store_.pages.connect(*this);
  }
  FaultServer(const FaultServer&) = delete;
  FaultServer& operator=(const FaultServer&) = delete;

  [[nodiscard]] std::uint64_t ended_blocks() const noexcept override { return store_.pages.ended(); }
  bool on_fault(WindowFault& fault, bool may_wait) noexcept override;

 private:
  enum class Served : std::uint8_t { Yes, Again, WouldWait };

  Served serve(WindowFault& fault, bool may_wait) noexcept;
  Served serve_present(const WindowFault& fault, Block& b, bool may_wait, MutexLock& lock) noexcept;
  Served bring(WindowFault& fault, Block& b) noexcept;
  void wait_for_room(WindowFault& fault, std::uint64_t began, const char* why) noexcept;
  void refuse(const WindowFault& fault, const char* why) noexcept;
  [[nodiscard]] bool has_come(const WindowFault& fault) noexcept;
  void die_of(const WindowFault& fault, const Block* b) const noexcept;
  [[nodiscard]] static bool is_dead(const Block* b) noexcept;
  [[nodiscard]] static bool is_ours(const Block* b) noexcept;

  Manager& manager_;
  State& state_;
  Store& store_;
  Movement& movement_;
  Gate& gate_;
  Advice& advice_;
};

}  // namespace tier
