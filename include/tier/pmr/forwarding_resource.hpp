// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The base of resources that forward to another one.
#include <tier/core/export.hpp>

#include <cstddef>
#include <memory_resource>

namespace tier {

/// The base of resources that pass requests on to upstream, and do one thing more: derive from it to write your own.
/// Scopes and hints see through it: on a container over it they cover the group of upstream.
/// \code{.cpp}
/// class Largest final : public tier::ForwardingResource {
///  public:
///   using ForwardingResource::ForwardingResource;
///   std::size_t bytes = 0;
///
///  private:
///   void* do_allocate(std::size_t size, std::size_t alignment) override {
///     bytes = std::max(bytes, size);
///     return ForwardingResource::do_allocate(size, alignment);
///   }
/// };
/// Largest largest{*std::pmr::new_delete_resource()};
/// \endcode
/// \threadsafety  As upstream.
class TIER_EXPORT ForwardingResource : public std::pmr::memory_resource {
 public:
  /// \pre  `upstream` outlives this resource.
  explicit ForwardingResource(std::pmr::memory_resource& upstream) noexcept : upstream_{upstream} {}

  [[nodiscard]] std::pmr::memory_resource* upstream_resource() const noexcept { return &upstream_; }

 protected:
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

 private:
  std::pmr::memory_resource& upstream_;
};

}  // namespace tier
