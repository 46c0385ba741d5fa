// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The main program of benchmarks: `--rows FILE [ID...]` measures the promises and writes them as JSON; otherwise it runs
// Google Benchmark.
#include "harness/registry.hpp"

#include <benchmark/benchmark.h>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <tier/core/detail/json_text.hpp>
#include <tier/core/output_file.hpp>
#include <tier/core/standard_streams.hpp>

namespace {

using tier::bench::Row;

nlohmann::ordered_json to_json(const Row& row) {
  return {{"id", row.id},        {"what", row.what},         {"value", row.value},
          {"unit", row.unit},    {"baseline", row.baseline}, {"baseline_value", row.baseline_value},
          {"ratio", row.ratio},  {"reach", row.reach},       {"reached", row.reached},
          {"spread", row.spread}};
}

bool wanted(std::span<char*> ids, const std::string& id) {
  return ids.empty() ||
         std::any_of(ids.begin(), ids.end(), [&](std::string_view wish) { return wish == id; });
}

int write_rows(const char* path, std::span<char*> ids) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& [id, measurement] : tier::bench::registry()) {
    if (!wanted(ids, id)) continue;
    for (Row row : measurement()) {
      row.id = id;  // the id by which it was asked for
      rows.push_back(to_json(row));
    }
  }
  tier::write_file(path, tier::detail::json_text(rows) + '\n');
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  tier::hold_standard_streams();
  const std::span arguments{argv, static_cast<std::size_t>(argc)};
  if (argc >= 3 && std::string_view{arguments[1]} == "--rows")
    return write_rows(arguments[2], arguments.subspan(3));
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
