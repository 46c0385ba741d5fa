// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Names of the library that argument-dependent lookup of other code may find: with all its headers included, JSON
///        over its allocator behaves as over any other.
#include <doctest/doctest.h>
#include <tier/copy/copy_engine.hpp>
#include <tier/pmr/allocator.hpp>
#include <tier/pmr/arena_resource.hpp>
#include <tier/pmr/container_scopes.hpp>
#include <tier/pmr/containers.hpp>
#include <tier/pmr/copy_in.hpp>
#include <tier/pmr/pool_resource.hpp>
#include <tier/replay/machine_file.hpp>
#include <tier/replay/replay.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/table/row_table.hpp>
#include <tier/tensor/tensor.hpp>
#include <tier/trace/files.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tier::names_test {

namespace {

std::pmr::memory_resource*& json_resource() {
  static std::pmr::memory_resource* resource = nullptr;
  return resource;
}

/// An allocator with a default constructor, because the JSON library makes its allocators without arguments.
template <class T>
struct JsonAllocator : tier::Allocator<T> {
  JsonAllocator() noexcept : tier::Allocator<T>{json_resource()} {}
  template <class U>
  JsonAllocator(const JsonAllocator<U>& other) noexcept : tier::Allocator<T>{other} {}  // NOLINT: implicit
};

using String = std::basic_string<char, std::char_traits<char>, JsonAllocator<char>>;
using Json = nlohmann::basic_json<std::map, std::vector, String, bool, std::int64_t, std::uint64_t, double,
                                  JsonAllocator>;

using Bytes = std::vector<std::byte, tier::Allocator<std::byte>>;

/// A function that a program may define.
std::size_t copy(std::span<const std::byte> from, std::span<std::byte> to) { return from.size() + to.size(); }

}  // namespace

TEST_CASE("JSON over our allocator is parsed, walked through and written") {
  tier::PoolResource pool;
  json_resource() = &pool;
  {
    const Json json = Json::parse(R"({"numbers": [1, 2.5, "a text that is too long to lie in its string"]})");
    std::size_t keys = 0;
    for (auto it = json.begin(); it != json.end(); ++it) keys += it.key().size();
    CHECK(keys == 7);
    const auto text = json.dump();
    CHECK(std::string(text.begin(), text.end()) ==
          R"({"numbers":[1,2.5,"a text that is too long to lie in its string"]})");
    auto other = json;
    swap(other["numbers"][0], other["numbers"][1]);
    CHECK(other["numbers"][1] == 1);
  }
  json_resource() = nullptr;
}

TEST_CASE("a program's own copy of containers over our allocator stays its own") {
  std::pmr::memory_resource* const heap = std::pmr::new_delete_resource();
  Bytes from(3, heap), to(4, heap);
  CHECK(copy(from, to) == 7);
}

}  // namespace tier::names_test
