// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/recorded.hpp"

#include <tier/replay/replay.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>

namespace tier::replay {
namespace {

using trace::EventKind;

/// Its operands' tiers are all the one that the recording names first of all: tiers are listed with the fastest first.
bool all_fast(std::string_view placement, std::string_view fastest) {
  while (!placement.empty()) {
    const auto end = std::min(placement.find(','), placement.size());
    const auto tier = placement.substr(0, end);
    if (tier != fastest && tier != "-") return false;
    placement.remove_prefix(std::min(end + 1, placement.size()));
  }
  return true;
}

/// Of the configuration's `tiers=NAME:SIZE;...`: up to the size, before which a path may stand.
std::string_view fastest_of(const trace::Trace& trace) {
  for (const auto event : trace.events()) {
    if (event.kind != EventKind::Setting) continue;
    const auto& setting = trace.setting(event);
    if (trace.name(setting.key) != "tiers") continue;
    const auto first = trace.name(setting.value).substr(0, trace.name(setting.value).find(';'));
    return first.substr(0, first.rfind(':'));
  }
  return {};
}

/// Of times that may be any: their sums are none that a duration has.
double ns(std::chrono::nanoseconds time) { return static_cast<double>(time.count()); }

double end_of(const trace::Measurement& m) { return ns(m.start) + ns(m.duration); }

}  // namespace

Recorded::Recorded(const trace::Trace& trace) {
  const auto fastest = fastest_of(trace);
  std::uint32_t kernel = 0, before = 0;
  const trace::Measurement* last = nullptr;
  double stalled = 0;
  for (const auto event : trace.events()) {
    if (event.kind == EventKind::Kernel) kernel = event.place;
    if (event.kind == EventKind::Stall && last != nullptr) {
      const auto& stall = trace.stall(event);
      const bool within = ns(stall.start) < end_of(*last);  // it is in the kernel's time
      if (!within) stalled += ns(stall.duration);
    }
    if (event.kind != EventKind::Measurement) continue;
    const auto& m = trace.measurement(event);
    if (taken_.empty()) {
      taken_.resize(trace.kernels().size(), -1);
      gaps_.resize(trace.kernels().size());
    }
    if (all_fast(trace.name(m.placement), fastest)) taken_[kernel] = ns(m.duration);
    if (last != nullptr && last->thread == m.thread)
      gaps_[before] = std::max(0.0, ns(m.start) - end_of(*last) - stalled);
    last = &m;
    before = kernel;
    stalled = 0;
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
