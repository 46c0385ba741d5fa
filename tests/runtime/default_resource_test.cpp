// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A program may set a default pmr resource that lies in a tier: the library must never draw from it.
#include "support/child.hpp"

#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/hints.hpp>
#include <tier/scope/scope.hpp>
#include <tier/table/row_table.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory_resource>
#include <string>
#include <thread>
#include <vector>

namespace tier {
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

/// A CHECK of a child process would be heard by nobody.
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

/// All that a program does, under each policy and on tiers of each kind.
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

}  // namespace

TEST_CASE("a whole program runs without one allocation from the default pmr resource") {
  const auto ended = test::run_in_child("program", [] {
    static Aborting aborting;
    std::pmr::set_default_resource(&aborting);
    run_program();
  });
  CHECK(ended.signal == 0);
  CHECK(ended.errors == "done");
}

}  // namespace tier
