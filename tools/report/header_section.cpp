// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The setting of the run, its totals, what the trace lacks, and the words that the page uses.
#include <tier/trace/binary.hpp>

#include <algorithm>
#include <array>
#include <cstdio>

#include "answers.hpp"
#include "format.hpp"
#include "html_table.hpp"
#include "page.hpp"

namespace tier::tool::report {
namespace {

std::string lead(const Report& r) {
  const auto& t = r.totals;
  std::string text =
      r.axis.timed ? "In " + human_time(static_cast<double>(t.duration)) + ", " : "In this trace, ";
  text += counted(t.kernels, "kernel") + " used " + counted(t.objects, "object") + "; at most " +
          human_bytes(static_cast<double>(t.peak)) + " were alive at once.";
  if (!r.axis.timed) return text;
  text += t.migrations == 0 ? " Nothing moved between tiers"
                            : " " + human_bytes(static_cast<double>(t.moved)) + " moved in " +
                                  counted(t.migrations, "migration");
  text += t.stalls == 0 ? ", and no thread had to wait for it."
                        : ", and threads waited " + human_time(static_cast<double>(t.stalled)) +
                              " for memory, all of them together.";
  return text;
}

/// Returns the answers, which come first because many readers read no further.
std::string in_short(const Report& r) {
  std::string html;
  for (const auto& [question, sentences] : answers_of(r)) {
    html += "<dt>" + escape(question) + "</dt>";
    for (const auto& sentence : sentences) html += "<dd>" + escape(sentence) + "</dd>";
  }
  return html.empty() ? html : "<dl class=\"answers\">" + html + "</dl>\n";
}

std::string totals(const Report& r) {
  std::string html = "<dl class=\"totals\">";
  const auto add = [&](std::string_view what, const std::string& value, const std::string& more = {}) {
    html += "<div><dt>" + escape(what) + "</dt><dd>" + escape(value) +
            (more.empty() ? "" : "<small>" + escape(more) + "</small>") + "</dd></div>";
  };
  const auto& t = r.totals;
  if (r.axis.timed) add("recorded", human_time(static_cast<double>(t.duration)));
  add("kernels", human_count(t.kernels), t.iterations > 1 ? "in " + counted(t.iterations, "iteration") : "");
  add("objects", human_count(t.objects));
  add("most at once", human_bytes(static_cast<double>(t.peak)));
  if (!r.axis.timed) return html + "</dl>\n";
  add("moved", human_bytes(static_cast<double>(t.moved)), "in " + counted(t.migrations, "migration"));
  const auto whole = static_cast<double>(t.duration) * static_cast<double>(t.threads);
  add("waited", human_time(static_cast<double>(t.stalled)),
      t.threads == 0 ? "in " + counted(t.stalls, "stall")
                     : human_share(static_cast<double>(t.stalled), whole) + " of the time of " +
                           counted(t.threads, "thread"));
  add("hints", human_count(t.hints));
  if (t.faults != 0) add("access faults", human_count(t.faults));
  if (t.row_accesses != 0)
    add("rows of tables", human_count(t.rows), "in " + human_count(t.row_accesses) + " gathers and updates");
  return html + "</dl>\n";
}

/// Returns the value of a key in the trace's header; null if there is none.
const std::string* header_of(const Report& r, std::string_view key) {
  const auto found = std::ranges::find(r.headers, key, &std::pair<std::string, std::string>::first);
  return found == r.headers.end() ? nullptr : &found->second;
}

/// Returns a paragraph for each thing that the trace lacks and a reader may look for.
std::string notes(const Report& r) {
  std::string html;
  const auto note = [&](std::string_view text) {
    html += "<p class=\"note\">" + std::string{text} + "</p>\n";
  };
  if (!r.axis.timed) {
    note(
        "This trace has no times: it lists kernels and what they use, as made from a definition, not "
        "recorded from a run. So "
        "the charts go from kernel to kernel, and there is nothing on tiers, migrations, stalls, and hints "
        "that came too "
        "late. To see these, record a run: start a program that uses libtier with "
        "<code>TIER_TRACE=FILE</code> in its "
        "environment, and make the report of that file.");
    return html;
  }
  if (header_of(r, trace::unfinished_key) != nullptr)
    note("The recording was cut off, or went on still when it was read: this is what it had until then.");
  if (const auto* const lost = header_of(r, trace::lost_key))
    note("The recording lacks " + escape_name(*lost) +
         " events, for which there was no room when they were noted.");
  if (r.totals.measured < r.totals.kernels)
    note(counted(r.totals.kernels - r.totals.measured, "kernel") + " of " + human_count(r.totals.kernels) +
         " have no time (no line <code>k</code>); they are taken to be between what is told before and after "
         "them.");
  if (r.totals.migrations == 0)
    note(
        "Nothing moved (no line <code>m</code>): either all objects had room where they were first placed, "
        "or the policy "
        "moves nothing.");
  if (!r.ranked)
    note(
        "The trace does not say which tiers there were and which is the fastest (no line <code>c "
        "tiers=</code> that can be "
        "read). So there are no capacities, and nothing on operands that were not in the fastest tier. A "
        "recording by "
        "<code>TIER_TRACE=FILE</code> has it.");
  return html;
}

/// Says over how long a time the charts average.
std::string resolution(const Report& r) {
  const auto& axis = r.axis;
  const auto group = static_cast<Time>(bins_in_column(axis));
  if (!axis.timed && axis.width == 1 && group == 1)
    return "Each step of the charts is one kernel; nothing is averaged.";
  const auto column = human_place(axis, axis.width * group), bin = human_place(axis, axis.width);
  return std::string{axis.timed ? "Charts go from left to right, from the start of the recording to its end. "
                                : ""} +
         "Each step of the charts is the mean over " + column +
         (group == 1 ? std::string{"."}
                     : "; zooming in shows up to " + bin +
                           ". What is shorter than that is averaged, but for the lines “highest”.");
}

std::string words(const Report& r) {
  std::string html =
      "<details><summary>Words on this page</summary><dl class=\"words\">"
      "<dt>object</dt><dd>a piece of the program's data that moves as one, such as a tensor</dd>"
      "<dt>kernel</dt><dd>a step of the computation, with the objects that it reads and writes, its "
      "operands</dd>";
  if (r.axis.timed)
    html +=
        "<dt>tier</dt><dd>a memory with a capacity and a speed: DRAM, memory behind CXL, a file on a "
        "disk</dd>"
        "<dt>migration</dt><dd>an object, or a block of one, changes its tier</dd>"
        "<dt>miss</dt><dd>a kernel begins and an operand is not where it shall be used: the kernel waits "
        "while it is fetched</dd>"
        "<dt>stall</dt><dd>the time for which a thread waits for a migration, or for room</dd>"
        "<dt>hint</dt><dd>what the program says of its next steps, such as that an object will be used soon "
        "(so it may be "
        "fetched early), or not for a while (<em>archived</em>: it may go first)</dd>";
  return html + "</dl></details>\n";
}

std::string speed_of(const TierOfTrace& tier) {
  if (!tier.model) return "–";
  return human_rate(tier.model->read_bytes_per_second) + " read, " +
         human_rate(tier.model->write_bytes_per_second) + " written, " +
         human_time(static_cast<double>(tier.model->latency.count())) + " latency";
}

std::string tier_table(const Report& r) {
  if (r.tiers.empty()) return {};
  HtmlTable table{{{"Tier"},
                   {"Capacity", true},
                   {"Most bytes in it", true},
                   {"Of its capacity", true},
                   {"Speed that it is taken to have"}}};
  for (const auto& tier : r.tiers) {
    const auto used = std::ranges::find(r.occupancy, tier.name, &Occupancy::tier);
    const auto peak = used == r.occupancy.end() ? 0.0 : static_cast<double>(used->peak);
    const auto capacity = tier.capacity ? static_cast<double>(tier.capacity->count) : 0.0;
    table.add({tier.name, tier.capacity ? human_bytes(capacity) : "–", human_bytes(peak),
               human_share(peak, capacity), speed_of(tier)},
              capacity > 0 ? std::min(1.0, peak / capacity) : 0, 3);
  }
  return "<h3>Tiers" + std::string{r.ranked ? ", the fastest first" : ""} + "</h3>\n" + table.html();
}

}  // namespace

std::string setting_section(const Report& r) {
  if (r.headers.empty() && r.settings.empty()) return {};
  constexpr std::size_t most = 60;
  HtmlTable table{{{"Setting"}, {"Value"}}};
  std::size_t count = 0;
  for (const auto* const settings : {&r.headers, &r.settings})
    for (const auto& [key, value] : *settings)
      if (key != "tmtrace" && count++ < most) table.add({key, value});
  return "<h2>What was run</h2>\n" +
         table.html(count > most ? human_count(count - most) + " more are left out." : "");
}

std::string_view name_of_kind(const Report& r, std::size_t kind) {
  static constexpr std::array<std::string_view, 3> by_use{
      "read before it was written", "written first, and kept from iteration to iteration", "written first"};
  const auto* const recorded = header_of(r, "recorded");
  return recorded != nullptr && *recorded == "1" && kind < by_use.size() ? by_use.at(kind) : name_of(kind);
}

std::string header_section(const Report& report, std::string_view name) {
  std::string html = "<h1>Memory report: " + escape_name(name) + "</h1>\n<p class=\"lead\">" +
                     escape(lead(report)) + "</p>\n";
  html += in_short(report) + notes(report) + totals(report) + "<p class=\"how\">" +
          escape(resolution(report)) + "</p>\n" + words(report);
  return html + tier_table(report);
}

}  // namespace tier::tool::report
