// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Tensors that consist of several blocks, and scopes on some of their rows.
#include <doctest/doctest.h>
#include <tier/core/config.hpp>
#include <tier/core/error.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/archiving.hpp"
#include "support/child.hpp"
#include "support/message_of.hpp"
#include "support/sanitized.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_manager.hpp"
#include "support/windows.hpp"

namespace tier::windowed_tensor_test {
namespace {

using namespace literals;
using test::make_manager;

constexpr std::size_t columns = 1024;                                             // 4 KiB a row
constexpr std::size_t rows_of_block = (2_MiB).count / (columns * sizeof(float));  // 512

template <class T>
using RowsOf = decltype(std::declval<T&>().rows(0, 1));
template <class T>
concept CanUpdate = detail::OperandsFor<Use::Update, RowsOf<T>>;
static_assert(CanUpdate<Tensor<float>> && !CanUpdate<const Tensor<float>>);
template <class T>
concept CanOverwrite = detail::OperandsFor<Use::Overwrite, RowsOf<T>>;
static_assert(CanOverwrite<Tensor<float>> && !CanOverwrite<const Tensor<float>>);
template <class T>
concept CanSayItWillWrite = HintOperand<RowsOf<T>, Use::Update>;
static_assert(CanSayItWillWrite<Tensor<float>> && !CanSayItWillWrite<const Tensor<float>>);

/// Limits steps on some megabytes each, so that the long form takes minutes rather than hours.
std::uint64_t large_steps(std::uint64_t usual) {
  return std::min<std::uint64_t>(test::steps(usual), test::sanitized ? 3'000 : 30'000);
}

/// Returns the hinted blocks in order of their ids.
std::vector<BlockId> blocks_told(const test::Recording& recorded, Hint hint) {
  std::vector<BlockId> blocks;
  for (const auto& given : recorded->hints)
    if (given.hint == hint) blocks.push_back(given.block);
  std::ranges::sort(blocks);
  return blocks;
}

std::set<std::size_t> pinned_blocks(const Tensor<float>& tensor) {
  std::set<std::size_t> pinned;
  const auto& blocks = tensor.object().object->blocks;
  for (std::size_t i = 0; i < blocks.size(); ++i)
    if (blocks[i]->pins() > 0) pinned.insert(i);
  return pinned;
}

}  // namespace

TEST_CASE("a scope on rows fetches and keeps the blocks of these rows alone") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const test::TemporaryDirectory directory;
    for (const auto& slow : {tiers::emulated("cxl", 64_MiB), tiers::file(directory.path(), 64_MiB)}) {
      const auto manager = make_manager({tiers::dram(16_MiB), slow}, mode, 2_MiB);
      Tensor<float> x{manager, {16 * rows_of_block, columns}, windowed, "x"};
      CHECK(manager->statistics().blocks == 16);
      for (std::size_t block = 0; block < 16; ++block) {
        const auto rows = x.rows(block * rows_of_block, (block + 1) * rows_of_block);
        WriteScope out{rows};
        std::ranges::fill(out[rows].elements(), static_cast<float>(block));
      }
      migrate(x.rows(0, x.extent(0)), 1);
      const auto used = [&] { return manager->statistics().tiers[0].used; };
      CHECK(used() == 0_B);
      const auto faults = manager->statistics().window_faults;
      {
        const auto few =
            x.rows(rows_of_block - 1, 2 * rows_of_block + 1);  // a whole block, and a row of either neighbour
        const ReadScope in{x.rows(rows_of_block - 1, 2 * rows_of_block + 1)};
        CHECK(used() == 6_MiB);
        const auto view = in[few];
        CHECK(view.extent(0) == rows_of_block + 2);
        CHECK(view(0, columns - 1) == 0);
        CHECK(view(1, 0) == 1);
        CHECK(view(rows_of_block + 1, 5) == 2);
        migrate(few, 1);  // pinned blocks stay
        CHECK(used() == 6_MiB);
        CHECK(view(7, 7) == 1);
      }
      CHECK(manager->statistics().window_faults == faults);
      {
        KernelScope k{"add", reads(x.rows(0, 1)), updates(x.rows(5 * rows_of_block, 5 * rows_of_block + 1))};
        k.out(x.rows(5 * rows_of_block, 5 * rows_of_block + 1))(0, 3) += k.in(x.rows(0, 1))(0, 0) + 1;
      }
      CHECK(used() == 8_MiB);
      CHECK(manager->statistics().window_faults == faults);
      migrate(x.rows(0, x.extent(0)), 1);
      CHECK(prefetch(x.rows(5 * rows_of_block, 5 * rows_of_block + 1)) == Outcome::Done);
      manager->quiesce();
      CHECK(used() == 2_MiB);
      const ReadScope in{x.rows(5 * rows_of_block, 5 * rows_of_block + 1)};
      CHECK(in[x.rows(5 * rows_of_block, 5 * rows_of_block + 1)](0, 3) == 6);
      CHECK(manager->statistics().window_faults == faults);
      manager->check_invariants();
    }
  }
}

TEST_CASE("no rows are an empty view, as threads that have nothing to do ask for") {
  const auto manager = make_manager({tiers::dram(4_MiB), tiers::emulated("cxl", 8_MiB)});
  Tensor<float> x{manager, Shape{10, columns}, windowed, "x"};
  { const WriteScope all{overwrites(x)}; }
  {
    const ReadScope in{std::as_const(x).rows(3, 3)};
    CHECK(in[std::as_const(x).rows(3, 3)].count() == 0);
  }
  const WriteScope out{updates(x.rows(10, 10))};
  CHECK(out[x.rows(10, 10)].count() == 0);
}

TEST_CASE("a tensor of five times the fast tier holds what was stored last, by rows or as a whole") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto seed = test::seed();
    CAPTURE(seed);
    const auto manager = make_manager({tiers::dram(8_MiB), tiers::emulated("cxl", 128_MiB)}, mode, 2_MiB);
    constexpr std::size_t rows = 20 * rows_of_block + 77;
    Tensor<float> x{manager, {rows, columns}, windowed};
    std::vector<float> model(rows, 0);  // all elements of a row are equal
    {
      WriteScope out{overwrites(x)};
      std::ranges::fill(out[x].elements(), 0.F);
    }
    std::mt19937_64 random{seed};
    for (std::uint64_t step = 0; step < large_steps(300); ++step) {
      const auto begin = random() % rows, end = std::min(rows, begin + random() % (3 * rows_of_block));
      if (random() % 2 == 0) {
        WriteScope out{updates(x.rows(begin, end))};
        if (begin == end) continue;
        const auto view = out[x.rows(begin, end)];
        for (std::size_t row = begin; row < end; row += 1 + random() % 50) {
          model[row] = static_cast<float>(random() % 1000);
          std::fill_n(&view(row - begin, 0), columns, model[row]);
        }
      } else if (begin < end) {
        const ReadScope in{x.rows(begin, end)};
        const auto view = in[x.rows(begin, end)];
        for (std::size_t row = begin; row < end; row += 1 + random() % 20)
          if (view(row - begin, random() % columns) != model[row]) FAIL("a row is not as it was stored");
      }
    }
    const auto as_stored = [&](const Tensor<float>& tensor) {
      const ReadScope in{tensor};
      const auto view = in[tensor];
      for (std::size_t row = 0; row < rows; ++row)
        if (view(row, 0) != model[row] || view(row, columns - 1) != model[row]) return false;
      return true;
    };
    CHECK(as_stored(x));
    const auto copy = x.clone("copy");
    CHECK(copy.object().object->window != nullptr);
    CHECK(as_stored(copy));
    const auto moved = std::move(x).reshaped({rows, columns});
    CHECK(as_stored(moved));
    CHECK(manager->statistics().tiers[0].used <= 8_MiB);
    manager->quiesce();
    manager->check_invariants();
  }
}

TEST_CASE("a scope on a whole tensor with a window covers all blocks of it that fit") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(32_MiB), tiers::emulated("cxl", 64_MiB)}, mode, 2_MiB);
    Tensor<float> x{manager, {5 * rows_of_block, columns}, windowed, "x"};
    Tensor<float> plain{manager, {10}};
    migrate(x.rows(0, x.extent(0)), 1);
    const auto faults = manager->statistics().window_faults;
    {
      KernelScope k{"sum", reads(x), overwrites(plain)};
      const auto& [all, sum] = k;
      sum(0) = all(0, 0) + all(5 * rows_of_block - 1, 0);
      migrate(x.rows(0, x.extent(0)), 1);
      CHECK(manager->statistics().tiers[0].used >= 10_MiB);
    }
    CHECK(manager->statistics().window_faults == faults);
  }
}

TEST_CASE("a scope on a set of tensors with windows covers all blocks of each") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(32_MiB), tiers::emulated("cxl", 64_MiB)}, mode, 2_MiB);
    const Tensor<float> x{manager, {3 * rows_of_block, columns}, windowed, "x"};
    const Tensor<float> y{manager, {2 * rows_of_block, columns}, windowed, "y"};
    const std::set<std::size_t> three{0, 1, 2}, two{0, 1};
    const std::vector<ObjectRef> by_reference{x.object()};
    const std::vector<const Tensor<float>*> by_pointer{&y};
    const ReadScope in{reads(by_reference), reads(by_pointer)};
    CHECK(pinned_blocks(x) == three);
    CHECK(pinned_blocks(y) == two);
    CHECK(in.in(x).data() == reinterpret_cast<const float*>(x.object().object->window));
  }
}

TEST_CASE(
    "a scope on more than may be brought brings what was there, then what was used last, half a tier of it") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    for (const bool is_full : {false, true}) {  // full of blocks that may leave
      CAPTURE(is_full);
      const auto manager = make_manager({tiers::dram(16_MiB), tiers::emulated("cxl", 64_MiB)}, mode, 2_MiB);
      Tensor<float> x{manager, {12 * rows_of_block, columns}, windowed, "x"};
      Tensor<float> others{manager, {is_full ? 7 * rows_of_block : 1, columns}, windowed, "others"};
      const auto rows = [&](std::size_t block) {
        return x.rows(block * rows_of_block, (block + 1) * rows_of_block);
      };
      for (const std::size_t block : {3, 8, 5, 10, 7}) WriteScope{rows(block)}[rows(block)](0, 0) = 1;
      const auto begin = [&] {
        migrate(x.rows(0, x.extent(0)), 1);
        migrate(others.rows(0, others.extent(0)), 0);
      };
      begin();
      for (int again = 0; again < 2; ++again) {
        const ReadScope in{x};
        CHECK(pinned_blocks(x) == std::set<std::size_t>{8, 5, 10, 7});
      }
      begin();
      prefetch(rows(1));
      manager->quiesce();
      const ReadScope in{x};
      CHECK(pinned_blocks(x) == std::set<std::size_t>{1, 7, 8, 10});
      manager->check_invariants();
    }
  }
}

TEST_CASE("a scope on more than may be brought brings last what the policy would let go first") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const test::ArchivingRig rig{{tiers::dram(16_MiB), tiers::emulated("cxl", 64_MiB)}, mode, 2_MiB};
    Tensor<float> x{rig.manager, {12 * rows_of_block, columns}, windowed, "x"};
    const auto rows = [&](std::size_t block) {
      return x.rows(block * rows_of_block, (block + 1) * rows_of_block);
    };
    for (const std::size_t block : {3, 8, 5, 10, 7}) const ReadScope in{rows(block)};
    migrate(x.rows(0, x.extent(0)), 1);
    archive(rows(7));
    const ReadScope in{x};
    CHECK(pinned_blocks(x) == std::set<std::size_t>{3, 8, 5, 10});
  }
}

TEST_CASE("a scope that has less room than it may fill, since others hold it, brings what was used last") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(16_MiB), tiers::emulated("cxl", 64_MiB)}, mode, 64_KiB);
    constexpr std::size_t blocks = 96, per_block = 16;
    Tensor<float> x{manager, {blocks * per_block, columns}, windowed, "x"};
    std::set<std::size_t> hot;
    for (std::size_t block = 5; block < blocks; block += 6) hot.insert(block);
    for (const auto block : hot) {
      const auto rows = x.rows(block * per_block, (block + 1) * per_block);
      const ReadScope in{rows};
    }
    migrate(x.rows(0, x.extent(0)), 1);
    Tensor<float> held{manager, {14 * rows_of_block / 2, columns}, "held"},
        also_held{manager, {14 * rows_of_block / 2, columns}, "also held"};
    const WriteScope out{overwrites(held, also_held)};
    const ReadScope in{x};
    const auto brought = pinned_blocks(x);
    CHECK(brought.size() >= hot.size());
    CHECK(brought.size() < blocks);
    CHECK(std::ranges::includes(brought, hot));
  }
}

TEST_CASE("what is overwritten is not fetched, but for what others have of the same blocks") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const test::TemporaryDirectory directory;
    const auto manager =
        make_manager({tiers::dram(32_MiB), tiers::file(directory.path(), 64_MiB)}, mode, 2_MiB);
    constexpr std::size_t rows = 4 * rows_of_block + 3;
    Tensor<float> x{manager, {rows, columns}, windowed, "x"};
    const auto fetched = [&] { return manager->statistics().fetched_operands; };
    const auto moved = [&] { return manager->statistics().bytes_moved(1, 0); };
    const auto evict = [&] {
      {
        WriteScope out{x};
        std::ranges::fill(out[x].elements(), 1.F);
      }
      migrate(x.rows(0, rows), 1);
    };
    evict();
    auto before = fetched();
    {
      WriteScope out{overwrites(x)};
      std::ranges::fill(out[x].elements(), 2.F);
    }
    CHECK(fetched() == before);
    CHECK(moved() == 0);
    evict();
    before = fetched();
    const auto few = x.rows(rows_of_block - 1, 3 * rows_of_block), end = x.rows(rows - 4, rows);
    {
      KernelScope k{"write", overwrites(few), overwrites(end)};
      std::ranges::fill(k.out(few).elements(), 3.F);
      std::ranges::fill(k.out(end).elements(), 4.F);
    }
    CHECK(fetched() == before + 2);  // the first block, and the last but one
    CHECK(moved() == (mode == WindowMode::Full ? 2 * (2_MiB).count : 0));
    const ReadScope in{x};
    CHECK(in[x](rows_of_block - 2, 5) == 1);
    CHECK(in[x](rows_of_block - 1, 0) == 3);
    CHECK(in[x](3 * rows_of_block - 1, columns - 1) == 3);
    CHECK(in[x](3 * rows_of_block, 0) == 1);
    CHECK(in[x](rows - 5, 0) == 1);
    CHECK(in[x](rows - 1, 0) == 4);
  }
}

TEST_CASE(
    "a scope on a tensor with a window opens where nothing has room, and others are where they were named") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(4_MiB), tiers::emulated("cxl", 64_MiB)}, mode, 2_MiB);
    Tensor<float> plain{manager, {rows_of_block, columns}, "plain"},
        other{manager, {rows_of_block, columns}, "other"};
    Tensor<float> x{manager, {rows_of_block, columns}, windowed, "x"};
    KernelScope holds{"hold", overwrites(plain, other)};
    std::ranges::fill(holds.out(other).elements(), 5.F);
    const ReadScope in{x, other};
    const auto& [xs, others] = in;
    CHECK(xs.elements().data() == in[x].elements().data());
    CHECK(others(7, 7) == 5);
  }
}

TEST_CASE("the view of a tensor with a window is that of all of it, whichever blocks were there") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    for (const auto fast : {4_MiB, 8_MiB, 64_MiB}) {
      CAPTURE(fast.count);
      const auto manager = make_manager({tiers::dram(fast), tiers::emulated("cxl", 64_MiB)}, mode, 2_MiB);
      constexpr std::size_t blocks = 4;
      Tensor<float> x{manager, {blocks * rows_of_block, columns}, windowed, "x"};
      const float* const begin = WriteScope{x}[x].elements().data();
      for (std::size_t block = 0; block < blocks; ++block) {
        CAPTURE(block);
        migrate(x.rows(0, x.extent(0)), 1);
        prefetch(x.rows(block * rows_of_block, (block + 1) * rows_of_block));
        manager->quiesce();
        const ReadScope in{x};
        CHECK(in[x].elements().data() == begin);
        const auto& [view] = in;
        CHECK(view.elements().data() == begin);
      }
    }
  }
}

TEST_CASE("what is overwritten while it is fetched has the new elements, whoever looks") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto seed = test::seed();
    CAPTURE(seed);
    const test::TemporaryDirectory directory;
    for (const auto& slow : {tiers::emulated("cxl", 64_MiB), tiers::file(directory.path(), 64_MiB)}) {
      const auto manager = make_manager({tiers::dram(16_MiB), slow}, mode, 64_KiB);
      constexpr std::size_t blocks = 32, rows = blocks * 16;  // of 4 KiB
      Tensor<float> x{manager, {rows, columns}, windowed, "x"};
      std::mt19937_64 random{seed};
      float last = 0;
      {
        WriteScope out{overwrites(x)};
        std::ranges::fill(out[x].elements(), last);
      }
      const auto is_whole = [&](const Tensor<float>& tensor) {
        const ReadScope in{tensor};
        const auto view = in[tensor];
        for (std::size_t row = 0; row < rows; ++row)
          if (view(row, random() % columns) != last) return false;
        return true;
      };
      const std::uint64_t rounds = mode == WindowMode::Full ? 300 : 100;  // the second mode copies nothing
      for (std::uint64_t round = 0; round < large_steps(rounds); ++round) {
        migrate(x.rows(0, rows), 1);
        prefetch(x.rows(0, rows));
        for (auto spin = random() % 20'000; spin > 0; --spin) asm volatile("");
        if (random() % 4 == 0) {
          if (!is_whole(x)) FAIL("not as stored, after " << round << " rounds");
          continue;
        }
        ++last;
        WriteScope out{overwrites(x)};
        std::ranges::fill(out[x].elements(), last);
      }
      CHECK(is_whole(x));
      manager->quiesce();
      manager->check_invariants();
    }
  }
}

TEST_CASE("huge pages that change tiers while somebody waits for them arrive whole") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(48_MiB), tiers::dram(48_MiB)}, mode, 2_MiB);
    constexpr std::size_t rows = 8 * rows_of_block;
    Tensor<float> x{manager, {rows, columns}, windowed, "x"};
    const auto elements = [&] {
      WriteScope out{overwrites(x)};
      return out[x].elements();
    }();
    for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
    std::atomic<bool> wrong{false};
    std::jthread reader{[&](const std::stop_token& stop) {
      while (!stop.stop_requested())
        for (std::size_t i = 0; i < elements.size(); i += 509)
          wrong = wrong || elements[i] != static_cast<float>(i);
    }};
    for (std::uint64_t round = 0; round < large_steps(200); ++round) {
      migrate(x.rows(0, rows), 1);
      migrate(x.rows(0, rows), 0);
      elements[1] = 1;  // makes a block dirty; its value is not read
    }
    reader = {};
    CHECK_FALSE(wrong);
    std::size_t same = 0;
    for (std::size_t i = 0; i < elements.size(); ++i) same += elements[i] == static_cast<float>(i);
    CHECK(same == elements.size());
    manager->quiesce();
    manager->check_invariants();
  }
}

TEST_CASE(
    "an ArchiveScope puts all blocks of a tensor with a window aside, and says will_use of each at its end") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(32_MiB), tiers::emulated("cxl", 64_MiB)}, mode, 2_MiB);
    Tensor<float> x{manager, {4 * rows_of_block + 1, columns}, windowed, "x"};
    std::vector<BlockId> blocks;
    for (const auto* block : x.object().object->blocks) blocks.push_back(block->id);
    CHECK(blocks.size() == 5);
    const test::Recording recorded{*manager};
    {
      ArchiveScope cold{x};
      CHECK(blocks_told(recorded, Hint::Archive) == blocks);
      const ArchiveScope moved{std::move(cold)};
    }
    CHECK(blocks_told(recorded, Hint::WillUse).empty());  // the end of a scope takes no lock
    manager->end_of_step();
    CHECK(blocks_told(recorded, Hint::WillUse) == blocks);
    CHECK(recorded->hints.size() == 10);
  }
}

TEST_CASE(
    "an ArchiveScope on rows puts the blocks of these aside, pins none, and a scope inside ends it for its "
    "own") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const test::ArchivingRig rig{{tiers::dram(32_MiB), tiers::emulated("cxl", 64_MiB)}, mode, 2_MiB};
    Tensor<float> x{rig.manager, {5 * rows_of_block, columns}, windowed, "x"};
    Tensor<float> plain{rig.manager, {1 << 20}, "plain"};
    const auto block = [&](std::size_t i) { return x.object().object->blocks[i]->id; };
    const test::Recording recorded{*rig.manager};
    {
      const ArchiveScope cold{x.rows(1, 2 * rows_of_block), plain,
                              std::as_const(x).rows(4 * rows_of_block, 4 * rows_of_block + 1)};
      const auto of_plain = plain.object().object->block->id;
      CHECK(rig.archived() == std::set{block(0), block(1), block(4), of_plain});
      migrate(x.rows(0, x.extent(0)), 1);
      CHECK(rig.manager->statistics().tiers[1].used == 10_MiB);  // nothing is pinned
      const auto rows = x.rows(rows_of_block, rows_of_block + 1);
      WriteScope out{rows};
      out[rows](0, 0) = 7;
      CHECK(rig.archived() == std::set{block(0), block(4), of_plain});
    }
    CHECK(rig.archived().empty());
    CHECK(blocks_told(recorded, Hint::WillUse) == blocks_told(recorded, Hint::Archive));
    CHECK(x.object().object->blocks[1]->pins() == 0);
  }
}

TEST_CASE(
    "the end of an ArchiveScope has room for more blocks than a thread's ring has, and drops and counts what "
    "has none") {
  constexpr std::size_t blocks = 1'200, per_block = 16;  // 64 KiB
  const test::ArchivingRig rig{
      {tiers::dram(16_MiB), tiers::emulated("cxl", 128_MiB)}, WindowMode::Restricted, 64_KiB};
  Tensor<float> x{rig.manager, {blocks * per_block, columns}, windowed, "x"};
  const Tensor<float> other{rig.manager, {4}};
  { const ArchiveScope cold{x.rows(0, x.extent(0))}; }
  CHECK(rig.archived().empty());
  CHECK(rig.manager->statistics().hints_dropped == 0);
  std::optional<ArchiveScope> cold{x.rows(0, x.extent(0))};
  while (rig.manager->statistics().hints_dropped == 0)
    rig.manager->hint_later(Hint::WillRead, other.object(), 0);
  cold.reset();
  CHECK(rig.archived().size() == blocks);
  CHECK(rig.manager->statistics().hints_dropped == 2);
}

TEST_CASE("hints on rows are told of the blocks of these rows alone") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const test::ArchivingRig rig{{tiers::dram(32_MiB), tiers::emulated("cxl", 64_MiB)}, mode, 2_MiB};
    Tensor<float> x{rig.manager, {5 * rows_of_block, columns}, windowed, "x"};
    const auto block = [&](std::size_t i) { return x.object().object->blocks[i]->id; };
    const test::Recording recorded{*rig.manager};
    const auto rows = x.rows(rows_of_block - 1, 2 * rows_of_block + 1);
    will_use(rows);
    CHECK(blocks_told(recorded, Hint::WillUse) == std::vector{block(0), block(1), block(2)});
    will_read(x.rows(0, 1), x.rows(3, 4));
    CHECK(blocks_told(recorded, Hint::WillRead) == std::vector{block(0), block(0)});
    will_write(x.rows(4 * rows_of_block, x.extent(0)), x.rows(7, 7));
    CHECK(blocks_told(recorded, Hint::WillWrite) == std::vector{block(4)});
    archive(rows);
    CHECK(rig.archived() == std::set{block(0), block(1), block(2)});
  }
}

TEST_CASE("all of a tensor of which some rows alone are in a scope is not in it") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto ended = test::run_in_child("rows", [mode] {
      const auto manager = make_manager({tiers::dram(4_MiB), tiers::emulated("cxl", 64_MiB)}, mode, 2_MiB);
      const Tensor<float> x{manager, {rows_of_block, columns}, windowed, "x"};
      const ReadScope in{x.rows(3, 5)};
      std::ignore = in[x];
    });
    CHECK(ended.signal == SIGABRT);
    CHECK(ended.errors.starts_with(
        "libtier: \"x\" (object 1) is not in this scope; the scope has a part of \"x\" "
        "(object 1) for reading: name it in "));
  }
}

#if defined(TIER_CHECKED)
TEST_CASE(
    "a checked build reports conflicting scopes on tensors with windows, whether they have room or not") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    for (const auto fast : {1_MiB, 64_MiB}) {
      CAPTURE(fast.count);
      const auto ended = [&](bool first_writes, bool second_writes, bool same) {
        const auto label = std::to_string(fast.count) + (first_writes ? " w" : " r") +
                           (second_writes ? "w" : "r") + (same ? " same" : "");
        return test::run_in_child(label, [&] {
          const auto manager = make_manager({tiers::dram(fast), tiers::emulated("cxl", 64_MiB)}, mode, 2_MiB);
          Tensor<float> x{manager, {rows_of_block, columns}, windowed, "the weights"};
          Tensor<float> y{manager, {rows_of_block, columns}, windowed, "others"};
          const auto open = [](Tensor<float>& tensor, bool writes) -> Scope {
            if (writes) return WriteScope{tensor};
            return ReadScope{tensor};
          };
          {
            const auto mine = open(x, first_writes);
            std::thread{[&] { const auto theirs = open(same ? x : y, second_writes); }}.join();
          }
          std::thread{[&] { const auto after = open(x, true); }}.join();
        });
      };
      for (const auto& [first, second] :
           {std::pair{false, true}, std::pair{true, false}, std::pair{true, true}}) {
        const auto conflict = ended(first, second, true);
        CHECK(conflict.signal == SIGABRT);
        CHECK(conflict.errors.find("conflicting access to \"the weights\"") != std::string::npos);
      }
      CHECK(ended(false, false, true).errors == "");  // the end of the scope was recorded
      CHECK(ended(true, true, false).errors == "");
    }
  }
}

TEST_CASE("a checked build fills what will be overwritten of a window with NaNs, and nothing else") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(32_MiB)}, mode, 2_MiB);
    Tensor<float> x{manager, {3 * rows_of_block, columns}, windowed};
    const auto fill = [&] {
      WriteScope out{x};
      std::ranges::fill(out[x].elements(), 1.F);
    };
    const auto are_nan = [](auto elements) {
      return std::ranges::all_of(elements, [](float f) { return std::isnan(f); });
    };
    fill();
    CHECK(are_nan(WriteScope{overwrites(x)}[x].elements()));
    fill();
    {
      const auto part = x.rows(rows_of_block / 2, 2 * rows_of_block);
      WriteScope out{overwrites(part)};
      CHECK(are_nan(out[x.rows(rows_of_block, 2 * rows_of_block)].elements()));
    }
    const ReadScope in{x};
    const auto all = in[x];
    CHECK(std::ranges::all_of(all.elements().first(rows_of_block * columns), [](float f) { return f == 1; }));
    CHECK(std::ranges::all_of(all.elements().last(rows_of_block * columns), [](float f) { return f == 1; }));
  }
}
#endif

TEST_CASE("a scope that cannot be opened leaves nothing of a window pinned") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const test::TemporaryDirectory directory;
    const auto manager = make_manager({tiers::dram(16_MiB), tiers::file(directory.path(), 64_MiB)}, mode);
    Tensor<float> cut{manager, {4 * rows_of_block, columns}, windowed};
    Tensor<float> small{manager, {8}};  // shares its block with other objects
    Tensor<float> other{manager, {8}};
    retire(small);
    CHECK_THROWS_AS((std::ignore = WriteScope{updates(cut, small)}), TierError);
    migrate(cut.rows(0, cut.extent(0)), 1);
    CHECK(manager->statistics().tiers[0].used <= 64_KiB);
  }
}

TEST_CASE("rows that are not there, or of a tensor without a window, are refused by name") {
  for (const auto mode : test::window_modes()) {
    CAPTURE(to_string(mode));
    const auto manager = make_manager({tiers::dram(8_MiB)}, mode);
    const Tensor<float> plain{manager, {10, 3}, "weights"};
    CHECK(test::message_of<ConfigError>([&] { std::ignore = plain.rows(0, 1); }) ==
          "\"weights\" has no window, so a scope cannot cover a part of it: make it with tier::windowed");
    float element = 0;
    CHECK_THROWS_AS(std::ignore = Tensor<float>::wrap(&element, {1}).rows(0, 1), ConfigError);
    const Tensor<float> x{manager, {10, 3}, windowed, "weights"};
    CHECK(test::message_of<std::out_of_range>([&] { std::ignore = x.rows(4, 11); }) ==
          "rows 4 to 11 of \"weights\" are out of range: its shape is [10, 3]");
    CHECK_THROWS_AS(std::ignore = x.rows(5, 4), std::out_of_range);
    CHECK(x.rows(10, 10).count() == 0);
    CHECK(x.rows(2, 5).shape() == Shape{3, 3});
    const Tensor<float> scalar{manager, {}, windowed};
    CHECK_THROWS_AS(std::ignore = scalar.rows(0, 0), std::out_of_range);
  }
}

}  // namespace tier::windowed_tensor_test
