// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/values/memkind_names.hpp"

#include <algorithm>

namespace tier {

#if defined(TIER_WITH_MEMKIND)
bool has_memkind() noexcept { return true; }
#else
bool has_memkind() noexcept { return false; }
#endif

std::string memkind_names() {
  std::string text;
  for (const auto name : memkind_kind_names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

bool is_memkind(std::string_view kind) noexcept {
  return is_memkind_path(kind) || std::ranges::find(memkind_kind_names, kind) != memkind_kind_names.end();
}

bool is_memkind_path(std::string_view kind) noexcept { return kind.find('/') != std::string_view::npos; }

}  // namespace tier
