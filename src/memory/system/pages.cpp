// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system/pages.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "memory/system/system_files.hpp"

namespace tier {

std::size_t page_size() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

HugePagePool huge_page_pool() {
  const std::string meminfo = "/proc/meminfo";
  const auto total = read_value(meminfo, "HugePages_Total:"), free = read_value(meminfo, "HugePages_Free:");
  return {read_kib(meminfo, "Hugepagesize:"), total,
          free - std::min(free, read_value(meminfo, "HugePages_Rsvd:"))};
}

}  // namespace tier
