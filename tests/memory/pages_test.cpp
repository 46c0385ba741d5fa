// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Page sizes of memory tiers.
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/memory/tiers.hpp>

#include <cstring>
#include <fstream>
#include <string>
#include <tuple>
#include <vector>

#include "memory/system/pages.hpp"
#include "memory/system/resident_pages.hpp"
#include "memory/system/system_files.hpp"
#include "support/hardware.hpp"
#include "support/message_of.hpp"

namespace tier::pages_test {

using test::message_of;

namespace {

/// Reserves huge pages for the time of a test, if the system lets it.
class ReservedHugePages {
 public:
  explicit ReservedHugePages(std::size_t count) : before_{huge_page_pool().total} {
    set(before_ + count);
    enough_ = huge_page_pool().free >= count;
  }
  ~ReservedHugePages() { set(before_); }
  ReservedHugePages(const ReservedHugePages&) = delete;
  ReservedHugePages& operator=(const ReservedHugePages&) = delete;

  [[nodiscard]] bool enough() const { return enough_; }

 private:
  static void set(std::size_t count) { std::ofstream{"/proc/sys/vm/nr_hugepages"} << count; }
  std::size_t before_;
  bool enough_ = false;
};

std::vector<TierSpec> memory_specs(Bytes size) {
  std::vector<TierSpec> specs{tiers::dram(size), tiers::emulated("cxl", size)};
  for (const auto node : test::usable_nodes()) specs.push_back(tiers::numa(std::to_string(node), size));
  return specs;
}

bool has_transparent_huge_pages() {
  const auto line = read_line("/sys/kernel/mm/transparent_hugepage/enabled");
  return !line.empty() && line.find("[never]") == std::string::npos;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE_BEGIN("hardware");

TEST_CASE("small pages are small though the system has transparent huge ones, and the tier says so") {
  for (auto spec : memory_specs(8_MiB)) {
    spec.pages = PageKind::Small;
    const auto tier = make_tier(spec);
    CAPTURE(tier->description());
    CHECK(contains(tier->description(), " in small pages, faulted in at once"));
    CHECK(residence(tier->base(), (8_MiB).count).huge == 0_B);
    CHECK(tier->has_private_pages());
  }
}

TEST_CASE("memory is on huge pages where the system gives them, and the tier says how much of it") {
  for (const auto& spec : memory_specs(16_MiB)) {
    const auto tier = make_tier(spec);
    CAPTURE(tier->description());
    const auto [resident, huge, page] = residence(tier->base(), (16_MiB).count);
    CHECK(page == Bytes{page_size()});
    CHECK(resident >= 16_MiB);
    if (!has_transparent_huge_pages()) CHECK(huge == 0_B);
    CHECK(contains(tier->description(), ", " + std::to_string(huge.count * 100 / resident.count) +
                                            " % in huge pages, faulted in at once"));
  }
  if (has_transparent_huge_pages()) WARN(residence(make_tier(tiers::dram(64_MiB))->base(), 1).huge > 0_B);
}

TEST_CASE("memory that is faulted in later says what pages it has got so far") {
  auto spec = tiers::dram(64_MiB);
  spec.prefault = false;
  const auto tier = make_tier(spec);
  REQUIRE(!tier->reserve(0, (1_MiB).count));
  CHECK(contains(tier->description(), " % in huge pages, faulted in as it is used"));
}

TEST_CASE("reserved huge pages that are missing are refused with their number and how to reserve them") {
  const auto pool = huge_page_pool();
  if (pool.page == 0_B) return test::lacks("reserved huge pages in its kernel");
  if (read_value("/proc/sys/vm/nr_overcommit_hugepages", "") != 0)
    return test::lacks("a limit on huge pages");
  for (auto spec : memory_specs((pool.free + 3) * pool.page - 1_B)) {
    spec.pages = PageKind::Hugetlb;
    const auto message = message_of<TierError>([&] { std::ignore = make_tier(spec); });
    CAPTURE(message);
    if (spec.kind == TierKind::Numa) {
      CHECK(contains(message, " free huge pages, but " + std::to_string(pool.free + 3) +
                                  " are needed: reserve them in /sys/"));
      CHECK(contains(message, "/nr_hugepages): Cannot allocate memory"));
      continue;
    }
    CHECK(contains(message, "mmap(MAP_HUGETLB) of " + to_human((pool.free + 3) * pool.page) + " for tier "));
    CHECK(contains(message, " (3 huge pages of " + to_human(pool.page) +
                                " are missing: sysctl vm.nr_hugepages=" + std::to_string(pool.total + 3) +
                                " reserves them, or take pages=huge)"));
    CHECK(message.ends_with("Cannot allocate memory"));
  }
}

TEST_CASE("memory on reserved huge pages holds its bytes, and stays where it is") {
  const auto page = huge_page_pool().page;
  const ReservedHugePages reserved{4};
  if (page == 0_B || !reserved.enough()) return test::lacks("4 huge pages that a test may reserve");
  for (auto spec : memory_specs(3 * page + 1_B)) {
    for (const bool prefault : {true, false}) {
      spec.pages = PageKind::Hugetlb;
      spec.prefault = prefault;
      const auto free = huge_page_pool().free;
      std::string problem;
      std::unique_ptr<Tier> tier;
      try {
        tier = make_tier(spec);
      } catch (const TierError& error) {
        problem = error.what();  // the system's free huge pages may be on other nodes
      }
      if (tier == nullptr) {
        CHECK(contains(problem, " huge pages"));
        CHECK(contains(problem, ": reserve them in "));
        continue;
      }
      CAPTURE(tier->description());
      CHECK(contains(tier->description(), " in reserved huge pages of " + to_human(page) + ", faulted in "));
      CHECK(residence(tier->base(), 1).page == page);
      CHECK(!tier->has_private_pages());
      CHECK(!tier->is_copied_by_fork());
      CHECK(reinterpret_cast<std::uintptr_t>(tier->base()) % page.count == 0);
      CHECK(huge_page_pool().free == free - 4);
      if (const auto error = tier->reserve(0, spec.size.count)) {  // here as well
        CHECK(error == std::errc::not_enough_memory);
        CHECK(spec.kind == TierKind::Numa);
        continue;
      }
      std::memset(tier->base(), 7, spec.size.count);
      std::byte last{};
      IoRequest request{spec.size.count - 1, &last, 1, {}};
      tier->transfer(Direction::Read, {&request, 1});
      CHECK(last == std::byte{7});
    }
  }
}

TEST_SUITE_END();

TEST_CASE("pages are refused of what has none of its own") {
  for (auto spec : {tiers::file("/tmp", 1_MiB), tiers::simulated("cxl", 1_MiB), tiers::pmem("/tmp", 1_MiB),
                    tiers::memkind("HIGHEST_CAPACITY", 1_MiB)}) {
    spec.pages = PageKind::Small;
    CHECK(message_of<ConfigError>([&] { std::ignore = make_tier(spec); }) ==
          "the option pages is for tiers of memory only: dram, numa, emulated, and roles");
  }
}

}  // namespace tier::pages_test
