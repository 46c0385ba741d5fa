// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Runs a policy in a real manager on two small tiers, with objects of one size.
#include "memory_tier.hpp"

#include <tier/manager/manager.hpp>
#include <tier/policy/policy_options.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tier::test {

/// Names each object by one letter, so that the objects in fast memory form a word, such as "acd".
class PolicyRig {
 public:
  static constexpr Bytes object_size{64 << 10};

  /// \param fit  number of objects that fit in fast memory
  PolicyRig(std::unique_ptr<Policy> policy, std::size_t fit, bool slow_is_addressable = true) {
    using std::chrono::nanoseconds;
    std::vector<std::unique_ptr<Tier>> tiers;
    tiers.push_back(
        std::make_unique<MemoryTier>(MemoryTierOptions{"fast", fit * object_size, nanoseconds{100}, true}));
    tiers.push_back(std::make_unique<MemoryTier>(
        MemoryTierOptions{"slow", std::size_t{64} * object_size, nanoseconds{900}, slow_is_addressable}));
    manager_ = Manager::make(std::move(tiers), std::move(policy), {.threads = 1, .yields = false});
  }

  /// Makes an object without using it.
  ObjectHandle make(std::string_view name, std::size_t sizes = 1) {
    return manager_->create(sizes * object_size, 64, name);
  }
  /// Makes an object for each letter and overwrites it, in this order.
  std::vector<ObjectHandle> fill(std::string_view names) {
    std::vector<ObjectHandle> objects;
    for (std::size_t i = 0; i < names.size(); ++i)
      use(objects.emplace_back(make(names.substr(i, 1))), Use::Overwrite);
    return objects;
  }
  /// Opens and closes a scope on the object, and waits for all transfers that it started.
  void use(const ObjectHandle& object, Use how) {
    Operand op = Operand::of(object.ref(), how);
    op.entered = op.block->try_enter(op.use, manager_->clock().stamp());  // the short way, as scopes do
    if (op.entered)
      op.address = op.block->address;
    else
      manager_->enter({&op, 1}, {});
    if (how != Use::Read) std::memset(op.address, 1, op.size);
    Manager::leave({&op, 1});
    settle();
  }
  void read(const ObjectHandle& object) { use(object, Use::Read); }
  void hint(Hint hint, const ObjectHandle& object) {
    manager_->hint(hint, object.ref(), 0);
    settle();
  }
  void prefetch(const ObjectHandle& object) {
    std::ignore = manager_->prefetch(object.ref());
    settle();
  }
  void retire(const ObjectHandle& object) {
    manager_->retire(object.ref());
    settle();
  }
  void end_of_step() {
    manager_->end_of_step();
    settle();
  }

  /// Returns the names of the objects in fast memory, in alphabetical order.
  [[nodiscard]] std::string in_fast() const {
    std::string names;
    for (const auto& object : manager_->object_statistics())
      if (object.tier == Manager::fastest()) names += object.name;
    std::sort(names.begin(), names.end());
    return names;
  }
  [[nodiscard]] Bytes used(TierIndex tier) const { return manager_->statistics().tiers[tier].used; }
  /// Returns the bytes copied between the two tiers, in both directions.
  [[nodiscard]] std::uint64_t moved() const {
    const auto statistics = manager_->statistics();
    return statistics.bytes_moved(0, 1) + statistics.bytes_moved(1, 0);
  }

 private:
  void settle() {
    manager_->quiesce();
    manager_->check_invariants();
  }

  std::shared_ptr<Manager> manager_;
};

}  // namespace tier::test
