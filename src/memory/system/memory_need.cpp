// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system/memory_need.hpp"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <tier/core/error.hpp>
#include <tier/memory/spec.hpp>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "memory/system/memory_limit.hpp"
#include "memory/system/numa_discovery.hpp"
#include "memory/system/system_files.hpp"

namespace tier {
namespace {

/// The memory that the tightest bound leaves, and its description.
struct Room {
  Bytes left;
  std::string whose;
  std::string remedy;
};

/// Numbers of /proc/meminfo.
struct SystemMemory {
  Bytes total, available, free_swap;
};
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

Room room_of_machine() {
  const auto memory = system_memory();
  const auto allowed = memory.total - std::min(memory.total, find_forbidden_memory({}));
  const auto left = std::min(allowed, memory.available + memory.free_swap);
  return {left, "the machine has " + to_human(left) + " left of " + to_human(allowed), "ask for less"};
}

Room room() {
  auto machine = room_of_machine();
  const auto left = find_memory_left_with_swap({});
  if (!left || *left >= machine.left) return machine;
  const auto limit = find_memory_limit({});
  return {*left,
          "the control group of this process has " + to_human(*left) + " left of " +
              to_human(std::max(*left, limit.value_or(*left))),
          "ask for less, or raise the group's limit"};
}

bool is_memory(const TierSpec& spec) {
  switch (spec.kind) {
    case TierKind::Dram:
    case TierKind::Numa:
    case TierKind::Emulated:
    case TierKind::Role:
      return spec.pages != PageKind::Hugetlb;  // reserved, and in no limit
    case TierKind::Memkind:
      return spec.model.find('/') == std::string::npos || lies_in_memory(spec.model);
    case TierKind::File:
    case TierKind::Mapped:
    case TierKind::Pmem:
      return lies_in_memory(spec.path);
    case TierKind::Simulated:
      break;
  }
  return false;
}

/// Returns the memory needed beside `memory`: page tables of small pages, and a guess for rings, threads and descriptors.
Bytes beside(Bytes memory) { return Bytes{memory.count / 512} + 4_MiB; }

Bytes sum_of(std::span<const TierSpec> specs) {
  constexpr Bytes most{SIZE_MAX / 2};
  Bytes sum;
  for (const auto& spec : specs) sum += std::min(spec.size, most - std::min(sum, most));
  return sum;
}

/// Returns names such as `tier dram:1GiB and tier mapped:/dev/shm:1GiB`.
std::string names_of(std::span<const TierSpec> specs) {
  std::string text;
  for (std::size_t i = 0; i < specs.size(); ++i)
    text.append(i == 0                  ? "tier "
                : i + 1 == specs.size() ? " and tier "
                                        : ", tier ")
        .append(to_string(specs[i]));
  return text;
}

}  // namespace

bool lies_in_memory(const std::string& path) {
  std::error_code unknown;
  if (std::filesystem::is_character_file(path, unknown)) return false;  // a device, whatever holds its name
  struct ::statfs status {};
  const auto parent = std::filesystem::path{path}.parent_path().string();
  if (::statfs(path.c_str(), &status) != 0 && ::statfs(parent.empty() ? "." : parent.c_str(), &status) != 0)
    return false;
  return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
}

std::string lacking_memory(std::span<const TierSpec> specs) {
  std::vector<TierSpec> memory;
  std::ranges::copy_if(specs, std::back_inserter(memory), is_memory);
  if (memory.empty()) return {};
  const auto sum = sum_of(memory);
  const auto [left, whose, remedy] = room();
  if (left == 0_B || sum + beside(sum) <= left) return {};
  return "memory of " + to_human(sum) + " for " + names_of(memory) + ", and " + to_human(beside(sum)) +
         " beside it (" + whose + "; " + remedy + ")";
}

void check_memory(std::span<const TierSpec> specs) {
  const auto lacking = lacking_memory(specs);
  if (!lacking.empty()) throw TierError{std::make_error_code(std::errc::not_enough_memory), lacking};
}

bool GrowingMemory::lacks(Bytes size) noexcept try {
  auto granted = granted_.load(std::memory_order_relaxed);  // a count that orders nothing
  while (granted >= size.count)
    if (granted_.compare_exchange_weak(granted, granted - size.count, std::memory_order_relaxed))
      return false;
  const auto memory = system_memory();
  const auto of_machine = memory.available + memory.free_swap;
  const auto left = std::min(of_machine, find_memory_left_with_swap({}).value_or(of_machine));
  const auto needed = size + beside(size);
  if (left == 0_B) return false;
  if (needed > left) return true;
  granted_.store(std::min(most_granted, (left - needed) / 8).count, std::memory_order_relaxed);
  return false;
} catch (const std::exception&) {  // no memory to ask: the system will report a lack
  return false;
}

}  // namespace tier
