// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/trace/tables.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <unordered_map>

namespace tier::trace {
namespace {

/// Returns the number that the text is; none if it is not one as a whole.
std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec != std::errc{} || read.ptr != end) return {};
  return number;
}

/// Removes and returns the part before the next comma.
std::string_view take_part(std::string_view& text) {
  const auto comma = std::min(text.find(','), text.size());
  const auto part = text.substr(0, comma);
  text.remove_prefix(std::min(comma + 1, text.size()));
  return part;
}

}  // namespace

std::vector<bool> homes_of_rows(const Trace& trace) {
  std::vector<bool> homes(trace.tensors().size());
  for (const auto event : trace.events()) {
    if (event.kind != EventKind::Setting) continue;
    const auto key = trace.name(trace.setting(event).key);
    if (!key.starts_with(table_key)) continue;
    const auto id = number_of(key.substr(table_key.size()));
    if (!id) continue;  // another program's setting
    if (const auto tensor = trace.find(*id)) homes[*tensor] = true;
  }
  return homes;
}

std::vector<Table> tables_of(const Trace& trace) {
  std::unordered_map<std::string_view, NameIndex> asked;
  for (const auto event : trace.events())
    if (event.kind == EventKind::RowAccess)
      asked.emplace(trace.name(trace.row_access(event).table), trace.row_access(event).table);
  std::vector<Table> tables;
  for (const auto event : trace.events()) {
    if (event.kind != EventKind::Setting) continue;
    const auto key = trace.name(trace.setting(event).key);
    if (!key.starts_with(rows_key) || !number_of(key.substr(rows_key.size()))) continue;
    auto value = trace.name(trace.setting(event).value);
    const auto rows = number_of(take_part(value)), bytes = number_of(take_part(value));
    constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
    if (!rows || !bytes || *rows == 0 || *bytes == 0 || *rows > most || *bytes > most) continue;
    const auto found = asked.find(value);
    if (found == asked.end()) continue;
    tables.push_back({found->second, *rows, {static_cast<std::size_t>(*bytes)}});
    asked.erase(found);
  }
  return tables;
}

}  // namespace tier::trace
