// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Runtimes that need more memory than is left to their process: they throw, before the system ends the process.
#include "support/child.hpp"
#include "support/memory_group.hpp"
#include "support/message_of.hpp"
#include "support/sanitized.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <tier/core/error.hpp>
#include <tier/memory/discovery.hpp>
#include <tier/memory/spec.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace tier::memory_left_test {
namespace {

using namespace literals;
using ByteTensor = Tensor<unsigned char>;

/// Makes a runtime of these tiers in a child in a group of 300 MiB, which prints the error's message, or "made".
test::Ended made_in(const test::MemoryGroup& group, const std::string& spec) {
  return test::run_in_child(spec, [&] {
    group.enter();
    std::string message = "made";
    try {
      const auto runtime = Runtime::from_spec(spec);
    } catch (const TierError& error) {
      message = error.what();
    }
    std::fputs(message.c_str(), stderr);
  });
}

/// Takes so much of the group's memory, as others may, or ends the process.
void take_memory(Bytes size) {
  const void* const taken =
      ::mmap(nullptr, size.count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (taken == MAP_FAILED) std::_Exit(3);
}

bool lies_between(const std::string& text, const std::string& begin, const std::string& end) {
  return text.starts_with(begin) && text.ends_with(end);
}

}  // namespace

TEST_CASE("tiers that together need more than a control group leaves are refused, and the process lives") {
  if (test::sanitized) return;  // a sanitizer's own memory counts, too
  const test::MemoryGroup group{300_MiB};
  if (!group.made()) return;
  const std::string end =
      " left of 300.00 MiB; ask for less, or raise the group's limit): Cannot allocate memory";
  struct Case {
    std::string spec, begin;
  };
  std::vector<Case> cases{
      {"dram:1GiB", "memory of 1.00 GiB for tier dram:1GiB, and 6.00 MiB for page tables and threads "},
      {"dram:200MiB;emulated:cxl:200MiB",
       "memory of 400.00 MiB for tier dram:200MiB and tier emulated:cxl:200MiB, and 4.78 MiB for page tables "
       "and threads "},
      {"dram:100MiB;emulated:redl:100MiB;emulated:cxl:100MiB",
       "memory of 300.00 MiB for tier dram:100MiB, tier emulated:redl:100MiB and tier emulated:cxl:100MiB, "
       "and 4.59 MiB for page tables and threads "},
  };
  if (lies_in_memory("/dev/shm")) {
    cases.push_back({"dram:100MiB;mapped:/dev/shm:300MiB",
                     "memory of 400.00 MiB for tier dram:100MiB and tier mapped:/dev/shm:300MiB, and 4.78 "
                     "MiB for page tables and threads "});
    cases.push_back({"dram:100MiB;file:/dev/shm:300MiB",
                     "memory of 400.00 MiB for tier dram:100MiB and tier file:/dev/shm:300MiB, and 4.78 MiB "
                     "for page tables and threads "});
  }
  for (const auto& [spec, begin] : cases) {
    CAPTURE(spec);
    const auto ended = made_in(group, spec);
    CAPTURE(ended.errors);
    CHECK(ended.signal == 0);
    CHECK(lies_between(ended.errors, begin + "(the control group of this process has ", end));
  }
}

TEST_CASE("tiers that a control group has room for are made, and files on disks need none") {
  if (test::sanitized) return;
  const test::MemoryGroup group{300_MiB};
  if (!group.made()) return;
  for (const std::string spec :
       {"dram:200MiB", "dram:100MiB;emulated:cxl:100MiB", "dram:100MiB;file:/var/tmp:1GiB"}) {
    if (spec.ends_with("1GiB") && lies_in_memory("/var/tmp")) continue;
    CAPTURE(spec);
    CHECK(made_in(group, spec).errors == "made");
  }
}

TEST_CASE("what others have taken meanwhile is missing to a tier that grows, and no process ends of that") {
  if (test::sanitized) return;
  const test::MemoryGroup group{300_MiB};
  if (!group.made()) return;
  const auto ended = test::run_in_child("grows", [&] {
    group.enter();
    auto memory = tiers::dram(200_MiB);
    memory.prefault = false;
    Runtime runtime{{.tiers = {memory}}};
    take_memory(150_MiB);
    std::vector<ByteTensor> tensors;
    try {
      for (std::size_t i = 0; i < 20; ++i) {
        tensors.emplace_back(runtime, Shape{(10_MiB).count});
        KernelScope scope{"fill", overwrites(tensors.back())};
        std::memset(scope.out(tensors.back()).data(), 1, (10_MiB).count);
      }
    } catch (const OutOfTierMemory& error) {
      const bool says = error.cause() == std::errc::not_enough_memory;
      std::_Exit(tensors.size() >= 5 && says ? 0 : 4);
    }
    std::_Exit(5);
  });
  CHECK(ended.signal == 0);
  CHECK(ended.code == 0);
}

TEST_CASE("windows that the system pages take no more memory than is left where no tier has a file") {
  if (test::sanitized) return;
  const test::MemoryGroup group{300_MiB};
  if (!group.made()) return;
  const auto ended = test::run_in_child("windows", [&] {
    group.enter();
    auto memory = tiers::dram(200_MiB);
    memory.prefault = false;
    Runtime runtime{{.tiers = {memory}, .windows = WindowMode::Restricted}};
    take_memory(150_MiB);
    MigratingResource resource{runtime};
    std::vector<std::pmr::vector<unsigned char>> vectors;
    try {
      for (std::size_t i = 0; i < 20; ++i) vectors.emplace_back((10_MiB).count, i, &resource);
    } catch (const OutOfTierMemory& error) {
      const bool says = error.cause() == std::errc::not_enough_memory;
      std::_Exit(vectors.size() >= 5 && says ? 0 : 4);
    }
    std::_Exit(5);
  });
  CAPTURE(ended.errors);
  CHECK(ended.signal == 0);
  CHECK(ended.code == 0);
}

TEST_CASE("more than the machine has is refused in words that say what it has") {
  const auto total = memory_bound();
  const auto half = tiers::dram(Bytes{total.count / 4096 * 3072});  // three quarters
  const auto message = test::message_of<TierError>([&] { Runtime{{.tiers = {half, half}}}; });
  CAPTURE(message);
  const auto both = "tier " + to_string(half) + " and tier " + to_string(half);
  CHECK(message.starts_with("memory of " + to_human(half.size * 2) + " for " + both + ", and "));
  CHECK(message.find(" has ") != std::string::npos);
  CHECK(message.find("; ask for less") != std::string::npos);
}

}  // namespace tier::memory_left_test
