// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  All ways: ours, the plain copy that ours cannot beat, and those of the kernel.
#include <tier/memory/tiers.hpp>

#include <memory>
#include <string>
#include <vector>

#include "way.hpp"

namespace migrate {

/// An object, for which only size and page kind matter.
struct Object {
  tier::Bytes size;
  tier::PageKind pages = tier::PageKind::Small;
};

/// Returns the memory that each of two nodes must have free for all ways at once.
[[nodiscard]] tier::Bytes room_for(const Object& object);

/// A way, or the reason why there is none.
struct Candidate {
  std::string name;
  std::unique_ptr<Way> way;
  std::string why_not;  ///< empty if there is a way
};

/// Makes the ways: an object with a window, migrated between two tiers; a plain copy with our engine between memory of
/// both; the kernel's ways. Each has its own memory, faulted in beforehand and freed with the way.
[[nodiscard]] std::vector<Candidate> make_ways(const Object& object, Nodes nodes);

}  // namespace migrate
