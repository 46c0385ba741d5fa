// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How long a manager lives, and whether its runtime is still open.
#include <tier/manager/manager.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "records.hpp"

namespace tier {

/// Keeps the manager alive while scopes are open on destroyed objects: a scope may outlive the last handle. Also says whether
/// the runtime has ended, after which nothing moves on its own any more.
/// \threadsafety  Under the manager's lock.
class Lifetime {
 public:
  /// \param owner  returns an owning pointer to the manager
  explicit Lifetime(std::function<std::shared_ptr<Manager>()> owner) : owner_{std::move(owner)} {}

  [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }
  void close() noexcept { is_closed_ = true; }
  /// In the child of a fork nothing moves, and nothing is freed: the tiers' files and the bytes in them are the parent's.
  [[nodiscard]] bool is_in_child() const noexcept { return is_in_child_; }
  void enter_child() noexcept { is_in_child_ = true; }

  /// Returns an owning pointer, for calls during which all objects may go.
  [[nodiscard]] std::shared_ptr<Manager> owner() const { return owner_(); }

  /// Keeps the manager until the block's last pin goes, if it has pins.
  void keep_while_pinned(Block& b) {
    if (b.record->kept) return;
    // From here on the last unpin tells us; until then the block stays.
    if (!b.state.await_last_pin().is_pinned()) return;
    b.record->kept = true;
    if (kept_++ == 0) keeper_ = owner_();
  }
  /// The block's last pin has gone.
  void release(Block& b) noexcept {
    if (std::exchange(b.record->kept, false)) --kept_;
  }
  /// Returns the pointer that keeps the manager alive, if no scope is open on a destroyed object. Release it without the
  /// lock.
  [[nodiscard]] std::shared_ptr<Manager> needless_keeper() noexcept {
    return kept_ == 0 ? std::move(keeper_) : nullptr;
  }

 private:
  const std::function<std::shared_ptr<Manager>()> owner_;
  std::shared_ptr<Manager> keeper_;  // set while scopes are open on destroyed objects
  std::size_t kept_ = 0;
  bool is_closed_ = false;
  bool is_in_child_ = false;  // set before the child's first own instruction
};

}  // namespace tier
