// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A program on a disk that fills up: a small tmpfs, if the system lets a test mount one.
#include "support/filling_lists.hpp"
#include "support/seed.hpp"
#include "support/temporary_directory.hpp"
#include "table/plain_table.hpp"

#include <tier/core/error.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/runtime/row_policies.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/scope.hpp>
#include <tier/table/row_table.hpp>
#include <tier/tensor/tensor.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <list>
#include <memory_resource>
#include <string>
#include <vector>

namespace tier::full_disk_test {

using namespace tier::test;

namespace {

constexpr std::size_t elements = (256 << 10) / sizeof(float);
constexpr RowId rows = 40'000;
constexpr std::size_t dim = 16;

TableOptions table_options(std::string_view policy, std::string name) {
  TableOptions options;
  options.rows = rows;
  options.dim = dim;
  options.state_columns = 1;
  options.slots = 4000;
  options.policy = make_row_policy(policy);
  options.name = std::move(name);
  options.initial = [](RowId row, std::span<float> values) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = first_value(row, i);
  };
  return options;
}

/// Keeps a runtime whose slow tier takes the disk to be larger than it is, a table on it, and more and more tensors.
class Training {
 public:
  Training(const SmallDisk& disk, const std::string& policy)
      : runtime_{{.tiers = {tiers::dram(2_MiB), tiers::file(disk.path(), 64_MiB)},
                  .policy = policy,
                  .threads = 1}},
        policy_{policy},
        table_{runtime_.manager(), table_options(policy, "clicks")},
        plain_{rows, dim} {}

  /// Adds a tensor with numbers of its own.   \throws  `OutOfTierMemory`; the tensor is then not added
  void add_tensor() {
    const auto number = next_++;
    Tensor<float> tensor{runtime_, {elements}, "tensor " + std::to_string(number)};
    write(tensor, static_cast<float>(number));
    tensors_.push_back({std::move(tensor), static_cast<float>(number)});
  }
  void add_tensors(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) add_tensor();
  }
  void free_tensors(std::size_t count) { tensors_.erase(tensors_.begin(), tensors_.begin() + count); }
  /// \throws  `OutOfTierMemory`
  void add_table() { RowTable<float>{runtime_.manager(), table_options(policy_, "second table")}; }

  /// Updates rows all over the table, more than there are slots.
  void train() {
    std::vector<RowId> ids(6000);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<RowId>((i * 7919 + next_) % rows);
    const std::vector<float> gradients(ids.size() * dim, 0.5F);
    table_.update(ids, std::span<const float>{gradients}, RowWiseAdagrad{});
    plain_.update(ids, gradients, RowWiseAdagrad{});
  }

  /// Returns the message and the cause of the `OutOfTierMemory` that `f` throws.
  template <class F>
  static std::pair<std::string, std::error_code> refusal(const F& f) {
    try {
      f();
    } catch (const OutOfTierMemory& error) {
      return {error.what(), error.cause()};
    }
    return {};
  }

  /// Returns how many tensors cannot be read for lack of room; all others hold their numbers.
  std::size_t unreachable() {
    std::size_t count = 0;
    for (const auto& [tensor, number] : tensors_) {
      try {
        ReadScope in{tensor};
        const auto all = in[tensor].elements();
        CHECK(std::ranges::count(all, number) == static_cast<std::ptrdiff_t>(elements));
      } catch (const OutOfTierMemory& error) {
        CHECK(error.cause() == std::errc::no_space_on_device);
        ++count;
      }
    }
    return count;
  }
  void check_table() {
    CHECK(is(table_, plain_));
    table_.flush();
    CHECK(is(table_, plain_));
    table_.check_invariants();
    runtime_.manager()->quiesce();
    runtime_.manager()->check_invariants();
  }
  [[nodiscard]] std::size_t tensors() const { return tensors_.size(); }

 private:
  static void write(Tensor<float>& tensor, float number) {
    WriteScope out{overwrites(tensor)};
    std::ranges::fill(out[tensor].elements(), number);
  }

  struct Numbered {
    Tensor<float> tensor;
    float number;
  };

  Runtime runtime_;
  std::string policy_;
  RowTable<float> table_;
  PlainTable plain_;
  std::deque<Numbered> tensors_;
  std::size_t next_ = 1;
};

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
void skip() { MESSAGE("SKIPPED: this system does not let a test mount a tmpfs"); }

/// Writes a file until the disk is full.
void fill_up(const std::string& file) {
  std::ofstream out{file, std::ios::binary};
  const std::vector<char> part(64 << 10, 'x');
  while (out.write(part.data(), static_cast<std::streamsize>(part.size())).flush()) {
  }
}

}  // namespace

TEST_CASE("a run that fills its disk is told so, loses nothing, and goes on when it has freed something") {
  for (const auto policy : {"hint_aware", "lru", "first_touch"}) {
    CAPTURE(policy);
    const SmallDisk disk{"16m"};
    if (!disk.mounted()) return skip();
    Training training{disk, policy};
    training.train();
    std::pair<std::string, std::error_code> refusal;
    while (refusal.first.empty()) {
      refusal = Training::refusal([&] { training.add_tensor(); });
      REQUIRE(training.tensors() < 100);
    }
    CAPTURE(refusal.first);
    CHECK(contains(refusal.first,
                   "no room for 262144 bytes (tensor " + std::to_string(training.tensors() + 1)));
    CHECK(contains(refusal.first, "file: 67108864 bytes"));
    CHECK(refusal.first.ends_with("cause: No space left on device in \"" + disk.path() + "\""));
    CHECK(refusal.second == std::errc::no_space_on_device);
    CHECK(training.tensors() > 30);

    const auto of_table = Training::refusal([&] { training.add_table(); });
    CAPTURE(of_table.first);
    CHECK(contains(of_table.first, "(second table)"));
    CHECK(of_table.second == std::errc::no_space_on_device);

    training.train();  // its room was taken at its creation
    training.check_table();
    CHECK(training.unreachable() == 0);

    training.free_tensors(24);
    CHECK(training.unreachable() == 0);
    training.train();
    CHECK_NOTHROW(training.add_tensors(4));
    CHECK_NOTHROW(training.add_table());
    CHECK(training.unreachable() == 0);
    training.check_table();
  }
}

TEST_CASE("a disk that others fill is used as far as it was reserved, and further when they are gone") {
  for (const auto policy : {"hint_aware", "lru", "first_touch"}) {
    CAPTURE(policy);
    const SmallDisk disk{"32m"};
    if (!disk.mounted()) return skip();
    Training training{disk, policy};
    training.add_tensors(20);
    const auto theirs = disk.path() + "/theirs";
    fill_up(theirs);
    const auto before = training.tensors();
    const auto refusal = Training::refusal([&] { training.add_tensors(40); });
    CHECK(refusal.second == std::errc::no_space_on_device);
    CHECK(training.tensors() < before + 40);
    training.train();
    training.check_table();
    CHECK(training.unreachable() == 0);

    std::filesystem::remove(theirs);
    CHECK(training.unreachable() == 0);
    CHECK_NOTHROW(training.add_tensors(20));
    CHECK_NOTHROW(training.add_table());
    CHECK(training.unreachable() == 0);
    training.train();
    training.check_table();
  }
}

TEST_CASE("containers that the system pages are told of a full disk, lose nothing, and go on") {
  const SmallDisk disk{"16m"};
  if (!disk.mounted()) return skip();
  Runtime runtime{
      {.tiers = {tiers::dram(2_MiB), tiers::file(disk.path(), 64_MiB)}, .windows = WindowMode::Restricted}};
  MigratingResource memory{runtime};
  std::pmr::list<std::pmr::vector<int>> lists{&memory};
  int next = 0;
  const auto grow_until_refused = [&] {
    std::size_t added = 0;
    try {
      for (;; ++added, ++next) lists.emplace_back(10'000, next);
    } catch (const OutOfTierMemory& error) {
      CAPTURE(std::string{error.what()});
      CHECK((contains(error.what(), "no disk space for a window") ||
             contains(error.what(), "cause: No space left on device")));
      CHECK(error.cause() == std::errc::no_space_on_device);
    }
    return added;
  };
  const auto check = [&] {
    for (const auto& list : lists)
      CHECK(std::ranges::count(list, list.front()) == static_cast<std::ptrdiff_t>(list.size()));
  };
  CHECK(grow_until_refused() > 150);
  CHECK(next < 500);
  check();
  for (int i = 0; i < 100; ++i) lists.pop_front();
  check();
  CHECK(grow_until_refused() > 50);
  check();
  runtime.manager()->check_invariants();
}

TEST_CASE(
    "containers whose blocks fill a disk can be read and written still, and go on when something is freed") {
  const auto seed = test::seed();
  CAPTURE(seed);
  for (const std::size_t most : {4'000, 30'000}) {  // in slabs, and as allocations of their own
    CAPTURE(most);
    const SmallDisk disk{"8m"};
    if (!disk.mounted()) return skip();
    Runtime runtime{
        {.tiers = {tiers::dram(2_MiB), tiers::file(disk.path(), 64_MiB)}, .windows = WindowMode::Full}};
    MigratingResource memory{runtime};
    FillingLists lists{memory, most, seed};
    const auto filled = lists.fill();
    CHECK(filled.bytes >= (5_MiB).count);
    CHECK(filled.cause == std::errc::no_space_on_device);
    for (int round = 0; round < 3; ++round) {
      lists.read_and_write();
      runtime.manager()->check_invariants();
      lists.free_half();
      CHECK(lists.fill().bytes >= (1_MiB).count);
    }
  }
}

}  // namespace tier::full_disk_test
