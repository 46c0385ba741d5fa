// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A memory resource over a mapped file, which the operating system pages, as a comparison.
#include <harness/paged_file.hpp>

#include <boost/interprocess/indexes/iset_index.hpp>
#include <boost/interprocess/managed_external_buffer.hpp>
#include <boost/interprocess/mem_algo/rbtree_best_fit.hpp>
#include <boost/interprocess/sync/mutex_family.hpp>
#include <cstddef>
#include <memory_resource>

namespace pmr_index {

/// Allocates from a `PagedFile` with Boost.Interprocess's best fit.
/// \threadsafety  Externally synchronised.
class MappedResource final : public std::pmr::memory_resource {
 public:
  explicit MappedResource(tier::bench::PagedFile& file, tier::Bytes size)
      : heap_{boost::interprocess::create_only, file.data(), size.count} {}

 private:
  using Heap = boost::interprocess::basic_managed_external_buffer<
      char, boost::interprocess::rbtree_best_fit<boost::interprocess::null_mutex_family>,
      boost::interprocess::iset_index>;

  void* do_allocate(std::size_t size, std::size_t alignment) override {
    return alignment <= alignof(std::max_align_t) ? heap_.allocate(size)
                                                  : heap_.allocate_aligned(size, alignment);
  }
  void do_deallocate(void* p, std::size_t /*size*/, std::size_t /*alignment*/) override {
    heap_.deallocate(p);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  Heap heap_;
};

}  // namespace pmr_index
