// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "announcer.hpp"

#include <tier/core/assert.hpp>

#include "core/say.hpp"

namespace tier {
namespace {

/// Replaces a policy that has failed: fast until full, and no needless moves.
class Fallback final : public Policy {
 public:
  std::string_view name() const noexcept override { return "first touch (after a failure)"; }
  Placement place(const AllocationEvent&, PolicyContext&) override { return {}; }
  MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {}; }
};

}  // namespace

std::uint64_t Timeline::now_ns() const noexcept {
  if (clock_ != nullptr) return clock_->now();
  return static_cast<std::uint64_t>((std::chrono::steady_clock::now() - start_).count());
}

Announcer::Announcer(std::unique_ptr<Policy> policy, const Timeline& timeline, PolicyFailure& failure,
                     std::function<void()> wants_changed)
    : timeline_{timeline},
      failure_{failure},
      wants_changed_{std::move(wants_changed)},
      policy_{std::move(policy)},
      fallback_{std::make_unique<Fallback>()} {
  TIER_VERIFY(policy_ != nullptr, "a manager needs a policy");
  find_wants();
}

void Announcer::stamp(EventHeader& event) noexcept {
  event.sequence = ++sequence_;
  event.time_ns = told_ns_ = timeline_.now_ns();
}

void Announcer::add(Observer& observer) {
  observers_.push_back(&observer);
  find_wants();
  wants_changed_();
}

void Announcer::remove(Observer& observer) noexcept {
  std::erase(observers_, &observer);
  find_wants();
  wants_changed_();
}

void Announcer::replace_policy() noexcept {
  if (fallback_ == nullptr) return;
  failure_.note(std::exchange(policy_, std::move(fallback_)));
  find_wants();
  wants_changed_();
}

void PolicyFailure::tell() const noexcept {
  if (!is_untold_.load(std::memory_order_relaxed)) return;
  if (!is_untold_.exchange(false, std::memory_order_acquire)) return;  // (2) <- (1)
  const auto name = policy_->name();
  detail::say("policy %.*s threw an exception; going on with first touch", static_cast<int>(name.size()),
              name.data());
}

void Announcer::find_wants() noexcept {
  policy_uses_ = watched_ = policy_->wanted_uses();
  policy_kernels_ = kernels_wanted_ = policy_->wants_kernels();
  for (const auto* observer : observers_) {
    watched_ = std::max(watched_, observer->wanted_uses());
    kernels_wanted_ |= observer->wants_kernels();
  }
}

void Announcer::tell_use(const Note& use) noexcept {
  UseEvent event{{++sequence_, told_ns_}, use.id, use.use};
  for (auto* observer : observers_) observer->on_use(event);
  if (wants(policy_uses_, use.outside))
    ask([&](Policy& p, PolicyContext& context) { p.on_use(event, context); });
}

void Announcer::begin_kernel(std::uint64_t scope, std::string name, std::uint64_t hash,
                             std::vector<OperandFacts> operands) {
  const OpenKernel& k =
      kernels_.emplace(scope, OpenKernel{std::move(name), hash, std::move(operands)}).first->second;
  KernelEvent event{{}, scope, k.name, k.hash, k.operands, 0};
  tell(event, &Observer::on_kernel_begin);
  if (policy_kernels_) ask([&](Policy& p, PolicyContext& context) { p.on_kernel_begin(event, context); });
}

void Announcer::end_kernel(std::uint64_t scope, std::uint64_t duration_ns) noexcept {
  const auto it = kernels_.find(scope);
  if (it == kernels_.end()) return;
  const OpenKernel& k = it->second;
  KernelEvent event{{}, scope, k.name, k.hash, k.operands, duration_ns};
  tell(event, &Observer::on_kernel_end);
  if (policy_kernels_) ask([&](Policy& p, PolicyContext& context) { p.on_kernel_end(event, context); });
  kernels_.erase(it);
}

}  // namespace tier
