// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system/numa_system.hpp"

#include <tier/core/error.hpp>

#include <algorithm>

#if defined(TIER_WITH_NUMA)
#include <numaif.h>
#endif

namespace tier {

std::vector<NumaNode> NumaSystem::nodes() const {
  auto nodes = find_nodes(paths_);
  for (auto& node : nodes)
    if (const auto known = std::ranges::find(measured_, node.id, &NumaNode::id); known != measured_.end())
      node.measured = known->measured;
  return nodes;
}

#if defined(TIER_WITH_NUMA)

bool NumaSystem::is_built_in() noexcept { return true; }

std::error_code NumaSystem::supported() const noexcept {
  return ::get_mempolicy(nullptr, nullptr, 0, nullptr, 0) == 0 ? std::error_code{} : last_system_error();
}

std::error_code NumaSystem::try_in_thread(const PagePolicy& policy) const noexcept {
  const ThreadPolicy tried{&policy};
  return tried.error();
}

std::error_code NumaSystem::bind(std::byte* begin, std::size_t size,
                                 const PagePolicy& policy) const noexcept {
  return ::mbind(begin, size, policy.system_mode(), policy.mask().data(), PagePolicy::mask_bits, 0) == 0
             ? std::error_code{}
             : last_system_error();
}

std::error_code NumaSystem::locate(std::span<void*> pages, std::span<int> nodes) const noexcept {
  return ::move_pages(0, pages.size(), pages.data(), nullptr, nodes.data(), 0) == 0 ? std::error_code{}
                                                                                    : last_system_error();
}

#else

bool NumaSystem::is_built_in() noexcept { return false; }
std::error_code NumaSystem::supported() const noexcept {
  return std::make_error_code(std::errc::function_not_supported);
}
std::error_code NumaSystem::try_in_thread(const PagePolicy&) const noexcept {
  return std::make_error_code(std::errc::function_not_supported);
}
std::error_code NumaSystem::bind(std::byte*, std::size_t, const PagePolicy&) const noexcept {
  return std::make_error_code(std::errc::function_not_supported);
}
std::error_code NumaSystem::locate(std::span<void*>, std::span<int>) const noexcept {
  return std::make_error_code(std::errc::function_not_supported);
}

#endif

}  // namespace tier
