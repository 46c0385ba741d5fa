// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tiers of memory that memkind finds.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tier/core/error.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/spec.hpp>
#include <tier/memory/tiers.hpp>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "made_up_system.hpp"
#include "memory/system/pages.hpp"
#include "memory/system/resident_pages.hpp"
#include "memory/tiers/memkind_tier.hpp"
#include "memory/values/memkind_names.hpp"
#include "support/hardware.hpp"
#include "support/message_of.hpp"
#include "support/temporary_directory.hpp"

namespace tier::memkind_test {

using test::message_of;

namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// False, with a message, if the library was built without memkind.
bool has_library() {
  if (!has_memkind()) MESSAGE("not without memkind (TIER_WITH_MEMKIND)");
  return has_memkind();
}

/// Reports that memory is bound to nodes, and that every fourth page is on node 1, the others on node 0.
class MadeUpPlaces final : public NumaSystem {
 public:
  MadeUpPlaces(const SystemPaths& paths, std::optional<std::vector<unsigned>> nodes)
      : NumaSystem{paths}, nodes_{std::move(nodes)} {}

  std::error_code supported() const noexcept override { return {}; }
  std::optional<std::vector<unsigned>> bound_to(const void*) const override { return nodes_; }
  std::error_code locate(std::span<void*>, std::span<int> nodes) const noexcept override {
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = i % 4 == 3 ? 1 : 0;
    return {};
  }

 private:
  std::optional<std::vector<unsigned>> nodes_;
};

/// Makes a tier of a kind that any machine has, on two made-up nodes.
std::unique_ptr<Tier> make_on(const std::optional<std::vector<unsigned>>& nodes, Bytes size) {
  test::MadeUpSystem files;
  files.add(0,
            {.cpus = "0-3", .size = 64_MiB, .distances = "", .speed = test::speed(40e9, 100), .free = 5_MiB});
  files.add(1, {.cpus = "", .size = 64_MiB, .distances = "", .speed = test::speed(20e9, 300), .free = 9_MiB});
  return make_memkind_tier(tiers::memkind("HIGHEST_CAPACITY", size), {}, {},
                           std::make_shared<MadeUpPlaces>(files.paths(), nodes));
}

std::string refusal_on(const std::vector<unsigned>& nodes, Bytes size) {
  return message_of<TierError>([&] { std::ignore = make_on(nodes, size); });
}

bool has_highest_capacity() {
  if (!has_library()) return false;
  const auto message =
      message_of<TierError>([] { std::ignore = make_tier(tiers::memkind("HIGHEST_CAPACITY", 1_MiB)); });
  if (message != "nothing thrown") test::lacks("memory for memkind: " + message);
  return message == "nothing thrown";
}

}  // namespace

TEST_CASE("without memkind its tiers are refused by the name of what is missing") {
  if (has_memkind()) {
    MESSAGE("not without memkind: this build has it");
    return;
  }
  CHECK(memkind_kinds().empty());
  CHECK(message_of<ConfigError>([] { std::ignore = make_tier(tiers::memkind("HBW", 1_MiB)); }) ==
        "tier memkind needs memkind, but this libtier was built without it: build with TIER_WITH_MEMKIND=ON "
        "(on Debian with the package libmemkind-dev)");
}

TEST_SUITE_BEGIN("hardware");

TEST_CASE("each kind that memkind has here is memory, and each that it has not is refused by its name") {
  if (!has_library()) return;
  std::size_t found = 0;
  const std::vector<std::string> memories{"HBW",
                                          "DAX_KMEM",
                                          "HIGHEST_CAPACITY",
                                          "HIGHEST_CAPACITY_LOCAL",
                                          "LOWEST_LATENCY_LOCAL",
                                          "HIGHEST_BANDWIDTH_LOCAL"};
  CHECK(std::ranges::equal(memkind_kinds(), memories));
  auto kinds = memories;
  for (const std::string of : {"HBW", "DAX_KMEM"})
    for (const auto* policy : {"_ALL", "_INTERLEAVE"}) kinds.push_back(of + policy);
  for (const auto& of : memories) kinds.push_back(of + "_PREFERRED");
  for (const auto& kind : kinds) {
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
      if (counts.size() > 1 && std::ranges::count(memories, kind) == 0) continue;  // it may be on several
      REQUIRE(counts.size() == 1);
      auto expected = "memory by memkind of node " + std::to_string(counts.begin()->first);
      if (prefault) expected += share_in_huge_pages(tier->base(), (6_MiB).count);
      CHECK(tier->description() == expected);
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

  const auto child = ::fork();
  if (child == 0) {
    ::signal(SIGSEGV, SIG_DFL);
    *static_cast<volatile std::byte*>(tier->base()) = std::byte{8};
    ::_exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  CHECK(*tier->base() == std::byte{7});
}

TEST_CASE(
    "more than the nodes have to which memkind binds is refused, before the system would end the program") {
  if (!has_highest_capacity()) return;
  const auto refused = [](const std::string& lacking) {
    return "memory of 14.00 MiB for tier memkind:HIGHEST_CAPACITY (" + lacking +
           " free, but 14.00 MiB are needed): Cannot allocate memory";
  };
  // One 64th of a node is left to the system.
  CHECK(refusal_on({1}, 14_MiB) == refused("node 1 has 8.00 MiB"));
  CHECK(refusal_on({0, 1}, 14_MiB) == refused("nodes 0,1 have 12.00 MiB"));
  CHECK(make_on(std::vector<unsigned>{0, 1}, 12_MiB)->capacity() == 12_MiB);
  CHECK(make_on(std::nullopt, 14_MiB)->capacity() == 14_MiB);
}

TEST_CASE("memory of memkind's on several nodes says how much is where, and is as fast as most of it") {
  if (!has_highest_capacity()) return;
  const auto tier = make_on(std::nullopt, 2_MiB);
  const auto pages = (2_MiB).count / page_size();
  CHECK(tier->description() == "memory by memkind of node 0: " + std::to_string(pages - pages / 4) +
                                   " pages, node 1: " + std::to_string(pages / 4) + " pages" +
                                   share_in_huge_pages(tier->base(), (2_MiB).count));
  CHECK(tier->model().latency == std::chrono::nanoseconds{100});
}

TEST_CASE("a kind that nobody knows, a directory that is not there and more than there is are refused") {
  if (!has_library()) return;
  CHECK(message_of<ConfigError>([] { std::ignore = make_tier(tiers::memkind("FLOPPY", 1_MiB)); }) ==
        "unknown kind at position 0 of \"FLOPPY\"; allowed: " + memkind_names() + ", or a directory");
  const auto missing =
      message_of<TierError>([] { std::ignore = make_tier(tiers::memkind("/no/such", 1_MiB)); });
  CHECK(missing ==
        "tier memkind needs a folder that exists, but \"/no/such\" does not (\"/\" does): make or mount the "
        "folder: No "
        "such file or directory");
  if (!has_highest_capacity()) return;
  const auto bound = memory_bound();
  CHECK(message_of<TierError>([&] {
          std::ignore = make_tier(tiers::memkind("HIGHEST_CAPACITY", bound + 2_MiB));
        }) == "memory of " + to_human(bound + 2_MiB) + " for tier memkind:HIGHEST_CAPACITY (there is only " +
                  to_human(bound) + "): Cannot allocate memory");
}

}  // namespace tier::memkind_test
