// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "answers.hpp"

#include <algorithm>
#include <utility>

#include "format.hpp"
#include "labels.hpp"

namespace tier::tool::report {
namespace {

// Thresholds of advice, chosen by us.
constexpr double little_waiting = 0.01;  // of the time of all threads
constexpr double nearly_full = 0.95;     // of the capacity
constexpr double often = 0.25;           // of the time, or of all objects of a kind
constexpr double back_and_forth = 4;     // times its size

double number(auto count) { return static_cast<double>(count); }

/// Returns the share of the chart's bins in which the tier is nearly full.
double share_of_time_nearly_full(const Occupancy& tier) {
  if (!tier.capacity || tier.highest.empty()) return 0;
  const auto limit = nearly_full * number(tier.capacity->count);
  return number(std::ranges::count_if(tier.highest, [&](double bytes) { return bytes >= limit; })) /
         number(tier.highest.size());
}

const Occupancy* occupancy_of(const Report& r, const std::string& tier) {
  const auto found = std::ranges::find(r.occupancy, tier, &Occupancy::tier);
  return found == r.occupancy.end() ? nullptr : &*found;
}

std::string of_capacity(const Occupancy& tier) {
  auto text = human_bytes(number(tier.peak));
  if (!tier.capacity) return text;
  const auto capacity = number(tier.capacity->count);
  return text + " of " + human_bytes(capacity) + " (" + human_share(number(tier.peak), capacity) + ")";
}

/// Returns reads and hits of all kernels, over operands whose tier is known.
std::pair<double, double> reads_and_hits(const Report& r) {
  double reads = 0, hits = 0;
  for (const auto& kernel : r.kernels) {
    reads += number(kernel.reads);
    hits += number(kernel.hits);
  }
  return {reads, hits};
}

Answer memory(const Report& r) {
  Answer answer{"How much fast memory did it use?", {}};
  const auto fastest = shorten(r.tiers.front().name);
  const auto* const fast = occupancy_of(r, r.tiers.front().name);
  if (fast == nullptr || fast->peak == 0) {
    answer.sentences.push_back("None that this trace tells of: nothing was in " + fastest +
                               ", the fastest tier.");
  } else {
    auto text = "At most " + of_capacity(*fast) + " of " + fastest + ", the fastest tier.";
    if (const auto full = share_of_time_nearly_full(*fast); full > 0)
      text += " It was nearly full (95 % and more) in " + human_share(full, 1) + " of the time.";
    answer.sentences.push_back(text);
  }
  for (const auto& tier : r.occupancy)
    if (tier.tier != r.tiers.front().name && !tier.tier.empty() && tier.peak > 0)
      answer.sentences.push_back("In " + shorten(tier.tier) + " there were at most " + of_capacity(tier) +
                                 ".");
  const auto [reads, hits] = reads_and_hits(r);
  if (reads != 0)
    answer.sentences.push_back("Of the operands that kernels read, " + human_share(hits, reads) +
                               " were in " + fastest + " when they were needed.");
  return answer;
}

double share_of_waiting(const Report& r) {
  const auto whole = number(r.totals.duration) * number(std::max<std::uint64_t>(r.totals.threads, 1));
  return whole > 0 ? number(r.totals.stalled) / whole : 0;
}

Answer waiting(const Report& r) {
  Answer answer{"Where did it wait?", {}};
  if (r.totals.stalls == 0) {
    answer.sentences.emplace_back("Nowhere: no thread waited for memory.");
    return answer;
  }
  answer.sentences.push_back("For " + human_time(number(r.totals.stalled)) + ", which is " +
                             human_share(share_of_waiting(r), 1) + " of the time of " +
                             counted(std::max<std::uint64_t>(r.totals.threads, 1), "thread") + ".");
  std::string most = "Most of it in ";
  constexpr std::size_t named = 3;
  for (std::size_t i = 0; i < std::min(r.stalls.size(), named); ++i)
    most += (i == 0 ? "" : ", ") + shorten(r.stalls[i].scope, 60) + " (" +
            human_share(number(r.stalls[i].time), number(r.totals.stalled)) + ")";
  answer.sentences.push_back(most + ".");
  return answer;
}

/// One sort of trouble: how often, how many bytes, how late, and the object with the most of it.
struct Trouble {
  std::uint64_t count = 0, bytes = 0;
  double late = 0;
  std::string most;
};

Trouble trouble_of(const Report& r, HintTrouble sort) {
  Trouble all;
  for (const auto& row : r.hints) {  // the worst of each sort comes first
    if (row.trouble != sort) continue;
    if (all.count == 0) all.most = shorten(row.object, 60);
    all.count = saturating_sum(all.count, row.count);
    all.bytes = saturating_sum(all.bytes, row.bytes);
    all.late += number(row.late);
  }
  return all;
}

std::uint64_t missed_bytes(const Report& r) {
  std::uint64_t bytes = 0;
  for (const auto& row : r.migrations)
    if (row.cause == trace::Cause::Miss) bytes = saturating_sum(bytes, row.bytes);
  return bytes;
}

double share_waited_for(const Report& r, std::string_view cause) {
  double time = 0;
  for (const auto& row : r.stalls)
    for (const auto& [name, part] : row.causes)
      if (name == cause) time += number(part);
  return r.totals.stalled > 0 ? time / number(r.totals.stalled) : 0;
}

void advise_on_hints(const Report& r, std::vector<std::string>& advice) {
  const auto moved = number(r.totals.moved);
  if (const auto late = trouble_of(r, HintTrouble::Late); late.count > 0)
    advice.push_back(
        "Hints that come earlier: " +
        (late.count == 1 ? "1 fetch ahead was" : human_count(late.count) + " fetches ahead were") +
        " still under way when a kernel wanted the object, late by " + human_time(late.late) +
        " in all; most for " + late.most + ".");
  if (const auto missed = number(missed_bytes(r)); missed > often * moved)
    advice.push_back("Hints for what has none: " + human_bytes(missed) + ", " + human_share(missed, moved) +
                     " of what moved, came only when somebody waited for it (cause miss).");
  if (const auto early = trouble_of(r, HintTrouble::Archived); early.count > 0)
    advice.push_back("Archive later: what was archived was missed soon after, " +
                     counted(early.count, "time") + "; most often " + early.most + ".");
  if (const auto vain = trouble_of(r, HintTrouble::InVain); number(vain.bytes) > 0.1 * moved)
    advice.push_back("Fewer or later hints: " + human_bytes(number(vain.bytes)) +
                     " were fetched ahead and left again unused; most of " + vain.most + ".");
}

void advise_on_room(const Report& r, std::vector<std::string>& advice) {
  if (const auto room = share_waited_for(r, "room"); room > often)
    advice.push_back("Say earlier what may go (archive, retire): " + human_share(room, 1) +
                     " of the waiting was for room.");
  const auto* const fast = occupancy_of(r, r.tiers.front().name);
  const bool full = fast != nullptr && share_of_time_nearly_full(*fast) > often;
  const auto far = std::ranges::find_if(r.objects, [](const ObjectRow& o) {
    return o.objects != 0 && number(o.bytes) > back_and_forth * number(o.size) * number(o.objects);
  });
  if (full && far != r.objects.end())
    advice.push_back("More fast memory: " + shorten(r.tiers.front().name) + " was nearly full, and " +
                     shorten(far->name, 60) + " moved " +
                     human_number(number(far->bytes) / (number(far->size) * number(far->objects)), 2) +
                     " times its size.");
}

Answer change(const Report& r) {
  Answer answer{"What might be changed?", {}};
  auto& advice = answer.sentences;
  const auto* const fast = occupancy_of(r, r.tiers.front().name);
  const bool left = std::ranges::any_of(r.migrations, [&](const MigrationRow& row) {
    return row.from == r.tiers.front().name && row.to != row.from;
  });
  const bool spare =
      !left && fast != nullptr && fast->capacity && number(fast->peak) < 0.9 * number(fast->capacity->count);
  const auto [reads, hits] = reads_and_hits(r);
  if (share_of_waiting(r) >= little_waiting) {
    advise_on_hints(r, advice);
    advise_on_room(r, advice);
    if (advice.empty())
      advice.emplace_back(
          "Nothing stands out: see below what waited longest, and for which objects. tier replay tells what "
          "other policies and sizes would do.");
  } else if (reads - hits > often * reads) {
    advice.push_back("More fast memory, or a policy that fetches: " + human_share(reads - hits, reads) +
                     " of the operands that kernels read were not in " + shorten(r.tiers.front().name) +
                     ", and kernels are slower for it.");
  } else {
    advice.push_back(std::string{"Little: "} +
                     (r.totals.stalls == 0 ? "nothing was" : "hardly anything was") + " waited for." +
                     (spare ? " Fast memory was never full, so that less of it would do." : ""));
  }
  return answer;
}

}  // namespace

std::vector<Answer> answers_of(const Report& report) {
  if (!report.axis.timed || !report.ranked || report.tiers.empty()) return {};
  return {memory(report), waiting(report), change(report)};
}

}  // namespace tier::tool::report
