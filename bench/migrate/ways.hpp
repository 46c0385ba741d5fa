// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The ways there are: ours, the copy that ours cannot beat, and those of the kernel.
#include <tier/memory/tiers.hpp>

#include <memory>
#include <string>
#include <vector>

#include "way.hpp"

namespace migrate {

/// An object of which nothing but its size and its pages matters.
struct Object {
  tier::Bytes size;
  tier::PageKind pages = tier::PageKind::Small;
};

/// What each of two nodes must have free for all ways at once.
[[nodiscard]] tier::Bytes room_for(const Object& object);

/// A way, or why there is none.
struct Candidate {
  std::string name;
  std::unique_ptr<Way> way;
  std::string why_not;  ///< empty where there is a way
};

/// An object with a window, migrated between two tiers; nothing but our copy between memory of both; the kernel's ways.
/// Each has memory of its own, faulted in beforehand and given back with the way.
[[nodiscard]] std::vector<Candidate> make_ways(const Object& object, Nodes nodes);

}  // namespace migrate
