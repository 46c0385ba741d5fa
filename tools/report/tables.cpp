// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tables.hpp"

#include <algorithm>

#include "labels.hpp"
#include "times.hpp"

namespace tier::tool::report {

using trace::EventKind;
using trace::Trace;

std::vector<MigrationRow> migration_rows(const Trace& trace, const Tiers& tiers) {
  Rows<std::uint64_t, MigrationRow> rows;
  for (const auto event : trace.events()) {
    if (event.kind != EventKind::Migration) continue;
    const auto& m = trace.migration(event);
    const std::uint64_t from = tiers.number(m.from), to = tiers.number(m.to);
    const auto key = (from * tiers.count() + to) * cause_count + static_cast<std::size_t>(m.cause);
    auto& row = rows.at(key, [&] {
      return MigrationRow{
          .from = std::string{trace.name(m.from)}, .to = std::string{trace.name(m.to)}, .cause = m.cause};
    });
    ++row.count;
    if (m.size == Bytes{}) ++row.uncopied;
    row.bytes = saturating_sum(row.bytes, m.size.count);
    row.time = saturating_sum(row.time, m.duration.count());
  }
  std::ranges::stable_sort(rows.all(), std::greater{}, [](const auto& r) {
    return std::pair{r.bytes, r.count};
  });
  return std::move(rows.all());
}

std::vector<ObjectRow> object_rows(const Trace& trace) {
  Rows<std::uint64_t, ObjectRow> rows;
  std::vector<bool> counted(trace.tensors().size());
  for (const auto event : trace.events()) {
    if (event.kind != EventKind::Migration) continue;
    const auto& m = trace.migration(event);
    auto& row = rows.at(label_of_object(trace, m.tensor),
                        [&] { return ObjectRow{.name = text_of_object(trace, m.tensor)}; });
    if (!counted[m.tensor]) ++row.objects;
    counted[m.tensor] = true;
    row.size = std::max<std::uint64_t>(row.size, trace.tensor(m.tensor).size.count);
    ++row.moves;
    row.bytes = saturating_sum(row.bytes, m.size.count);
    auto& of_cause = row.bytes_by_cause.at(static_cast<std::size_t>(m.cause));
    of_cause = saturating_sum(of_cause, m.size.count);
  }
  std::ranges::stable_sort(rows.all(), std::greater{}, [](const auto& r) {
    return std::pair{r.bytes, r.moves};
  });
  return std::move(rows.all());
}

std::vector<StallRow> stall_rows(const Trace& trace) {
  Rows<std::string, StallRow> rows;
  for (const auto event : trace.events()) {
    if (event.kind != EventKind::Stall) continue;
    const auto& s = trace.stall(event);
    const auto scope = text_of_scope(trace.name(s.scope));
    auto& row = rows.at(scope, [&] { return StallRow{.scope = scope, .causes = {}}; });
    ++row.count;
    row.time = saturating_sum(row.time, s.duration.count());
    row.longest = std::max<Time>(row.longest, s.duration.count());
    const auto cause = trace.name(s.cause);
    auto found = std::ranges::find(row.causes, cause, &std::pair<std::string, Time>::first);
    if (found == row.causes.end()) found = row.causes.insert(found, {std::string{cause}, 0});
    found->second = saturating_sum(found->second, s.duration.count());
  }
  for (auto& row : rows.all())
    std::ranges::stable_sort(row.causes, std::greater{}, &std::pair<std::string, Time>::second);
  std::ranges::stable_sort(rows.all(), std::greater{}, &StallRow::time);
  return std::move(rows.all());
}

std::vector<LargeRow> large_rows(const Trace& trace) {
  Rows<std::uint64_t, LargeRow> rows;
  for (trace::TensorIndex tensor = 0; tensor < trace.tensors().size(); ++tensor) {
    const auto& made = trace.tensor(tensor);
    auto& row = rows.at(label_of_object(trace, tensor),
                        [&] { return LargeRow{.name = text_of_object(trace, tensor), .kind = made.kind}; });
    ++row.objects;
    if (made.size.count > row.size) row.kind = made.kind;
    row.size = std::max<std::uint64_t>(row.size, made.size.count);
  }
  std::ranges::stable_sort(rows.all(), std::greater{}, &LargeRow::size);
  return std::move(rows.all());
}

}  // namespace tier::tool::report
