// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/policy/policy.hpp>

#include <array>

namespace tier {

std::string_view to_string(Cause cause) noexcept {
  constexpr std::array<std::string_view, cause_count> names{"hint",  "miss",    "forced",
                                                            "evict", "compact", "plan"};
  return names[static_cast<std::size_t>(cause)];
}

std::string_view to_string(Hint hint) noexcept {
  constexpr std::array<std::string_view, 5> names{"will_use", "will_read", "will_write", "archive",
                                                  "prefetch"};
  return names[static_cast<std::size_t>(hint)];
}

std::string_view to_string(Use use) noexcept {
  constexpr std::array<std::string_view, 3> names{"read", "update", "overwrite"};
  return names[static_cast<std::size_t>(use)];
}

RunChoice Policy::choose(const RoomRequest&, std::span<const Run> runs, PolicyContext&) {
  RunChoice choice;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (choice.run != RunChoice::none) {
      const Run& best = runs[choice.run];
      if (runs[i].hottest > best.hottest) continue;
      if (runs[i].hottest == best.hottest && runs[i].write_back >= best.write_back) continue;
    }
    choice.run = i;
  }
  return choice;
}

}  // namespace tier
