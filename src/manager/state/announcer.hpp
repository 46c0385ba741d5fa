// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tells the policy and observers what happens, and asks the policy.
#include <tier/core/detail/hold_timer.hpp>
#include <tier/manager/manager.hpp>
#include <tier/policy/policy.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "notes.hpp"

namespace tier {

/// Gives the time of events: since the manager began, or of a virtual clock.
class Timeline {
 public:
  explicit Timeline(const VirtualClock* clock) noexcept : clock_{clock} {}
  [[nodiscard]] std::uint64_t now_ns() const noexcept;
  [[nodiscard]] std::chrono::steady_clock::time_point began() const noexcept { return start_; }

 private:
  const VirtualClock* clock_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Reports on stderr that a policy has thrown. Not under the manager's lock: the reader of stderr may need it.
/// \threadsafety  `note` under the lock, once; `tell` by any thread without it.
class PolicyFailure {
 public:
  /// Reports the failure when it ends: made before the lock is taken, it ends after the lock is released.
  class Tells {
   public:
    explicit Tells(const PolicyFailure& failure) noexcept : failure_{failure} {}
    ~Tells() { failure_.tell(); }
    Tells(const Tells&) = delete;
    Tells& operator=(const Tells&) = delete;

   private:
    const PolicyFailure& failure_;
  };

  void note(std::unique_ptr<Policy> failed) noexcept {
    policy_ = std::move(failed);
    is_untold_.store(true, std::memory_order_release);  // (1) -> (2)
  }
  /// Reports the failure if there is one that was not reported.
  void tell() const noexcept;

 private:
  std::unique_ptr<Policy> policy_;  // kept because it may be running; written once
  mutable std::atomic<bool> is_untold_{false};
};

/// Tells the policy and the observers what happens, and asks the policy for its decisions.
///
/// An event has happened: it gets the next number and the time. Observers are told of all events, the policy of those that
/// it wants. A policy that throws is replaced by first touch.
/// \threadsafety  Under the manager's lock.
class Announcer {
 public:
  /// \param failure        is told of a policy that throws
  /// \param wants_changed  called under the lock when the set of wanted uses or kernels has changed
  Announcer(std::unique_ptr<Policy> policy, const Timeline& timeline, PolicyFailure& failure,
            std::function<void()> wants_changed);
  Announcer(const Announcer&) = delete;
  Announcer& operator=(const Announcer&) = delete;

  // --- events ---------------------------------------------------------------------------------------------

  void stamp(EventHeader& event) noexcept;
  /// Gives the event its number and tells all observers.
  template <class Event>
  void tell(Event& event, void (Observer::*observed)(const Event&) noexcept) noexcept {
    stamp(event);
    for (auto* observer : observers_) (observer->*observed)(event);
  }
  /// Tells an event that no policy is told of. Without observers it costs nothing and gets no number.
  template <class Event>
  void tell_observers(Event&& event, void (Observer::*observed)(const Event&) noexcept) noexcept {
    if (!observers_.empty()) tell(event, observed);
  }
  /// Like `tell`, for what happens too often to read the clock for a policy alone: without observers the event has the time of
  /// the event before.
  template <class Event>
  void tell_often(Event& event, void (Observer::*observed)(const Event&) noexcept) noexcept {
    if (!observers_.empty()) return tell(event, observed);
    event.sequence = ++sequence_;
    event.time_ns = told_ns_;
  }
  void add(Observer& observer);
  void remove(Observer& observer) noexcept;
  /// Keeps the observer as long as the manager: scopes may be in its functions.
  void keep(std::shared_ptr<ThreadObserver> observer) { thread_observers_.push_back(std::move(observer)); }

  // --- the policy -----------------------------------------------------------------------------------------

  [[nodiscard]] Policy& policy() const noexcept { return *policy_; }
  /// \param context  by which the policy acts; it outlives the last event
  void connect(PolicyContext& context) noexcept { context_ = &context; }
  /// Returns the policy's answer; if it throws, first touch answers.
  /// \param question  is given the policy and the context by which it acts   \pre  connected
  template <class Question>
  auto ask(Question&& question) noexcept {
    detail::HoldTimer::policy_runs();
    try {
      return question(*policy_, *context_);
    } catch (...) {
      replace_policy();
    }
    return question(*policy_, *context_);
  }

  // --- what is wanted -------------------------------------------------------------------------------------

  /// \param outside  for a block that was not in the fastest tier
  [[nodiscard]] bool wants_use(bool outside) const noexcept { return wants(watched_, outside); }
  /// True if the policy or an observer wants kernels.
  [[nodiscard]] bool wants_kernels() const noexcept { return kernels_wanted_; }

  // --- uses and kernels -----------------------------------------------------------------------------------

  /// Takes the time for uses that are told together: reading the clock costs more than telling one use.
  void note_time() noexcept { told_ns_ = timeline_.now_ns(); }
  void tell_use(const Note& use) noexcept;
  /// \throws  `std::bad_alloc`; nothing has been told then
  void begin_kernel(std::uint64_t scope, std::string name, std::uint64_t hash,
                    std::vector<OperandFacts> operands);
  void end_kernel(std::uint64_t scope, std::uint64_t duration_ns) noexcept;

 private:
  struct OpenKernel {
    std::string name;
    std::uint64_t hash = 0;
    std::vector<OperandFacts> operands;
  };

  static bool wants(WantedUses wanted, bool outside) noexcept {
    return wanted == WantedUses::EveryUse || (wanted == WantedUses::Misses && outside);
  }
  void replace_policy() noexcept;
  void find_wants() noexcept;

  const Timeline& timeline_;
  PolicyFailure& failure_;
  std::function<void()> wants_changed_;
  std::unique_ptr<Policy> policy_, fallback_;
  PolicyContext* context_ = nullptr;
  std::vector<Observer*> observers_;
  std::vector<std::shared_ptr<ThreadObserver>> thread_observers_;  // the present one and earlier ones
  std::uint64_t sequence_ = 0;
  std::uint64_t told_ns_ = 0;  // time of the last event
  std::unordered_map<std::uint64_t, OpenKernel> kernels_;
  WantedUses policy_uses_ = WantedUses::Stamps;
  WantedUses watched_ = WantedUses::Stamps;  // wanted by the policy or an observer
  bool policy_kernels_ = false, kernels_wanted_ = false;
};

}  // namespace tier
