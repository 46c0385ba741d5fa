// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Managers for the tests of higher layers: real ones, with a simple policy.
#include <tier/manager/manager.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/policy/policy.hpp>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tier::test {

/// Places and fetches everything in the fastest tier, and makes room for it.
class FetchingPolicy final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "fetching"; }
  [[nodiscard]] Placement place(const AllocationEvent&, PolicyContext&) override { return {0, true}; }
  [[nodiscard]] MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {0, false}; }
};

/// Makes a manager over these tiers.
/// \param cached_windows  defaults to what users get, also in checked builds: an eighth of the first tier
[[nodiscard]] inline std::shared_ptr<Manager> make_manager(const std::vector<TierSpec>& specs,
                                                           std::optional<WindowMode> windows = {},
                                                           Bytes window_blocks = {},
                                                           std::unique_ptr<Policy> policy = nullptr,
                                                           std::optional<Bytes> cached_windows = {}) {
  std::vector<std::unique_ptr<Tier>> tiers;
  for (const auto& spec : specs) tiers.push_back(make_tier(spec));
  if (policy == nullptr) policy = std::make_unique<FetchingPolicy>();
  if (!cached_windows) cached_windows = Bytes{tiers.front()->capacity().count / 8};
  return Manager::make(std::move(tiers), std::move(policy),
                       {.threads = 1,
                        .yields = false,
                        .windows = windows,
                        .window_blocks = window_blocks,
                        .cached_windows = cached_windows});
}

/// Records kernels and hints.
/// \threadsafety  The manager serialises its calls; read the records while no scope is open.
class Recorder final : public Observer {
 public:
  struct Kernel {
    std::uint64_t scope;
    std::string name;
    std::vector<Use> uses;
    std::uint64_t hash;
  };
  struct Given {
    Hint hint;
    BlockId block;
    std::uint64_t scope;
  };
  void on_kernel_begin(const KernelEvent& event) noexcept override {
    Kernel kernel{event.scope, std::string{event.name}, {}, event.hash};
    for (const auto& operand : event.operands) kernel.uses.push_back(operand.use);
    begun.push_back(std::move(kernel));
  }
  void on_kernel_end(const KernelEvent& event) noexcept override { ended.push_back(event.scope); }
  void on_hint(const HintEvent& event) noexcept override {
    hints.push_back({event.hint, event.block, event.scope});
  }

  std::vector<Kernel> begun;
  std::vector<std::uint64_t> ended;
  std::vector<Given> hints;
};

/// Records what a manager does for as long as it lives.
class Recording {
 public:
  explicit Recording(Manager& manager) : manager_{manager} { manager_.add_observer(recorder_); }
  ~Recording() { manager_.remove_observer(recorder_); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  const Recorder* operator->() const noexcept { return &recorder_; }

 private:
  Manager& manager_;
  Recorder recorder_;
};

}  // namespace tier::test
