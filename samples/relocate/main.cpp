// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  tier-relocate: a hash table changes tiers while the program holds pointers into it.
#include <fmt/format.h>
#include <harness/node_pages.hpp>
#include <tier/core/error.hpp>
#include <tier/core/standard_streams.hpp>
#include <tier/pmr/container_scopes.hpp>
#include <tier/pmr/copy_in.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/pmr/placed_resource.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/hints.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/checked_sizes.hpp"
#include "common/command_line.hpp"
#include "common/hashing.hpp"
#include "common/tier_options.hpp"
#include "terminal/text_table.hpp"

namespace {

using namespace tier::literals;

constexpr tier::TierIndex fast = 0, slow = 1;

/// About the size of a customer's record, so that a table of 1 GiB has some millions.
struct Record {
  std::array<std::uint64_t, 14> words{};
  friend bool operator==(const Record&, const Record&) = default;
};
using Table = std::pmr::unordered_map<std::uint64_t, Record>;
constexpr std::size_t element_bytes = 136;  // a node of libstdc++ with its bucket

struct Options {
  std::string size = "1GiB";
  std::string slow;
};

Record record_of(std::uint64_t key) {
  Record record;
  for (std::size_t i = 0; i < record.words.size(); ++i) record.words[i] = sample::mix(key, i);
  return record;
}

void fill(Table& table, tier::Bytes size) {
  const auto count = size.count / element_bytes;
  table.reserve(count);
  for (std::uint64_t key = 0; key < count; ++key) table.emplace(key, record_of(key));
}

/// Elements all over the table, whose values and addresses must not change when blocks move.
class HeldPointers {
 public:
  HeldPointers(const Table& table, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) pointers_.push_back(&*table.find(sample::mix(i) % table.size()));
  }
  void check(const Table& table) const {
    for (const auto* element : pointers_) {
      if (&*table.find(element->first) != element || element->second != record_of(element->first))
        throw tier::TierError{
            std::make_error_code(std::errc::bad_address),
            fmt::format("the element with key {} has changed, or is elsewhere", element->first)};
    }
  }

 private:
  std::vector<const Table::value_type*> pointers_;
};

double seconds_of(auto&& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Moves equally many bytes of plain memory.   \return  the seconds there and back
std::pair<double, double> time_move_pages(tier::Bytes size, const std::vector<unsigned>& nodes) {
  tier::bench::NodePages pages{size, tier::PageKind::Huge, nodes[0]};
  const auto there = seconds_of([&] { pages.move_pages(nodes[1]); });
  return {there, seconds_of([&] { pages.move_pages(nodes[0]); })};
}

tier::tool::TextRow row(const std::string& what, tier::Bytes size, double there, double back) {
  const auto rate = static_cast<double>(size.count) * 1e-9;
  return {what, fmt::format("{:.3f} s", there), fmt::format("{:.3f} s", back),
          fmt::format("{:.2f}, {:.2f} GB/s", rate / there, rate / back)};
}

/// True if the tier alone can hold containers, without windows.
bool can_hold_containers(const tier::TierSpec& spec) {
  if (spec.kind == tier::TierKind::Emulated) return tier::find_model(spec.model)->addressable;
  return spec.kind != tier::TierKind::File;
}

/// Copies the table, element by element, into memory of the tier.
double time_rebuilding(tier::Runtime& runtime, const Table& table, tier::TierIndex to) {
  tier::PlacedResource placed{runtime, to};
  return seconds_of([&] {
    const auto copy = tier::copy_in(placed, table);
    if (copy.size() != table.size()) throw std::bad_alloc{};
  });
}

int run(const Options& options) {
  const auto size = tier::parse_bytes(options.size);
  if (size < 4_KiB || size.count > sample::most_bytes)
    throw tier::ConfigError{fmt::format("--size {}: allowed are 4KiB to 1024TiB", options.size)};
  const auto room = size / 8 * 10 + 64_MiB;
  // Each tier has room for the table and for a copy of it.
  tier::Runtime runtime{{.tiers = {tier::tiers::dram(room * 2), sample::parse_slow(options.slow, room * 2)}}};
  tier::MigratingResource resource{runtime};
  Table table{&resource};
  fill(table, size);
  const HeldPointers held{table, 16};
  held.check(table);
  const auto bytes = runtime.statistics().tiers[fast].used;
  fmt::print("{} elements in {}\n", table.size(), tier::to_human(bytes));

  std::vector<tier::tool::TextRow> rows{{"", "to the slow tier", "back", ""}};
  const auto there = seconds_of([&] { tier::migrate(table, slow); });
  const auto moved = runtime.statistics().bytes_moved(fast, slow);
  const auto back = seconds_of([&] { tier::migrate(table, fast); });
  rows.push_back(row("tier::migrate", {moved}, there, back));
  held.check(table);
  tier::migrate(table, slow);
  held.check(table);  // in its present tier
  for (std::uint64_t key = 0; key < table.size(); ++key)
    if (table.at(key) != record_of(key))
      throw tier::TierError{std::make_error_code(std::errc::io_error), "the table has changed as it moved"};
  tier::migrate(table, fast);

  std::string skipped;
  const auto nodes = tier::bench::memory_nodes();
  if (nodes.size() > 1) {
    const auto [to, from] = time_move_pages(bytes, nodes);
    rows.push_back(row("move_pages(2)", bytes, to, from));
  } else {
    skipped += "skipped: move_pages(2), since this machine has one node of memory\n";
  }
  if (can_hold_containers(sample::parse_slow(options.slow, size))) {
    const auto to = time_rebuilding(runtime, table, slow);
    rows.push_back(row("rebuilding", bytes, to, time_rebuilding(runtime, table, fast)));
  } else {
    skipped += "skipped: rebuilding, since no container can lie in the slow tier\n";
  }
  fmt::print("{}{}{} of {} moved each way; pointers held meanwhile are valid\n", tier::tool::to_lines(rows),
             skipped, tier::to_human(tier::Bytes{moved}), tier::to_human(bytes));
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  tier::hold_standard_streams();
  Options options;
  CLI::App app{"Relocates a hash table (std::pmr::unordered_map) to the slow tier and back.",
               "tier-relocate"};
  app.add_option("--size", options.size, "Size of the table")->capture_default_str();
  app.add_option("--slow", options.slow, sample::slow_help);
  if (!sample::parse(app, {argv + 1, argv + argc}, std::cout)) return sample::end_with(0);
  return sample::end_with(run(options));
} catch (const tier::ConfigError& error) {
  return sample::fail("tier-relocate", error, 2);
} catch (const std::exception& error) {
  return sample::fail("tier-relocate", error, 1);
}
