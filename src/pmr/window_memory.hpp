// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory in which each allocation is an object with a window.
#include <tier/manager/manager.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <string>
#include <string_view>
#include <utility>

namespace tier::detail {

inline constexpr std::size_t largest_window_alignment = std::size_t{2} << 20;
/// \throws  `OutOfTierMemory` for a larger alignment than windows have
void check_window_alignment(std::size_t alignment);
/// \throws  `OutOfTierMemory` for a size that exceeds any address space
void check_window_size(std::size_t size);

/// Allocates memory in the units that move: slabs and large allocations. The manager finds an allocation's object by its
/// address, so that nothing is recorded here.
/// \threadsafety  As the manager.
class WindowMemory final : public std::pmr::memory_resource {
 public:
  WindowMemory(std::shared_ptr<Manager> manager, std::string_view name)
      : manager_{std::move(manager)}, name_{name} {}

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override;
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::shared_ptr<Manager> manager_;
  std::string name_;
};

}  // namespace tier::detail
