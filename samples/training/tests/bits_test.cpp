// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tests that every run computes the bits of plain memory, however it moves tensors, and notices a wrong bit.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "support/temporary_directory.hpp"
#include "trainer/tests/cases.hpp"
#include "trainer/tiered_memory.hpp"
#include "training/runs.hpp"

namespace bits_test {

using namespace training;
using namespace training::test;
using tier::test::TemporaryDirectory;

namespace {

RunResult make(const std::string& name, const Experiment& experiment) {
  tier::tool::TerminalLine progress{stderr};
  return make_run({name, experiment.options.fast}, experiment, progress, never);
}

/// Checks every run in tiers, with a fifth of the peak fast, or the needs of a kernel.
void check_every_run(std::vector<std::string> arguments, const std::string& slow) {
  CAPTURE(slow);
  arguments.insert(arguments.end(), {"--compare", "--slow", slow + ":256MiB"});
  const auto experiment = make_experiment(*parse_options(arguments, std::cout));
  const auto fast = fast_of(experiment, experiment.options.fast);
  const auto plain = make("plain", experiment);
  for (const std::string name : {"async", "sync", "mode_0", "mode_L", "mode_LM", "mode_LMP", "first_touch",
                                 "page_migration", "all_slow"}) {
    CAPTURE(name);
    const auto run = make(name, experiment);
    CHECK(run.checksum == plain.checksum);
    CHECK(run.loss == plain.loss);
    CHECK(run.accuracy == plain.accuracy);
    CHECK(moved_by(run) > 2 * fast.count);
  }
}

/// A device that flips one bit in one read of its file.
class BadDevice final : public tier::IoFaults {
 public:
  explicit BadDevice(std::string folder) : folder_{std::move(folder)} {}

  void flip_at_next_read() { armed_ = true; }
  [[nodiscard]] bool flipped() const { return flipped_; }

  std::error_code on_io(tier::Direction direction, std::uint64_t offset, std::size_t) noexcept override {
    if (direction == tier::Direction::Read && armed_.exchange(false))
      flipped_ = flip(static_cast<off_t>(offset) + 3, 0x40);  // a bit of the first float's exponent
    return {};
  }

 private:
  /// Flips a bit in the file that this process has open in the folder.   \return  true if it was found
  [[nodiscard]] bool flip(off_t offset, char bit) const noexcept try {
    for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
      std::error_code gone;
      const auto target = std::filesystem::read_symlink(entry.path(), gone).string();
      if (gone || !target.starts_with(folder_ + "/")) continue;
      const int file = ::open(entry.path().c_str(), O_RDWR);
      char byte = 0;
      bool done = ::pread(file, &byte, 1, offset) == 1;
      byte = static_cast<char>(byte ^ bit);
      done = done && ::pwrite(file, &byte, 1, offset) == 1 && ::fsync(file) == 0;
      ::close(file);
      return done;
    }
    return false;
  } catch (const std::exception&) {
    return false;
  }

  std::string folder_;
  std::atomic<bool> armed_{false}, flipped_{false};
};

}  // namespace

TEST_CASE("every run in tiers computes the bits of plain memory") {
  const std::vector<std::string> resnet{"resnet32", "--batch", "8", "--iterations", "2"};
  const std::vector<std::string> lstm{"lstm", "--batch",      "32", "--steps",         "32", "--width",
                                      "64",   "--iterations", "6",  "--steps-at-once", "5"};
  const TemporaryDirectory folder;
  SUBCASE("a residual network in emulated memory") { check_every_run(resnet, "emulated:cxl"); }
  SUBCASE("a residual network in a file") { check_every_run(resnet, "file:" + folder.path()); }
  SUBCASE("an LSTM of some steps at once in emulated memory") { check_every_run(lstm, "emulated:cxl"); }
  SUBCASE("an LSTM of some steps at once in a file") { check_every_run(lstm, "file:" + folder.path()); }
}

TEST_CASE("one flipped bit in the slow tier changes what is learned, and shows") {
  const TemporaryDirectory folder;
  const auto learned = small_resnet(3);
  const auto plain = learned.run_plain();
  const auto checksum = [&](std::uint64_t after) {
    const auto device = std::make_shared<BadDevice>(folder.path());
    auto slow = tier::tiers::file(folder.path(), {2 * peak_bytes(learned.steps)});
    slow.faults = device;
    const auto fast = a_fifth(learned, slow);
    TieredMemory memory{{.fast = fast, .slow = slow, .threads = 2, .movers = 0}};
    const auto run = learned.run(memory, 0, [&](const TrainState& state) {
      if (state.iteration == after) device->flip_at_next_read();
    });
    CHECK(device->flipped() == (after > 0));
    return run.checksum;
  };
  CHECK(checksum(0) == plain.checksum);
  CHECK(checksum(1) != plain.checksum);
}

}  // namespace bits_test
