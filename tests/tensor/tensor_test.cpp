// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/message_of.hpp"
#include "support/test_manager.hpp"

#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <numeric>
#include <string>
#include <vector>

namespace tier::tensor_test {
namespace {

using namespace literals;

/// Counts allocations that are not yet freed.
class CountingResource final : public std::pmr::memory_resource {
 public:
  [[nodiscard]] std::size_t outstanding() const noexcept { return outstanding_; }

 private:
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    outstanding_ += size;
    return std::pmr::new_delete_resource()->allocate(size, alignment);
  }
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override {
    outstanding_ -= size;
    std::pmr::new_delete_resource()->deallocate(p, size, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::size_t outstanding_ = 0;
};

template <class T>
void count_up(Tensor<T>& tensor) {
  WriteScope out{overwrites(tensor)};
  const auto elements = out[tensor].elements();
  std::iota(elements.begin(), elements.end(), T{});
}
template <class T>
std::vector<T> elements_of(const Tensor<T>& tensor) {
  ReadScope in{tensor};
  const auto elements = in[tensor].elements();
  return {elements.begin(), elements.end()};
}

static_assert(!std::is_copy_constructible_v<Tensor<float>> && !std::is_copy_assignable_v<Tensor<float>>);
static_assert(std::is_nothrow_move_constructible_v<Tensor<float>>);
static_assert(std::is_convertible_v<TensorView<float>, TensorView<const float>>);
static_assert(!std::is_convertible_v<TensorView<const float>, TensorView<float>>);

}  // namespace

TEST_CASE("a tensor tells its shape in elements and its size in bytes") {
  const auto manager = test::make_manager({tiers::dram(4_MiB)});
  const Tensor<double> t{manager, {2, 3, 5}, "t"};
  CHECK(t.rank() == 3);
  CHECK(t.extent(1) == 3);
  CHECK(t.count() == 30);
  CHECK(t.size_bytes() == Bytes{240});
  CHECK(manager->object_statistics().at(0).name == "t");
  CHECK(Tensor<float>{manager, {}}.count() == 1);
}

TEST_CASE("views index row by row, in every rank up to eight") {
  const auto manager = test::make_manager({tiers::dram(4_MiB)});
  Tensor<int> t{manager, {2, 3, 4, 1, 2, 1, 2, 3}};
  count_up(t);
  ReadScope in{t};
  const auto view = in[t];
  int expected = 0;
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t b = 0; b < 3; ++b)
      for (std::size_t c = 0; c < 4; ++c)
        for (std::size_t e = 0; e < 2; ++e)
          for (std::size_t g = 0; g < 2; ++g)
            for (std::size_t h = 0; h < 3; ++h) CHECK(view(a, b, c, 0, e, 0, g, h) == expected++);
  CHECK(view.strides()[0] == 144);
  CHECK(view.strides()[7] == 1);
}

TEST_CASE("every tensor begins at a multiple of 64 bytes, whatever its size") {
  const auto manager = test::make_manager({tiers::dram(4_MiB), tiers::file("/var/tmp", 4_MiB)});
  std::vector<Tensor<char>> kept;
  for (const std::size_t n : {1UL, 63UL, 64UL, 65UL, 4095UL, 4096UL, 4097UL, 100000UL}) {
    kept.emplace_back(manager, Shape{n});
    ReadScope in{kept.back()};
    CHECK(reinterpret_cast<std::uintptr_t>(in[kept.back()].data()) % 64 == 0);
  }
}

TEST_CASE("a tensor without elements takes part like any other") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  Tensor<float> t{manager, {4, 0, 3}};
  CHECK(t.count() == 0);
  {
    WriteScope out{overwrites(t)};
    CHECK(out[t].elements().empty());
  }
  CHECK(t.clone().shape() == t.shape());
}

TEST_CASE("reshaping a view or a tensor keeps the elements, and refuses another number of them") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  Tensor<int> t{manager, {2, 6}};
  count_up(t);
  const auto object = t.object();
  {
    ReadScope in{t};
    CHECK(in[t].reshaped({3, 4})(2, 1) == 9);
    CHECK(test::message_of([&] { std::ignore = in[t].reshaped({5}); }).find("[2, 6] cannot become [5]") !=
          std::string::npos);
  }
  CHECK_THROWS_AS(std::ignore = std::move(t).reshaped({7}), ConfigError);
  CHECK(t.count() == 12);  // unchanged
  auto reshaped = std::move(t).reshaped({4, 3});
  CHECK(reshaped.object() == object);
  CHECK(ReadScope{reshaped}[reshaped](3, 0) == 9);
}

TEST_CASE("a clone has the same elements and a life of its own") {
  const auto manager = test::make_manager({tiers::dram(1_MiB), tiers::file("/var/tmp", 4_MiB)});
  CountingResource resource;
  std::vector<int> mine(1000);
  SUBCASE("of an object") {
    Tensor<int> t{manager, {10, 100}};
    count_up(t);
    auto copy = t.clone("copy");
    const auto before = elements_of(t);
    CHECK(copy.shape() == t.shape());
    CHECK(elements_of(copy) == before);
    CHECK(copy.object() != t.object());
    { WriteScope{copy}[copy](9, 99) = -1; }
    CHECK(elements_of(t) == before);
    CHECK(manager->object_statistics().size() == 2);
  }
  SUBCASE("of memory from a resource") {
    Tensor<int> t{resource, {1000}};
    count_up(t);
    const auto copy = t.clone();
    CHECK(resource.outstanding() == 8000);
    CHECK(elements_of(copy) == elements_of(t));
  }
  SUBCASE("of memory of the program") {
    auto t = Tensor<int>::wrap(mine.data(), {1000});
    count_up(t);
    const auto copy = t.clone();
    mine[0] = -1;
    CHECK(elements_of(copy)[0] == 0);
    CHECK(elements_of(copy)[999] == 999);
  }
  CHECK(resource.outstanding() == 0);
}

TEST_CASE("a clone of memory of the program is aligned as its elements are to be") {
  struct alignas(4096) Page {
    std::array<char, 4096> bytes;
  };
  Page mine{};
  const auto t = Tensor<Page>::wrap(&mine, {1});
  std::vector<Tensor<Page>> clones;
  for (int i = 0; i < 8; ++i) {
    clones.push_back(t.clone());
    const ReadScope in{clones.back()};
    CHECK(reinterpret_cast<std::uintptr_t>(in[clones.back()].data()) % 4096 == 0);
  }
}

TEST_CASE("a tensor frees what it owns once, however it moves") {
  CountingResource resource;
  {
    Tensor<float> a{resource, {100}}, b{resource, {50}};
    CHECK(resource.outstanding() == 600);
    a = std::move(b);
    CHECK(resource.outstanding() == 200);
    const Tensor<float> c{std::move(a)};
    CHECK(resource.outstanding() == 200);
  }
  CHECK(resource.outstanding() == 0);
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  Tensor<float> x{manager, {100}};
  x = Tensor<float>{manager, {50}};
  CHECK(manager->statistics().objects == 1);
}

TEST_CASE("a shape that is too large or has too many dimensions is refused by name") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  const auto huge = std::numeric_limits<std::size_t>::max();
  CHECK(test::message_of([&] {
          std::ignore = Shape{huge, 2};
        }).find("more elements than 64 bits") != std::string::npos);
  CHECK((Shape{huge, 0}).count() == 0);
  CHECK(test::message_of([&] { std::ignore = Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}; }).find("9 dimensions") !=
        std::string::npos);
  const auto bytes = [&] { Tensor<double>{manager, {huge / 4}}; };
  CHECK_THROWS_AS(bytes(), OutOfTierMemory);
  CHECK(test::message_of(bytes).find("more bytes") != std::string::npos);
  CHECK_THROWS_AS((Tensor<double>{manager, {huge / 32}}), OutOfTierMemory);
  CHECK_THROWS_AS((Tensor<float>{manager, {1, 300'000}, "large"}), OutOfTierMemory);
  CHECK(test::message_of([&] {
          Tensor<float>{manager, {300'000}, "large"};
        }).find("large") != std::string::npos);
  CHECK(manager->statistics().objects == 0);
  manager->check_invariants();
}

TEST_CASE("tensors larger than fast memory in sum keep their elements") {
  const auto manager = test::make_manager({tiers::dram(1_MiB), tiers::file("/var/tmp", 16_MiB)});
  std::vector<Tensor<float>> t;
  for (std::size_t i = 0; i < 8; ++i) {
    t.emplace_back(manager, Shape{128, 1024});
    WriteScope out{overwrites(t[i])};
    std::ranges::fill(out[t[i]].elements(), static_cast<float>(i));
  }
  const auto copy = t[3].clone();
  for (std::size_t i = 0; i < 8; ++i) CHECK(ReadScope{t[i]}[t[i]](127, 1023) == static_cast<float>(i));
  CHECK(ReadScope{copy}[copy](0, 0) == 3);
}

}  // namespace tier::tensor_test
