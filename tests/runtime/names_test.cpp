// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Names that are not valid UTF-8.
#include <doctest/doctest.h>
#include <tier/runtime/row_policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/table/row_table.hpp>
#include <tier/tensor/tensor.hpp>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace tier::names_test {

TEST_CASE("JSON has a name's bytes that are not UTF-8 as replacement characters, whoever gave the name") {
  const std::pair<std::string, std::string> names[] = {{"gr\xfc\xdf", "gr\ufffd\ufffd"},
                                                       {"\xed\xa0\x80", "\ufffd\ufffd\ufffd"},
                                                       {std::string{"a\0b\n", 4}, {"a\0b\n", 4}}};
  for (const auto& [name, shown] : names) {
    RuntimeOptions options;
    options.tiers = {tiers::dram(8_MiB), tiers::simulated("nvme", 16_MiB)};
    Runtime runtime{std::move(options)};
    const Tensor<int> tensor{runtime, {1000}, name};
    TableOptions of_table;
    of_table.rows = 1000;
    of_table.dim = 8;
    of_table.slots = 100;
    of_table.policy = make_row_policy("lru");
    of_table.name = name;
    const RowTable<float> table{runtime.manager(), std::move(of_table)};
    const auto statistics = runtime.statistics();
    CHECK(nlohmann::json::parse(statistics.to_json())["tables"][0]["name"] == shown);
    CHECK(nlohmann::json::parse(to_json(runtime.object_statistics(), statistics))[0]["name"] == shown);
  }
}

}  // namespace tier::names_test
