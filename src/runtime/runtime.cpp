// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/environment.hpp"
#include "runtime/forks.hpp"

#include <tier/copy/copy_kernel.hpp>
#include <tier/core/config.hpp>
#include <tier/core/error.hpp>
#include <tier/core/suggestion.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/spec.hpp>
#include <tier/replay/machine_file.hpp>
#include <tier/runtime/runtime.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <optional>

#include "copy/kernel_choice.hpp"
#include "memory/system/memory_check.hpp"

namespace tier {
namespace {

using detail::copy_kernel_variable;
using detail::measured_variable;
using detail::policy_variable;
using detail::tiers_variable;
using detail::trace_rows_variable;
using detail::trace_variable;
using detail::variable;
using detail::windows_variable;

/// Returns the message without the text of its error code.
std::string without_code(const TierError& error) {
  std::string text = error.what();
  const auto code = ": " + error.code().message();
  if (text.ends_with(code)) text.resize(text.size() - code.size());
  return text;
}

/// Runs `f` on the value of an environment variable. Its errors then name the variable, unless they name one already.
template <class F>
auto read_variable(const char* name, F&& f) {
  const auto names_one = [](const std::exception& error) {
    return std::string_view{error.what()}.starts_with("TIER_");
  };
  try {
    return f();
  } catch (const ConfigError& error) {
    if (names_one(error)) throw;
    throw ConfigError{std::string{name} + ": " + error.what()};
  } catch (const TierError& error) {
    if (names_one(error)) throw;
    throw TierError{error.code(), std::string{name} + ": " + without_code(error)};
  }
}

/// Reads tiers for a program, whose data a simulated tier would lose: it has no bytes.
std::vector<TierSpec> parse_tiers_with_bytes(std::string_view text) {
  auto tiers = parse_tiers(text);
  require_bytes(tiers);
  return tiers;
}

/// Returns this machine with its measured rates; none if no file of measurements is given.
std::optional<Machine> measured_machine(const std::string& file) {
  const auto environment = variable(measured_variable);
  if (file.empty() && !environment) return std::nullopt;
  auto machine = discover();
  if (!file.empty())
    replay::read_measured(file, machine);
  else
    read_variable(measured_variable, [&] { replay::read_measured(*environment, machine); });
  return machine;
}

/// Has copies use the loop that the program or the environment names.
void choose_copy_kernel(const std::string& name) {
  if (!name.empty()) return set_copy_kernel(name);
  if (const auto named = variable(copy_kernel_variable))
    read_variable(copy_kernel_variable,
                  [&] { detail::KernelChoice::of_process().set(*named, detail::KernelOrigin::Environment); });
}

std::shared_ptr<Manager> make_manager(const RuntimeOptions& options) {
  choose_copy_kernel(options.copy_kernel);
  auto policy = make_policy(options.policy);  // first: it costs nothing if it fails
  const auto machine = measured_machine(options.measured);
  check_memory(options.tiers);
  std::vector<std::unique_ptr<Tier>> tiers;
  for (const auto& spec : options.tiers)
    tiers.push_back(machine ? make_tier(spec, *machine) : make_tier(spec));
  return Manager::make(std::move(tiers), std::move(policy),
                       {.threads = options.threads,
                        .movers = options.movers,
                        .yields = options.yields,
                        .report_waits_after = options.report_waits_after,
                        .windows = options.windows});
}

/// Lists the first names; empty without memory.
std::string list(std::span<const std::string> names) noexcept try {
  constexpr std::size_t shown = 20;
  std::string text;
  for (const auto& name : names.first(std::min(names.size(), shown)))
    text.append(text.empty() ? "" : ", ").append(name.empty() ? "(unnamed)" : '"' + name + '"');
  if (names.size() > shown) text += " and " + std::to_string(names.size() - shown) + " more";
  return text;
} catch (const std::bad_alloc&) {
  return {};
}

void abort_if_checked() {
  if constexpr (detail::checked) std::abort();
}

WindowMode window_mode(const std::string& name) {
  if (const auto mode = window_mode_of(name)) return *mode;
  throw ConfigError{std::string{windows_variable} + ": \"" + name + "\" is neither full nor restricted" +
                    detail::did_you_mean(name, "full, restricted")};
}

bool trace_rows(const RuntimeOptions& options) {
  if (options.trace_rows) return *options.trace_rows;
  const auto text = variable(trace_rows_variable);
  if (text && *text != "0" && *text != "1")
    throw ConfigError{std::string{trace_rows_variable} + ": \"" + *text + "\" is neither 1 nor 0"};
  return text == "1";
}

trace::RecorderOptions recorder_options(const RuntimeOptions& options) {
  return {.policy = options.policy, .asynchronous = options.movers > 0, .rows = trace_rows(options)};
}

/// Makes the recorder. The first in the process records into `path` itself, later ones into numbered files. A file that
/// another process records into is skipped.
std::unique_ptr<trace::Recorder> recorder_of_environment(const std::shared_ptr<Manager>& manager,
                                                         const std::string& path,
                                                         const trace::RecorderOptions& options) {
  static std::atomic<unsigned> recorded{0};
  if (path.empty())
    throw ConfigError{std::string{trace_variable} +
                      " is empty; set it to the name of a file to record into, such as run.tt"};
  constexpr unsigned tries = 1000;
  for (unsigned i = 1;; ++i) {
    const auto number = ++recorded;
    const auto name = number == 1 ? path : path + "." + std::to_string(number);
    try {
      return std::make_unique<trace::Recorder>(manager, name, options);
    } catch (const TierError& error) {
      if (error.code() == std::errc::resource_unavailable_try_again && i < tries) continue;
      throw ConfigError{std::string{trace_variable} + ": " + error.what()};
    }
  }
}

/// Reads all settings of the environment except the tiers.
void read_environment(RuntimeOptions& options) {
  if (const auto policy = variable(policy_variable)) {
    options.policy = *policy;
    static_cast<void>(read_variable(policy_variable, [&] { return make_policy(*policy); }));
  }
  if (const auto windows = variable(windows_variable)) options.windows = window_mode(*windows);
}

RuntimeOptions options_of_environment() {
  detail::warn_of_variables(detail::Composed::FromEnvironment);
  RuntimeOptions options;
  const auto tiers = variable(tiers_variable);
  if (!tiers)
    throw ConfigError{std::string{tiers_variable} +
                      " is not set; set it to the tiers, such as dram:1GiB;file:/var/tmp:8GiB"};
  options.tiers = read_variable(tiers_variable, [&] { return parse_tiers_with_bytes(*tiers); });
  read_environment(options);
  return options;
}

/// Makes a runtime. Errors name `TIER_TIERS` if it is set, because some errors in tiers show only when they are made.
template <class F>
Runtime made(F&& make) {
  return variable(tiers_variable) ? read_variable(tiers_variable, make) : make();
}

RuntimeOptions default_options() {
  if (variable(tiers_variable)) return options_of_environment();
  detail::warn_of_variables(detail::Composed::FromEnvironment);
  constexpr std::size_t unit = std::size_t{2} << 20;
  auto memory = tiers::dram({std::max(available_memory(discover()).count / 2 / unit, std::size_t{1}) * unit});
  memory.prefault = false;
  RuntimeOptions options;
  options.tiers.push_back(memory);
  read_environment(options);
  return options;
}

}  // namespace

Runtime::Runtime(RuntimeOptions options) : options_{std::move(options)}, manager_{make_manager(options_)} {
  detail::warn_of_variables(detail::Composed::InCode);
  detail::watch_forks(manager_);
  if (!options_.trace.empty())
    record(options_.trace);
  else if (const auto path = variable(trace_variable))
    recorder_ = recorder_of_environment(manager_, *path, recorder_options(options_));
}

Runtime::Runtime(Runtime&&) noexcept = default;

void Runtime::record(const std::string& path) {
  recorder_.reset();
  recorder_ = std::make_unique<trace::Recorder>(manager_, path, recorder_options(options_));
}

Runtime Runtime::from_spec(std::string_view tiers, std::string_view policy) {
  RuntimeOptions options;
  options.tiers = parse_tiers_with_bytes(tiers);
  options.policy = policy;
  return Runtime{std::move(options)};
}

Runtime Runtime::discover(std::string_view policy) {
  const auto measured = measured_machine({});
  RuntimeOptions options{.tiers = suggest_tiers(measured ? *measured : tier::discover()),
                         .policy = std::string{policy}};
  for (auto& spec : options.tiers) spec.prefault = false;
  return Runtime{std::move(options)};
}

Runtime Runtime::from_environment() {
  return made([] { return Runtime{options_of_environment()}; });
}

Runtime::~Runtime() {
  if (manager_ == nullptr) return;
  const auto survivors = manager_->close();
  recorder_.reset();
  if (survivors.empty()) return;
  std::fprintf(stderr, "libtier: %zu %s the runtime: %s\n", survivors.size(),
               survivors.size() == 1 ? "object outlives" : "objects outlive", list(survivors).c_str());
  options_.on_survivors ? options_.on_survivors(survivors) : abort_if_checked();
}

void Runtime::print_statistics(std::FILE* to) const { std::fputs(statistics().to_text().c_str(), to); }

Runtime& default_runtime() {
  static Runtime& runtime = *new Runtime{made([] { return Runtime{default_options()}; })};
  return runtime;
}

}  // namespace tier
