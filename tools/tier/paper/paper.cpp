// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "paper.hpp"
#include "shared/colours.hpp"
#include "shared/progress.hpp"

#include <tier/core/detail/json_text.hpp>
#include <tier/core/error.hpp>
#include <tier/core/output_file.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "papers.hpp"
#include "plot/plot.hpp"
#include "terminal/text_table.hpp"

namespace tier::tool {
namespace {

using paper::Report;

struct PaperArguments {
  std::string paper, network, json, figures;
};

std::vector<Report> replay_papers(const PaperArguments& arguments) {
  Progress progress;
  std::string name;
  paper::Tasks tasks{[&](double share) { progress.show(name, share); }};
  std::vector<Report> reports;
  const auto wants = [&](const char* one) {
    name = one;
    return arguments.paper.empty() || arguments.paper == one;
  };
  if (wants("cachedarrays")) reports.push_back(paper::cachedarrays(tasks, arguments.network));
  if (wants("autotm")) reports.push_back(paper::autotm(tasks));
  if (wants("redl")) reports.push_back(paper::redl(tasks));
  return reports;
}

void print(const Report& report) {
  fmt::print("== {}\n", report.paper);
  if (!report.footprints.empty()) {
    std::vector<TextRow> rows{{"footprint, GB", "paper", "replay", "ratio"}};
    for (const auto& f : report.footprints)
      rows.push_back({f.network, fmt::format("{:.0f}", f.paper), fmt::format("{:.1f}", f.replay),
                      fmt::format("{:.3f}", f.replay / f.paper)});
    fmt::print("\n{}", to_lines(rows));
  }
  for (const auto& table : report.tables)
    if (table.rows.size() > 1) fmt::print("\n{}\n{}", table.title, to_lines(table.rows));
  fmt::print("\nAssumed:\n");
  for (const auto& line : report.constants) fmt::print("  {}\n", line);
  fmt::print("\nStatements:\n");
  for (const auto& s : report.statements)
    fmt::print(
        "  {}{}\n",
        fmt::format(style_on(stdout, s.holds ? good : bad), "{:<14}", s.holds ? "holds" : "does not hold"),
        s.text);
  fmt::print("\n");
}

nlohmann::ordered_json to_json(const std::vector<Report>& reports) {
  using json = nlohmann::ordered_json;
  json all{{"cells", json::array()}, {"footprints", json::array()}, {"statements", json::array()}};
  for (const auto& r : reports) {
    for (const auto& c : r.cells)
      all["cells"].push_back({{"network", c.network},
                              {"series", c.series},
                              {"mode", c.mode},
                              {"paper", c.paper},
                              {"replay", c.replay},
                              {"ratio", c.replay / c.paper}});
    for (const auto& f : r.footprints)
      all["footprints"].push_back({{"source", r.paper},
                                   {"network", f.network},
                                   {"paper", f.paper},
                                   {"replay", f.replay},
                                   {"ratio", f.replay / f.paper}});
    for (const auto& s : r.statements)
      all["statements"].push_back({{"source", r.paper}, {"text", s.text}, {"holds", s.holds}});
    all["constants"][r.paper] = r.constants;
    if (r.more.is_object()) all.update(r.more);
  }
  return all;
}

/// \throws  `CLI::RuntimeError` after a message if there is no gnuplot; the commands for it are written all the same
void draw_all(const std::vector<Report>& reports, const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw TierError{error, "making the folder " + folder.string()};
  bool all = true;
  for (const auto& report : reports)
    for (const auto& figure : report.figures)
      all = tool::draw(figure.plot, folder / figure.name, "tier paper") && all;
  if (!all) throw CLI::RuntimeError{1};
}

void run(const PaperArguments& arguments) {
  if (!arguments.network.empty() && arguments.paper != "cachedarrays")
    throw ConfigError{
        "--network chooses among CachedArrays' networks: it goes with `tier paper cachedarrays`"};
  const auto reports = replay_papers(arguments);
  const bool has_tables = arguments.json != "-";
  if (has_tables)
    for (const auto& report : reports) print(report);
  if (!arguments.json.empty()) write_file(arguments.json, detail::json_text(to_json(reports)) + '\n');
  if (arguments.figures.empty()) return;
  draw_all(reports, arguments.figures);
  if (has_tables) fmt::print("The figures are in {}\n", arguments.figures);
}

}  // namespace

void add_paper(CLI::App& app) {
  auto* const command = app.add_subcommand(
      "paper", "The papers' tables and statements beside what replays of their networks give");
  const auto arguments = std::make_shared<PaperArguments>();
  command->add_option("PAPER", arguments->paper, "One of them; default: all")
      ->check(CLI::IsMember({"cachedarrays", "autotm", "redl"}));
  command
      ->add_option("--network", arguments->network,
                   "Replay only this one of CachedArrays' three large networks, as vgg416")
      ->type_name("NAME");
  command
      ->add_option("--json", arguments->json, "Also as JSON, to this file; - is stdout, without the tables")
      ->type_name("FILE");
  command
      ->add_option("--figures", arguments->figures,
                   "Draw the figures with gnuplot, as SVG and PNG, into this folder")
      ->type_name("FOLDER");
  command->footer(
      "Examples:\n  tier paper\n  tier paper cachedarrays --network resnet200\n"
      "  tier paper --json tables.json --figures figures");
  command->callback([arguments] { run(*arguments); });
}

}  // namespace tier::tool
