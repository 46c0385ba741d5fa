// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The parts of a row cache, put together without a table.
#include "table/cache/cache_directory.hpp"
#include "table/cache/cache_lock.hpp"
#include "table/cache/cache_memory.hpp"
#include "table/cache/row_mover.hpp"
#include "table/cache/row_placer.hpp"
#include "table/cache/row_store.hpp"
#include "table/rig.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tier::test {

/// Gives up the lowest slot that may go, and notes what it is told.
class NotingPolicy final : public RowPolicy {
 public:
  std::vector<std::string> told;
  bool admits = true, gives_up = true;

  std::vector<std::string> take() { return std::exchange(told, {}); }

  std::string_view name() const noexcept override { return "noting"; }
  std::size_t bytes_per_slot() const noexcept override { return 0; }
  void attach(RowId, SlotId slots, const RowFacts&) override { slots_ = slots; }
  void on_hit(RowId row, SlotId slot) override { note("hit", row, slot); }
  void on_miss(RowId row) override { told.push_back("miss " + std::to_string(row)); }
  bool admit(RowId, bool) override { return admits; }
  void on_insert(RowId row, SlotId slot) override { note("insert", row, slot); }
  void on_erase(RowId row, SlotId slot) override { note("erase", row, slot); }
  SlotId victim(const SlotFilter& may_go, RowId, RoomFor) override {
    for (SlotId slot = 0; gives_up && slot < slots_; ++slot)
      if (may_go(slot)) return slot;
    return no_slot;
  }

 private:
  void note(const char* what, RowId row, SlotId slot) {
    told.push_back(std::string{what} + ' ' + std::to_string(row) + " @" + std::to_string(slot));
  }

  SlotId slots_ = 0;
};

/// Keeps what a `RowCache` is composed of. Rows have 15 values and a float of state, and are eight in a block if blocks
/// move. All bytes of a row are its number at first, and the number's complement when it has been changed.
struct CacheParts {
  explicit CacheParts(Kind kind, RowId slots, RowId rows = 64)
      : rig{kind},
        layout{detail::row_layout(rig.options(rows, 15, slots), *rig.slow)},
        shape{detail::CacheShape::of_slots(layout, slots, 0)},
        memory{*rig.manager, layout, shape, name},
        home{layout, rig.manager->allocate_fixed({layout.bytes()}, 4096, 1, name), memory.buffers()},
        map{memory.map(), rows},
        dirty{memory.dirty(), memory.slot_count()},
        log{memory.log(), shape.log},
        noting{new NotingPolicy},
        policy{std::unique_ptr<RowPolicy>{noting}, name},
        directory{layout, shape, memory.states(), map, dirty, log, policy},
        placer{memory, home, policy, directory},
        mover{*rig.manager, memory, home, epochs, lock, directory, name} {
    auto* const block = memory.before_first_fetch().data();
    for (RowId at = 0; at < layout.blocks(); ++at) {
      const auto first = at * layout.block_rows;
      const auto count = layout.rows_in(at);
      std::memset(block, 0, layout.home_bytes(count));
      for (RowId i = 0; i < count; ++i) set_bytes(layout.home(block, count, i), static_cast<int>(first + i));
      REQUIRE(!home.write_rows(first, count, block));
    }
  }

  /// Returns a session of which `most` rows can be pinned.
  [[nodiscard]] detail::RowSession session(detail::Purpose purpose, BatchNumber hold = 0,
                                           std::size_t most = 16) {
    detail::RowSession session;
    session.start(purpose, hold, most);
    session.reserve(memory.limits(), most);
    sessions.open(session);
    return session;
  }
  /// Uses rows one by one, and lets go of them.
  void gather(const std::vector<RowId>& rows) { use(detail::Purpose::Gather, rows); }
  void change(const std::vector<RowId>& rows) { use(detail::Purpose::Update, rows); }
  /// Lets the slow tier refuse to write, or to read, the block of a row.
  void fail(Direction fails, RowId of) {
    const auto bad = home_of(of);
    rig.slow->fails = [=](Direction direction, std::uint64_t offset, std::uint64_t size) {
      const bool here = direction == fails && offset <= bad && bad < offset + size;
      return here ? std::make_error_code(std::errc::io_error) : std::error_code{};
    };
  }
  [[nodiscard]] bool is_stuck(RowId row) { return directory.slots()[directory.slot_of(row)].stuck != 0; }
  void heal() { rig.slow->fails = nullptr; }
  [[nodiscard]] bool is_at_home(RowId row, bool changed) {
    const auto byte = rig.slow->contents()[home_of(row)];
    return byte == (changed ? ~std::byte(row) : std::byte(row));
  }

  void use(detail::Purpose purpose, const std::vector<RowId>& rows) {
    const bool changes = purpose == detail::Purpose::Update;
    for (const auto row : rows) {
      auto s = session(purpose);
      detail::RowAddress address;
      REQUIRE(placer.place(s, row, address) == detail::RowPlacer::Step::Ready);
      mover.carry_out(s);
      if (changes) set_bytes(address, ~static_cast<int>(row));
      if (changes) mover.write_staged(s);
      directory.let_go(s, 0, changes);
      sessions.close(s);
    }
  }

  /// Returns the offset of a row's values in the slow tier.
  [[nodiscard]] std::uint64_t home_of(RowId row) const {
    return home.place_of(0) + layout.home_offsets(row).values;
  }
  void set_bytes(const detail::RowAddress& row, int byte) const {
    std::memset(row.values, byte, layout.values_bytes());
    std::memset(row.state, byte, layout.state_bytes());
  }

  const std::string name = "rows";
  Rig rig;
  detail::RowLayout layout;
  detail::CacheShape shape;
  detail::CacheMemory memory;
  detail::RowStore home;
  detail::SlotMap map;
  detail::DirtyBits dirty;
  detail::UseLog log;
  NotingPolicy* noting;
  detail::FailsafePolicy policy;
  Epochs epochs;
  detail::CacheLock lock;
  detail::OpenSessions sessions;
  detail::CacheDirectory directory;
  detail::RowPlacer placer;
  detail::RowMover mover;
};

}  // namespace tier::test
