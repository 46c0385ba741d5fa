// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lanes.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

namespace tier::tool::report {
namespace {

/// By start, and of those that start together the longest first.
std::vector<std::size_t> in_order(std::span<const Slice> slices) {
  std::vector<std::size_t> order(slices.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    return std::tuple{slices[a].start, slices[b].end} < std::tuple{slices[b].start, slices[a].end};
  });
  return order;
}

/// The lane that has been free for longest, or a new one.
std::vector<std::size_t> beside_each_other(std::span<const Slice> slices) {
  using Free = std::pair<Time, std::size_t>;  // since when, and the lane
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

/// The first lane in which it lies within what is open there.
std::vector<std::size_t> within_each_other(std::span<const Slice> slices) {
  constexpr std::size_t most_lanes = 64;  // further slices go to the last, whatever that looks like
  std::vector<std::vector<Time>> open;    // of each lane the ends of what is open, innermost last
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
