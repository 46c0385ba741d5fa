// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A list of objects that are notified of forks during their lifetime.
#include <memory>
#include <vector>

namespace tier::detail {

/// Notifies objects before and after a fork. `T` has `before_fork()` and `after_fork(bool in_child)`, which do not throw.
/// \threadsafety  Externally synchronised; the caller also holds its lock from `before_fork` to `after_fork`.
template <class T>
class ForkList {
 public:
  void add(const std::shared_ptr<T>& one) {
    std::erase_if(entries_, [](const Entry& entry) { return entry.one.expired(); });
    entries_.push_back({one, nullptr, false});
  }
  /// Keeps the living objects alive until `after_fork`; in the child for ever, where their threads cannot be joined.
  void before_fork() noexcept {
    for (auto& entry : entries_)
      if ((entry.held = entry.one.lock())) entry.held->before_fork();
  }
  void after_fork(bool in_child) noexcept {
    for (auto& entry : entries_) {
      if (entry.held == nullptr) continue;
      entry.held->after_fork(in_child);
      entry.for_ever |= in_child;
      if (!entry.for_ever) entry.held.reset();
    }
  }
  void for_each(auto&& visit) const {
    for (const auto& entry : entries_)
      if (const auto one = entry.one.lock()) visit(*one);
  }

 private:
  struct Entry {
    std::weak_ptr<T> one;
    std::shared_ptr<T> held;  // during a fork
    bool for_ever = false;    // in the child
  };
  std::vector<Entry> entries_;
};

}  // namespace tier::detail
