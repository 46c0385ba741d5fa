// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A machine loses power during a run; checks what the next boot finds. scripts/vm-test runs one suite, kills the
///        machine once it prints `reboot: held`, and runs the other; neither `ctest` nor a plain call runs them.
#include <doctest/doctest.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "hardware/given_tiers.hpp"
#include "hardware/machine.hpp"

namespace tier::reboot_test {
namespace {

using test::given;

constexpr Bytes size = 40_MiB;      // four of them are on persistent memory of 256 MiB
constexpr std::size_t filled = 32;  // MiB in each

Bytes free_space(const std::string& directory) {
  struct ::statvfs status {};
  REQUIRE(::statvfs(directory.c_str(), &status) == 0);
  return Bytes{status.f_bfree * status.f_frsize};
}

/// Path of a note of the space that was free before the run; overwritten in place, so that it takes no further space.
std::string note_in(const std::string& directory) { return directory + "/free"; }

void write_note(const std::string& directory, Bytes free) {
  std::fstream file{note_in(directory), std::ios::out};
  file.width(20);
  file << free.count << '\n';
  REQUIRE(file.flush());
  ::sync();
}

}  // namespace

TEST_SUITE("reboot: before") {
  TEST_CASE("a run has scratch files on each disk until its machine loses its power" *
            doctest::skip(std::getenv("TIER_MACHINE") == nullptr)) {
    if (!test::has_disks()) return;
    for (const auto& directory : {given()->disk, given()->fsdax}) {
      write_note(directory, 0_B);
      write_note(directory, free_space(directory));
    }
    const auto disk = free_space(given()->disk), fsdax = free_space(given()->fsdax);

    std::vector<Runtime> runtimes;
    std::vector<Tensor<float>> tensors;
    for (const auto& slow : test::slower_tiers(size)) {
      runtimes.push_back(Runtime{{.tiers = {tiers::dram(4_MiB), slow}, .policy = "lru"}});
      for (std::size_t i = 0; i < filled + 4; ++i) tensors.emplace_back(runtimes.back(), Shape{256, 1024});
    }
    const auto fill = [&](float value) {
      for (auto& tensor : tensors) {
        WriteScope out{overwrites(tensor)};
        std::ranges::fill(out[tensor].elements(), value);
      }
    };
    fill(1);
    CHECK(free_space(given()->disk) + 1_MiB * filled <= disk);
    CHECK(free_space(given()->fsdax) + 1_MiB * filled * 4 <= fsdax);
    ::sync();  // the files' blocks are on the disk; only a check at the next mount frees them
    std::puts("reboot: held");
    std::fflush(stdout);
    for (float value = 2;; ++value) fill(value);
  }
}

TEST_SUITE("reboot: after") {
  TEST_CASE("after a killed run no file is left, and all space is free again" *
            doctest::skip(std::getenv("TIER_MACHINE") == nullptr)) {
    if (!test::has_disks()) return;
    for (const auto& directory : {given()->disk, given()->fsdax}) {
      CAPTURE(directory);
      std::size_t before = 0;
      std::ifstream{note_in(directory)} >> before;
      REQUIRE(before > size.count);
      CHECK(free_space(directory).count == before);
      std::set<std::string> files;
      for (const auto& entry : std::filesystem::recursive_directory_iterator{directory})
        files.insert(entry.path().filename());
      CHECK(files == std::set<std::string>{"free", "lost+found"});
    }
  }
}

}  // namespace tier::reboot_test
