// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system/left_memory.hpp"

#include <cstddef>
#include <string>

#include "memory/system/system_files.hpp"

namespace tier {

SystemMemory system_memory() {
  SystemMemory memory;
  auto lines = open_text("/proc/meminfo");
  std::size_t kib = 0;
  for (std::string key, unit; lines >> key >> kib; std::getline(lines, unit)) {
    if (key == "MemTotal:") memory.total = 1_KiB * kib;
    if (key == "MemAvailable:") memory.available = 1_KiB * kib;
    if (key == "SwapFree:") memory.free_swap = 1_KiB * kib;
  }
  return memory;
}

Bytes memory_beside(Bytes memory) noexcept { return Bytes{memory.count / 512} + 4_MiB; }

}  // namespace tier
