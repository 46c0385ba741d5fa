// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>
#include <tier/memory/discovery.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/runtime/runtime.hpp>

#include <algorithm>
#include <memory_resource>
#include <vector>

#include "hardware/given_tiers.hpp"
#include "support/windows.hpp"

namespace tier::windows_test {
namespace {

using List = std::pmr::vector<std::uint32_t>;

constexpr std::size_t lists = 8, length = 256 * 1024;  // 1 MiB each

/// Checks 8 MiB of lists over 2 MiB of fast memory.
Statistics check_windows_over(const TierSpec& fast, const TierSpec& slow) {
  Runtime runtime{{.tiers = {fast, slow}, .policy = "lru", .windows = WindowMode::Full}};
  CAPTURE(runtime.manager()->tier(0).description());
  CAPTURE(runtime.manager()->tier(1).description());
  MigratingResource memory{runtime};
  std::pmr::vector<List> all{&memory};
  for (std::uint32_t i = 0; i < lists; ++i) all.emplace_back(length, i);
  std::vector<const std::uint32_t*> addresses;
  for (const auto& list : all) addresses.push_back(list.data());

  // A system call reads absent pages.
  const int file = ::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  REQUIRE(file >= 0);
  for (const auto& list : all) {
    const auto bytes = list.size() * sizeof list.front();
    CHECK(::write(file, list.data(), bytes) == static_cast<::ssize_t>(bytes));
  }
  for (std::uint32_t i = lists; i-- > 0;) {
    List copy(length);
    const auto bytes = length * sizeof copy.front();
    CHECK(::pread(file, copy.data(), bytes, static_cast<::off_t>(i * bytes)) ==
          static_cast<::ssize_t>(bytes));
    CHECK(copy == all[i]);
    CHECK(copy[length / 2] == i);
    CHECK(all[i].data() == addresses[i]);
  }
  ::close(file);
  const auto statistics = runtime.statistics();
  CHECK(statistics.windows == WindowMode::Full);
  CHECK(statistics.bytes_moved(0, 1) >= (6_MiB).count);
  return statistics;
}

}  // namespace

TEST_CASE(
    "windows are full, and containers in them move to and from the disk, persistent memory in each of its "
    "forms, and HBM") {
  if (!test::has_disks() || !test::has_windows()) return;
  for (const auto& slow : test::slower_tiers(64_MiB))
    CHECK(check_windows_over(tiers::dram(2_MiB), slow).window_faults >= lists - 2);
  check_windows_over(tiers::role("hbm", 2_MiB), tiers::dram(64_MiB));
}

TEST_CASE("windows are full over the memory of a CXL expander") {
  if (!test::given()) return test::lacks_description();
  if (!test::has_windows()) return;
  const auto machine = discover();
  if (std::ranges::none_of(machine.nodes, [](const auto& node) { return node.kind == NodeKind::Cxl; }))
    return test::not_given("CXL expander");
  check_windows_over(tiers::dram(2_MiB), tiers::role("cxl", 64_MiB));
}

}  // namespace tier::windows_test
