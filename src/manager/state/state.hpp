// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The lowest floor of the manager: its lock, its time, its counts, and whom it tells what happens.
#include <tier/manager/manager.hpp>

#include "announcer.hpp"
#include "block_facts.hpp"
#include "counters.hpp"
#include "lifetime.hpp"
#include "monitor.hpp"
#include "mutants.hpp"
#include "records.hpp"

namespace tier {

/// The parts of the lowest floor, in order. Those of a floor know the ones before them and all floors below.
struct State {
  /// \param engine  may be constructed later, but before the first call
  State(Mutex& mutex, UseClock& uses, CopyEngine& copies, ManagerOptions manager_options,
        std::unique_ptr<Policy> policy, std::function<void()> wants_changed,
        std::function<std::shared_ptr<Manager>()> owner)
      : options{manager_options},
        clock{uses},
        engine{copies},
        monitor{mutex, copies, options.clock != nullptr, options.report_waits_after},
        timeline{options.clock},
        announcer{std::move(policy), timeline, policy_failure, std::move(wants_changed)},
        counters{announcer, timeline},
        lifetime{std::move(owner)} {}

  const ManagerOptions options;
  UseClock& clock;
  CopyEngine& engine;
  Monitor monitor;
  Timeline timeline;
  PolicyFailure policy_failure;
  Announcer announcer;
  Counters counters;
  Lifetime lifetime;
};

}  // namespace tier
