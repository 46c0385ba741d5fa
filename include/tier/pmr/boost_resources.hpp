// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Adaptors between the memory resources of the standard and those of Boost.Container, which are two types.
#include <tier/core/standard.hpp>

#include <boost/container/pmr/memory_resource.hpp>
#include <cstddef>
#include <memory_resource>
#include <tier/core/request_size.hpp>

namespace tier {

namespace detail {
/// Makes a resource of type `From` usable as one of type `To`. Adaptors over equal resources are equal.
template <class To, class From>
class ResourceAdaptor final : public To {
 public:
  /// \pre  `upstream` outlives this resource.
  explicit ResourceAdaptor(From& upstream) noexcept : upstream_{upstream} {}

  [[nodiscard]] From* upstream_resource() const noexcept { return &upstream_; }

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    check_request(size, alignment);
    return upstream_.allocate(size, alignment);
  }
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) override {
    upstream_.deallocate(p, size, alignment);
  }
  [[nodiscard]] bool do_is_equal(const To& other) const noexcept override {
    const auto* const adaptor = dynamic_cast<const ResourceAdaptor*>(&other);
    return adaptor != nullptr && upstream_.is_equal(adaptor->upstream_);
  }

  From& upstream_;
};
}  // namespace detail

/// Makes a Boost resource usable as a standard one, so that this library's can draw from it.
/// \threadsafety  As upstream.
using FromBoostResource =
    detail::ResourceAdaptor<std::pmr::memory_resource, boost::container::pmr::memory_resource>;
/// Makes a standard resource, such as any of this library, usable as a Boost one.
/// \code{.cpp}
/// tier::MigratingResource memory{runtime};
/// tier::ToBoostResource adapted{memory};
/// boost::container::pmr::memory_resource& for_boost = adapted;
/// void* const p = for_boost.allocate(1000, 16);
/// for_boost.deallocate(p, 1000, 16);
/// \endcode
/// \threadsafety  As upstream.
using ToBoostResource =
    detail::ResourceAdaptor<boost::container::pmr::memory_resource, std::pmr::memory_resource>;

}  // namespace tier
