// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace.hpp"

#include <tier/core/bytes.hpp>
#include <tier/trace/binary.hpp>
#include <tier/trace/files.hpp>
#include <tier/trace/summary.hpp>

#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "shared/progress.hpp"
#include "shared/trace_input.hpp"

namespace tier::tool {
namespace {

/// The arguments of all commands.
struct TraceArguments {
  TraceInput in;
  std::string out;
  std::optional<trace::Form> form;  ///< to convert to; none: taken from the name
};

void check(const TraceArguments& arguments) {
  const auto& path = arguments.in.path;
  Progress progress;
  const auto trace = read(arguments.in, progress);
  progress.clear();
  const auto all = trace::summarise(trace, path);
  std::printf("%s: a trace that keeps every rule\n", path.c_str());
  if (trace.header(trace::unfinished_key))
    std::printf("  a recording without an end: read up to its last whole block\n");
  if (const auto lost = trace.header(trace::lost_key))
    std::printf("  a recording that lacks %.*s events, for which there was no room or memory\n",
                static_cast<int>(lost->size()), lost->data());
  const auto print = [](const char* what, std::uint64_t count) {
    std::printf("  %-12s%llu\n", what, static_cast<unsigned long long>(count));
  };
  print("tensors", all.tensors);
  print("kernels", all.kernels);
  print("iterations", all.iterations);
  print("events", all.events);
  std::printf("  %-12s%zu bytes alive at once (%s)\n", "peak", all.peak.count, to_human(all.peak).c_str());
}

void convert(const TraceArguments& arguments) {
  const auto form = arguments.form.value_or(trace::form_of(arguments.out));
  Progress progress;
  const auto trace = read(arguments.in, progress);
  progress.say_writing(arguments.out);
  trace::write_file(trace, arguments.out, form, trace::packing_of(arguments.out));
}

void add_check(CLI::App& trace, const std::shared_ptr<TraceArguments>& arguments) {
  auto* const command =
      trace.add_subcommand("check", "Checks whether a trace keeps every rule, and prints what it contains");
  add_trace_input(*command, arguments->in, "TRACE");
  command->footer(
      "Says tensors, kernels, iterations, events and the most bytes alive at once; or what is wrong, with "
      "file "
      "and line,\nand ends with 1. Example:\n  tier trace check resnet200.trace.gz");
  command->callback([arguments] { check(*arguments); });
}

void add_convert(CLI::App& trace, const std::shared_ptr<TraceArguments>& arguments) {
  auto* const command =
      trace.add_subcommand("convert", "Writes a trace as text in its canonical form or as binary, or packed");
  add_trace_input(*command, arguments->in, "IN");
  command
      ->add_option("OUT", arguments->out,
                   "The file to write: packed by gzip or zstd if its name ends in .gz or .zst, binary if it "
                   "ends in .tt before "
                   "that. Written as a whole or not at all; - is stdout")
      ->required()
      ->type_name("FILE");
  const std::map<std::string, trace::Form> forms{{"text", trace::Form::Text},
                                                 {"binary", trace::Form::Binary}};
  command->add_option("--to", arguments->form, "The form, whatever the name is")
      ->transform(CLI::CheckedTransformer(forms).description(""))
      ->type_name("text|binary");
  command->footer(
      "Examples:\n  tier trace convert run.tt run.trace.gz\n  tier trace convert step.trace step.tt");
  command->callback([arguments] { convert(*arguments); });
}

}  // namespace

void add_trace(CLI::App& app) {
  auto* const trace = app.add_subcommand("trace", "Checks traces of kernels and tensors, and converts them");
  trace->require_subcommand(1);
  trace->footer("Examples:\n  tier trace check step.trace\n  tier trace convert run.tt run.trace.gz");
  const auto arguments = std::make_shared<TraceArguments>();
  add_check(*trace, arguments);
  add_convert(*trace, arguments);
}

}  // namespace tier::tool
