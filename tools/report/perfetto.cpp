// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "perfetto.hpp"

#include <nlohmann/json.hpp>
#include <tier/core/detail/json_text.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis.hpp"
#include "format.hpp"
#include "labels.hpp"
#include "lanes.hpp"
#include "residency.hpp"
#include "times.hpp"

namespace tier::tool::report {
namespace {

using nlohmann::json;
using trace::EventKind;
using trace::Trace;

/// A group of tracks, which the viewer calls a process.
enum class Group { Kernels = 1, Migrations, Stalls, Tiers, Hints };

class Writer {
 public:
  Writer(const Trace& trace, OutputFile& out) : trace_{trace}, out_{out}, timed_{has_times(trace)} {}

  void write() {
    const auto times = times_of(trace_, timed_);
    buffer_ = R"({"displayTimeUnit":"ns","otherData":{"time":)";
    buffer_ += timed_ ? R"("as recorded")" : R"("none was recorded: each kernel is given a microsecond")";
    buffer_ += "},\n\"traceEvents\":[";
    kernels(times);
    migrations();
    stalls();
    instants();
    counters(times);
    buffer_ += "\n]}\n";
    out_.write(buffer_);
  }

 private:
  struct Track {
    std::string name;
    std::vector<Slice> slices;
    std::vector<std::size_t> events;
  };

  /// Formats microseconds with three decimals. A double has too few digits for long recordings.
  [[nodiscard]] std::string microseconds(Time time) const {
    if (!timed_) return std::to_string(time);
    auto text = std::to_string(time / 1000) + ".";
    const auto rest = std::to_string(time % 1000);
    return text.append(3 - rest.size(), '0').append(rest);
  }

  /// \param times  "ts" and all further fields that are times
  void event(json fields, const std::string& times) {
    auto text = detail::json_text(fields, -1);
    text.insert(1, times + ",");
    buffer_ += first_ ? "\n" : ",\n";
    buffer_ += text;
    first_ = false;
    if (buffer_.size() < (std::size_t{1} << 20U)) return;
    out_.write(buffer_);
    buffer_.clear();
  }

  void name(const char* what, Group group, std::size_t track, const std::string& text) {
    event({{"ph", "M"},
           {"name", what},
           {"pid", static_cast<int>(group)},
           {"tid", track},
           {"args", {{"name", text}}}},
          R"("ts":0)");
  }

  /// \param describe  returns the name of an event's slice and its details
  template <class Describe>
  void slices(Group group, const char* group_name, const std::map<std::uint64_t, Track>& tracks,
              Nesting nesting, Describe describe) {
    if (tracks.empty()) return;
    name("process_name", group, 0, group_name);
    std::size_t base = 0;
    for (const auto& [key, track] : tracks) {
      const auto lanes = lanes_of(track.slices, nesting);
      std::size_t count = 0;
      for (const auto lane : lanes) count = std::max(count, lane + 1);
      for (std::size_t lane = 0; lane < count; ++lane)
        name("thread_name", group, base + lane + 1,
             track.name + (lane == 0 ? "" : " (" + std::to_string(lane + 1) + ")"));
      for (std::size_t i = 0; i < lanes.size(); ++i) {
        const auto& slice = track.slices[i];
        auto [title, arguments] = describe(track.events[i]);
        event({{"ph", "X"},
               {"name", shorten(title, 500)},
               {"pid", static_cast<int>(group)},
               {"tid", base + lanes[i] + 1},
               {"args", std::move(arguments)}},
              "\"ts\":" + microseconds(slice.start) + ",\"dur\":" + microseconds(slice.end - slice.start));
      }
      base += count;
    }
  }

  void kernels(std::span<const Time> times) {
    std::map<std::uint64_t, Track> tracks;
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (trace_.events()[i].kind != EventKind::Kernel) continue;
      const auto* const measured = measurement_of(trace_, i);
      if (timed_ && measured == nullptr) continue;
      auto& track = tracks[measured != nullptr ? measured->thread : 0];
      track.name = measured != nullptr ? "thread " + std::to_string(measured->thread) : "kernels";
      track.slices.push_back({times[i], timed_ ? end_of(measured->start, measured->duration) : times[i] + 1});
      track.events.push_back(i);
    }
    slices(Group::Kernels, "kernels", tracks, Nesting::Yes, [&](std::size_t i) {
      const auto& kernel = trace_.kernel(trace_.events()[i]);
      auto arguments = json::object();
      for (const auto& operand : trace_.operands(kernel)) {
        auto& list = arguments[std::string{static_cast<char>(operand.role)}];
        constexpr std::size_t most = 32;
        if (list.size() < most) list.push_back(shorten(text_of_object(trace_, operand.tensor)));
      }
      arguments["flops"] = kernel.flops;
      if (const auto* const measured = measurement_of(trace_, i))
        arguments["placement"] = shorten(trace_.name(measured->placement), 500);
      return std::pair{text_of_scope(trace_.name(kernel.op)), std::move(arguments)};
    });
  }

  void migrations() {
    std::map<std::uint64_t, Track> tracks;
    for (std::size_t i = 0; i < trace_.events().size(); ++i) {
      if (trace_.events()[i].kind != EventKind::Migration) continue;
      const auto& m = trace_.migration(trace_.events()[i]);
      auto& track = tracks[std::uint64_t{m.from} << 32U | m.to];
      track.name = shorten(trace_.name(m.from)) + " → " + shorten(trace_.name(m.to));
      track.slices.push_back({m.start.count(), end_of(m.start, m.duration)});
      track.events.push_back(i);
    }
    slices(Group::Migrations, "migrations", tracks, Nesting::No, [&](std::size_t i) {
      const auto& m = trace_.migration(trace_.events()[i]);
      json arguments{
          {"bytes", m.size.count}, {"cause", name_of(m.cause)}, {"object", trace_.tensor(m.tensor).id}};
      if (m.block != trace::whole_tensor) arguments["block"] = m.block;
      return std::pair{text_of_object(trace_, m.tensor) + ": " + std::string{name_of(m.cause)},
                       std::move(arguments)};
    });
  }

  void stalls() {
    std::map<std::uint64_t, Track> tracks;
    for (std::size_t i = 0; i < trace_.events().size(); ++i) {
      if (trace_.events()[i].kind != EventKind::Stall) continue;
      const auto& s = trace_.stall(trace_.events()[i]);
      auto& track = tracks[s.cause];
      track.name = "waits for " + shorten(trace_.name(s.cause));
      track.slices.push_back({s.start.count(), end_of(s.start, s.duration)});
      track.events.push_back(i);
    }
    slices(Group::Stalls, "stalls", tracks, Nesting::No, [&](std::size_t i) {
      return std::pair{text_of_scope(trace_.name(trace_.stall(trace_.events()[i]).scope)), json::object()};
    });
  }

  /// Hints and access faults.
  void instants() {
    bool named = false;
    for (const auto one : trace_.events()) {
      if (one.kind != EventKind::Hint && one.kind != EventKind::Fault) continue;
      if (!std::exchange(named, true)) name("process_name", Group::Hints, 0, "hints and faults");
      const bool is_hint = one.kind == EventKind::Hint;
      const auto start = is_hint ? trace_.hint(one).start : trace_.fault(one).start;
      auto objects = json::array();
      if (is_hint)
        for (const auto tensor : trace_.tensors_of(trace_.hint(one)))
          objects.push_back(shorten(text_of_object(trace_, tensor)));
      else
        objects.push_back(shorten(text_of_object(trace_, trace_.fault(one).tensor)));
      event({{"ph", "i"},
             {"s", "t"},
             {"name", is_hint ? shorten(trace_.name(trace_.hint(one).hint), 500) : "fault"},
             {"pid", static_cast<int>(Group::Hints)},
             {"tid", is_hint ? 1 : 2},
             {"args", {{"objects", std::move(objects)}}}},
            "\"ts\":" + microseconds(start.count()));
    }
  }

  void counters(std::span<const Time> times) {
    const Tiers tiers{trace_};
    const auto changes = changes_of(trace_, tiers, times, timed_);
    if (changes.empty()) return;
    name("process_name", Group::Tiers, 0, "bytes in tiers");
    std::vector<std::int64_t> bytes(tiers.count() + 1);
    std::map<TierNumber, Time> changed;  // since the last written counters
    const auto write = [&] {
      for (const auto& [tier, time] : changed) {
        const auto tier_name =
            tier == tiers.count() ? timed_ ? "tier not known" : "alive" : shorten(tiers.all()[tier].name);
        event({{"ph", "C"},
               {"name", tier_name},
               {"pid", static_cast<int>(Group::Tiers)},
               {"args", {{"bytes", bytes[tier]}}}},
              "\"ts\":" + microseconds(time));
      }
      changed.clear();
    };
    Time now = changes.front().time;
    for (const auto& change : changes) {
      if (change.time != now) write();
      now = change.time;
      bytes[change.tier] += change.bytes;
      changed[change.tier] = change.time;
    }
    write();
  }

  const Trace& trace_;
  OutputFile& out_;
  bool timed_;
  bool first_ = true;
  std::string buffer_;
};

}  // namespace

void write_perfetto(const Trace& trace, OutputFile& out) { Writer{trace, out}.write(); }

}  // namespace tier::tool::report
