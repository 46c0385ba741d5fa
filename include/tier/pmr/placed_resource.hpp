// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Memory in one tier, which stays there.
#include <tier/core/export.hpp>
#include <tier/manager/runtime_ref.hpp>
#include <tier/policy/policy.hpp>

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <string_view>

namespace tier {

/// A memory resource for data whose tier the program chooses: allocates memory in one tier, which never moves.
/// \code{.cpp}
/// tier::PlacedResource slow{runtime, 1};  // or by its name, "emulated:cxl"
/// tier::PoolResource pool{&slow};         // for small allocations
/// std::pmr::vector<std::pmr::string> archive{&pool};
/// archive.emplace_back("a text that is used where it is, in slow memory");
/// \endcode
///
/// The memory counts against the tier's capacity, rounded up to 64 B or as the next paragraph says; making room for it
/// may move other objects. In the fastest tier an allocation is refused if it would leave no room for objects that must
/// be there to be used. Each takes about a microsecond and some 600 B of ordinary memory: put a `PoolResource` over it
/// for small ones.
///
/// If a tier of the runtime has direct I/O, regions are whole blocks of its device, usually 4 KiB. Smaller allocations then
/// share segments of 64 KiB. An empty segment is freed at once, but one is kept while others are in use. If there is no
/// room for a segment, an allocation takes a region of its own.
///
/// Keeps the runtime's core alive. When it ends, remaining allocations are reported on stderr, and freed; a checked
/// build aborts. In the child of a fork nothing can be allocated.
/// \threadsafety  Internally synchronised, except construction and destruction.
class TIER_EXPORT PlacedResource final : public std::pmr::memory_resource {
 public:
  /// \param tier  the tier's index in the runtime; 0 is the fastest
  /// \throws      `ConfigError` for a tier that does not exist or that the CPU cannot address
  PlacedResource(const RuntimeRef& runtime, TierIndex tier);
  /// \param tier  the name in statistics: `dram`, `mapped`, `emulated:cxl`, `numa:2`, which `cxl` may have become; the
  ///              fastest tier of that name
  /// \throws      `ConfigError` naming the runtime's tiers
  PlacedResource(const RuntimeRef& runtime, std::string_view tier);
  PlacedResource(const PlacedResource&) = delete;
  PlacedResource& operator=(const PlacedResource&) = delete;
  ~PlacedResource() override;

  [[nodiscard]] TierIndex tier() const noexcept;

 private:
  class TIER_INTERNAL Placements;

  /// \throws  `OutOfTierMemory`, also for an alignment above 2 MiB, or `TierError` in the child of a fork; nothing has
  ///          changed
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override;
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::unique_ptr<Placements> placements_;
};

}  // namespace tier
