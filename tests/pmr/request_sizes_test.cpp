// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Requests near the largest number: no resource rounds one up to nothing.
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/core/request_size.hpp>
#include <tier/pmr/allocator.hpp>
#include <tier/tensor/tensor.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>
#include <string>
#include <tuple>
#include <vector>

#include "pmr/rigs.hpp"
#include "support/message_of.hpp"

namespace tier::request_sizes_test {
namespace {

using namespace test::rigs;

/// An upstream that is as careless as some are: it rounds up sizes, which may wrap.
class RoundingResource final : public std::pmr::memory_resource {
 public:
  [[nodiscard]] std::size_t largest_asked() const noexcept { return largest_asked_; }

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    largest_asked_ = std::max({largest_asked_, size, alignment});
    return std::pmr::new_delete_resource()->allocate((size + alignment - 1) & ~(alignment - 1), alignment);
  }
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override {
    std::pmr::new_delete_resource()->deallocate(p, (size + alignment - 1) & ~(alignment - 1), alignment);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::size_t largest_asked_ = 0;
};

std::vector<std::size_t> huge_sizes() {
  constexpr std::size_t all = SIZE_MAX, half = PTRDIFF_MAX;
  std::vector<std::size_t> sizes{half, half + 1, half + 2};
  for (const std::size_t below : {0, 1, 7, 62, 63, 64, 4094, 4095, 4096, 65535, 65536, 2 << 20})
    sizes.push_back(all - below);
  return sizes;
}

void refuses_huge_sizes(std::pmr::memory_resource& resource) {
  for (const auto size : huge_sizes())
    for (const std::size_t alignment : {1, 8, 64, 4096, 65536, 2 << 20}) {
      CAPTURE(size);
      CAPTURE(alignment);
      CHECK_THROWS_AS(std::ignore = resource.allocate(size, alignment), std::bad_alloc);
    }
  resource.deallocate(resource.allocate(100'000, 64), 100'000, 64);
}

TEST_CASE_TEMPLATE("a resource passes no request on that is above PTRDIFF_MAX", Resource, PoolResource,
                   GroupResource, LimitingResource, StatisticsResource, LoggingResource,
                   FailureCallbackResource, ForwardingResource, FromBoostResource) {
  RoundingResource upstream;
  std::size_t asked_for_help = 0, failed = 0;
  const auto check = [&](auto&& resource) {
    refuses_huge_sizes(resource);
    CHECK(upstream.largest_asked() < PTRDIFF_MAX);
    CHECK(asked_for_help == 0);
  };
  if constexpr (std::is_same_v<Resource, PoolResource>) {
    check(PoolResource{&upstream});
  } else if constexpr (std::is_same_v<Resource, LimitingResource>) {
    check(LimitingResource{upstream, Bytes{SIZE_MAX}});
  } else if constexpr (std::is_same_v<Resource, LoggingResource>) {
    check(LoggingResource{upstream, [&](const LoggingResource::Event& event) {
                            failed += event.action == LoggingResource::Action::Fail;
                          }});
    CHECK(failed == huge_sizes().size() * 6);
  } else if constexpr (std::is_same_v<Resource, FailureCallbackResource>) {
    check(FailureCallbackResource{upstream, [&](Bytes) { return ++asked_for_help < 10; }});
  } else if constexpr (std::is_same_v<Resource, FromBoostResource>) {
    ToBoostResource boost{upstream};
    check(FromBoostResource{boost});
  } else {
    Resource resource{upstream};
    check(resource);
    if constexpr (std::is_same_v<Resource, StatisticsResource>)
      CHECK(resource.statistics().failures == huge_sizes().size() * 6);
  }
}

TEST_CASE_TEMPLATE("a resource over tiers refuses what is above PTRDIFF_MAX, and goes on", Rig, PlacedRig,
                   PoolOnPlacedRig, MigratingRig, GroupRig, ReusingArenaRig, MonotonicArenaRig) {
  if (!can_have<Rig>()) return;
  Rig rig;
  refuses_huge_sizes(rig.resource);
}

TEST_CASE("an allocator asks its resource for no more bytes than PTRDIFF_MAX") {
  RoundingResource upstream;
  Allocator<double> allocator{&upstream};
  for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 8, SIZE_MAX / 8 + 2, std::size_t{PTRDIFF_MAX} / 8 + 1})
    CHECK_THROWS_AS(std::ignore = allocator.allocate(count), std::bad_array_new_length);
  CHECK(upstream.largest_asked() == 0);
}

TEST_CASE("a tensor of more bytes than PTRDIFF_MAX is refused wherever it would be") {
  Runtime runtime{{.tiers = {tiers::dram(16_MiB)}, .movers = 0}};
  RoundingResource upstream;
  for (const std::size_t extent : {std::size_t{1} << 59, std::size_t{1} << 60, (std::size_t{1} << 59) - 1}) {
    CAPTURE(extent);
    const Shape shape{extent, 4};
    CHECK_THROWS_AS((Tensor<float>{runtime, shape}), OutOfTierMemory);
    CHECK_THROWS_AS((Tensor<float>{upstream, shape}), std::bad_alloc);
    if (test::has_windows()) CHECK_THROWS_AS((Tensor<float>{runtime, shape, windowed}), std::bad_alloc);
  }
  CHECK_THROWS_AS((Shape{SIZE_MAX, 2}), ConfigError);
}

TEST_CASE("an allocator without a resource allocates nothing, and never from the default resource") {
  std::vector<int, Allocator<int>> numbers;
  CHECK(numbers.get_allocator().resource() == nullptr);
  CHECK(test::message_of<ConfigError>([&] { numbers.push_back(1); }) ==
        "a tier::Allocator without a memory resource cannot allocate: make the container with one, as in "
        "vector(&resource)");
  CHECK(numbers.empty());
  const Allocator<int> none, heap{std::pmr::new_delete_resource()};
  CHECK(none == Allocator<char>{});
  CHECK(none != heap);
  CHECK(heap != none);
  CHECK(heap == Allocator<char>{std::pmr::new_delete_resource()});
  numbers = std::vector<int, Allocator<int>>{
      {1, 2}, std::pmr::new_delete_resource()};  // moved: the resource comes along
  numbers.push_back(3);
  CHECK(numbers.size() == 3);
  CHECK(numbers.get_allocator() == heap);
}

}  // namespace
}  // namespace tier::request_sizes_test
