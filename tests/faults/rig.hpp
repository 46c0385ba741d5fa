// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A manager full of objects with known bytes, to check what a fault has done to them.
#include "support/memory_tier.hpp"

#include <tier/core/error.hpp>
#include <tier/manager/manager.hpp>

#include <cstring>
#include <lru/lru.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace tier::test {

struct RigOptions {
  std::size_t objects = 24;
  std::size_t object_size = 12'000;  ///< of the first object; each further one is a little larger
  Bytes fast = 128_KiB;
  Bytes slow = 1_MiB;
  bool slow_is_device = true;  ///< reached by `transfer()`; small objects are then grouped
};

/// Keeps two tiers, with the objects spread over both; each object's bytes follow from its index.
class Rig {
 public:
  explicit Rig(RigOptions options = {}, std::unique_ptr<Policy> policy = make_lru({})) {
    std::vector<std::unique_ptr<Tier>> tiers;
    auto fast = std::make_unique<MemoryTier>(MemoryTierOptions{"fast", options.fast});
    auto slow = std::make_unique<MemoryTier>(
        MemoryTierOptions{"slow", options.slow, std::chrono::nanoseconds{5000}, !options.slow_is_device});
    fast_ = fast.get();
    slow_ = slow.get();
    tiers.push_back(std::move(fast));
    tiers.push_back(std::move(slow));
    manager_ = Manager::make(std::move(tiers), std::move(policy), {.threads = 1, .yields = false});
    for (std::size_t i = 0; i < options.objects; ++i) {
      objects_.push_back(
          manager_->create(Bytes{options.object_size + 16 * i}, 64, "object " + std::to_string(i)));
      write(i, i);
    }
    if (options.slow_is_device)
      for (std::size_t i = 0; i < 3; ++i) {
        objects_.push_back(manager_->create(Bytes{100 + i}, 64, "small"));
        write(objects_.size() - 1, i);
      }
    manager_->quiesce();
    before_ = manager_->statistics();
  }

  [[nodiscard]] Manager& manager() noexcept { return *manager_; }
  [[nodiscard]] MemoryTier& fast() noexcept { return *fast_; }
  [[nodiscard]] MemoryTier& slow() noexcept { return *slow_; }
  [[nodiscard]] std::size_t count() const noexcept { return objects_.size(); }
  [[nodiscard]] ObjectRef ref(std::size_t i) const noexcept { return objects_[i].ref(); }
  [[nodiscard]] Operand operand(std::size_t i, Use use) const { return Operand::of(ref(i), use); }
  void destroy(std::size_t i) { objects_[i].reset(); }

  /// Gives object `i` the bytes of `version`.
  void write(std::size_t i, std::size_t version) {
    Operand op = operand(i, Use::Overwrite);
    manager_->enter({&op, 1}, {});
    fill(op, i, version);
    Manager::leave({&op, 1});
  }
  /// Fills the object with the bytes of `version`, which it has to hold from now on.
  void fill(const Operand& op, std::size_t i, std::size_t version) {
    versions_.resize(objects_.size());
    versions_[i] = version;
    for (std::size_t at = 0; at < op.size; ++at) op.address[at] = byte(i, version, at);
  }
  /// True if the object's bytes are what they should be.   \throws  what a scope throws
  [[nodiscard]] bool holds(std::size_t i) {
    Operand op = operand(i, Use::Read);
    manager_->enter({&op, 1}, {});
    bool right = true;
    for (std::size_t at = 0; at < op.size; ++at) right = right && op.address[at] == byte(i, versions_[i], at);
    Manager::leave({&op, 1});
    return right;
  }
  /// Checks that all live objects hold their bytes, that the invariants hold, and that no object or block was added.
  /// \throws  `std::logic_error` saying what is wrong
  void check() {
    manager_->quiesce();
    manager_->check_invariants();
    for (std::size_t i = 0; i < objects_.size(); ++i)
      if (objects_[i] && !holds(i)) throw std::logic_error{"object " + std::to_string(i) + " has lost bytes"};
    manager_->quiesce();
    manager_->check_invariants();
  }
  /// Destroys the objects and checks that nothing is left in the tiers.   \throws  `std::logic_error`
  void check_empty() {
    objects_.clear();
    manager_->quiesce();
    manager_->check_invariants();
    const auto s = manager_->statistics();
    if (s.objects != 0 || s.blocks != 0) throw std::logic_error{"an object or a block is left over"};
    for (const auto& t : s.tiers)
      if (t.regions != 0 || t.used != t.condemned)
        throw std::logic_error{"a region of " + t.name + " is left over"};
  }
  /// Checks that there are as many objects and blocks as before.   \throws  `std::logic_error`
  void check_counts() {
    const auto now = manager_->statistics();
    if (now.objects != before_.objects || now.blocks != before_.blocks)
      throw std::logic_error{"an object or a block is left over"};
  }

 private:
  static std::byte byte(std::size_t i, std::size_t version, std::size_t at) noexcept {
    return static_cast<std::byte>((i + 1) * 37 + version * 101 + at * 7 + (at >> 8));
  }

  MemoryTier* fast_ = nullptr;
  MemoryTier* slow_ = nullptr;
  std::shared_ptr<Manager> manager_;
  std::vector<ObjectHandle> objects_;
  std::vector<std::size_t> versions_;
  Statistics before_;
};

}  // namespace tier::test
