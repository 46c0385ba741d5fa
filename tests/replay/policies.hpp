// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Policies under which replays are tested.
#include <tier/replay/replay.hpp>
#include <tier/runtime/policies.hpp>

#include <string>
#include <vector>

namespace tier::test {

inline const std::vector<std::string> policies{"first_touch",        "lru",
                                               "hint_aware:mode=0",  "hint_aware:mode=L",
                                               "hint_aware:mode=LM", "hint_aware:mode=LMP",
                                               "page_migration",     "belady"};

inline replay::PolicyFactory named(const std::string& spec) {
  return
      [spec](const FutureUses& future) { return spec == "belady" ? make_belady(future) : make_policy(spec); };
}

}  // namespace tier::test
