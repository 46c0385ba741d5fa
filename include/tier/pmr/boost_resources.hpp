// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Between the memory resources of the standard and those of Boost.Container, which are two types.
#include <tier/core/standard.hpp>

#include <boost/container/pmr/memory_resource.hpp>
#include <cstddef>
#include <memory_resource>
#include <tier/core/request_size.hpp>

namespace tier {

namespace detail {
/// A resource of type `To` over one of type `From`. Two over equal resources are equal.
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

/// A resource of the standard's that draws from one of Boost's.
/// \threadsafety  As upstream's.
using FromBoostResource =
    detail::ResourceAdaptor<std::pmr::memory_resource, boost::container::pmr::memory_resource>;
/// A resource of Boost's that draws from one of the standard's, as all of ours are.
/// \threadsafety  As upstream's.
using ToBoostResource =
    detail::ResourceAdaptor<boost::container::pmr::memory_resource, std::pmr::memory_resource>;

}  // namespace tier
