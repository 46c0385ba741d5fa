// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tests failing devices and full disks: training goes on in the memory it has, or ends with an error that says why.
///        Whatever it has learned is right.
#include <doctest/doctest.h>
#include <tier/core/error.hpp>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "cases.hpp"
#include "steps/liveness.hpp"
#include "support/failing_io.hpp"
#include "support/temporary_directory.hpp"
#include "trainer/tiered_memory.hpp"

namespace faults_test {

using namespace training;
using namespace training::test;
using tier::test::FailingIo;
using tier::test::SmallDisk;
using tier::test::TemporaryDirectory;

namespace {

/// A small network that learns with a share of its peak in fast memory and the rest in a file.
struct OnDisk {
  explicit OnDisk(const std::string& folder, FailingIo::What what = FailingIo::What::Both)
      : faults{std::make_shared<FailingIo>(what)},
        slow{tier::tiers::file(folder, {2 * peak_bytes(learned.steps)})} {
    slow.faults = faults;
  }
  [[nodiscard]] RunResult run(double share, const OnIteration& on_iteration = {}) const {
    const auto fast = static_cast<std::size_t>(share * static_cast<double>(peak_bytes(learned.steps)));
    TieredMemory memory{{.fast = {fast}, .slow = slow, .threads = 2}};
    return learned.run(memory, fast / 2, on_iteration);
  }
  /// Returns the error with which `run` ends.
  [[nodiscard]] std::pair<std::string, std::error_code> failure(double share,
                                                                const OnIteration& on_iteration = {}) const {
    try {
      std::ignore = run(share, on_iteration);
    } catch (const tier::OutOfTierMemory& error) {
      return {error.what(), error.cause()};
    } catch (const tier::TierError& error) {
      return {error.what(), error.code()};
    }
    return {"it went on", {}};
  }

  Case learned = small_resnet(2);
  std::shared_ptr<FailingIo> faults;
  tier::TierSpec slow;
};

/// Checks that the error names what cannot be read.
void check_unreadable(const Case& learned, const std::pair<std::string, std::error_code>& failure) {
  const auto& [message, cause] = failure;
  CAPTURE(message);
  CHECK(cause == std::errc::io_error);
  const auto names = [&](const std::string& name) { return message.starts_with("reading \"" + name + '"'); };
  const auto& tensors = learned.steps.training.front().tensors;
  CHECK((names("a group of small objects") ||
         std::ranges::any_of(tensors, [&](const StepTensor& tensor) { return names(tensor.name); })));
  CHECK(message.find("from tier file failed: Input/output error") != std::string::npos);
}

bool is_empty(const std::string& folder) { return std::filesystem::is_empty(folder); }

}  // namespace

TEST_CASE("a write that fails changes nothing of what is learned") {
  const TemporaryDirectory folder;
  const OnDisk training{folder.path(), FailingIo::What::Writes};
  const auto plain = training.learned.run_plain();
  for (const std::uint64_t n : {0, 1, 5, 20}) {
    CAPTURE(n);
    training.faults->fail_nth(n);
    CHECK(training.run(0.4).checksum == plain.checksum);
    CHECK(training.faults->seen() > n);
  }
  CHECK(training.faults->failed() == 4);
  CHECK(is_empty(folder.path()));
}

TEST_CASE("with a disk that takes no writes training goes on in the memory it has, or ends and says why") {
  const TemporaryDirectory folder;
  const OnDisk training{folder.path(), FailingIo::What::Writes};
  training.faults->fail_range(0, FailingIo::never);
  CHECK(training.run(1.3).checksum == training.learned.run_plain().checksum);
  const auto refused = training.faults->failed();
  CHECK(refused > 0);
  const auto [message, cause] = training.failure(0.4);
  CAPTURE(message);
  CHECK(message.find("no room for ") != std::string::npos);
  CHECK(cause == std::errc::io_error);
  CHECK(training.faults->failed() > refused);
  CHECK(is_empty(folder.path()));
}

TEST_CASE("reads that fail end training with the name of what cannot be read") {
  const TemporaryDirectory folder;
  const OnDisk training{folder.path(), FailingIo::What::Reads};
  training.faults->fail_range(0, FailingIo::never);
  check_unreadable(training.learned, training.failure(0.4));
  CHECK(is_empty(folder.path()));
}

TEST_CASE("a device that begins to fail in the middle of training is met as one that fails from the start") {
  const TemporaryDirectory folder;
  const auto plain = small_resnet(2).run_plain();
  std::uint64_t learned = 0;
  const auto failing_after_one = [&](const OnDisk& training) {
    learned = 0;
    training.faults->heal();
    return [&](const TrainState& state) {
      learned = state.iteration;
      training.faults->fail_range(0, FailingIo::never);
    };
  };
  SUBCASE("reads") {
    const OnDisk training{folder.path(), FailingIo::What::Reads};
    check_unreadable(training.learned, training.failure(0.4, failing_after_one(training)));
    CHECK(learned == 1);
  }
  SUBCASE("writes") {
    const OnDisk training{folder.path(), FailingIo::What::Writes};
    CHECK(training.run(1.3, failing_after_one(training)).checksum == plain.checksum);
    CHECK(learned == 2);
    const auto [message, cause] = training.failure(0.4, failing_after_one(training));
    CAPTURE(message);
    CHECK(message.find("no room for ") != std::string::npos);
    CHECK(cause == std::errc::io_error);
    CHECK(learned == 1);
  }
  CHECK(is_empty(folder.path()));
}

TEST_CASE("room that the disk refuses once, at any time, changes nothing of what is learned") {
  const TemporaryDirectory folder;
  const OnDisk training{folder.path()};
  const auto plain = training.learned.run_plain();
  for (const std::uint64_t n : {0, 1, 4}) {
    CAPTURE(n);
    training.faults->fail_nth_reserve(n);
    CHECK(training.run(0.4).checksum == plain.checksum);
    CHECK(training.faults->reserves_seen() > n);
  }
  CHECK(training.faults->failed() == 3);
  CHECK(is_empty(folder.path()));
}

TEST_CASE("on a full disk training goes on in the memory it has, or ends and says so") {
  std::string size;
  SUBCASE("full from the start") { size = "256k"; }
  SUBCASE("full in the middle") { size = "1m"; }
  const SmallDisk disk{size};
  if (!disk.mounted()) {
    MESSAGE("SKIPPED: this system does not let a test mount a tmpfs");
    return;
  }
  const OnDisk training{disk.path()};
  CHECK(training.run(1.3).checksum == training.learned.run_plain().checksum);
  CHECK(training.faults->reserves_seen() > 0);
  const auto [message, cause] = training.failure(0.4);
  CAPTURE(message);
  CHECK(message.find("no room for ") != std::string::npos);
  CHECK(message.ends_with("cause: No space left on device in \"" + disk.path() + "\""));
  CHECK(cause == std::errc::no_space_on_device);
  CHECK(is_empty(disk.path()));
}

}  // namespace faults_test
