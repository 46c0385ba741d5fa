// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Address space that is reserved but unused: it is neither locked and filled with pages, nor in core dumps.
#include "support/child.hpp"
#include "support/memory_group.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_directory.hpp"
#include "support/windows.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/runtime/runtime.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory_resource>
#include <ranges>
#include <string>
#include <vector>

namespace tier::reserved_addresses_test {
namespace {

using namespace literals;
namespace fs = std::filesystem;

constexpr const char* folder_variable = "TIER_TEST_DUMP";  // a child has its own folders
constexpr std::string_view mark = "what the program had in a window when it ended";

Bytes resident() {
  std::ifstream status{"/proc/self/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmRSS:")) return 1_KiB * std::stoull(line.substr(6));
  return {};
}

/// Keeps containers that exceed the fast tier, whose windows come and go.
class Use {
 public:
  explicit Use(Runtime& runtime) : memory_{runtime} {
    for (unsigned char i = 0; i < 20; ++i) containers_.emplace_back((1_MiB).count, i, &memory_);
  }
  /// Frees every third container, so that its addresses are unused.
  void free_some() {
    for (std::size_t i = 0; i < containers_.size(); i += 3)
      containers_[i] = std::pmr::vector<unsigned char>{&memory_};
  }
  /// \return  how many of them have lost their contents
  int round() {
    int wrong = 0;
    for (std::size_t i = 0; i < containers_.size(); ++i) {
      auto& c = containers_[i];
      wrong += std::ranges::all_of(c, [&](auto b) { return b == i + rounds_; }) ? 0 : 1;
      if (c.empty()) c.resize((1_MiB).count);
      std::memset(c.data(), static_cast<int>(i) + rounds_ + 1, c.size());
    }
    ++rounds_;
    return wrong;
  }

 private:
  MigratingResource memory_;
  std::vector<std::pmr::vector<unsigned char>> containers_;
  int rounds_ = 0;
};

enum class Locked { Before, BeforeOnFault, After, AfterCurrent, AfterOnFault };

bool lock(Locked now, Locked asked) {
  if (now != asked) return true;
  const int flags = now == Locked::Before          ? MCL_CURRENT | MCL_FUTURE
                    : now == Locked::BeforeOnFault ? MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT
                    : now == Locked::After         ? MCL_FUTURE
                    : now == Locked::AfterCurrent  ? MCL_CURRENT | MCL_FUTURE
                                                   : MCL_CURRENT | MCL_ONFAULT;
  return ::mlockall(flags) == 0;
}

/// \return  0 if nothing went wrong
int use_while_locked(Locked when, WindowMode windows, bool prefault, const std::string& folder) {
  if (!lock(Locked::Before, when) || !lock(Locked::BeforeOnFault, when)) return 77;
  RuntimeOptions options;
  options.tiers = {tiers::dram(16_MiB), tiers::file(folder, 256_MiB)};
  options.tiers.front().prefault = prefault;
  options.windows = windows;
  Runtime runtime{std::move(options)};
  Use use{runtime};
  use.free_some();
  for (const auto now : {Locked::After, Locked::AfterCurrent, Locked::AfterOnFault})
    if (!lock(now, when)) return 77;
  if (use.round() + use.round() + use.round() != 0) return 3;
  return resident() < 700_MiB ? 0 : 4;
}

bool dumps_lie_beside_the_program() {
  std::ifstream file{"/proc/sys/kernel/core_pattern"};
  std::string pattern;
  std::getline(file, pattern);
  return !pattern.empty() && pattern.front() != '|' && pattern.find('/') == std::string::npos;
}

bool contains(const fs::path& file, std::string_view text) {
  std::ifstream in{file, std::ios::binary};
  const std::string all{std::istreambuf_iterator<char>{in}, {}};
  return all.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("a program that locks its memory, before or after, has windows and no page that nobody uses") {
  if (test::sanitized) return;  // sanitizers reserve more than there is
  const test::MemoryGroup group{1_GiB};
  if (!group.made()) return;
  const test::TemporaryDirectory folder;
  for (const auto when :
       {Locked::Before, Locked::BeforeOnFault, Locked::After, Locked::AfterCurrent, Locked::AfterOnFault})
    for (const auto windows : test::window_modes())
      for (const bool prefault : {true, false}) {
        const auto label = std::to_string(static_cast<int>(when)) + " " + std::string{to_string(windows)} +
                           (prefault ? " at once" : " as used");
        CAPTURE(label);
        const auto ended = test::run_in_child(label, [&] {
          group.enter();
          std::_Exit(use_while_locked(when, windows, prefault, folder.path()));
        });
        CAPTURE(ended.errors);
        CHECK(ended.signal == 0);
        if (ended.code == 77)
          MESSAGE("SKIPPED: this system does not let a test lock its memory");
        else
          CHECK(ended.code == 0);
      }
}

TEST_CASE("a core dump has what is in windows and nothing of the addresses that are reserved") {
  if (test::sanitized) return;
  if (!dumps_lie_beside_the_program()) {
    MESSAGE("SKIPPED: this system does not write core dumps beside the program");
    return;
  }
  for (const auto windows : test::window_modes()) {
    const test::TemporaryDirectory folder, data;
    const auto label = "dump " + std::string{to_string(windows)};
    CAPTURE(label);
    const auto end_by_abort = [&] {
      const ::rlimit all{RLIM_INFINITY, RLIM_INFINITY};
      if (::setrlimit(RLIMIT_CORE, &all) != 0 || ::chdir(std::getenv(folder_variable)) != 0) std::_Exit(77);
      RuntimeOptions options;
      options.tiers = {tiers::dram(16_MiB), tiers::file(data.path(), 1_GiB)};
      options.windows = windows;
      Runtime runtime{std::move(options)};
      MigratingResource memory{runtime};
      std::vector<std::pmr::vector<char>> containers;
      for (int i = 0; i < 24; ++i) containers.emplace_back((1_MiB).count, 'x', &memory);
      // Reversed, so that the check does not find the constant itself.
      std::ranges::copy(mark | std::views::reverse, containers.back().begin() + 64);
      std::abort();
    };
    const auto ended = test::run_in_child(label, end_by_abort, {{folder_variable, folder.path()}});
    if (ended.code == 77) {
      MESSAGE("SKIPPED: this system does not let a test write core dumps");
      return;
    }
    CHECK(ended.signal == SIGABRT);
    const fs::directory_iterator dumps{folder.path()};
    CHECK(dumps != fs::directory_iterator{});
    if (dumps == fs::directory_iterator{}) continue;  // as in the child of another case
    const auto& dump = dumps->path();
    CHECK(fs::file_size(dump) < (400_MiB).count);
    CHECK(contains(dump, std::string{mark.rbegin(), mark.rend()}));
  }
}

}  // namespace tier::reserved_addresses_test
