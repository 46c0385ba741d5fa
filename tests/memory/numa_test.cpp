// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Memory on NUMA nodes, on machines that are made up as files.
#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/memory/tiers.hpp>

#include <cerrno>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "made_up_system.hpp"
#include "memory/system/pages.hpp"
#include "memory/tiers/numa_nodes.hpp"
#include "memory/tiers/numa_tier.hpp"
#include "memory/values/dram_model.hpp"
#include "memory/values/node_list.hpp"
#include "memory/values/node_models.hpp"
#include "support/hardware.hpp"
#include "support/message_of.hpp"
#include "support/placement.hpp"

namespace tier::numa_test {

using test::message_of;
using Mode = PagePolicy::Mode;

namespace {

constexpr double mebibyte = 1 << 20;
const TierModel near = dram_model, far = *find_model("cxl");

std::error_code error_of(int number) { return {number, std::generic_category()}; }

/// System calls that do as the test says, on made-up nodes; all memory is on the first node.
class MadeUpCalls final : public NumaSystem {
 public:
  explicit MadeUpCalls(const SystemPaths& paths, std::vector<NumaNode> measured = {})
      : NumaSystem{paths, std::move(measured)} {}

  std::error_code supported() const noexcept override { return support; }
  std::error_code try_in_thread(const PagePolicy&) const noexcept override { return thread_error; }
  std::error_code bind(std::byte*, std::size_t size, const PagePolicy& policy) const noexcept override {
    modes.push_back(policy.mode());
    masks.push_back(policy.mask()[0]);
    bound += size;
    return policy.mode() == Mode::WeightedInterleave ? weighted_error : bind_error;
  }
  std::error_code locate(std::span<void*> pages, std::span<int> nodes) const noexcept override {
    asked += pages.size();
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = i < astray ? stray_node : 0;
    return locate_error;
  }

  std::error_code support, bind_error, thread_error, weighted_error, locate_error;
  std::size_t astray = 0;  // pages in each call
  int stray_node = 1;
  mutable std::vector<Mode> modes;
  mutable std::vector<unsigned long> masks;
  mutable std::size_t bound = 0, asked = 0;
};

/// A machine, as files and as system calls.
struct MadeUp {
  MadeUp() { files.write(files.paths().sysfs + "/devices/system/node/online", "0-2"); }
  void add(unsigned id, const std::string& cpus, Bytes size, Bytes free, Bytes cached = 0_B) {
    files.add(id, {.cpus = cpus, .size = size, .distances = "", .free = free, .cached = cached});
  }
  void set_weight(unsigned node, const std::string& weight) {
    files.write(files.paths().sysfs + "/kernel/mm/mempolicy/weighted_interleave/node" + std::to_string(node),
                weight);
  }

  test::MadeUpSystem files;
  std::shared_ptr<MadeUpCalls> calls = std::make_shared<MadeUpCalls>(files.paths());
};

/// Makes a machine of two sockets, and an expander without CPUs.
std::unique_ptr<MadeUp> make_machine() {
  auto system = std::make_unique<MadeUp>();
  system->add(0, "0-3", 8_GiB, 4_GiB);
  system->add(1, "4-7", 8_GiB, 4_GiB);
  system->add(2, "", 16_GiB, 15_GiB);
  return system;
}

std::unique_ptr<Tier> make(const std::string& nodes, const std::unique_ptr<MadeUp>& system,
                           Bytes size = 4_MiB, bool prefault = true) {
  auto spec = tiers::numa(nodes, size);
  spec.prefault = prefault;
  return make_numa_tier(spec, system->calls);
}

std::string refusal(const std::string& nodes, const std::unique_ptr<MadeUp>& system, Bytes size = 4_MiB) {
  return message_of<TierError>([&] { std::ignore = make(nodes, system, size); });
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a list of nodes is read in order, each once, whatever its ranges") {
  using Nodes = std::vector<unsigned>;
  CHECK(parse_node_list("1") == Nodes{1});
  CHECK(parse_node_list("0-1") == Nodes{0, 1});
  CHECK(parse_node_list("2,0") == Nodes{0, 2});
  CHECK(parse_node_list("3-5,4,1-1") == Nodes{1, 3, 4, 5});
  CHECK(parse_node_list("1023") == Nodes{1023});
}

TEST_CASE("a list of nodes that is none is refused with its position and what is allowed") {
  const auto refused = [](const std::string& text) {
    return message_of<ConfigError>([&] { std::ignore = parse_node_list(text); });
  };
  const std::string allowed = "; allowed: numbers below 1024 and ranges of them: 1, 0-1, 0,2";
  CHECK(refused("") == "expected a node at position 0 of \"\"" + allowed);
  CHECK(refused("0,") == "expected a node at position 2 of \"0,\"" + allowed);
  CHECK(refused("0-") == "expected a node at position 2 of \"0-\"" + allowed);
  CHECK(refused("all") == "expected a node at position 0 of \"all\"" + allowed);
  CHECK(refused("1 ") == "expected , or the end of the nodes at position 1 of \"1 \"" + allowed);
  CHECK(refused("0,3-1") == "a range that ends before it begins at position 2 of \"0,3-1\"" + allowed);
  CHECK(refused("1024") == "not a possible node number at position 0 of \"1024\"" + allowed);
  CHECK(refused("0,99999999999").starts_with("not a possible node number at position 2"));
  CHECK(message_of<ConfigError>([] { std::ignore = make_tier(tiers::numa("x", 1_MiB)); }) ==
        "expected a node at position 0 of \"x\"" + allowed);
}

TEST_CASE("without libnuma a tier on nodes is refused by the name of what is missing") {
  if (NumaSystem::is_built_in()) {
    MESSAGE("not without libnuma: this build has it");
    return;
  }
  CHECK(message_of<ConfigError>([] { std::ignore = make_tier(tiers::numa("0", 1_MiB)); }) ==
        "tier numa:0 needs libnuma, but this libtier was built without it: build with TIER_WITH_NUMA=ON (on "
        "Debian with the package libnuma-dev)");
}

TEST_CASE("memory is bound to one node, and taken from several in turns") {
  const auto system = make_machine();
  SUBCASE("one") {
    const auto tier = make("2", system, 4_MiB, false);
    CHECK(system->calls->modes == std::vector{Mode::Prefer});
    CHECK(system->calls->masks == std::vector{4UL});
    CHECK(system->calls->bound == (4_MiB).count);
    CHECK(tier->name() == "numa:2");
    REQUIRE(tier->page_policy() != nullptr);
    CHECK(tier->page_policy()->mode() == Mode::Prefer);
    CHECK(tier->has_private_pages());
    // While pages are faulted in, none may come from another node. Later ones may, because that is better than none.
    CHECK(!tier->reserve(0, 4096));
    CHECK(system->calls->modes == std::vector{Mode::Prefer, Mode::Bind, Mode::Prefer});
    CHECK(system->calls->masks == std::vector{4UL, 4UL, 4UL});
    CHECK(system->calls->bound == 3 * (4_MiB).count);  // all of it, or the mapping would be split
  }
  SUBCASE("one, whose memory is there at once") {
    CHECK(make("0", system, 4_MiB)->page_policy()->mode() == Mode::Prefer);
    CHECK(system->calls->modes == std::vector{Mode::Prefer, Mode::Bind, Mode::Prefer});
    CHECK(system->calls->bound == 3 * (4_MiB).count);
  }
  SUBCASE("several") {
    const auto tier = make("0-1", system);
    CHECK(system->calls->modes == std::vector{Mode::WeightedInterleave});
    CHECK(system->calls->masks == std::vector{3UL});
    CHECK(contains(tier->description(), "memory of nodes 0,1 in turns, "));
    CHECK(tier->page_policy()->mode() == Mode::WeightedInterleave);
  }
  SUBCASE("several, on a kernel that knows no weights") {
    system->calls->weighted_error = error_of(EINVAL);
    const auto tier = make("0,2", system);
    CHECK(system->calls->modes == std::vector{Mode::WeightedInterleave, Mode::Interleave});
    CHECK(system->calls->masks == std::vector{5UL, 5UL});
    CHECK(tier->page_policy()->mode() == Mode::Interleave);
  }
}

TEST_CASE("a tier on nodes is as fast as firmware says, and else as nodes with CPUs and without are") {
  const auto system = make_machine();
  CHECK(make("0", system)->model().latency == near.latency);
  CHECK(make("2", system, 4_MiB, false)->model().latency == far.latency);
  CHECK(make("2", system, 4_MiB, false)->model().read_bytes_per_second == far.read_bytes_per_second);
  CHECK(make("2", system, 4_MiB, false)->model().addressable);

  const auto folder = system->files.node_folder(2) + "/access0/initiators/";
  system->files.write(folder + "read_bandwidth", "30000");
  system->files.write(folder + "write_bandwidth", "10000");
  system->files.write(folder + "read_latency", "250");
  const auto declared = make("2", system, 4_MiB, false)->model();
  CHECK(declared.read_bytes_per_second == 30e3 * mebibyte);
  CHECK(declared.write_bytes_per_second == 10e3 * mebibyte);
  CHECK(declared.latency == std::chrono::nanoseconds{250});

  SUBCASE("what is zero or no number is not known") {
    system->files.write(folder + "read_bandwidth", "0");
    system->files.write(folder + "write_bandwidth", "fast");
    system->files.write(folder + "read_latency", "0");
    const auto unknown = make("2", system, 4_MiB, false)->model();
    CHECK(unknown.read_bytes_per_second == far.read_bytes_per_second);
    CHECK(unknown.write_bytes_per_second == far.write_bytes_per_second);
    CHECK(unknown.latency == far.latency);
  }
  SUBCASE("the bandwidths of several add up as far as the slowest keeps up, latencies are averaged") {
    const auto both = make("0,2", system)->model();
    CHECK(both.read_bytes_per_second == 60e3 * mebibyte);
    CHECK(both.write_bytes_per_second == 20e3 * mebibyte);
    CHECK(both.latency == std::chrono::nanoseconds{170});
  }
  SUBCASE("persistent memory as memory is as such memory is, and does not last") {
    const auto optane = *find_model("optane");
    system->add(3, "", 1_GiB, 1_GiB);
    system->files.add_dax("dax0.0", 1_GiB, "3", "LNXSYSTM:00/ACPI0012:00/ndbus0/region0", "kmem");
    const auto model = make("3", system, 4_MiB, false)->model();
    CHECK(model.write_bytes_per_second == optane.write_bytes_per_second);
    CHECK(!model.persistent);
  }
  SUBCASE("by weight") {
    system->set_weight(0, "3");
    system->set_weight(2, "1");
    const auto tier = make("0,2", system);
    CHECK(tier->model().read_bytes_per_second == doctest::Approx(34e9 * 4 / 3));
    CHECK(tier->model().write_bytes_per_second == doctest::Approx(40e3 * mebibyte));
    CHECK(tier->model().latency == std::chrono::nanoseconds{130});
    CHECK(contains(tier->description(), "memory of nodes 0,2 in turns of 3:1"));
  }
}

TEST_CASE("a tier on a node of which firmware says nothing is as fast as it was measured") {
  const auto system = make_machine();
  auto measured = find_nodes(system->files.paths());
  measured[0].measured = test::speed(50e9, 80);
  measured[2].measured = test::speed(11e9, 450);
  const auto calls = std::make_shared<MadeUpCalls>(system->files.paths(), measured);
  const auto model = [&](const char* node) {
    auto spec = tiers::numa(node, 1_MiB);
    spec.prefault = false;
    return make_numa_tier(spec, calls)->model();
  };
  CHECK(model("0").read_bytes_per_second == 50e9);
  CHECK(model("1").read_bytes_per_second == near.read_bytes_per_second);
  CHECK(model("2").write_bytes_per_second == 11e9);
  CHECK(model("2").latency == std::chrono::nanoseconds{450});
  system->files.write(system->files.node_folder(2) + "/access0/initiators/read_bandwidth", "30000");
  CHECK(model("2").read_bytes_per_second == 30e3 * mebibyte);
  CHECK(model("2").write_bytes_per_second == 11e9);
}

TEST_CASE("plain memory is as fast as the slowest node with CPUs that it may come from") {
  const auto system = make_machine();
  const auto& files = system->files;
  const auto model = [&] { return model_of_plain_memory(find_home_nodes(files.paths())); };
  CHECK(model().read_bytes_per_second == near.read_bytes_per_second);  // the kernel reports no node
  system->files.set_home("0-1", "0-2");
  CHECK(model().read_bytes_per_second == near.read_bytes_per_second);  // firmware reports no speed
  system->files.add(
      0, {.cpus = "0-3", .size = 1_GiB, .distances = "", .speed = test::speed(100e3 * mebibyte, 90)});
  system->files.add(
      1, {.cpus = "4-7", .size = 1_GiB, .distances = "", .speed = test::speed(80e3 * mebibyte, 95)});
  system->files.add(2,
                    {.cpus = "", .size = 1_GiB, .distances = "", .speed = test::speed(50e3 * mebibyte, 200)});
  CHECK(model().read_bytes_per_second == 80e3 * mebibyte);
  CHECK(model().latency == std::chrono::nanoseconds{95});
  CHECK(is_faster(model(),
                  make("2", system, 4_MiB, false)->model()));  // otherwise an expander would rank as faster
  system->files.allow("0,2");
  CHECK(model().read_bytes_per_second == 100e3 * mebibyte);
  system->files.set_home("0-1", "1-2");  // a socket without memory
  CHECK(model().read_bytes_per_second == near.read_bytes_per_second);
  // The nodes of a machine that is already discovered.
  auto nodes = find_nodes(files.paths());
  CHECK(model_of_plain_memory(nodes).read_bytes_per_second == 100e3 * mebibyte);
  nodes[0].speed = {};
  nodes[0].measured = test::speed(20e9, 110);
  CHECK(model_of_plain_memory(nodes).read_bytes_per_second == 20e9);
  CHECK(model_of_plain_memory({}).latency == near.latency);
}

TEST_CASE("a node that this program cannot have is refused by its number, with the reason") {
  const auto system = make_machine();
  CHECK(refusal("7", system) ==
        "node 7 for tier numa:7 (the system has nodes 0-2: name one of these, or take dram): No such device");
  CHECK(refusal("0,7", system).starts_with("node 7 for tier numa:0,7 "));
  system->add(3, "8-11", 0_B, 0_B);
  CHECK(refusal("3", system) == "node 3 for tier numa:3: the node has no memory: Cannot allocate memory");
  system->files.allow("0,2-3");
  CHECK(refusal("0-1", system) ==
        "node 1 for tier numa:0-1: the node is outside this process's cpuset (Mems_allowed): Operation not "
        "permitted");
  std::filesystem::remove_all(system->files.paths().sysfs);  // a container may have none
  CHECK(refusal("0", system) ==
        "node 0 for tier numa:0 (the system shows no nodes: take dram): No such device");
}

TEST_CASE("a system without NUMA, or one that denies it, is told by its call") {
  const auto system = make_machine();
  const std::string hint =
      " (in a container, seccomp may deny it: it needs CAP_SYS_NICE with Docker's rules)";
  system->calls->support = error_of(ENOSYS);
  CHECK(refusal("0", system) ==
        "get_mempolicy for tier numa:0 (the kernel has no NUMA support): Function not implemented");
  system->calls->support = error_of(EPERM);
  CHECK(refusal("0", system) == "get_mempolicy for tier numa:0" + hint + ": Operation not permitted");
  system->calls->support = {};
  system->calls->bind_error = error_of(EPERM);
  CHECK(refusal("0", system) == "mbind for tier numa:0" + hint + ": Operation not permitted");
  system->calls->bind_error = error_of(ENOSYS);
  CHECK(refusal("0", system) == "mbind for tier numa:0: Function not implemented");
  system->calls->bind_error = {};
  system->calls->thread_error = error_of(EPERM);
  CHECK(refusal("0", system) ==
        "set_mempolicy, which windows need, for tier numa:0" + hint + ": Operation not permitted");
}

TEST_CASE("what a node has not free is refused, before the system would end the program") {
  const auto system = std::make_unique<MadeUp>();
  system->add(0, "0-3", 64_MiB, 5_MiB);
  system->add(1, "4-7", 64_MiB, 40_MiB);
  // One 64th of the node is left to the system.
  CHECK(refusal("0", system, 5_MiB) ==
        "memory of 5.00 MiB for tier numa:0 (node 0 has 4.00 MiB free, but 5.00 MiB are needed): "
        "Cannot "
        "allocate memory");
  CHECK(make("0", system, 4_MiB)->capacity() == 4_MiB);
  // When pages are interleaved, each node has its share.
  CHECK(contains(refusal("0-1", system, 10_MiB), "(node 0 has 4.00 MiB free, but 5.00 MiB are needed)"));
  CHECK(make("0-1", system, 8_MiB)->capacity() == 8_MiB);
  system->set_weight(1, "4");
  CHECK(make("0-1", system, 10_MiB)->capacity() == 10_MiB);

  SUBCASE("what the watermarks keep is left to it, where that is more") {
    // The second zone keeps 768 + 256 pages of 4 KiB; pages in the caches of CPUs do not count, nor does another node.
    const auto zone = [](const std::string& name, int high, int managed, const std::string& kept) {
      return "Node " + name +
             "\n  pages free     40435\n        min      12\n        low      14\n        high     " +
             std::to_string(high) + "\n        managed  " + std::to_string(managed) +
             "\n        protection: (" + kept +
             ")\n      nr_free_pages 40435\n  pagesets\n    cpu: 0\n              count:    90\n             "
             " high:  "
             "90000\n";
    };
    system->files.write(system->files.paths().zoneinfo,
                        zone("0, zone      DMA", 9, 0, "0, 954, 954") +
                            zone("0, zone   Normal", 768, 16000, "0, 0, 256") +
                            zone("1, zone   Normal", 9000, 16000, "0, 0, 0"));
    CHECK(contains(refusal("0", system, 4_MiB), "(node 0 has 1.00 MiB free, but 4.00 MiB are needed)"));
    CHECK(make("0", system, 1_MiB)->capacity() == 1_MiB);
  }
  SUBCASE("what the page cache would give up counts as free") {
    system->add(0, "0-3", 64_MiB, 5_MiB, 32_MiB);
    CHECK(make("0", system, 16_MiB)->capacity() == 16_MiB);
  }
  SUBCASE("as do regions, where memory is faulted in with them") {
    const auto tier = make("0", system, 40_MiB, false);
    CHECK(tier->reserve(0, 4096) == std::errc::not_enough_memory);
    system->add(0, "0-3", 64_MiB, 32_MiB);
    CHECK(!tier->reserve(0, 4096));
  }
}

TEST_CASE("of memory that comes from any of several nodes they have together what is free on each") {
  const auto system = std::make_unique<MadeUp>();
  system->add(0, "0-3", 64_MiB, 5_MiB);
  system->add(1, "4-7", 64_MiB, 40_MiB, 1_MiB);
  const auto lacking = [&](const char* nodes, Bytes size) {
    return NumaNodes{nodes, "a test's", system->calls}.lacking_together(size.count);
  };
  CHECK(lacking("0", 4_MiB).empty());
  CHECK(lacking("0", 5_MiB) == "node 0 has 4.00 MiB free, but 5.00 MiB are needed");
  CHECK(lacking("0-1", 44_MiB).empty());
  CHECK(lacking("0-1", 45_MiB) == "nodes 0,1 have 44.00 MiB free, but 45.00 MiB are needed");
}

TEST_CASE("the system tells to which nodes memory at an address is bound") {
  const test::Pages pages{1_MiB};
  CHECK(!bound_to(pages.bytes().data()));
  try {
    test::bind(pages.bytes(), 0);
  } catch (const std::system_error& refusal) {
    return test::lacks(std::string{"node 0, or mbind: "} + refusal.what());
  }
  CHECK(bound_to(pages.bytes().data()) == std::vector<unsigned>{0});
  CHECK(NumaSystem{}.bound_to(pages.bytes().data()) == std::vector<unsigned>{0});
}

TEST_CASE("pages that are elsewhere after all are an error, or told of memory that is faulted in later") {
  const auto system = make_machine();
  system->calls->astray = 3;
  const auto count = (4_MiB).count / page_size();
  const auto pages = std::to_string(count),
             astray = std::to_string(3 * ((count + 511) / 512));  // in calls of 512 pages
  CHECK(refusal("0", system) == astray + " of " + pages + " pages of tier numa:0 are elsewhere: node 1: " +
                                    astray + " (node 0 has 3.88 GiB free): Cannot allocate memory");
  system->calls->astray = 0;
  const auto tier = make("0", system);
  CHECK(contains(tier->description(), "faulted in at once; " + pages + " pages asked, all are there"));
  system->calls->astray = 1;
  CHECK(contains(tier->description(), " of " + pages + " pages asked are elsewhere: "));
  CHECK(contains(tier->description(), " are elsewhere: node 1: "));
  system->calls->stray_node = -ENOENT;
  CHECK(!contains(tier->description(), "elsewhere"));
  system->calls->locate_error = error_of(EPERM);
  CHECK(contains(tier->description(),
                 "; the system does not say where pages are: move_pages: Operation not permitted"));
}

TEST_CASE("of large memory a part of the pages is asked, from its beginning to its end") {
  const auto system = make_machine();
  const NumaNodes nodes{"0", "numa:0", system->calls};
  auto* const begin = reinterpret_cast<std::byte*>(page_size());  // nobody looks at the memory
  CHECK(nodes.find(begin, 65'536 * page_size()).asked == 65'536);
  system->calls->asked = 0;
  CHECK(nodes.find(begin, 70'000 * page_size()).asked == 35'000);
  CHECK(system->calls->asked == 35'000);
  system->calls->asked = 0;
  CHECK(nodes.find(begin, 65'536 * 64 * page_size()).asked == 65'536);
}

}  // namespace tier::numa_test
