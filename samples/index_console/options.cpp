// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "options.hpp"

#include <fmt/format.h>
#include <tier/core/error.hpp>
#include <tier/runtime/policies.hpp>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "common/access_skew.hpp"
#include "common/checked_sizes.hpp"
#include "common/command_line.hpp"
#include "common/tier_options.hpp"

namespace pmr_index {
namespace {

void add_work_options(CLI::App& app, Options& o) {
  app.add_option("--text", o.text,
                 "Text to index: a file, or a folder of files *.txt, plain or packed by gzip or zstd; - is "
                 "stdin; without it text is generated from --seed");
  app.add_option("--documents", o.documents,
                 "How many documents of about 200 words are indexed: the text's own, then sentences of it in "
                 "new combinations")
      ->capture_default_str();
  app.add_option("--queries", o.queries, "How many queries are answered")->capture_default_str();
  app.add_option("--skew", o.skew, "Skew of the words asked for: a Zipf exponent, or uniform")
      ->capture_default_str();
  app.add_option("--batch", o.batch, "Queries that are looked up together, and share a scope")
      ->capture_default_str();
  app.add_flag("--prefetch", o.prefetch, "In the run scopes: prefetch the lists of the next batch too");
  app.add_option("--seed", o.seed, "Seed of the generated text, documents and queries")
      ->capture_default_str();
}

void add_memory_options(CLI::App& app, Options& o) {
  app.add_option("--fast", o.fast, "Fast memory: a size, or a share of the peak of the run std")
      ->take_last()
      ->capture_default_str();
  app.add_option("--slow", o.slow, sample::slow_help);
  app.add_option("--policy", o.policy, "NAME or NAME:option=value,...")->capture_default_str();
  app.add_option("--windows", o.windows,
                 "Who serves page faults: the program (full) or the system ("
                 "restricted) [full where the system permits it]")
      ->check(CLI::IsMember({"full", "restricted"}));
  app.add_option("--paging-folder", o.paging_folder,
                 "Folder of os_paging's file [the slow tier's folder, else /var/tmp]");
  app.add_option("--paging-seconds", o.paging_seconds,
                 "Seconds that each variant of os_paging may take before it is given up; 0: no limit")
      ->capture_default_str();
}

// If the program calls itself, it appends options to those it was given: the last one counts.
void add_run_options(CLI::App& app, Options& o) {
  app.add_option("--runs", o.runs, "Runs to make, any of std,scopes,no_scopes,os_paging; std is always made")
      ->delimiter(',')
      ->check(CLI::IsMember({"std", "scopes", "no_scopes", "os_paging"}))
      ->capture_default_str();
  app.add_option("--repeat", o.repeat, "How often each run is made, in turns; the median by queries/s counts")
      ->capture_default_str();
  app.add_option("--json", o.json, "Write the results to this file; - is stdout, without the table")
      ->take_last();
  app.add_option("--run", o.run, "Make only this run, in this process")
      ->check(CLI::IsMember(run_names()))
      ->take_last();
  app.add_option("--peak", o.peak, "With --run: bytes of the containers in the run std")
      ->take_last()
      ->capture_default_str();
  app.add_flag("--empty", o.empty,
               "Index nothing and ask nothing, to show what the program needs besides the index");
}

void check(bool holds, const std::string& message) {
  if (!holds) throw tier::ConfigError{message};
}

/// Checks the options early. Errors would otherwise show only after the runs that need no tiers.
void check_options(const Options& o) {
  constexpr std::size_t most_documents = 100'000'000;
  check(o.documents >= 100 && o.documents <= most_documents,
        fmt::format("--documents must be from 100 to {}", most_documents));
  sample::check_range("--queries", o.queries, 1, most_documents);
  sample::check_range("--batch", o.batch, 1, most_documents);
  sample::check_range("--repeat", o.repeat, 1, 1000);
  check(o.skew != "production", "--skew takes a Zipf exponent, or uniform");
  std::ignore = sample::AccessSkew{o.skew, 1, o.seed};
  std::ignore = sample::parse_fast(o.fast, tier::Bytes{1 << 20});
  std::ignore = sample::parse_slow(o.slow, tier::Bytes{1 << 20});
  std::ignore = tier::make_policy(o.policy);
  check(o.run.empty() || o.run == "std" || !o.fast.ends_with('%'),
        fmt::format("--run {}: --fast {} is a share of what the run std takes; give a size", o.run, o.fast));
  check(tier::parse_bytes(o.peak).count <= sample::most_bytes, "--peak is too large: 1 PiB is the most");
  check(!o.run.empty() || !sample::reads_once(o.text),
        fmt::format("--text {} can be read only once, and each run is a process that reads it: give a file, "
                    "or make one "
                    "run by --run NAME",
                    o.text));
  check(o.text.empty() || o.text == "-" || std::filesystem::exists(o.text),
        fmt::format("--text {}: there is no such file or folder", o.text));
}

}  // namespace

const std::vector<std::string>& run_names() {
  static const std::vector<std::string> names{
      "std", "scopes", "no_scopes", "os_paging_default", "os_paging_random", "os_paging_willneed"};
  return names;
}

std::optional<Options> parse_options(std::vector<std::string> arguments, std::ostream& out) {
  Options options;
  CLI::App app{
      "Builds an inverted index of std::pmr containers in two tiers of memory, and answers queries from it.",
      "tier-index"};
  add_work_options(app, options);
  add_memory_options(app, options);
  add_run_options(app, options);
  options.arguments = arguments;
  if (!sample::parse(app, std::move(arguments), out)) return {};
  check_options(options);
  return options;
}

}  // namespace pmr_index
