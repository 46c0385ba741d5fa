// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace_input.hpp"

#include <tier/core/bytes.hpp>
#include <tier/trace/files.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace tier::tool {
namespace {

void add_limit(CLI::App& command, const std::string& name, Bytes& limit, const std::string& what) {
  command
      .add_option_function<std::string>(
          name, [&limit](const std::string& size) { limit = parse_bytes(size); },
          "Refuse " + what + " than SIZE")
      ->type_name("SIZE")
      ->default_str(to_string(limit));
}

}  // namespace

void add_trace_input(CLI::App& command, TraceInput& input, const std::string& name) {
  command
      .add_option(
          name, input.path,
          "A trace, as text or binary, as a recording too; as it is or packed by gzip or zstd; - is stdin")
      ->required()
      ->type_name("FILE");
  add_limit(command, "--max-line", input.limits.line, "a line or block longer");
  add_limit(command, "--max-text", input.limits.text, "a trace that unpacks to more");
  add_limit(command, "--max-memory", input.limits.memory, "a trace that takes more memory");
}

trace::Trace read(const TraceInput& input, Progress& progress) {
  std::error_code unknown;  // a pipe has no size
  const auto size = std::filesystem::file_size(input.path, unknown);
  return trace::read_file(input.path, input.limits, [&](std::uint64_t taken) {
    // A growing file can exceed its first size.
    if (!unknown && size > 0)
      progress.show("reading", std::min(1.0, static_cast<double>(taken) / static_cast<double>(size)));
  });
}

}  // namespace tier::tool
