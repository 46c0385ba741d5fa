// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/recorded.hpp"

#include <tier/replay/replay.hpp>
#include <tier/trace/names.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace tier::replay {
namespace {

using trace::EventKind;

/// True if all operands are in the tier that the recording lists first, which is the fastest. A path may follow it.
bool all_fast(std::string_view placement, std::string_view fastest) {
  while (!placement.empty()) {
    const auto end = std::min(placement.find(','), placement.size());
    const auto tier = placement.substr(0, end);
    const bool names =
        fastest.starts_with(tier) && (fastest.size() == tier.size() || fastest[tier.size()] == ':');
    if (!names && tier != "-") return false;
    placement.remove_prefix(std::min(end + 1, placement.size()));
  }
  return true;
}

/// Returns the first tier of the configuration's `tiers=NAME:SIZE;...` without its size; a path may precede the size.
std::string fastest_of(const trace::Trace& trace) {
  for (const auto event : trace.events()) {
    if (event.kind != EventKind::Setting) continue;
    const auto& setting = trace.setting(event);
    if (trace.name(setting.key) != "tiers") continue;
    const auto first = trace.name(setting.value).substr(0, trace.name(setting.value).find(';'));
    return trace::tier_in_lines(first.substr(0, first.rfind(':')));
  }
  return {};
}

/// Converts to double, because times may be arbitrary and a duration could not hold their sums.
double ns(std::chrono::nanoseconds time) { return static_cast<double>(time.count()); }

/// A kernel as it was measured.
struct Span {
  double start = 0, end = 0;
  double stalled = 0;  ///< time of stalls between it and the kernels before it
  std::uint32_t kernel = 0;
};

std::vector<Span> spans_of(const trace::Trace& trace) {
  std::vector<Span> spans;
  std::uint32_t kernel = 0;
  double latest = 0, stalled = 0;
  for (const auto event : trace.events()) {
    if (event.kind == EventKind::Kernel) kernel = event.place;
    if (event.kind == EventKind::Stall && !spans.empty()) {
      const auto& stall = trace.stall(event);
      const bool within = ns(stall.start) < latest;  // it is in a kernel's time
      if (!within) stalled += ns(stall.duration);
    }
    if (event.kind != EventKind::Measurement) continue;
    const auto& m = trace.measurement(event);
    const auto end = ns(m.start) + ns(m.duration);
    latest = spans.empty() ? end : std::max(latest, end);
    spans.push_back({ns(m.start), end, std::exchange(stalled, 0), kernel});
  }
  std::ranges::stable_sort(spans, {}, &Span::start);
  return spans;
}

/// Calls `in(span, time)` for the time in which `span` was the last to have begun of the spans that are open, and
/// `between(i, time)` for the time before the `i`-th span in which none is open.
void divide(const std::vector<Span>& spans, auto&& in, auto&& between) {
  std::vector<const Span*> open;  // in the order in which they began
  double now = 0;
  const auto go_on_to = [&](double time) {
    while (!open.empty() && now < time) {
      const Span& last = *open.back();
      const auto until = std::min(last.end, time);
      if (until > now) in(last, until - now);
      now = std::max(now, until);
      if (last.end <= now) open.pop_back();
    }
  };
  for (std::size_t i = 0; i < spans.size(); ++i) {
    go_on_to(spans[i].start);
    if (i > 0 && open.empty()) between(i, spans[i].start - now);
    now = spans[i].start;
    open.push_back(&spans[i]);
  }
  go_on_to(std::numeric_limits<double>::infinity());
}

}  // namespace

Recorded::Recorded(const trace::Trace& trace) {
  const auto spans = spans_of(trace);
  if (spans.empty()) return;
  taken_.resize(trace.kernels().size(), -1);
  gaps_.resize(trace.kernels().size());
  std::vector<double> alone(trace.kernels().size());
  divide(
      spans, [&](const Span& span, double time) { alone[span.kernel] += time; },
      [&](std::size_t i, double time) {
        gaps_[spans[i - 1].kernel] = std::max(0.0, time - spans[i].stalled);
      });
  const auto fastest = fastest_of(trace);
  std::uint32_t kernel = 0;
  for (const auto event : trace.events()) {
    if (event.kind == EventKind::Kernel) kernel = event.place;
    if (event.kind != EventKind::Measurement) continue;
    if (all_fast(trace.name(trace.measurement(event).placement), fastest)) taken_[kernel] = alone[kernel];
  }
}

std::uint64_t count_kernels_not_all_fast(const trace::Trace& trace) {
  const auto fastest = fastest_of(trace);
  return static_cast<std::uint64_t>(std::ranges::count_if(trace.events(), [&](const trace::Event event) {
    return event.kind == EventKind::Measurement &&
           !all_fast(trace.name(trace.measurement(event).placement), fastest);
  }));
}

}  // namespace tier::replay
