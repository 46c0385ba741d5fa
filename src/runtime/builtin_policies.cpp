// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The one list of built-in policies: a new one adds its folder, and a line here.
#include "runtime/builtin_policies.hpp"

#include "first_touch/first_touch.hpp"
#include "hint_aware/hint_aware.hpp"
#include "lru/lru.hpp"

#include <array>

namespace tier::detail {

std::span<const BuiltinPolicy> builtin_policies() noexcept {
  static constexpr std::array<BuiltinPolicy, 3> list{{
      {"first_touch", make_first_touch},
      {"hint_aware", make_hint_aware},
      {"lru", make_lru},
  }};
  return list;
}

}  // namespace tier::detail
