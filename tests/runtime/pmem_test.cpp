// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Persistent memory whose bytes cannot be read any more.
#include <doctest/doctest.h>
#include <lru/lru.hpp>
#include <tier/core/error.hpp>
#include <tier/manager/manager.hpp>
#include <tier/memory/tiers.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memory/system/pages.hpp"
#include "memory/system/resident_pages.hpp"
#include "memory/tiers/pmem_tier.hpp"
#include "support/scratch_file.hpp"
#include "support/temporary_directory.hpp"

namespace tier::pmem_test {
namespace {

const Shape shape{192, 1024};  // 768 KiB of floats
constexpr std::size_t count = 4;

void fill(Tensor<float>& tensor, float value) {
  WriteScope out{overwrites(tensor)};
  std::ranges::fill(out[tensor].elements(), value);
}

/// False, with a message, if a directory is not taken for persistent memory.
bool is_persistent(const std::string& directory) {
  if (!has_pmem()) MESSAGE("not without libpmem (TIER_WITH_PMEM)");
  if (!has_pmem()) return false;
  const bool persistent = make_tier(tiers::pmem(directory, 1_MiB))->model().persistent;
  if (!persistent)
    MESSAGE("SKIPPED: as ctest, set PMEM_IS_PMEM_FORCE=1, by which libpmem takes any file for it");
  return persistent;
}

/// True if all elements have this value.
bool holds(const Tensor<float>& tensor, float value) {
  const ReadScope in{tensor};
  return std::ranges::all_of(in[tensor].elements(), [&](float x) { return x == value; });
}

/// Makes four objects in memory and in a tier of 16 MiB in a file, makes a bad block there, and reads them all.
void check_bad_block(const std::shared_ptr<Manager>& manager, const std::string& file) {
  std::vector<Tensor<float>> tensors;  // memory holds one of them
  for (std::size_t i = 0; i < count; ++i)
    fill(tensors.emplace_back(manager, shape, "number " + std::to_string(i)), static_cast<float>(i));
  REQUIRE(holds(tensors[0], 0));  // from here on nothing is written back
  // Stands for a bad block: a load behind the end would raise SIGBUS. Four objects lie there side by side.
  std::filesystem::resize_file(file, (count - 1) * tensors[0].size_bytes().count + 4096);

  std::vector<std::size_t> broken;
  for (std::size_t i = 0; i < count; ++i) {
    try {
      const bool intact = holds(tensors[i], static_cast<float>(i));
      CHECK(intact);
    } catch (const TierError& error) {
      const std::string message = error.what();
      CAPTURE(message);
      CHECK(message.find("\"number " + std::to_string(i) + "\"") != std::string::npos);
      CHECK(message.find("tier pmem") != std::string::npos);
      CHECK(error.code() == std::errc::io_error);
      broken.push_back(i);
    }
  }
  REQUIRE(broken.size() == 1);
  std::filesystem::resize_file(file, (16_MiB).count);
  fill(tensors[broken[0]], 9);  // works again
  for (std::size_t i = 0; i < count; ++i)
    CHECK(holds(tensors[i], i == broken[0] ? 9 : static_cast<float>(i)));
  manager->check_invariants();
}

}  // namespace

TEST_CASE(
    "a block that persistent memory cannot read is an error of its object, and no signal; others are "
    "intact") {
  const test::TemporaryDirectory directory;
  if (!is_persistent(directory.path())) return;
  SUBCASE("of a file") {
    const Runtime runtime{
        {.tiers = {tiers::dram(1_MiB), tiers::pmem(directory.path(), 16_MiB)}, .policy = "lru"}};
    const auto file = test::open_file_in(directory.path());
    REQUIRE(!file.empty());
    check_bad_block(runtime.manager(), file);
  }
  SUBCASE("of a device, for which a file stands in") {
    const auto file = directory.path() + "/dax0.0";
    std::ofstream{file};
    std::filesystem::resize_file(file, (16_MiB).count);
    const auto model = make_tier(tiers::pmem(directory.path(), 1_MiB))->model();
    std::vector<std::unique_ptr<Tier>> both;
    both.push_back(make_tier(tiers::dram(1_MiB)));
    both.push_back(make_pmem_device_tier(tiers::pmem(file, 16_MiB), model));
    check_bad_block(Manager::make(std::move(both), make_lru({}), {.threads = 1, .yields = false}), file);
  }
}

TEST_CASE(
    "a block that persistent memory cannot write is an error of its request, and no signal; others are "
    "written") {
  const test::TemporaryDirectory directory;
  if (!is_persistent(directory.path())) return;
  const auto tier = make_tier(tiers::pmem(directory.path(), 8_MiB));
  REQUIRE(!tier->reserve(0, (8_MiB).count));
  if (try_to_populate(tier->base(), page_size()) == EINVAL) {
    MESSAGE("SKIPPED: not before Linux 5.14");
    return;
  }
  std::filesystem::resize_file(test::open_file_in(directory.path()), (3_MiB).count);
  std::vector<std::byte> bytes(100, std::byte{7});
  const auto write = [&](std::uint64_t offset) {
    IoRequest request{offset, bytes.data(), bytes.size()};
    tier->transfer(Direction::Write, {&request, 1});
    return request.error;
  };
  CHECK(write((6_MiB).count) == std::errc::io_error);
  CHECK(write((3_MiB).count - 50) == std::errc::io_error);  // its end
  for (const std::uint64_t offset : {std::uint64_t{0}, (1_MiB).count + 5, (3_MiB).count - 100}) {
    CHECK(!write(offset));
    CHECK(std::equal(bytes.begin(), bytes.end(), tier->base() + offset));
  }
}

}  // namespace tier::pmem_test
