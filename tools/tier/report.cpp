// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report.hpp"

#include <tier/core/output_file.hpp>

#include <filesystem>
#include <memory>
#include <string>

#include "report/analysis.hpp"
#include "report/page.hpp"
#include "report/perfetto.hpp"
#include "shared/output_option.hpp"
#include "shared/progress.hpp"
#include "shared/trace_input.hpp"

namespace tier::tool {
namespace {

struct ReportArguments {
  TraceInput in;
  std::string page, perfetto;
};

void write_page(const trace::Trace& trace, const ReportArguments& arguments) {
  write_file(arguments.page, report::to_html(report::analyse(trace),
                                             std::filesystem::path{arguments.in.path}.filename().string()));
}

void write_perfetto(const trace::Trace& trace, const ReportArguments& arguments) {
  OutputFile out{arguments.perfetto};
  report::write_perfetto(trace, out);
  out.finish();
}

void run(const ReportArguments& arguments) {
  Progress progress;
  const auto trace = read(arguments.in, progress);
  if (!arguments.page.empty()) {
    progress.say_writing(arguments.page);
    write_page(trace, arguments);
  }
  if (!arguments.perfetto.empty()) {
    progress.say_writing(arguments.perfetto);
    write_perfetto(trace, arguments);
  }
}

}  // namespace

void add_report(CLI::App& app) {
  const auto arguments = std::make_shared<ReportArguments>();
  auto* const command = app.add_subcommand(
      "report",
      "A trace as a page: what was in which tier, what moved and why, who waited, which hints came late");
  add_trace_input(*command, arguments->in, "TRACE");
  auto* const output = command->add_option_group("output", "At least one of these");
  output
      ->add_option("-o,--output", arguments->page,
                   "Write a page for a browser, which needs nothing else; - is stdout")
      ->type_name("FILE");
  output
      ->add_option("--perfetto", arguments->perfetto,
                   "Write trace events as JSON, which ui.perfetto.dev opens")
      ->type_name("FILE");
  output->require_option(1, 0);
  command->footer(
      "A recording (a program run with TIER_TRACE=FILE) shows times, tiers, migrations and stalls; a trace "
      "without\n"
      "times shows the bytes alive from kernel to kernel. Outputs are there as a whole or not at "
      "all.\nExamples:\n"
      "  tier report run.trace -o report.html\n"
      "  tier report run.trace.gz -o report.html --perfetto run.json");
  command->callback([arguments] {
    check_apart({"--output", arguments->page}, {"--perfetto", arguments->perfetto});
    run(*arguments);
  });
}

}  // namespace tier::tool
