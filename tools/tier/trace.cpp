// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace.hpp"

#include <tier/core/bytes.hpp>
#include <tier/trace/files.hpp>
#include <tier/trace/summary.hpp>

#include <cstdio>
#include <memory>
#include <string>

#include "trace_input.hpp"

namespace tier::tool {
namespace {

/// What the commands are given.
struct Arguments {
  TraceInput in;
  std::string out;
};

void check(const Arguments& arguments) {
  const auto& path = arguments.in.path;
  const auto all = trace::summarise(trace::read_file(path, arguments.in.limits), path);
  std::printf("%s: a trace that keeps every rule\n", path.c_str());
  const auto print = [](const char* what, std::uint64_t count) {
    std::printf("  %-12s%llu\n", what, static_cast<unsigned long long>(count));
  };
  print("tensors", all.tensors);
  print("kernels", all.kernels);
  print("iterations", all.iterations);
  print("events", all.events);
  std::printf("  %-12s%zu bytes alive at once (%s)\n", "peak", all.peak.count, to_human(all.peak).c_str());
}

void convert(const Arguments& arguments) {
  trace::write_file(trace::read_file(arguments.in.path, arguments.in.limits), arguments.out);
}

void add_check(CLI::App& trace, const std::shared_ptr<Arguments>& arguments) {
  auto* const command =
      trace.add_subcommand("check", "Whether a trace keeps every rule, and what it has in all");
  add_trace_input(*command, arguments->in, "FILE");
  command->footer(
      "Says tensors, kernels, iterations, events and the most bytes alive at once; or what is wrong, with "
      "file "
      "and line,\nand ends with 1. Example:\n  tier trace check resnet200.trace.gz");
  command->callback([arguments] { check(*arguments); });
}

void add_convert(CLI::App& trace, const std::shared_ptr<Arguments>& arguments) {
  auto* const command = trace.add_subcommand("convert", "Writes a trace in its canonical form, or packed");
  add_trace_input(*command, arguments->in, "IN");
  command
      ->add_option(
          "OUT", arguments->out,
          "Where to: packed by gzip or zstd if the name ends in .gz or .zst. Written as a whole or not "
          "at all")
      ->required();
  command->footer("Example:\n  tier trace convert recorded.trace resnet200.trace.zst");
  command->callback([arguments] { convert(*arguments); });
}

}  // namespace

void add_trace(CLI::App& app) {
  auto* const trace = app.add_subcommand("trace", "Checks traces of kernels and tensors, and converts them");
  trace->require_subcommand(1);
  trace->footer("Examples:\n  tier trace check step.trace\n  tier trace convert step.trace step.trace.gz");
  const auto arguments = std::make_shared<Arguments>();
  add_check(*trace, arguments);
  add_convert(*trace, arguments);
}

}  // namespace tier::tool
