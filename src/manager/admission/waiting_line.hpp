// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The line of scopes that wait for room.
#include <boost/intrusive/list.hpp>

namespace tier {

/// Lets scopes that lack room take turns: the first to join is the first to get room. Scopes whose operands are all
/// resident take no lock and pass by; if they never leave enough room at once for the first in line, it closes the door,
/// and all other root scopes wait until it has entered.
/// \threadsafety  Under the manager's lock.
class WaitingLine {
 public:
  /// One scope in the line.
  class Waiter : public boost::intrusive::list_base_hook<> {
   public:
    [[nodiscard]] bool is_in_line() const noexcept { return is_linked(); }
    [[nodiscard]] bool has_closed_door() const noexcept { return has_closed_door_; }

   private:
    friend class WaitingLine;
    bool has_closed_door_ = false;
  };

  /// Joins at the end of the line.   \return  false if it was in the line already
  bool join(Waiter& waiter) noexcept {
    if (waiter.is_in_line()) return false;
    line_.push_back(waiter);
    return true;
  }
  /// \return  false if it was not in the line
  bool leave(Waiter& waiter) noexcept {
    if (!waiter.is_in_line()) return false;
    line_.erase(line_.iterator_to(waiter));
    return true;
  }
  /// True if others are before it, whether it is in the line or not.
  [[nodiscard]] bool is_behind_others(const Waiter& waiter) const noexcept {
    return !line_.empty() && &line_.front() != &waiter;
  }

  /// \pre  the door is open
  void close_door(Waiter& waiter) noexcept { is_closed_ = waiter.has_closed_door_ = true; }
  /// \pre  `waiter` has closed the door
  void open_door(Waiter& waiter) noexcept { is_closed_ = waiter.has_closed_door_ = false; }
  [[nodiscard]] bool is_closed() const noexcept { return is_closed_; }
  [[nodiscard]] bool is_closed_to(const Waiter& waiter) const noexcept {
    return is_closed_ && !waiter.has_closed_door_;
  }

 private:
  boost::intrusive::list<Waiter> line_;  // in order of arrival
  bool is_closed_ = false;
};

}  // namespace tier
