// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/pmr/allocator.hpp>
#include <tier/pmr/containers.hpp>
#include <tier/pmr/copy_in.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "support/upstream_resource.hpp"

namespace tier::containers_test {
namespace {

using test::UpstreamResource;

template <class T>
using Vector = std::vector<T, Allocator<T>>;

/// Memory that is filled with a pattern when it is allocated.
class Patterned final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t size, std::size_t alignment) override {
    return std::memset(std::pmr::new_delete_resource()->allocate(size, alignment), 0x5A, size);
  }
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(p, size, alignment);
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override {
    return this == &other;
  }
};

/// While this lives, the default resource has no memory.
class NoDefaultResource {
 public:
  NoDefaultResource() = default;
  ~NoDefaultResource() { std::pmr::set_default_resource(before_); }
  NoDefaultResource(const NoDefaultResource&) = delete;
  NoDefaultResource& operator=(const NoDefaultResource&) = delete;

 private:
  std::pmr::memory_resource* before_ = std::pmr::set_default_resource(std::pmr::null_memory_resource());
};

// Types that copy_in accepts and refuses: pairs, tuples and `std::pmr` containers pass the resource on, others do not.
using Text = std::pmr::string;
template <class T>
constexpr bool reached = detail::passes_allocator_on<std::pmr::vector<T>>();
static_assert(reached<int> && reached<std::string> && reached<Text> && reached<std::unique_ptr<Text>>);
static_assert(reached<std::pair<int, std::tuple<Text, std::pmr::map<Text, int>>>>);
static_assert(reached<std::optional<int>> && reached<std::array<std::variant<int, std::string>, 2>>);
static_assert(!reached<std::optional<Text>> && !reached<std::variant<int, Text>>);
static_assert(!reached<std::array<Text, 2>> && !reached<std::pair<int, std::optional<Text>>>);
static_assert(!reached<std::tuple<int, std::array<std::pair<int, Text>, 2>>>);
static_assert(!reached<std::vector<Text>> && !reached<std::pmr::map<int, std::optional<Text>>>);
static_assert(!reached<Vector<int>>);  // draws from a resource that is not passed on
static_assert(!detail::draws_from_resource<std::pair<int, std::optional<std::string>>>());
static_assert(detail::draws_from_resource<std::pair<int, std::optional<Text>>>());

/// A recursive container.
struct Tree : std::pmr::map<int, Tree> {
  using map::map;
};
static_assert(reached<Tree> && detail::draws_from_resource<Tree>());

/// An allocator-aware type, so that its parts use the container's resource.
struct Named {
  using allocator_type = std::pmr::polymorphic_allocator<>;
  Named(const std::string& text, const allocator_type& allocator) : name{text, allocator} {}
  Named(const Named& other, const allocator_type& allocator) : name{other.name, allocator} {}
  Named(const Named&) = default;
  Named(Named&&) = default;
  Named(Named&& other, const allocator_type& allocator) : name{std::move(other.name), allocator} {}

  Text name;
};

}  // namespace

TEST_CASE("an allocator draws from its resource, and equals others over an equal one") {
  UpstreamResource one, other;
  Vector<int> vector({1, 2, 3}, &one);
  CHECK(one.outstanding_bytes() == 3 * sizeof(int));
  CHECK(Allocator<int>{&one} == Allocator<double>{&one});
  CHECK(Allocator<int>{&one} != Allocator<int>{&other});
  CHECK_THROWS_AS(std::ignore = Allocator<int>{&one}.allocate(std::size_t(-1) / 2),
                  std::bad_array_new_length);
  std::map<int, int, std::less<>, Allocator<std::pair<const int, int>>> map{&one};
  map[1] = 2;
  CHECK(one.outstanding() == 2);
}

TEST_CASE("an allocator moves and swaps with its container, and stays where the container is assigned to") {
  UpstreamResource one, other;
  Vector<int> a({1, 2, 3}, &one), b({4}, &other);
  const int* const data = a.data();
  b = std::move(a);
  CHECK(b.data() == data);
  CHECK(b.get_allocator().resource() == &one);
  CHECK(other.outstanding() == 0);
  Vector<int> c({5, 6}, &other);
  swap(b, c);
  CHECK(b.get_allocator().resource() == &other);
  CHECK(c.data() == data);
  b = c;
  CHECK(b.get_allocator().resource() == &other);
  CHECK(b == c);
  const Vector<int> copy{c};
  CHECK(copy.get_allocator().resource() == &one);
}

TEST_CASE("our vector leaves new elements as they are, unless they are given a value") {
  Patterned resource;
  containers::vector<unsigned char> vector(4, &resource);
  CHECK(std::ranges::count(vector, 0x5A) == 4);
  vector.resize(100);
  CHECK(std::ranges::count(vector, 0x5A) == 100);
  vector.resize(200, 7);
  CHECK(std::ranges::count(vector, 7) == 100);
  containers::vector<std::string> strings(3, &resource);  // these have constructors
  CHECK(std::ranges::count(strings, "") == 3);
}

TEST_CASE("each container alias draws from its resource and gives all back") {
  UpstreamResource upstream;
  containers::vector<int> vector{&upstream};
  vector.push_back(1);
  containers::small_vector<int, 4> small{&upstream};
  const auto before = upstream.outstanding();
  for (int i = 0; i < 4; ++i) small.push_back(i);
  CHECK(upstream.outstanding() == before);
  small.push_back(4);
  CHECK(upstream.outstanding() == before + 1);
  containers::flat_map<int, std::string> map{&upstream};
  map.emplace(2, "two");
  CHECK(map.at(2) == "two");
  containers::flat_set<int> set{&upstream};
  set.insert(3);
  CHECK(set.contains(3));
  containers::stable_vector<int> stable{&upstream};
  stable.push_back(4);
  const int* const first = &stable.front();
  for (int i = 0; i < 100; ++i) stable.push_back(i);
  CHECK(&stable.front() == first);
#if __has_include(<boost/container/devector.hpp>)
  containers::devector<int> both{&upstream};
  both.push_front(5);
  CHECK(both.back() == 5);
#endif
}

TEST_CASE("copy_in copies a container with all that is in it, and touches no other resource") {
  UpstreamResource from, to;
  using Texts = std::pmr::vector<std::pmr::string>;
  std::pmr::unordered_map<std::pmr::string, Texts> map{&from};
  const std::string long_text(100, 'x');
  map[std::pmr::string{long_text, &from}].emplace_back(long_text);
  const std::pair pair{1, Texts({std::pmr::string{long_text}}, &from)};
  const NoDefaultResource none;
  const auto copy = copy_in(to, map);
  CHECK(copy == map);
  const auto& [key, texts] = *copy.begin();
  CHECK(copy.get_allocator().resource() == &to);
  CHECK(key.get_allocator().resource() == &to);
  CHECK(texts.get_allocator().resource() == &to);
  CHECK(texts.front().get_allocator().resource() == &to);
  CHECK(copy_in(to, pair).second.front().get_allocator().resource() == &to);
}

TEST_CASE("copy_in reaches what is in tuples, and members of types that take an allocator") {
  UpstreamResource from, to;
  const std::string long_text(100, 'x');
  std::pmr::vector<std::tuple<int, Text>> tuples{&from};
  tuples.emplace_back(1, long_text);
  std::pmr::list<Named> named{&from};
  named.emplace_back(long_text);
  const NoDefaultResource none;
  const auto copied_tuples = copy_in(to, tuples);
  CHECK(std::get<1>(copied_tuples.front()).get_allocator().resource() == &to);
  const auto copied_named = copy_in(to, named);
  CHECK(copied_named.front().name.get_allocator().resource() == &to);
  CHECK(copied_named.front().name == long_text.c_str());
}

TEST_CASE("copy_in copies containers over our allocator, too") {
  UpstreamResource from, to;
  const std::list<int, Allocator<int>> list({1, 2, 3}, &from);
  const auto copy = copy_in(to, list);
  CHECK(copy == list);
  CHECK(copy.get_allocator().resource() == &to);
  const containers::vector<int> vector({1, 2}, &from);
  CHECK(copy_in(to, vector).get_allocator().resource() == &to);
}

TEST_CASE("copy_in leaves nothing in the resource when that fails") {
  UpstreamResource from, to;
  const std::pmr::vector<std::pmr::string> texts(10, std::pmr::string(100, 'x', &from), &from);
  for (std::size_t n = 0; n < 11; ++n) {
    to.fail_after(n);
    CHECK_THROWS_AS(std::ignore = copy_in(to, texts), std::bad_alloc);
    CHECK(to.outstanding() == 0);
  }
  to.succeed();
  CHECK(copy_in(to, texts) == texts);
}

}  // namespace tier::containers_test
