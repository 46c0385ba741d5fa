// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <tier/memory/tiers.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "hardware/given_tiers.hpp"
#include "hardware/machine.hpp"
#include "support/placement.hpp"

namespace tier::disk_test {
namespace {

using test::given;

double seconds(Tier& tier, Direction direction, std::span<std::byte> memory, Bytes total) {
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t at = 0; at < total.count; at += memory.size()) {
    std::vector<IoRequest> requests;
    for (std::size_t i = 0; i < memory.size(); i += (1_MiB).count)
      requests.push_back({at + i, memory.data() + i, (1_MiB).count});
    tier.transfer(direction, requests);
    for (const auto& request : requests) CHECK(!request.error);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Checks that 24 MiB in tensors of 1 MiB keep their values over 8 MiB of fast memory.
void check_objects_in(const TierSpec& fast, const TierSpec& slow) {
  constexpr std::size_t count = 24;
  Runtime runtime{{.tiers = {fast, slow}, .policy = "lru"}};
  CAPTURE(runtime.manager()->tier(0).description());
  CAPTURE(runtime.manager()->tier(1).description());
  std::vector<Tensor<std::int32_t>> tensors;
  for (std::size_t i = 0; i < count; ++i) {
    auto& tensor = tensors.emplace_back(runtime, Shape{256, 1024});
    WriteScope out{overwrites(tensor)};
    std::iota(out[tensor].elements().begin(), out[tensor].elements().end(), static_cast<std::int32_t>(i));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const ReadScope in{tensors[i]};
    std::vector<std::int32_t> expected(256 * 1024);
    std::iota(expected.begin(), expected.end(), static_cast<std::int32_t>(i));
    CHECK(std::ranges::equal(in[tensors[i]].elements(), expected));
  }
  runtime.manager()->check_invariants();
  CHECK(runtime.statistics().bytes_moved(0, 1) >= (16_MiB).count);
}

}  // namespace

TEST_CASE("a file tier on the disk goes past the page cache by io_uring, no faster than the disk") {
  if (!given() || given()->disk.empty()) return test::not_given("disk of its own");
  constexpr Bytes size = 160_MiB, burst = 48_MiB;  // QEMU does not delay the first part
  const auto tier = make_tier(tiers::file(given()->disk, size));
  CAPTURE(tier->description());
  CHECK(tier->direct_io());
  CHECK(tier->description().find("by io_uring") != std::string::npos);
  REQUIRE(!tier->reserve(0, size.count));
  const test::Pages memory{8_MiB};
  const double least = static_cast<double>((size - burst).count) /
                       static_cast<double>((1_MiB * given()->disk_mib_per_second).count);
  CHECK(seconds(*tier, Direction::Write, memory.bytes(), size) >= least);
  CHECK(seconds(*tier, Direction::Read, memory.bytes(), size) >= least);
}

TEST_CASE("objects keep their values on the disk, on persistent memory in each of its forms, and in HBM") {
  if (!test::has_disks()) return;
  for (const auto& slow : test::slower_tiers(64_MiB)) check_objects_in(tiers::dram(8_MiB), slow);
  check_objects_in(tiers::memkind("HBW", 8_MiB), tiers::dram(64_MiB));
}

}  // namespace tier::disk_test
