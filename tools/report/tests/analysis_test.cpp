// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tests the numbers of a report against slow, obvious computations.
#include "report/analysis.hpp"

#include <tier/trace/summary.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "recording.hpp"
#include "report/labels.hpp"
#include "report/page.hpp"
#include "report/residency.hpp"
#include "report/times.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "trace/random_trace.hpp"

namespace tier::analysis_test {

using namespace tier::tool::report;
using trace::EventKind;

namespace {

test::RecordingOptions random_options(std::mt19937_64& random) {
  return {.seed = random(),
          .layers = 2 + random() % 12,
          .iterations = 1 + random() % 5,
          .fast = {(40 + random() % 200) << 20U}};
}

std::vector<trace::Migration> migrations_of(const trace::Trace& t) {
  std::vector<trace::Migration> all;
  for (const auto event : t.events())
    if (event.kind == EventKind::Migration) all.push_back(t.migration(event));
  return all;
}

/// The stay of one object in one tier.
struct Stay {
  Time begin = 0, end = 0;
  std::string tier;
  trace::Tensor object;
};

/// Finds stays in a recording whose objects move as a whole and have placement lines, by a full search per object.
std::vector<Stay> stays_of(const trace::Trace& t) {
  std::vector<Stay> stays;
  const auto times = times_of(t, true);
  for (trace::TensorIndex tensor = 0; tensor < t.tensors().size(); ++tensor) {
    Stay now;
    bool stays_now = false;
    const auto stop = [&](Time time) {
      now.end = time;
      stays.push_back(now);
      stays_now = false;
    };
    const auto begin = [&](const Stay& stay) {
      now = stay;
      stays_now = true;
    };
    for (std::size_t i = 0; i < times.size(); ++i) {
      const auto event = t.events()[i];
      if (event.kind == EventKind::Placement && t.placement(event).tensor == tensor)
        begin({times[i], 0, std::string{t.name(t.placement(event).tier)}, t.tensor(tensor)});
      if (event.kind == EventKind::Migration && t.migration(event).tensor == tensor) {
        const auto& m = t.migration(event);
        CHECK(now.tier == t.name(m.from));
        stop(end_of(m.start, m.duration));
        begin({end_of(m.start, m.duration), 0, std::string{t.name(m.to)}, t.tensor(tensor)});
      }
      if (event.kind == EventKind::Retire)
        for (const auto retired : t.tensors_of(event))
          if (retired == tensor && stays_now) stop(times[i]);
    }
    if (stays_now) stop(std::numeric_limits<Time>::max());
  }
  return stays;
}

/// Returns the trace without everything that has a time.
trace::Trace untimed(const trace::Trace& t) {
  trace::Trace out;
  for (const auto event : t.events()) switch (event.kind) {
      case EventKind::Declaration: {
        const auto& tensor = t.tensor(event.place);
        out.declare(tensor.id, tensor.size, tensor.kind, t.name(tensor.name));
        break;
      }
      case EventKind::Kernel: {
        const auto& k = t.kernel(event);
        out.add_kernel(t.name(k.op), k.phase, k.flops, t.operands(k));
        break;
      }
      case EventKind::Archive:
        out.add_archive(t.tensors_of(event));
        break;
      case EventKind::Retire:
        out.add_retire(t.tensors_of(event));
        break;
      case EventKind::EndOfIteration:
        out.add_end_of_iteration();
        break;
      default:
        break;
    }
  return out;
}

}  // namespace

TEST_CASE("occupancy is what a walk over the stays of each object gives, and never above a tier's capacity") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 8; ++round) {
    const auto options = random_options(random);
    const auto t = test::Recording{options}.make();
    std::ignore = trace::summarise(t);  // the trace keeps the rules
    const auto report = analyse(t, {.most_bins = 50 + random() % 500});
    REQUIRE(report.occupancy.size() == 2);
    CHECK(report.occupancy[0].capacity == options.fast);
    const auto stays = stays_of(t);
    const auto& axis = report.axis;
    for (const auto& one : report.occupancy) {
      CAPTURE(one.tier);
      CHECK(one.peak <= one.capacity->count);
      CHECK(one.peak > 0);
      std::map<std::string, std::vector<double>> expected;
      for (const auto& stay : stays) {
        if (stay.tier != one.tier) continue;
        auto& means = expected[std::string{name_of(number_of(stay.object.kind))}];
        means.resize(axis.bins);
        for (std::size_t bin = 0; bin < axis.bins; ++bin) {
          const auto begin = std::max(stay.begin, axis.start_of(bin)),
                     end = std::min(stay.end, axis.start_of(bin + 1));
          if (end > begin)
            means[bin] += static_cast<double>(stay.object.size.count) * static_cast<double>(end - begin) /
                          static_cast<double>(axis.width);
        }
      }
      CHECK(one.layers.size() == expected.size());
      for (const auto& layer : one.layers)
        for (std::size_t bin = 0; bin < axis.bins; ++bin) {
          REQUIRE(layer.values[bin] ==
                  doctest::Approx(expected.at(layer.name)[bin]).epsilon(1e-6).scale(1e6));
          REQUIRE(one.highest[bin] <= static_cast<double>(one.peak));
        }
      // The peak also bounds what is alive at random moments.
      for (int i = 0; i < 100; ++i) {
        const auto now = static_cast<Time>(random() % static_cast<std::uint64_t>(axis.last));
        std::uint64_t bytes = 0;
        for (const auto& stay : stays)
          if (stay.tier == one.tier && stay.begin <= now && now < stay.end) bytes += stay.object.size.count;
        CHECK(bytes <= one.peak);
        CHECK(static_cast<double>(bytes) <= one.highest[axis.bin_of(now)]);
      }
    }
  }
}

TEST_CASE("tables and charts of migrations hold all bytes of the lines m, those of stalls all their time") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 8; ++round) {
    const auto t = test::Recording{random_options(random)}.make();
    const auto report = analyse(t, {.most_bins = 300});
    const auto all = migrations_of(t);
    using Way = std::tuple<std::string, std::string, trace::Cause>;
    std::map<Way, std::pair<std::uint64_t, std::uint64_t>> expected;
    std::uint64_t bytes = 0;
    for (const auto& m : all) {
      auto& [count, sum] = expected[{std::string{t.name(m.from)}, std::string{t.name(m.to)}, m.cause}];
      ++count;
      sum += m.size.count;
      bytes += m.size.count;
    }
    CHECK(report.totals.moved == bytes);
    CHECK(report.totals.migrations == all.size());
    CHECK(report.migrations.size() == expected.size());
    for (const auto& row : report.migrations)
      CHECK(expected.at({row.from, row.to, row.cause}) == std::pair{row.count, row.bytes});
    std::uint64_t of_objects = 0, moves = 0;
    for (const auto& row : report.objects) {
      of_objects += row.bytes;
      moves += row.moves;
      CHECK(std::accumulate(row.bytes_by_cause.begin(), row.bytes_by_cause.end(), std::uint64_t{0}) ==
            row.bytes);
    }
    CHECK(of_objects == bytes);
    CHECK(moves == all.size());
    CHECK(std::ranges::is_sorted(report.objects, std::greater{}, &ObjectRow::bytes));
    double drawn = 0;
    for (const auto& traffic : report.traffic)
      for (const auto& layer : traffic.layers)
        for (const auto rate : layer.values) drawn += rate * 1e-9 * static_cast<double>(report.axis.width);
    CHECK(drawn == doctest::Approx(static_cast<double>(bytes)));

    Time stalled = 0;
    for (const auto event : t.events())
      if (event.kind == EventKind::Stall) stalled += t.stall(event).duration.count();
    CHECK(report.totals.stalled == stalled);
    Time of_scopes = 0;
    for (const auto& row : report.stalls) of_scopes += row.time;
    CHECK(of_scopes == stalled);
    double waiting = 0;
    if (report.waiting)
      for (const auto& layer : report.waiting->layers)
        for (const auto threads : layer.values) waiting += threads * static_cast<double>(report.axis.width);
    CHECK(waiting == doctest::Approx(static_cast<double>(stalled)));
  }
}

TEST_CASE("bytes alive from kernel to kernel have the peak that a walk through the rules finds") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 10; ++round) {
    const auto t = untimed(test::Recording{random_options(random)}.make());
    const auto report = analyse(t);
    CHECK_FALSE(report.axis.timed);
    CHECK(report.axis.bins == t.kernels().size());
    REQUIRE(report.occupancy.size() == 1);
    CHECK(report.occupancy[0].tier.empty());
    CHECK(report.occupancy[0].peak == trace::summarise(t).peak.count);
    CHECK(report.totals.peak == trace::summarise(t).peak.count);
    for (std::size_t bin = 0; bin < report.axis.bins; ++bin) {  // one kernel each: mean is highest
      double sum = 0;
      for (const auto& layer : report.occupancy[0].layers) sum += layer.values[bin];
      REQUIRE(sum == doctest::Approx(report.occupancy[0].highest[bin]));
    }
  }
}

TEST_CASE("any trace that keeps the rules makes a report, whatever its numbers, texts and order") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (std::uint64_t round = 0; round < std::min<std::uint64_t>(test::steps(300), 20'000); ++round) {
    CAPTURE(round);
    const auto t = test::RandomTrace{random}.make(random() % 120);
    const auto report = analyse(t, {.most_bins = 2 + random() % 300, .most_charts = 1 + random() % 4});
    std::uint64_t bytes = 0;
    for (const auto& m : migrations_of(t)) bytes = saturating_sum(bytes, m.size.count);
    CHECK(report.totals.moved == bytes);
    std::uint64_t of_objects = 0, of_pairs = 0;
    for (const auto& row : report.objects) of_objects = saturating_sum(of_objects, row.bytes);
    for (const auto& row : report.migrations) of_pairs = saturating_sum(of_pairs, row.bytes);
    CHECK(of_objects == bytes);
    CHECK(of_pairs == bytes);

    // Bytes neither appear nor vanish when they move: all tiers together hold all live bytes.
    const bool timed = report.axis.timed;
    const auto times = times_of(t, timed);
    const Tiers tiers{t};
    __extension__ using Wide = __int128;
    std::vector<Wide> levels(tiers.count() + 1);
    Time last = 0;
    for (const auto& change : changes_of(t, tiers, times, timed)) {
      CHECK(change.time >= last);
      last = change.time;
      levels.at(change.tier) += change.bytes;
    }
    for (const auto level : levels) CHECK(level >= 0);
    for (const auto& one : report.occupancy)
      for (const auto& layer : one.layers) CHECK(layer.values.size() == report.axis.bins);
    CHECK(to_html(report, "random").ends_with("</html>\n"));
  }
}

}  // namespace tier::analysis_test
