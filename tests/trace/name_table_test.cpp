// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/name_table.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace tier::name_table_test {

using tier::trace::NameTable;

TEST_CASE("a name keeps its number, and each new name gets the next one") {
  NameTable table;
  CHECK(table.number_of("a") == 1);
  CHECK(table.number_of("b") == 2);
  CHECK(table.number_of("a") == 1);
  CHECK(table.number_of("") == 0);
  CHECK(table.lost() == 0);
}

TEST_CASE("new names are told once, in the order of their numbers") {
  NameTable table;
  std::size_t known = 0;
  std::vector<std::string> told;
  const auto tell = [&] {
    table.for_each_new(known, [&](const std::string& name) { told.push_back(name); });
  };
  for (const auto* name : {"b", "a", "b"}) std::ignore = table.number_of(name);
  tell();
  CHECK(told == std::vector<std::string>{"b", "a"});
  std::ignore = table.number_of("c");
  tell();
  tell();
  CHECK(told == std::vector<std::string>{"b", "a", "c"});
}

TEST_CASE("a name beyond the memory for names is lost and counted, and others keep their numbers") {
  NameTable table;
  CHECK(table.number_of("a") == 1);
  CHECK(table.number_of(std::string(std::size_t{65} << 20, 'x')) == 0);
  CHECK(table.lost() == 1);
  CHECK(table.number_of("a") == 1);
  CHECK(table.number_of("b") == 2);
}

}  // namespace tier::name_table_test
