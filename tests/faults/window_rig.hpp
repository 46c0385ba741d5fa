// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A manager whose windows exceed its fast tier, to check what a fault has done to them.
#include <lru/lru.hpp>
#include <tier/core/error.hpp>
#include <tier/manager/manager.hpp>
#include <tier/memory/io_faults.hpp>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/memory_tier.hpp"
#include "support/windows.hpp"

namespace tier::test {

/// A combination of options for windows.
struct WindowShape {
  WindowMode mode;
  bool slow_is_device;  ///< reached by `transfer()`
  Bytes block{std::size_t{64} << 10};
};

/// Keeps objects of three blocks; the first and last word of each page follow from their place.
class WindowRig {
 public:
  using Word = std::uint64_t;
  explicit WindowRig(const WindowShape& shape, std::size_t objects = 3) : block_{shape.block} {
    auto fast = std::make_unique<MemoryTier>(MemoryTierOptions{"fast", 8 * block_});
    auto slow = std::make_unique<MemoryTier>(
        MemoryTierOptions{"slow", 64 * block_, std::chrono::nanoseconds{5000}, !shape.slow_is_device});
    slow->fails = [this](Direction direction, std::uint64_t offset, std::uint64_t size) {
      if (std::array{reads_fail.load(), writes_fail.load()}[direction == Direction::Write])
        return std::make_error_code(std::errc::io_error);
      auto* const faults = faults_.load();
      return faults != nullptr ? faults->on_io(direction, offset, size) : std::error_code{};
    };
    std::vector<std::unique_ptr<Tier>> tiers;
    tiers.push_back(std::move(fast));
    tiers.push_back(std::move(slow));
    manager_ = Manager::make(std::move(tiers), make_lru({}),
                             {.threads = 1,
                              .yields = false,
                              .windows = shape.mode,
                              .window_blocks = block_,
                              .cached_windows = 7 * block_});
    for (std::size_t i = 0; i < objects; ++i) {
      handles_.push_back(manager_->create_window(3 * block_, 64, "object " + std::to_string(i)));
      store_all(i, i);
    }
    manager_->quiesce();
    before_ = manager_->statistics();
  }

  [[nodiscard]] const std::shared_ptr<Manager>& manager() noexcept { return manager_; }
  /// Sets the faults of the slow tier.   \pre  they outlive this
  void set_faults(IoFaults& faults) noexcept { faults_ = &faults; }
  [[nodiscard]] Bytes block() const noexcept { return block_; }
  [[nodiscard]] ObjectRef ref(std::size_t i) const noexcept { return handles_[i].ref(); }
  [[nodiscard]] std::span<Word> words(std::size_t i) const noexcept {
    return {reinterpret_cast<Word*>(ref(i).object->window), words_in_object()};
  }
  [[nodiscard]] std::vector<BlockId> blocks(std::size_t i) const {
    std::vector<BlockId> ids;
    for (const auto* b : ref(i).object->blocks) ids.push_back(b->id);
    return ids;
  }

  /// Make all reads, or all writes, of the slow tier fail.
  std::atomic<bool> reads_fail{false}, writes_fail{false};

  /// Fills the object with the words of `version`, which it has to hold from now on.
  void store_all(std::size_t i, std::size_t version) {
    versions_.resize(handles_.size());
    versions_[i] = version;
    for_each_edge([&](std::size_t at) { words(i)[at] = word(i, version, at); });
  }
  /// True if the first and last word of each of the object's pages are right.
  [[nodiscard]] bool holds(std::size_t i) const {
    bool right = true;
    for_each_edge([&](std::size_t at) { right = right && words(i)[at] == word(i, versions_[i], at); });
    return right;
  }
  /// Checks that all objects hold their words, that the invariants hold, and that nothing was added.
  /// \throws  `std::logic_error` saying what is wrong
  void check() {
    manager_->quiesce();
    manager_->check_invariants();
    for (std::size_t i = 0; i < handles_.size(); ++i)
      if (!holds(i)) throw std::logic_error{"object " + std::to_string(i) + " has lost a store"};
    manager_->quiesce();
    manager_->check_invariants();
    const auto now = manager_->statistics();
    if (now.objects != before_.objects || now.blocks != before_.blocks)
      throw std::logic_error{"an object or a block is left over"};
  }
  /// Destroys the objects and checks that nothing is left in the tiers.   \throws  `std::logic_error`
  void check_empty() {
    handles_.clear();
    manager_->quiesce();
    manager_->check_invariants();
    const auto now = manager_->statistics();
    if (now.objects != 0 || now.blocks != 0) throw std::logic_error{"an object or a block is left over"};
    for (const auto& t : now.tiers)
      if (t.regions != 0 || t.used != t.condemned)
        throw std::logic_error{"a region of " + t.name + " is left over"};
  }

 private:
  static Word word(std::size_t i, std::size_t version, std::size_t at) noexcept {
    return (i + 1) * 0x1000003 + version * 0x10001 + at;
  }
  [[nodiscard]] std::size_t words_in_object() const noexcept { return 3 * block_.count / sizeof(Word); }
  void for_each_edge(auto&& visit) const {
    constexpr std::size_t page = 4096 / sizeof(Word);  // or a part of a larger page
    for (std::size_t at = 0; at < words_in_object(); at += page) {
      visit(at);
      visit(at + page - 1);
    }
  }

  Bytes block_;
  std::atomic<IoFaults*> faults_{nullptr};  // ThreadSanitizer sees no order with the fault thread
  std::shared_ptr<Manager> manager_;
  std::vector<ObjectHandle> handles_;
  std::vector<std::size_t> versions_;
  Statistics before_;
};

}  // namespace tier::test
