// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A program may set a default pmr resource that lies in a tier: the library must never draw from it.
#include "support/child.hpp"

#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/memory/spec.hpp>
#include <tier/pmr/arena_resource.hpp>
#include <tier/pmr/container_scopes.hpp>
#include <tier/pmr/copy_in.hpp>
#include <tier/pmr/group_resource.hpp>
#include <tier/pmr/limiting_resource.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/pmr/placed_resource.hpp>
#include <tier/pmr/pool_resource.hpp>
#include <tier/pmr/statistics_resource.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/hints.hpp>
#include <tier/scope/scope.hpp>
#include <tier/table/row_table.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <memory_resource>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "support/windows.hpp"

namespace tier::default_resource_test {
namespace {

using namespace literals;

class Aborting final : public std::pmr::memory_resource {
  void* do_allocate(std::size_t, std::size_t) override {
    std::fputs("the default resource was used\n", stderr);
    std::abort();
  }
  void do_deallocate(void*, std::size_t, std::size_t) override { std::abort(); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

/// Prints to stderr if no error is thrown, because a CHECK in a child process is not reported.
template <class Error>
void expect(auto&& fails) {
  try {
    fails();
    std::fputs("an error is missing\n", stderr);
  } catch (const Error&) {
  }
}

void use_tensors(Runtime& runtime) {
  std::vector<Tensor<float>> tensors;
  for (int i = 0; i < 8; ++i) {
    auto& tensor = tensors.emplace_back(runtime, Shape{64, 1024}, "tensor " + std::to_string(i));
    WriteScope out{overwrites(tensor)};
    std::ranges::fill(out[tensor].elements(), static_cast<float>(i));
  }
  for (auto& tensor : tensors) {
    const ArchiveScope cold{tensor};
    will_read(tensors.front());
    prefetch(tensors.back());
    KernelScope k{"add", reads(tensors.front()), updates(tensors.back())};
    k.out(tensors.back())(0, 0) += k.in(tensors.front())(0, 0);
    std::thread{[&, chain = k.chain()] {
      const ChainGuard guard{chain};
      const ReadScope inner{tensor};
    }}.join();
  }
  retire(tensors.front());
  const auto copy = tensors.back().clone();
  runtime.end_of_step();
  runtime.compact();
  expect<OutOfTierMemory>([&] { const Tensor<float> too_large{runtime, {1 << 30}}; });
}

void use_table(Runtime& runtime, std::string_view policy) {
  TableOptions options;
  options.rows = 1000;
  options.dim = 16;
  options.state_columns = 1;
  options.slots = 64;
  options.policy = make_row_policy(policy);
  RowTable<float> table{runtime.manager(), std::move(options)};
  std::vector<float> rows(200 * 16, 1.0F);
  for (RowId first = 0; first < 800; first += 200) {
    std::vector<RowId> ids(200);
    for (RowId i = 0; i < 200; ++i) ids[i] = first + i;
    table.prefetch(ids);
    const auto cancelled = table.announce(ids);
    table.cancel(cancelled);
    table.gather(ids, rows);
    table.update(ids, rows, Sgd{});
  }
  table.flush();
}

/// Uses containers on a resource, with all scopes and hints that they support.
void use_containers(std::pmr::memory_resource& resource) {
  std::pmr::vector<int> numbers(100'000, 7, &resource);
  std::pmr::map<int, std::pmr::string> texts{&resource};
  for (int i = 0; i < 1000; ++i) texts[i].assign(static_cast<std::size_t>(i), 'x');
  if (object_of(&*texts.begin()).object != nullptr)
    migrate(texts, 1);
  else
    expect<ConfigError>([&] { migrate(texts, 1); });
  {
    const ReadScope in{numbers, texts};
    for (int i = 0; i < 20; ++i) texts[1000 + i].assign(100'000, 'y');  // grow while the scope is open
    texts.erase(500);
  }
  prefetch(numbers);
  std::thread{[&] {
    const auto copy = copy_in(resource, texts);
    const WriteScope out{numbers};
    numbers.front() = static_cast<int>(copy.size());
  }}.join();
  if (numbers.front() != 1019 || texts.at(999).size() != 999) std::fputs("containers are wrong\n", stderr);
}

void use_resources(Runtime& runtime) {
  MigratingResource memory{runtime};
  GroupResource group{memory};
  ArenaResource arena{runtime, 32_MiB}, bumped{runtime, 64_MiB, {.monotonic = true}};
  PlacedResource placed{runtime, 0};
  PoolResource pool{&placed}, pool_in_windows{&group};
  LimitingResource limited{group, 64_MiB};
  StatisticsResource counted{arena};
  for (std::pmr::memory_resource* resource : std::initializer_list<std::pmr::memory_resource*>{
           &memory, &group, &arena, &bumped, &pool, &pool_in_windows, &limited, &counted})
    use_containers(*resource);
  const ReadScope hot{group, arena};
  void* const p = memory.allocate(1 << 20);
  std::ignore = object_of(p).id();
  memory.deallocate(p, 1 << 20);
  arena.release();
  expect<OutOfTierMemory>([&] { std::ignore = memory.allocate(1 << 30); });
  expect<OutOfTierMemory>([&] { std::ignore = arena.allocate(1 << 30); });
}

void run_containers(WindowMode mode) {
  for (const auto* slow : {"emulated:cxl:64MiB", "file:/var/tmp:64MiB", "mapped:/var/tmp:64MiB"}) {
    Runtime runtime{{.tiers = parse_tiers(std::string{"dram:32MiB;"} + slow), .windows = mode}};
    use_resources(runtime);
  }
  std::fputs("done", stderr);
}

/// Uses the whole interface, under each policy and on tiers of each kind.
void run_program() {
  for (const std::string policy : {"first_touch", "lru", "hint_aware"}) {
    for (const auto* slow : {"emulated:cxl:16MiB", "file:/var/tmp:16MiB", "mapped:/var/tmp:16MiB"}) {
      auto runtime = Runtime::from_spec(std::string{"dram:1MiB;"} + slow, policy);
      use_tensors(runtime);
      use_table(runtime, policy);
      std::ignore = runtime.statistics().to_text() + runtime.statistics().to_json();
      expect<ConfigError>([] { std::ignore = Runtime::from_spec("tape:1MiB"); });
    }
  }
  std::fputs("done", stderr);
}

/// Runs `program` in a child, which prints when it has reached its end.
void check_without_default(const char* label, FunctionRef<void()> program) {
  const auto ended = test::run_in_child(label, [&] {
    static Aborting aborting;
    std::pmr::set_default_resource(&aborting);
    program();
  });
  CHECK(ended.signal == 0);
  CHECK(ended.errors == "done");
}

}  // namespace

TEST_CASE("a whole program runs without one allocation from the default pmr resource") {
  check_without_default("program", [] { run_program(); });
}

TEST_CASE("memory resources, windows and scopes on containers take nothing from the default pmr resource") {
  for (const auto mode : test::window_modes())
    check_without_default(to_string(mode).data(), [&] { run_containers(mode); });
}

}  // namespace tier::default_resource_test
