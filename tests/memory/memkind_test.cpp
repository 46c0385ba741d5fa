// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Memory that memkind finds.
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/memory/spec.hpp>
#include <tier/memory/tiers.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "memory/memkind_tier.hpp"
#include "support/hardware.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

using namespace tier;
using test::message_of;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Says so where the library was built without memkind.
bool has_library() {
  if (!has_memkind()) MESSAGE("not without memkind (TIER_WITH_MEMKIND)");
  return has_memkind();
}

}  // namespace

TEST_CASE("without memkind its tiers are refused by the name of what is missing") {
  if (has_memkind()) {
    MESSAGE("not without memkind: this build has it");
    return;
  }
  CHECK(memkind_kinds().empty());
  CHECK(
      message_of<ConfigError>([] { std::ignore = make_tier(tiers::memkind("HBW", 1_MiB)); }) ==
      "tier memkind needs memkind, without which this libtier was built: TIER_WITH_MEMKIND=ON (on Debian the "
      "package libmemkind-dev)");
}

TEST_SUITE_BEGIN("hardware");

TEST_CASE("each kind that memkind has here is memory, and each that it has not is refused by its name") {
  if (!has_library()) return;
  std::size_t found = 0;
  for (const std::string kind : {"HBW", "DAX_KMEM", "HIGHEST_CAPACITY", "HIGHEST_CAPACITY_LOCAL",
                                 "LOWEST_LATENCY_LOCAL", "HIGHEST_BANDWIDTH_LOCAL"}) {
    CHECK(std::ranges::count(memkind_kinds(), kind) == 1);
    CAPTURE(kind);
    for (const bool prefault : {true, false}) {
      auto spec = tiers::memkind(kind, 5_MiB);
      spec.prefault = prefault;
      std::unique_ptr<Tier> tier;
      const auto message = message_of<TierError>([&] { tier = make_tier(spec); });
      if (tier == nullptr) {
        CAPTURE(message);
        CHECK(message.starts_with("memkind_check_available for tier memkind:" + kind + " (<memkind> "));
        CHECK(contains(message, "is not available"));
        CHECK(message.ends_with("No such device"));
        continue;
      }
      ++found;
      CHECK(tier->name() == "memkind:" + kind);
      CHECK(tier->description().starts_with("memory by memkind"));
      CHECK(!tier->has_private_pages());
      CHECK(reinterpret_cast<std::uintptr_t>(tier->base()) % (2_MiB).count == 0);
      std::memset(tier->base(), 7, (5_MiB).count);
      if (test::usable_nodes().empty()) continue;
      const auto counts = test::placement_of({tier->base(), (5_MiB).count}).pages;
      REQUIRE(counts.size() == 1);
      CHECK(tier->description() == "memory by memkind of node " + std::to_string(counts.begin()->first));
    }
  }
  if (found == 0) test::lacks("any kind of memkind's");
}

TEST_SUITE_END();

TEST_CASE("memkind's memory in a file is no persistent memory where there is none, and the tier says so") {
  if (!has_library()) return;
  const test::TemporaryDirectory directory;
  const auto tier = make_tier(tiers::memkind(directory.path(), 20_MiB));
  CHECK(tier->description() == "mapped scratch file by memkind, which is no persistent memory");
  CHECK(!tier->model().persistent);
  CHECK(!tier->is_copied_by_fork());
  CHECK(std::filesystem::is_empty(directory.path()));
  std::memset(tier->base(), 7, (20_MiB).count);
  std::byte last{};
  IoRequest request{(20_MiB).count - 1, &last, 1, {}};
  tier->transfer(Direction::Read, {&request, 1});
  CHECK(last == std::byte{7});
}

TEST_CASE("a kind that nobody knows, a directory that is not there and more than there is are refused") {
  if (!has_library()) return;
  CHECK(message_of<ConfigError>([] {
          std::ignore = make_tier(tiers::memkind("FLOPPY", 1_MiB));
        }).starts_with("unknown kind at position 0 of \"FLOPPY\"; allowed: HBW, DAX_KMEM, "));
  const auto missing =
      message_of<TierError>([] { std::ignore = make_tier(tiers::memkind("/no/such", 1_MiB)); });
  CHECK(missing.starts_with("memkind_create_pmem in \"/no/such\" for tier memkind:/no/such (<memkind> "));
}
