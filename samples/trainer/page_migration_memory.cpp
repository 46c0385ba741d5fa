// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trainer/page_migration_memory.hpp"

#include <fmt/format.h>
#include <tier/core/bytes.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

namespace training {
namespace {

constexpr std::size_t row = 4096;  // bytes

}  // namespace

PageMigrationMemory::PageMigrationMemory(const tier::RuntimeOptions& options)
    : PlainMemory{[this](std::size_t bytes) { return add_area(bytes); }}, runtime_{options} {}

/// Touches the area before use, as plain memory does. The last row stays unused, so that no piece spans two areas.
std::byte* PageMigrationMemory::add_area(std::size_t bytes) {
  const tier::Shape shape{(bytes + row - 1) / row + 1, row / sizeof(float)};
  auto& area = areas_.emplace_back(Area{{runtime_, shape, tier::windowed, "pages"}, {}});
  if (areas_.size() == 1) say_if_restricted();
  for (const auto* block : area.tensor.object().object->blocks)
    area.ends.push_back((area.ends.empty() ? 0 : area.ends.back()) + block->size);
  std::memset(area.data(), 0, bytes);
  return area.data();
}

void PageMigrationMemory::say_if_restricted() const {
  if (runtime_.statistics().windows == tier::WindowMode::Restricted)
    fmt::print(stderr,
               "tier-train: windows are restricted here (`tier info` says why): the system pages instead of "
               "libtier, and an emulated tier adds no time for that, so the times of page_migration are not "
               "comparable\n");
}

PageMigrationMemory::Rows PageMigrationMemory::rows_of(const std::byte* data, std::size_t bytes) {
  auto& area = *std::ranges::find_if(
      areas_, [&](const Area& a) { return data >= a.data() && data < a.data() + a.ends.back(); });
  const auto begin = static_cast<std::size_t>(data - area.data());
  return {&area, begin / row, (begin + bytes + row - 1) / row};
}

void PageMigrationMemory::count(const Rows& rows) {
  const auto& ends = rows.area->ends;
  auto block = std::ranges::upper_bound(ends, rows.begin * row);
  for (; block != ends.end(); ++block) {
    const auto begin = block == ends.begin() ? 0 : *std::prev(block);
    if (begin >= rows.end * row) break;
    ++operands_.count;
    operands_.bytes += *block - begin;
  }
}

void PageMigrationMemory::run(std::string_view kernel, std::span<const SlotUse> uses, const Body& body) {
  PlainMemory::run(kernel, uses, [&](std::span<std::byte* const> data) {
    std::vector<tier::Scope> scopes;
    scopes.reserve(uses.size());
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const auto rows = rows_of(data[i], bytes_of(uses[i].slot).size());
      count(rows);
      auto& tensor = rows.area->tensor;
      if (uses[i].role == Role::Reads)
        scopes.push_back(tier::ReadScope{std::as_const(tensor).rows(rows.begin, rows.end)});
      else
        scopes.push_back(tier::WriteScope{tensor.rows(rows.begin, rows.end)});
    }
    body(data);
  });
}

}  // namespace training
