// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The sections of the page that have charts.
#include "format.hpp"
#include "html_table.hpp"
#include "page.hpp"

namespace tier::tool::report {
namespace {

constexpr std::size_t most_rows = 20;
constexpr std::size_t most_marks = 100;  // the same as in `Charts::add`

std::string rest_of(std::size_t rows, std::string_view one, const std::string& what) {
  if (rows <= most_rows) return {};
  return "And " + counted(rows - most_rows, one) + " more, with " + what + " together.";
}

std::string migration_table(const Report& r) {
  HtmlTable table{{{"From"},
                   {"To"},
                   {"Cause"},
                   {"Migrations", true},
                   {"Bytes", true},
                   {"Of all bytes", true},
                   {"Mean size", true},
                   {"Without copying", true},
                   {"Time of copying", true}}};
  std::uint64_t rest = 0;
  for (std::size_t i = 0; i < r.migrations.size(); ++i) {
    const auto& row = r.migrations[i];
    const auto bytes = static_cast<double>(row.bytes), all = static_cast<double>(r.totals.moved);
    const auto copied = row.count - row.uncopied;
    if (i >= most_rows) {
      rest += row.bytes;
      continue;
    }
    table.add({row.from, row.to, std::string{name_of(row.cause)}, human_count(row.count), human_bytes(bytes),
               human_share(bytes, all), copied == 0 ? "–" : human_bytes(bytes / static_cast<double>(copied)),
               human_count(row.uncopied), human_time(static_cast<double>(row.time))},
              all > 0 ? bytes / all : 0, 5);
  }
  return table.html(rest_of(r.migrations.size(), "row", human_bytes(static_cast<double>(rest))));
}

std::string stall_table(const Report& r) {
  HtmlTable table{{{"Scope, kernel or table"},
                   {"Stalls", true},
                   {"Waited", true},
                   {"Of all waiting", true},
                   {"Mean", true},
                   {"Longest", true},
                   {"What for"}}};
  Time rest = 0;
  for (std::size_t i = 0; i < r.stalls.size(); ++i) {
    const auto& row = r.stalls[i];
    const auto time = static_cast<double>(row.time), all = static_cast<double>(r.totals.stalled);
    if (i >= most_rows) {
      rest += row.time;
      continue;
    }
    std::string causes;
    for (std::size_t c = 0; c < row.causes.size() && c < 3; ++c)
      causes +=
          (c == 0 ? "" : ", ") + shorten(row.causes[c].first, 40) +
          (row.causes.size() == 1 ? "" : " " + human_share(static_cast<double>(row.causes[c].second), time));
    table.add({row.scope, human_count(row.count), human_time(time), human_share(time, all),
               human_time(time / static_cast<double>(row.count)),
               human_time(static_cast<double>(row.longest)), causes},
              all > 0 ? time / all : 0, 3);
  }
  return table.html(rest_of(r.stalls.size(), "scope", human_time(static_cast<double>(rest))));
}

std::vector<Layer> with_names(const Report& r, std::vector<Layer> layers) {
  for (auto& layer : layers) layer.name = name_of_kind(r, layer.colour);
  return layers;
}

/// Explains the picture of one tier, with the most bytes that were in it.
std::string filling(const Occupancy& one, bool placed) {
  const auto peak = static_cast<double>(one.peak);
  if (!placed)
    return "How many bytes the program needs from kernel to kernel: what was made and is not retired yet. "
           "The highest place, " +
           human_bytes(peak) + ", is the memory that it takes without tiers.";
  if (!one.capacity)
    return "How many bytes had their home here: the higher the area, the more. At most it was " +
           human_bytes(peak) + ".";
  return "How full it was: the higher the area, the more bytes had their home here; at the dashed line it "
         "was full, and "
         "something had to leave before anything could come. At most it was " +
         human_bytes(peak) + ", " + human_share(peak, static_cast<double>(one.capacity->count)) +
         " of its capacity.";
}

constexpr std::string_view causes =
    "<ul class=\"how\"><li><b>hint</b>: the program asked for it ahead. Good: it moves while the program "
    "computes.</li>"
    "<li><b>plan</b>: the policy decided so, after a hint or on its own; to a slower tier it may be a second "
    "copy, so that the object can leave at once later.</li>"
    "<li><b>miss</b>: a kernel needed it at once, and waited.</li>"
    "<li><b>evict</b>: it made room for something else.</li>"
    "<li><b>forced</b>: it made room, where the policy had offered none.</li>"
    "<li><b>compact</b>: free space was put together.</li></ul>\n";

}  // namespace

std::string occupancy_section(const Report& r, Charts& charts) {
  const bool placed = r.axis.timed && !r.tiers.empty();
  std::string html = placed ? "<h2>What was in each tier</h2>\n" : "<h2>Bytes alive</h2>\n";
  for (const auto& one : r.occupancy) {
    const auto layers = with_names(r, one.layers);
    Chart chart{.title = shorten(one.tier) + ": bytes in it",
                .unit = Unit::Bytes,
                .palette = "kinds",
                .layers = layers,
                .highest = one.highest,
                .limit = {},
                .how = filling(one, placed)};
    if (one.tier.empty())
      chart.title = placed         ? "tier not known: bytes"
                    : r.axis.timed ? "all objects"
                                   : "all objects, from kernel to kernel";
    if (one.capacity) chart.limit = static_cast<double>(one.capacity->count);
    html += charts.add(chart);
  }
  std::string text =
      "Colours are kinds of objects, on top of each other, as the program used them; the thin line is the "
      "highest that it was within "
      "each step.";
  if (!r.iteration_ends.empty() && r.iteration_ends.size() <= most_marks)
    text += " Dotted lines are ends of iterations.";
  if (placed) text += " Second copies, which a tier may keep of what lives in another, are not counted.";
  return html + how(text);
}

std::string traffic_section(const Report& r, Charts& charts) {
  if (r.migrations.empty()) return {};
  std::string html = "<h2>What moved, and why</h2>\n";
  for (const auto& one : r.traffic) {
    const bool others = one.from.empty() && one.to.empty();
    const auto pair = others ? "all other pairs of tiers" : shorten(one.from) + " → " + shorten(one.to);
    html += charts.add(
        {.title = pair + ": bytes per second",
         .unit = Unit::BytesPerSecond,
         .palette = "causes",
         .layers = one.layers,
         .highest = {},
         .limit = {},
         .how =
             "How fast bytes moved there: a wide, high area is much traffic, a gap a time in which nothing "
             "moved, and the colour says why it moved."});
  }
  html += std::string{causes} + ("<h3>All migrations by tiers and cause</h3>\n" + migration_table(r));
  return html + how("The rows with most bytes come first. Many bytes under miss, or the same bytes going out "
                    "and coming "
                    "back, are what costs time. Without copying: a current copy was there already, so that "
                    "nothing had "
                    "to be copied.");
}

std::string stall_section(const Report& r, Charts& charts) {
  if (!r.waiting) return {};
  std::string html = "<h2>Where threads waited</h2>\n";
  html += charts.add(
      {.title = "threads that wait for memory",
       .unit = Unit::Threads,
       .palette = "stalls",
       .layers = r.waiting->layers,
       .highest = {},
       .limit = {},
       .how =
           "How many threads waited for memory, on average over each step: 1 means that one thread did "
           "nothing else, and 0 is best. A transfer is a wait for bytes to arrive, room a wait for a place "
           "to put them."});
  html += "<h3>Scopes, kernels and tables that waited most</h3>\n" + stall_table(r);
  return html + how("What waits longest comes first: a hint earlier, for what it uses, helps there most.");
}

}  // namespace tier::tool::report
