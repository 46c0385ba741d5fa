// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <linux/magic.h>
#include <sys/vfs.h>
#include <tier/memory/memory_need.hpp>
#include <tier/memory/tier_text.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include "memory/system/left_memory.hpp"
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
  if (left == 0_B || sum + memory_beside(sum) <= left) return {};
  return "memory of " + to_human(sum) + " for " + names_of(memory) + ", and " + to_human(memory_beside(sum)) +
         " for page tables and threads (" + whose + "; " + remedy + ")";
}

Bytes memory_bound() {
  auto bound = read_kib("/proc/meminfo", "MemTotal:");
  bound -= std::min(bound, find_forbidden_memory({}));
  const auto limit = find_memory_limit({});
  return limit && *limit < bound ? *limit : bound;
}

}  // namespace tier
