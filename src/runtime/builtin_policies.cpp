// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  All built-in policies: a new one adds its folder, and here an include and a line.
#include "runtime/builtin_policies.hpp"

#include "first_touch/first_touch.hpp"
#include "first_touch/first_touch_rows.hpp"
#include "hint_aware/hint_aware.hpp"
#include "hint_aware/hint_aware_rows.hpp"
#include "lfu/lfu_rows.hpp"
#include "lru/lru.hpp"
#include "lru/lru_rows.hpp"
#include "page_migration/page_migration.hpp"

#include <array>

namespace tier::detail {

std::span<const BuiltinPolicy> builtin_policies() noexcept {
  static constexpr std::array list{
      BuiltinPolicy{"first_touch", make_first_touch},
      BuiltinPolicy{"hint_aware", make_hint_aware},
      BuiltinPolicy{"lru", make_lru},
      BuiltinPolicy{"page_migration", make_page_migration},
  };
  return list;
}

std::span<const BuiltinRowPolicy> builtin_row_policies() noexcept {
  static constexpr std::array list{
      BuiltinRowPolicy{"first_touch", make_first_touch_rows},
      BuiltinRowPolicy{"hint_aware", make_hint_aware_rows},
      BuiltinRowPolicy{"lfu", make_lfu_rows},
      BuiltinRowPolicy{"lru", make_lru_rows},
  };
  return list;
}

}  // namespace tier::detail
