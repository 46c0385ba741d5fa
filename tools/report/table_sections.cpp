// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The sections of the page that have only tables.
#include <algorithm>

#include "format.hpp"
#include "html_table.hpp"
#include "page.hpp"

namespace tier::tool::report {
namespace {

constexpr std::size_t most_lines = 20;

std::string left_out(std::size_t rows, std::string_view one) {
  return rows <= most_lines ? "" : "And " + counted(rows - most_lines, one) + " more.";
}

std::string causes_of(const ObjectRow& row) {
  std::array<std::size_t, cause_count> order{0, 1, 2, 3, 4, 5};
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t c) { return row.bytes_by_cause.at(c); });
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) {
    const auto bytes = row.bytes_by_cause.at(order.at(i));
    if (bytes == 0) break;
    text += (i == 0 ? "" : ", ") + std::string{name_of(static_cast<trace::Cause>(order.at(i)))} + " " +
            human_share(static_cast<double>(bytes), static_cast<double>(row.bytes));
  }
  return text.empty() ? "–" : text;
}

std::string moved_objects(const Report& r) {
  HtmlTable table{{{"Object"},
                   {"How many", true},
                   {"Size", true},
                   {"Moves", true},
                   {"Bytes moved", true},
                   {"Of all bytes", true},
                   {"Times its size", true},
                   {"Causes"}}};
  double rest = 0;
  for (std::size_t i = 0; i < r.objects.size(); ++i) {
    const auto& row = r.objects[i];
    const auto bytes = static_cast<double>(row.bytes), all = static_cast<double>(r.totals.moved);
    const auto sizes = static_cast<double>(row.size) * static_cast<double>(row.objects);
    if (i >= most_lines) {
      rest += bytes;
      continue;
    }
    table.add({row.name, human_count(row.objects), human_bytes(static_cast<double>(row.size)),
               human_count(row.moves), human_bytes(bytes), human_share(bytes, all),
               row.size == 0 ? "–" : human_number(bytes / sizes, 3), causes_of(row)},
              all > 0 ? bytes / all : 0, 5);
  }
  const auto more = r.objects.size() <= most_lines ? std::string{}
                                                   : "And " + counted(r.objects.size() - most_lines, "name") +
                                                         " more, with " + human_bytes(rest) + " together.";
  return "<h2>Objects that moved most</h2>\n" + table.html(more) +
         how("Objects of one name are one row: one that is made anew in each iteration counts again. What "
             "moved many times its size "
             "goes back and forth; it may be worth more room, an earlier hint, or a place in slow memory for "
             "good.");
}

std::string largest_objects(const Report& r) {
  HtmlTable table{{{"Object"}, {"Kind"}, {"How many", true}, {"Size", true}}};
  for (std::size_t i = 0; i < std::min(r.largest.size(), most_lines); ++i) {
    const auto& row = r.largest[i];
    table.add({row.name, std::string{name_of_kind(r, number_of(row.kind))}, human_count(row.objects),
               human_bytes(static_cast<double>(row.size))});
  }
  return "<h2>Largest objects</h2>\n" + table.html(left_out(r.largest.size(), "name")) +
         how("Objects of one name are one row, with the size of the largest. None of them moves in this "
             "trace.");
}

std::string_view text_of(HintTrouble trouble) {
  switch (trouble) {
    case HintTrouble::Late:
      return "fetched too late";
    case HintTrouble::Missed:
      return "announced, yet missed";
    case HintTrouble::Archived:
      return "archived too early";
    case HintTrouble::InVain:
      return "fetched in vain";
  }
  return {};
}

std::string where_of(const KernelRow& row) {
  std::string text;
  for (std::size_t i = 0; i < row.elsewhere.size() && i < 4; ++i)
    text += (i == 0 ? "" : ", ") + shorten(row.elsewhere[i].first, 60) + " " +
            human_count(row.elsewhere[i].second) + "×";
  return text;
}

}  // namespace

std::string object_section(const Report& r) {
  if (!r.objects.empty()) return moved_objects(r);
  return r.largest.empty() ? std::string{} : largest_objects(r);
}

std::string hint_section(const Report& r) {
  if (!r.axis.timed || r.totals.migrations == 0) return {};
  std::string html = "<h2>Hints that came too late, or in vain</h2>\n";
  if (r.hints.empty()) return html + how("None: no hint came too late, and none in vain.");
  HtmlTable table{{{"Object"},
                   {"What went wrong"},
                   {"Times", true},
                   {"Bytes", true},
                   {"Late by, in all", true},
                   {"Kernels in between", true}}};
  constexpr std::size_t most_of_each = 10;
  std::array<std::size_t, 4> shown{};
  std::size_t more = 0;
  for (const auto& row : r.hints) {
    if (shown.at(static_cast<std::size_t>(row.trouble))++ >= most_of_each) {
      ++more;
      continue;
    }
    table.add({row.object, std::string{text_of(row.trouble)}, human_count(row.count),
               human_bytes(static_cast<double>(row.bytes)),
               row.trouble == HintTrouble::Late ? human_time(static_cast<double>(row.late)) : "–",
               row.trouble == HintTrouble::Archived ? human_count(row.kernels_between) : "–"});
  }
  html += table.html(more == 0 ? ""
                               : "And " + counted(more, "row") + " more: of each sort, the worst " +
                                     std::to_string(most_of_each) + " are shown.");
  return html +
         "<ul class=\"how\">"
         "<li><b>fetched too late</b>: it was fetched ahead (cause hint or plan), and was not there yet when "
         "a kernel that uses it was entered. Give the hint earlier.</li>"
         "<li><b>announced, yet missed</b>: a hint had named the object, and the next kernel "
         "that used it still had to fetch it.</li>"
         "<li><b>archived too early</b>: the program said that it would not use the object for a while, and "
         "at most " +
         std::to_string(soon) +
         " kernels later one missed it.</li>"
         "<li><b>fetched in vain</b>: it was fetched ahead, and moved out again or retired before a "
         "kernel used it. The hint came too "
         "early, or was wrong.</li></ul>\n";
}

std::string miss_section(const Report& r) {
  if (!r.ranked || r.totals.measured == 0) return {};
  std::vector<const KernelRow*> never;
  for (const auto& row : r.kernels)
    if (row.reads != 0 && row.hits == 0) never.push_back(&row);
  const auto fastest = shorten(r.tiers.front().name);
  std::string html = "<h2>Kernels that never hit</h2>\n";
  if (never.empty())
    return html + how("None: every kernel found some of what it reads in " + fastest +
                      " when it was entered, at least once.");
  HtmlTable table{
      {{"Kernel"}, {"Runs", true}, {"Time", true}, {"Operands read", true}, {"Where they were instead"}}};
  for (std::size_t i = 0; i < std::min(never.size(), most_lines); ++i)
    table.add({never[i]->name, human_count(never[i]->runs), human_time(static_cast<double>(never[i]->time)),
               human_count(never[i]->reads), where_of(*never[i])});
  return html + table.html(left_out(never.size(), "kernel")) +
         how("In none of their runs was anything that they read in " + fastest +
             ", the fastest tier, when they were entered: it was fetched then, or used "
             "where it was. Hints before them, or more fast memory, would help these most. What a kernel "
             "only writes does not count.");
}

std::string kernel_section(const Report& r) {
  if (r.kernels.empty()) return {};
  const bool timed = r.totals.measured != 0;
  std::vector<HtmlTable::Column> columns{{"Kernel"}, {"Runs", true}};
  if (timed) columns.insert(columns.end(), {{"Time", true}, {"Of all kernels", true}});
  if (timed && r.ranked) columns.push_back({"Read from " + shorten(r.tiers.front().name, 30), true});
  columns.insert(columns.end(), {{"Bytes of operands", true}, {"Flops", true}});
  double all = 0;
  for (const auto& row : r.kernels) all += static_cast<double>(row.time);
  HtmlTable table{columns};
  for (std::size_t i = 0; i < std::min(r.kernels.size(), most_lines); ++i) {
    const auto& row = r.kernels[i];
    const auto time = static_cast<double>(row.time);
    std::vector<std::string> cells{row.name, human_count(row.runs)};
    if (timed) cells.insert(cells.end(), {human_time(time), human_share(time, all)});
    if (timed && r.ranked)
      cells.push_back(human_share(static_cast<double>(row.hits), static_cast<double>(row.reads)));
    cells.insert(cells.end(), {human_bytes(static_cast<double>(row.touched)),
                               row.flops == 0 ? "–" : human_scaled(row.flops)});
    table.add(cells, timed && all > 0 ? time / all : 0, 3);
  }
  std::string text = timed ? "Kernels of one name are one row, those that took longest first. "
                           : "Kernels of one name are one row, those that compute most first. ";
  if (timed && r.ranked)
    text += "Read from " + shorten(r.tiers.front().name) +
            ": of the operands that they read, how many were in that tier when they were entered.";
  return "<h2>Kernels</h2>\n" + table.html(left_out(r.kernels.size(), "kernel")) + how(text);
}

}  // namespace tier::tool::report
