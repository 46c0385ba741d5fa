// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measurement.hpp"

#include <algorithm>
#include <exception>

namespace migrate {
namespace {

void move(Way& way, Leg leg, bool counts, WayResult& result) {
  const auto moved = way.move(leg);
  if (!counts) return;
  (leg == Leg::There ? result.there : result.back).seconds.push_back(moved.seconds);
  result.pages += moved.pages;
  result.elsewhere += moved.elsewhere;
  result.wrong += moved.wrong;
}

void move_there_and_back(Candidate& candidate, bool counts, WayResult& result) {
  if (candidate.way == nullptr) return;
  try {
    move(*candidate.way, Leg::There, counts, result);
    move(*candidate.way, Leg::Back, counts, result);
    result.huge = candidate.way->huge();
    result.besides = candidate.way->besides();
  } catch (const std::exception& error) {
    result.why_not = error.what();
    candidate.way.reset();
  }
}

}  // namespace

ObjectResult measure(const Object& object, Nodes nodes, tier::Bytes free, int repeats) {
  ObjectResult result{object, {}, {}};
  if (const auto room = room_for(object); room > free) {
    result.why_not = "each node needs " + to_human(room) + " for it, and one has " + to_human(free);
    return result;
  }
  auto candidates = make_ways(object, nodes);
  for (const auto& candidate : candidates)
    result.ways.push_back({.name = candidate.name, .why_not = candidate.why_not});
  for (int i = 0; i <= repeats; ++i)
    for (std::size_t way = 0; way < candidates.size(); ++way)
      move_there_and_back(candidates[way], i > 0, result.ways[way]);
  return result;
}

bool is_right(const ObjectResult& result) {
  return std::ranges::all_of(result.ways,
                             [](const WayResult& way) { return way.elsewhere == 0 && way.wrong == 0; });
}

}  // namespace migrate
