// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tracks which parts of a range of addresses have been opened.
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>

namespace tier {

/// Keeps the opened ranges, with neighbours merged, so that there are as many as the process has mappings for them.
class OpenRanges {
 public:
  /// More ranges would use up the mappings that a process may have, so everything is opened then.
  static constexpr std::size_t most = 1024;

  [[nodiscard]] bool contain(std::size_t begin, std::size_t end) const noexcept {
    const auto behind = ends_.upper_bound(begin);
    return behind != ends_.begin() && std::prev(behind)->second >= end;
  }
  [[nodiscard]] std::size_t count() const noexcept { return ends_.size(); }
  void add(std::size_t begin, std::size_t end) {
    auto at = ends_.lower_bound(begin);
    if (at != ends_.begin() && std::prev(at)->second >= begin) --at;
    while (at != ends_.end() && at->first <= end) {
      begin = std::min(begin, at->first);
      end = std::max(end, at->second);
      at = ends_.erase(at);
    }
    ends_.emplace_hint(at, begin, end);
  }

  void remove(std::size_t begin, std::size_t end) {
    add(begin, end);  // so that it lies within one range
    const auto around = std::prev(ends_.upper_bound(begin));
    const auto before = around->first, behind = around->second;
    if (behind > end) ends_.emplace(end, behind);
    if (before < begin)
      around->second = begin;
    else
      ends_.erase(around);
  }

 private:
  std::map<std::size_t, std::size_t> ends_;  // keyed by their begins
};

}  // namespace tier
