// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Memory on the nodes of this machine; the kernel says where pages are.
#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <tier/core/error.hpp>
#include <tier/memory/tiers.hpp>

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "memory/system/page_policy.hpp"
#include "memory/system/system_files.hpp"
#include "support/denied_calls.hpp"
#include "support/hardware.hpp"
#include "support/message_of.hpp"

namespace tier::numa_hardware_test {

using test::message_of;

namespace {

std::string list_of(const std::vector<unsigned>& nodes) {
  std::string text;
  for (const auto node : nodes) text.append(text.empty() ? "" : ",").append(std::to_string(node));
  return text;
}

std::string refusal(const TierSpec& spec) {
  return message_of<TierError>([&] { std::ignore = make_tier(spec); });
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_SUITE_BEGIN("hardware");

TEST_CASE(
    "memory of a node is on that node, page by page, whenever it is faulted in and however large its pages") {
  constexpr auto size = 8_MiB;  // emulated CXL memory is slow
  for (const auto node : test::nodes_of_machine(1)) {
    CAPTURE(node);
    for (const auto pages : {PageKind::Huge, PageKind::Small}) {
      auto spec = tiers::numa(std::to_string(node), size);
      spec.pages = pages;
      const auto whole = make_tier(spec);
      CHECK(test::are_all_on(whole->base(), size.count, node));
      CHECK(contains(whole->description(), "pages asked, all are there"));
      spec.prefault = false;
      const auto grown = make_tier(spec);
      CHECK(!test::are_all_on(grown->base(), size.count, node));
      REQUIRE(!grown->reserve(0, size.count));
      CHECK(test::are_all_on(grown->base(), size.count, node));
    }
  }
}

TEST_CASE("memory of several nodes is on all of them in turns") {
  const auto nodes = test::nodes_of_machine(2);
  if (nodes.empty()) return;
  auto spec = tiers::numa(list_of(nodes), 64_MiB);
  spec.pages = PageKind::Small;
  const auto tier = make_tier(spec);
  const auto counts = test::placement_of({tier->base(), (64_MiB).count}).pages;
  CHECK(counts.size() == nodes.size());
  for (const auto node : nodes) CHECK(counts.contains(static_cast<int>(node)));
}

TEST_CASE(
    "tiers on nodes take their place by what firmware says: an expander is not before memory with CPUs") {
  const auto nodes = test::nodes_of_machine(2);
  for (const auto near : nodes)
    for (const auto far : nodes) {
      const NumaSystem system;
      const auto has_cpus = [&](unsigned node) {
        return !read_line(system.node_path(node) + "/cpulist").empty();
      };
      if (!has_cpus(near) || has_cpus(far)) continue;
      CHECK(make_tier(tiers::numa(std::to_string(near), 1_MiB))->model().latency <=
            make_tier(tiers::numa(std::to_string(far), 1_MiB))->model().latency);
    }
}

TEST_CASE("a node beyond those of the machine is refused") {
  if (test::nodes_of_machine(1).empty()) return;
  const auto message = refusal(tiers::numa("1023", 1_MiB));
  CHECK(message.starts_with("node 1023 for tier numa:1023 (the system has "));
  CHECK(message.ends_with("No such device"));
}

TEST_CASE("more than a node has is refused, with what it has") {
  for (const auto node : test::nodes_of_machine(1)) {
    const auto name = std::to_string(node);
    const auto total = read_kib(NumaSystem{}.node_path(node) + "/meminfo", "MemTotal:");
    const auto message = refusal(tiers::numa(name, total + 1_MiB));
    CAPTURE(message);
    CHECK(contains(message, "for tier numa:" + name + " ("));
    CHECK(contains(message, "Cannot allocate memory"));
  }
}

TEST_CASE("a system call that is denied, as in a container, is told by its name") {
  const auto nodes = test::nodes_of_machine(1);
  if (nodes.empty()) return;
  const auto name = std::to_string(nodes.front());
  const auto refusal_without = [&](long call, int error) {
    std::string message;
    test::with_denied_call(call, error, [&] { message = refusal(tiers::numa(name, 1_MiB)); });
    return message;
  };
  const std::string hint =
      " (in a container, seccomp may deny it: it needs CAP_SYS_NICE with Docker's rules)";
  CHECK(refusal_without(SYS_mbind, EPERM) ==
        "mbind for tier numa:" + name + hint + ": Operation not permitted");
  CHECK(refusal_without(SYS_mbind, ENOSYS) == "mbind for tier numa:" + name + ": Function not implemented");
  CHECK(refusal_without(SYS_set_mempolicy, EPERM) ==
        "set_mempolicy, which windows need, for tier numa:" + name + hint + ": Operation not permitted");
  CHECK(refusal_without(SYS_get_mempolicy, ENOSYS) ==
        "get_mempolicy for tier numa:" + name +
            " (the kernel has no NUMA support): Function not implemented");
  test::with_denied_call(SYS_move_pages, EPERM, [&] {
    const auto tier = make_tier(tiers::numa(name, 1_MiB));
    CHECK(contains(tier->description(),
                   "the system does not say where pages are: move_pages: Operation not permitted"));
  });
}

TEST_CASE("a thread has its own policy again when it has filled a window under another") {
  const auto nodes = test::nodes_of_machine(1);
  if (nodes.empty()) return;
  const auto mode = [] {
    int now = -1;
    REQUIRE(::syscall(SYS_get_mempolicy, &now, nullptr, 0, nullptr, 0) == 0);
    return now;
  };
  constexpr int by_default = 0, bind = 2, interleave = 3;
  std::thread{[&] {
    const PagePolicy one{PagePolicy::Mode::Bind, {nodes.data(), 1}},
        turns{PagePolicy::Mode::Interleave, nodes};
    CHECK(mode() == by_default);
    {
      const ThreadPolicy own{nullptr};
      CHECK(mode() == by_default);
    }
    {
      const ThreadPolicy outer{&turns};
      CHECK(!outer.error());
      CHECK(mode() == interleave);
      {
        const ThreadPolicy inner{&one};
        CHECK(mode() == bind);
      }
      CHECK(mode() == interleave);
      PagePolicy::Mask mask{};
      REQUIRE(::syscall(SYS_get_mempolicy, nullptr, mask.data(), max_nodes + 1, nullptr, 0) == 0);
      CHECK(mask == turns.mask());
    }
    CHECK(mode() == by_default);
  }}.join();
}

TEST_SUITE_END();

}  // namespace tier::numa_hardware_test
