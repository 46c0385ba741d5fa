// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A resource that logs allocations and deallocations.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory_resource>
#include <tier/core/export.hpp>
#include <tier/pmr/forwarding_resource.hpp>

namespace tier {

/// Shows what a program allocates: calls a function for each allocation and deallocation that passes to an upstream
/// resource.
/// \code{.cpp}
/// tier::LoggingResource logged{*std::pmr::new_delete_resource(), stderr};
/// const std::pmr::vector<int> numbers(1000, &logged);  // allocate,0x7f10a2c0,4000,4
/// \endcode
/// \threadsafety  Internally synchronised if `upstream` and the function are.
class TIER_EXPORT LoggingResource final : public ForwardingResource {
 public:
  enum class Action : std::uint8_t { Allocate, Fail, Deallocate };
  struct Event {
    Action action;
    void* p;  ///< null for an allocation that failed
    std::size_t size, alignment;
  };
  using Sink = std::function<void(const Event&)>;

  /// \param sink  called after an allocation and before a deallocation
  /// \pre         `upstream` outlives this resource; `sink` does not throw, and does not use this resource.
  LoggingResource(std::pmr::memory_resource& upstream, Sink sink)
      : ForwardingResource{upstream}, sink_{std::move(sink)} {}
  /// Writes lines such as `allocate,0x7f10a2c0,100,16`: the action (`allocate`, `fail`, `deallocate`), address, size and
  /// alignment in bytes.
  LoggingResource(std::pmr::memory_resource& upstream, std::FILE* to);

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override;

  Sink sink_;
};

}  // namespace tier
