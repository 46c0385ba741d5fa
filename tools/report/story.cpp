// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Goes through a trace once, and compares at each kernel what is known of its operands with what it needed.
#include <tier/trace/tables.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

#include "labels.hpp"
#include "tables.hpp"
#include "times.hpp"

namespace tier::tool::report {
namespace {

using trace::Cause;
using trace::EventKind;
using trace::TensorIndex;
using trace::Trace;

class Teller {
 public:
  Teller(const Trace& trace, const Tiers& tiers, std::span<const Time> times)
      : trace_{trace},
        tiers_{tiers},
        times_{times},
        homes_{trace::homes_of_rows(trace)},
        objects_(trace.tensors().size()) {}

  Story tell() {
    for (std::size_t i = 0; i < times_.size(); ++i) apply(i);
    return {finished_kernels(), finished_hints()};
  }

 private:
  /// A fetch, before a kernel asks, of an object or one of its blocks.
  struct Fetch {
    Time start = 0, end = 0;
    TierNumber to = 0;
    std::uint64_t bytes = 0;
  };
  struct Object {
    bool missed = false;                    // fetched for a waiting kernel, since the previous use
    bool announced = false;                 // since the previous use
    std::optional<std::uint64_t> archived;  // the number of kernels at archiving, since the previous use
    std::optional<Time> used;               // when the last kernel that used it was entered
  };
  struct Run {
    KernelRow row;
    std::map<std::string, std::uint64_t> elsewhere;
  };

  void apply(std::size_t i);
  void migration(const trace::Migration& m);
  void hint(const trace::Hint& h);
  void archive(std::span<const TensorIndex> tensors);
  void retire(TensorIndex tensor);
  void kernel(std::size_t i);
  void use(TensorIndex tensor, Time entered);
  void add(HintTrouble trouble, TensorIndex tensor, std::uint64_t bytes, Time late, std::uint64_t between);
  void in_vain(TensorIndex tensor, const Fetch& fetch) {
    add(HintTrouble::InVain, tensor, fetch.bytes, 0, 0);
  }
  /// Returns when the kernel was entered: its first stall precedes its start.
  Time entry_of(trace::NameIndex op, Time start);
  [[nodiscard]] bool is_fetch(const trace::Migration& m) const;

  std::vector<KernelRow> finished_kernels();
  std::vector<HintRow> finished_hints();

  const Trace& trace_;
  const Tiers& tiers_;
  std::span<const Time> times_;
  const std::vector<bool> homes_;  // homes of rows, whose moved rows are unknown
  std::vector<Object> objects_;
  std::unordered_map<TensorIndex, std::map<std::uint32_t, Fetch>> fetches_;  // unused so far, by block
  std::unordered_map<std::string, Time> stalled_since_;  // by scope, since its last kernel
  std::uint64_t kernels_ = 0;
  Rows<trace::NameIndex, Run> runs_;
  std::map<std::tuple<HintTrouble, std::uint64_t>, HintRow> hints_;
};

void Teller::apply(std::size_t i) {
  const auto event = trace_.events()[i];
  switch (event.kind) {
    case EventKind::Kernel:
      return kernel(i);
    case EventKind::Archive:
      return archive(trace_.tensors_of(event));
    case EventKind::Retire:
      for (const auto tensor : trace_.tensors_of(event)) retire(tensor);
      return;
    case EventKind::Migration:
      return migration(trace_.migration(event));
    case EventKind::Stall: {
      const auto& s = trace_.stall(event);
      stalled_since_.try_emplace(text_of_scope(trace_.name(s.scope)), s.start.count());
      return;
    }
    case EventKind::Hint:
      return hint(trace_.hint(event));
    case EventKind::Declaration:
    case EventKind::EndOfIteration:
    case EventKind::Measurement:
    case EventKind::Fault:
    case EventKind::RowAccess:
    case EventKind::Setting:
    case EventKind::Placement:
      return;
  }
}

bool Teller::is_fetch(const trace::Migration& m) const {
  return tiers_.ranked() ? tiers_.is_faster(tiers_.number(m.to), tiers_.number(m.from)) : true;
}

void Teller::migration(const trace::Migration& m) {
  if (homes_[m.tensor] || m.from == m.to) return;
  const auto pending = fetches_.find(m.tensor);
  if (pending != fetches_.end()) {
    const auto fetch = pending->second.find(m.block);
    if (fetch != pending->second.end() && fetch->second.to == tiers_.number(m.from)) {
      in_vain(m.tensor, fetch->second);
      pending->second.erase(fetch);
    }
  }
  if (!is_fetch(m)) return;
  if (m.cause == Cause::Miss || (m.cause == Cause::Forced && tiers_.ranked()))
    objects_[m.tensor].missed = true;
  if (m.cause != Cause::Hint && m.cause != Cause::Plan) return;
  const Fetch fetch{m.start.count(), end_of(m.start, m.duration), tiers_.number(m.to), m.size.count};
  // A migration is recorded when it ends, so a kernel may meanwhile have used the object in its old place.
  if (const auto used = objects_[m.tensor].used; used && fetch.start <= *used && *used < fetch.end)
    add(HintTrouble::Late, m.tensor, fetch.bytes, fetch.end - *used, 0);
  else
    fetches_[m.tensor][m.block] = fetch;
}

void Teller::hint(const trace::Hint& h) {
  if (trace_.name(h.hint) == "revive") return;
  if (trace_.name(h.hint) == "archive") return archive(trace_.tensors_of(h));
  for (const auto tensor : trace_.tensors_of(h)) objects_[tensor].announced = true;
}

void Teller::archive(std::span<const TensorIndex> tensors) {
  for (const auto tensor : tensors) {
    objects_[tensor].archived = kernels_;
    objects_[tensor].announced = false;
  }
}

void Teller::retire(TensorIndex tensor) {
  const auto pending = fetches_.find(tensor);
  if (pending != fetches_.end()) {
    for (const auto& [block, fetch] : pending->second) in_vain(tensor, fetch);
    fetches_.erase(pending);
  }
  objects_[tensor] = {};
}

Time Teller::entry_of(trace::NameIndex op, Time start) {
  const auto stalled = stalled_since_.find(text_of_scope(trace_.name(op)));
  if (stalled == stalled_since_.end()) return start;
  const auto since = stalled->second;
  stalled_since_.erase(stalled);
  return std::min(start, since);
}

void Teller::kernel(std::size_t i) {
  const auto& k = trace_.kernel(trace_.events()[i]);
  const auto* const measured = measurement_of(trace_, i);
  auto& run = runs_.at(k.op, [&] {
    return Run{{.name = text_of_scope(trace_.name(k.op)), .elsewhere = {}}, {}};
  });
  ++run.row.runs;
  run.row.flops += k.flops;
  if (measured != nullptr) {
    ++run.row.measured;
    run.row.time = saturating_sum(run.row.time, measured->duration.count());
  }
  const auto entered = entry_of(k.op, times_[i]);
  const auto operands = trace_.operands(k);
  const auto places = measured ? tiers_.placement(*measured) : std::span<const TierNumber>{};
  for (std::size_t n = 0; n < operands.size(); ++n) {
    const auto& operand = operands[n];
    run.row.touched = saturating_sum(run.row.touched, operand.touched.count);
    const bool reads = operand.role == trace::Role::Reads || operand.role == trace::Role::Updates;
    if (reads && places.size() == operands.size() && places[n] != Tiers::unknown && tiers_.ranked()) {
      ++run.row.reads;
      const bool missed = objects_[operand.tensor].missed;
      if (places[n] == 0 && !missed)
        ++run.row.hits;
      else if (missed)
        ++run.elsewhere["fetched on entry"];
      else
        ++run.elsewhere[places[n] == Tiers::several ? "in several tiers"
                                                    : "used in " + tiers_.all()[places[n]].name];
    }
    use(operand.tensor, entered);
  }
  ++kernels_;
}

/// \param entered  when the kernel was entered
void Teller::use(TensorIndex tensor, Time entered) {
  auto& object = objects_[tensor];
  const auto size = trace_.tensor(tensor).size.count;
  if (object.missed && object.announced) add(HintTrouble::Missed, tensor, size, 0, 0);
  if (object.missed && object.archived && kernels_ - *object.archived <= soon)
    add(HintTrouble::Archived, tensor, size, 0, kernels_ - *object.archived);
  object = {.missed = false, .announced = false, .archived = {}, .used = entered};
  const auto pending = fetches_.find(tensor);
  if (pending == fetches_.end()) return;
  for (const auto& [block, fetch] : pending->second)
    if (entered < fetch.end) add(HintTrouble::Late, tensor, fetch.bytes, fetch.end - entered, 0);
  fetches_.erase(pending);
}

void Teller::add(HintTrouble trouble, TensorIndex tensor, std::uint64_t bytes, Time late,
                 std::uint64_t between) {
  auto& row = hints_[{trouble, label_of_object(trace_, tensor)}];
  if (row.count == 0) {
    row.trouble = trouble;
    row.object = text_of_object(trace_, tensor);
    row.kernels_between = between;
  }
  ++row.count;
  row.bytes = saturating_sum(row.bytes, bytes);
  row.late = saturating_sum(row.late, late);
  row.kernels_between = std::min(row.kernels_between, between);
}

std::vector<KernelRow> Teller::finished_kernels() {
  std::vector<KernelRow> rows;
  for (auto& run : runs_.all()) {
    run.row.elsewhere.assign(run.elsewhere.begin(), run.elsewhere.end());
    std::ranges::stable_sort(run.row.elsewhere, std::greater{},
                             &std::pair<std::string, std::uint64_t>::second);
    rows.push_back(std::move(run.row));
  }
  std::ranges::stable_sort(rows, std::greater{}, [](const KernelRow& r) {
    return std::tuple{r.time, r.flops, r.touched};
  });
  return rows;
}

std::vector<HintRow> Teller::finished_hints() {
  std::vector<HintRow> rows;
  for (auto& [key, row] : hints_) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, [](const HintRow& a, const HintRow& b) {
    return std::tuple{a.trouble, b.late, b.bytes, b.count} < std::tuple{b.trouble, a.late, a.bytes, a.count};
  });
  return rows;
}

}  // namespace

Story story_of(const Trace& trace, const Tiers& tiers, std::span<const Time> times) {
  return Teller{trace, tiers, times}.tell();
}

}  // namespace tier::tool::report
