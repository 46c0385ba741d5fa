// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/kernel_choice.hpp"

#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/core/input_file.hpp>
#include <tier/core/output_file.hpp>
#include <tier/core/suggestion.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <system_error>
#include <tuple>
#include <utility>

#include "copy/kernel_measurement.hpp"
#include "core/descriptor.hpp"
#include "core/say.hpp"

namespace tier::detail {
namespace {

constexpr const char* variable = "TIER_COPY_KERNEL";
constexpr std::string_view guess_name = "guess";
constexpr std::size_t most_machines = 16;
constexpr Bytes most_file_bytes{64 << 10};

/// Returns the beginning of a file; nothing if it cannot be read.
std::string head_of(const char* path) {
  std::array<char, 4096> text{};
  const auto file = open_file(path, O_RDONLY);
  const auto read = file.get() < 0 ? -1 : ::read(file.get(), text.data(), text.size());
  return read <= 0 ? std::string{} : std::string(text.data(), static_cast<std::size_t>(read));
}

/// Returns the value of a line `name : value`; empty if there is none.
std::string value_of(const std::string& text, std::string_view name) {
  for (std::size_t line = 0; line < text.size();) {
    const auto end = std::min(text.find('\n', line), text.size());
    const auto words = std::string_view{text}.substr(line, end - line);
    const auto colon = words.find(": ");
    if (words.starts_with(name) && colon != std::string_view::npos)
      return std::string{words.substr(colon + 2)};
    line = end + 1;
  }
  return {};
}

std::string first_line(std::string text) { return text.substr(0, text.find('\n')); }

/// Returns the machines and their kernels that a file names; none if it is missing or damaged.
nlohmann::json machines_in(const std::string& path) {
  try {
    auto file = nlohmann::json::parse(read_text_file(path, most_file_bytes));
    auto machines = file.at("machines");
    if (file.at("version") == 1 && machines.is_array()) return machines;
  } catch (const std::exception&) {  // what is damaged is measured again
  }
  return nlohmann::json::array();
}

bool is_of(const nlohmann::json& machine, std::string_view key) {
  return machine.is_object() && machine.contains("key") && machine["key"] == key;
}

}  // namespace

std::string_view describe(KernelOrigin origin) noexcept {
  switch (origin) {
    case KernelOrigin::Guess:
      return "guessed by the CPU's vendor";
    case KernelOrigin::Measured:
      return "measured by this process";
    case KernelOrigin::Remembered:
      return "measured earlier";
    case KernelOrigin::Environment:
      return variable;
    case KernelOrigin::Option:
      break;
  }
  return "set by the program";
}

std::string kernel_file() {
  const char* const cache = ::secure_getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string{cache} + "/libtier/copy.json";
  const char* const home = ::secure_getenv("HOME");
  if (home != nullptr && *home == '/') return std::string{home} + "/.cache/libtier/copy.json";
  return {};
}

std::string machine_key() {
  const auto cpu = head_of("/proc/cpuinfo");
  ::utsname system{};
  ::uname(&system);
  return value_of(cpu, "model name") + "; microcode " + value_of(cpu, "microcode") + "; " +
         static_cast<const char*>(system.machine) + ", Linux " + static_cast<const char*>(system.release) +
         "; CPUs " + first_line(head_of("/sys/devices/system/cpu/online")) + ", nodes " +
         first_line(head_of("/sys/devices/system/node/online"));
}

std::optional<std::string> remembered_kernel(const std::string& path, std::string_view key) noexcept {
  try {
    for (const auto& machine : machines_in(path))
      if (is_of(machine, key)) return machine.at("kernel").get<std::string>();
  } catch (const std::exception&) {
  }
  return {};
}

void remember_kernel(const std::string& path, std::string_view key, std::string_view kernel) noexcept {
  try {
    auto machines = nlohmann::json::array();
    machines.push_back({{"key", key}, {"kernel", kernel}});
    for (auto& machine : machines_in(path))
      if (!is_of(machine, key) && machines.size() < most_machines) machines.push_back(std::move(machine));
    const auto folder = std::filesystem::path{path}.parent_path();
    std::filesystem::create_directories(folder);
    const auto text = nlohmann::json{{"version", 1}, {"machines", machines}}.dump(
        1, ' ', false, nlohmann::json::error_handler_t::replace);
    write_file(path, text + "\n");
  } catch (const std::exception&) {
  }
}

std::string kernel_names() {
  std::string names{guess_name};
  for (const auto& kernel : stream_kernels()) names.append(", ").append(kernel.name);
  return names;
}

/// Keeps the choice of the process. It is never destroyed, because other static objects may copy in their destructors, and
/// allocates nothing.
struct ImmortalChoice {
  union {
    KernelChoice choice;
  };
  ImmortalChoice() noexcept : choice{} {}
  ~ImmortalChoice() {}  // NOLINT(modernize-use-equals-default): the member lives on
};

KernelChoice::~KernelChoice() = default;

KernelChoice& KernelChoice::of_process() noexcept {
  static ImmortalChoice immortal;
  return immortal.choice;
}

KernelOrigin KernelChoice::origin() const noexcept { return origin_; }

void KernelChoice::set(std::string_view name, KernelOrigin origin) {
  const auto* const kernel = name == guess_name ? &guessed_kernel() : find_kernel(name);
  if (kernel == nullptr) {
    const auto names = kernel_names();
    throw ConfigError{"unknown copy kernel" + did_you_mean(name, names), name, 0, names};
  }
  set_by_ = origin;
  set_ = kernel;
  phase_ = Phase::Decided;  // what another thread finds from now on comes too late
  use_kernel(*kernel);
  origin_ = origin;
}

void KernelChoice::decide(Phase from, const StreamKernel& kernel, KernelOrigin by) noexcept {
  if (!take(from, Phase::Deciding)) return;
  use_kernel(kernel);
  origin_ = by;
  if (take(Phase::Deciding, Phase::Decided)) return;
  use_kernel(*set_.load());  // the program has set one between these lines
  origin_ = set_by_.load();
}

void KernelChoice::begin() noexcept {
  if (!take(Phase::New, Phase::Beginning)) return;
  try {
    if (const char* const name = std::getenv(variable); name != nullptr) {
      try {
        return set(name, KernelOrigin::Environment);
      } catch (const ConfigError& error) {
        say("%s: %s; going on with %s", variable, error.what(), guessed_kernel().name);
        return decide(Phase::Beginning, guessed_kernel(), KernelOrigin::Guess);
      }
    }
    file_ = kernel_file();
    key_ = machine_key();
    const auto known = file_.empty() ? std::nullopt : remembered_kernel(file_, key_);
    const auto* const kernel = known ? find_kernel(*known) : nullptr;
    if (kernel != nullptr) return decide(Phase::Beginning, *kernel, KernelOrigin::Remembered);
    if (candidate_kernels().size() < 2)
      return decide(Phase::Beginning, guessed_kernel(), KernelOrigin::Guess);
    measurement_ = std::make_unique<KernelMeasurement>(candidate_kernels());
  } catch (const std::exception&) {  // no memory
    return decide(Phase::Beginning, guessed_kernel(), KernelOrigin::Guess);
  }
  std::ignore = take(Phase::Beginning, Phase::Open);  // else the program has set one meanwhile
}

bool KernelChoice::is_open() const noexcept { return phase_.load(std::memory_order_relaxed) == Phase::Open; }

void KernelChoice::measure_step() noexcept {
  if (!take(Phase::Open, Phase::Measuring)) return;
  if (measurement_->step()) {
    std::ignore = take(Phase::Measuring, Phase::Open);
    return;
  }
  const auto measurement = std::move(measurement_);
  const bool complete = measurement->is_complete();
  const auto& fastest = measurement->fastest();
  decide(Phase::Measuring, fastest, complete ? KernelOrigin::Measured : KernelOrigin::Guess);
  if (complete && !file_.empty()) remember_kernel(file_, key_, fastest.name);
}

}  // namespace tier::detail
