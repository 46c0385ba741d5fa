// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lanes.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

namespace tier::tool::report {
namespace {

/// Orders slices by start; slices that start together come longest first.
std::vector<std::size_t> in_order(std::span<const Slice> slices) {
  std::vector<std::size_t> order(slices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::tuple{slices[a].start, slices[b].end} < std::tuple{slices[b].start, slices[a].end};
  });
  return order;
}

/// Puts each slice into the lane that has been free for longest, or into a new one.
std::vector<std::size_t> beside_each_other(std::span<const Slice> slices) {
  using Free = std::pair<Time, std::size_t>;  // the time since it is free, and the lane
  std::priority_queue<Free, std::vector<Free>, std::greater<>> lanes;
  std::vector<std::size_t> lane_of(slices.size());
  for (const auto i : in_order(slices)) {
    auto lane = lanes.size();
    if (!lanes.empty() && lanes.top().first <= slices[i].start) {
      lane = lanes.top().second;
      lanes.pop();
    }
    lanes.emplace(slices[i].end, lane);
    lane_of[i] = lane;
  }
  return lane_of;
}

/// Puts each slice into the first lane whose innermost open slice contains it.
std::vector<std::size_t> within_each_other(std::span<const Slice> slices) {
  constexpr std::size_t most_lanes = 64;  // further slices share the last lane, even if they overlap
  std::vector<std::vector<Time>> open;    // by lane, the ends of open slices, innermost last
  std::vector<std::size_t> lane_of(slices.size());
  for (const auto i : in_order(slices)) {
    std::size_t lane = 0;
    for (; lane < open.size(); ++lane) {
      auto& ends = open[lane];
      while (!ends.empty() && ends.back() <= slices[i].start) ends.pop_back();
      if (ends.empty() || slices[i].end <= ends.back()) break;
    }
    if (lane == most_lanes) lane = most_lanes - 1;
    if (lane == open.size()) open.emplace_back();
    open[lane].push_back(slices[i].end);
    lane_of[i] = lane;
  }
  return lane_of;
}

}  // namespace

std::vector<std::size_t> lanes_of(std::span<const Slice> slices, Nesting nesting) {
  return nesting == Nesting::Yes ? within_each_other(slices) : beside_each_other(slices);
}

}  // namespace tier::tool::report
