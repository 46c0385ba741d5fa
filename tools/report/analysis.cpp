// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "analysis.hpp"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "bins.hpp"
#include "labels.hpp"
#include "residency.hpp"
#include "tables.hpp"
#include "times.hpp"

namespace tier::tool::report {
namespace {

using trace::EventKind;
using trace::Trace;

constexpr std::string_view kinds = "pgatsi";
__extension__ using Wide = __int128;  // holds sums of any values that a trace may contain

/// Returns the axis from the earliest start of an event to the latest end.
Axis axis_of(const Trace& trace, bool timed, std::size_t most_bins) {
  if (!timed) return make_axis(false, 0, static_cast<Time>(trace.kernels().size()), most_bins);
  Time first = std::numeric_limits<Time>::max(), last = 0;
  const auto see = [&](std::chrono::nanoseconds start, std::chrono::nanoseconds duration = {}) {
    first = std::min<Time>(first, start.count());
    last = std::max(last, end_of(start, duration));
  };
  for (const auto event : trace.events()) {
    if (event.kind == EventKind::Measurement)
      see(trace.measurement(event).start, trace.measurement(event).duration);
    if (event.kind == EventKind::Migration)
      see(trace.migration(event).start, trace.migration(event).duration);
    if (event.kind == EventKind::Stall) see(trace.stall(event).start, trace.stall(event).duration);
    if (event.kind == EventKind::Hint) see(trace.hint(event).start);
    if (event.kind == EventKind::Fault) see(trace.fault(event).start);
    if (event.kind == EventKind::Placement) see(trace.placement(event).start);
    if (event.kind == EventKind::RowAccess) see(trace.row_access(event).start);
  }
  return make_axis(true, first, last, most_bins);
}

void keep_if_used(std::vector<Layer>& layers, std::string_view name, std::size_t colour,
                  const SpreadBins& bins, double scale = 1) {
  auto values = bins.per_width();
  for (auto& value : values) value *= scale;
  if (std::ranges::any_of(values, [](double v) { return v > 0; }))
    layers.push_back({std::string{name}, colour, std::move(values)});
}

/// Follows the bytes in one tier, or in all tiers that share a chart, change by change.
class Levels {
 public:
  explicit Levels(const Axis& axis) : axis_{axis}, means_(kind_count, SpreadBins{axis}), highest_{axis} {}

  void apply(const Change& change) {
    if (change.time != time_) settle(change.time);
    auto& kind = kinds_.at(number_of(change.kind));
    means_.at(number_of(change.kind)).add_level(kind.since, time_, static_cast<double>(kind.bytes));
    kind = {kind.bytes + change.bytes, time_};
    total_ += change.bytes;
    ever_ = true;
  }

  /// \return  none if there never was a byte
  std::optional<Occupancy> finish(const TierOfTrace& tier) {
    if (!ever_ && !tier.capacity) return {};
    settle(std::max(time_, axis_.end()));
    note_peak();  // of what is still there
    Occupancy occupancy{
        .tier = tier.name, .capacity = tier.capacity, .layers = {}, .highest = {}, .peak = peak_};
    for (std::size_t kind = 0; kind < kind_count; ++kind) {
      means_[kind].add_level(kinds_.at(kind).since, axis_.end(), static_cast<double>(kinds_.at(kind).bytes));
      keep_if_used(occupancy.layers, name_of(kind), kind, means_[kind]);
    }
    occupancy.highest = highest_.highest();
    return occupancy;
  }

 private:
  struct Level {
    Wide bytes = 0;
    Time since = 0;
  };

  /// Applies all changes at one time together: bytes that last no time are not counted.
  void settle(Time now) {
    highest_.add_level(time_, now, static_cast<double>(total_));
    if (now > time_) note_peak();
    time_ = now;
  }

  void note_peak() {
    constexpr Wide most = std::numeric_limits<std::uint64_t>::max();
    peak_ = std::max(peak_, static_cast<std::uint64_t>(std::clamp<Wide>(total_, 0, most)));
  }

  Axis axis_;
  std::vector<SpreadBins> means_;
  HighestBins highest_;
  std::array<Level, kind_count> kinds_{};
  Wide total_ = 0;
  std::uint64_t peak_ = 0;
  Time time_ = 0;
  bool ever_ = false;
};

std::vector<Occupancy> occupancy_of(std::span<const Change> changes, const Tiers& tiers, const Axis& axis,
                                    std::size_t most_charts) {
  const auto own = std::min(tiers.count(), most_charts);
  std::vector<Levels> levels(own + 2, Levels{axis});  // own tiers, then all other tiers, then no tier
  for (const auto& change : changes)
    levels[change.tier == tiers.count() ? own + 1 : std::min<std::size_t>(change.tier, own)].apply(change);
  std::vector<Occupancy> all;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto tier = i < own ? tiers.all()[i] : TierOfTrace{i == own ? "other tiers" : "", "", {}};
    if (auto one = levels[i].finish(tier)) all.push_back(std::move(*one));
  }
  return all;
}

/// \param rows  migrations; the pairs that move the most bytes come first and get their own charts
std::vector<Traffic> traffic_of(const Trace& trace, std::span<const MigrationRow> rows, const Axis& axis,
                                std::size_t most_charts) {
  std::map<std::pair<std::string, std::string>, std::uint64_t> bytes;
  for (const auto& row : rows) {
    auto& sum = bytes[{row.from, row.to}];
    sum = saturating_sum(sum, row.bytes);
  }
  std::vector<std::pair<std::uint64_t, std::pair<std::string, std::string>>> pairs;
  for (const auto& [pair, sum] : bytes)
    if (sum != 0) pairs.emplace_back(sum, pair);
  std::ranges::stable_sort(pairs, std::greater{}, [](const auto& p) { return p.first; });
  std::map<std::pair<std::string, std::string>, std::size_t> charts;
  for (const auto& [sum, pair] : pairs) charts.emplace(pair, std::min(charts.size(), most_charts));
  if (charts.empty()) return {};

  const auto count = std::min(charts.size(), most_charts + 1);
  std::vector<std::vector<SpreadBins>> bins(count, std::vector<SpreadBins>(cause_count, SpreadBins{axis}));
  std::unordered_map<std::uint64_t, std::size_t> chart_of;  // by the indices of both names
  for (const auto event : trace.events()) {
    if (event.kind != EventKind::Migration) continue;
    const auto& m = trace.migration(event);
    if (m.size == Bytes{}) continue;
    const auto key = std::uint64_t{m.from} << 32U | m.to;
    auto chart = chart_of.find(key);
    if (chart == chart_of.end())
      chart =
          chart_of.emplace(key, charts.at({std::string{trace.name(m.from)}, std::string{trace.name(m.to)}}))
              .first;
    bins[chart->second][static_cast<std::size_t>(m.cause)].add(m.start.count(), end_of(m.start, m.duration),
                                                               static_cast<double>(m.size.count));
  }
  std::vector<Traffic> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (i < most_charts) std::tie(all[i].from, all[i].to) = pairs[i].second;
    for (std::size_t cause = 0; cause < cause_count; ++cause)
      keep_if_used(all[i].layers, name_of(static_cast<trace::Cause>(cause)), cause, bins[i][cause],
                   axis.timed ? 1e9 : 1);
  }
  return all;
}

std::optional<Waiting> waiting_of(const Trace& trace, std::span<const StallRow> rows, const Axis& axis) {
  if (rows.empty()) return {};
  std::map<std::string, Time, std::less<>> times;
  for (const auto& row : rows)
    for (const auto& [cause, time] : row.causes) times[cause] = saturating_sum(times[cause], time);
  std::vector<std::pair<Time, std::string>> causes;
  for (const auto& [cause, time] : times) causes.emplace_back(time, cause);
  std::ranges::stable_sort(causes, std::greater{}, [](const auto& c) { return c.first; });
  constexpr std::size_t most = 7;  // then all others together
  std::map<std::string, std::size_t, std::less<>> layer_of;
  for (const auto& [time, cause] : causes) layer_of.emplace(cause, std::min(layer_of.size(), most));

  std::vector<SpreadBins> bins(std::min(causes.size(), most + 1), SpreadBins{axis});
  for (const auto event : trace.events()) {
    if (event.kind != EventKind::Stall) continue;
    const auto& s = trace.stall(event);
    bins[layer_of.find(trace.name(s.cause))->second].add(s.start.count(), end_of(s.start, s.duration),
                                                         static_cast<double>(s.duration.count()));
  }
  Waiting waiting;
  for (std::size_t i = 0; i < bins.size(); ++i)
    keep_if_used(waiting.layers, i < most ? causes[i].second : "other causes", i, bins[i]);
  return waiting;
}

Totals totals_of(const Trace& trace, const Axis& axis) {
  Totals t{.kernels = trace.kernels().size(), .objects = trace.tensors().size()};
  std::unordered_set<std::uint64_t> threads;
  bool begun = false;
  for (const auto event : trace.events()) switch (event.kind) {
      case EventKind::Kernel:
        begun = true;
        break;
      case EventKind::EndOfIteration:
        ++t.iterations;
        begun = false;
        break;
      case EventKind::Measurement:
        ++t.measured;
        threads.insert(trace.measurement(event).thread);
        break;
      case EventKind::Migration:
        ++t.migrations;
        t.moved = saturating_sum(t.moved, trace.migration(event).size.count);
        break;
      case EventKind::Stall:
        ++t.stalls;
        t.stalled = saturating_sum(t.stalled, trace.stall(event).duration.count());
        break;
      case EventKind::Hint:
        if (trace.name(trace.hint(event).hint) != "revive") ++t.hints;  // a revival is no hint
        break;
      case EventKind::Archive:
        ++t.hints;
        break;
      case EventKind::Fault:
        ++t.faults;
        break;
      case EventKind::RowAccess:
        ++t.row_accesses;
        t.rows = saturating_sum(t.rows, trace.row_access(event).count);
        break;
      case EventKind::Declaration:
      case EventKind::Retire:
      case EventKind::Setting:
      case EventKind::Placement:
        break;
    }
  if (begun) ++t.iterations;
  t.threads = threads.size();
  if (axis.timed) t.duration = axis.last - axis.first;
  return t;
}

/// Returns the most bytes alive at once, in any tier.
std::uint64_t peak_of(std::span<const Change> changes) {
  Wide live = 0, peak = 0;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    live += changes[i].bytes;
    if (i + 1 == changes.size() || changes[i + 1].time != changes[i].time) peak = std::max(peak, live);
  }
  return static_cast<std::uint64_t>(peak);
}

}  // namespace

std::size_t number_of(trace::TensorKind kind) noexcept { return kinds.find(static_cast<char>(kind)); }

std::string_view name_of(std::size_t kind) noexcept {
  static constexpr std::array<std::string_view, kind_count> names{"parameters",  "gradients",  "activations",
                                                                  "temporaries", "statistics", "inputs"};
  return names.at(kind);
}

std::string_view name_of(trace::Cause cause) noexcept {
  static constexpr std::array<std::string_view, cause_count> names{"hint",  "miss",    "forced",
                                                                   "evict", "compact", "plan"};
  return names.at(static_cast<std::size_t>(cause));
}

Report analyse(const Trace& trace, const Resolution& resolution) {
  const bool timed = has_times(trace);
  const Tiers tiers{trace};
  Report report;
  report.axis = axis_of(trace, timed, resolution.most_bins);
  report.tiers.assign(tiers.all().begin(), tiers.all().end());
  report.ranked = tiers.ranked();
  const auto text = [&](const trace::Setting& s) {
    return std::pair{std::string{trace.name(s.key)}, std::string{trace.name(s.value)}};
  };
  for (const auto& setting : trace.headers()) report.headers.push_back(text(setting));

  const auto times = times_of(trace, timed);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto event = trace.events()[i];
    if (event.kind == EventKind::Setting) report.settings.push_back(text(trace.setting(event)));
    if (event.kind == EventKind::EndOfIteration) report.iteration_ends.push_back(times[i]);
  }
  report.totals = totals_of(trace, report.axis);
  {
    const auto changes = changes_of(trace, tiers, times, timed);
    report.occupancy = occupancy_of(changes, tiers, report.axis, resolution.most_charts);
    report.totals.peak = peak_of(changes);
  }
  report.migrations = migration_rows(trace, tiers);
  report.objects = object_rows(trace);
  report.stalls = stall_rows(trace);
  report.largest = large_rows(trace);
  report.traffic = traffic_of(trace, report.migrations, report.axis, resolution.most_charts);
  report.waiting = waiting_of(trace, report.stalls, report.axis);
  auto story = story_of(trace, tiers, times);
  report.kernels = std::move(story.kernels);
  report.hints = std::move(story.hints);
  return report;
}

}  // namespace tier::tool::report
