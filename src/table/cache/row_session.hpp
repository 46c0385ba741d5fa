// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The rows that one call uses.
#include <tier/memory/tier.hpp>
#include <tier/policy/row_policy.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>
#include <vector>

#include "table/cache/move_limits.hpp"
#include "table/cache/row_store.hpp"
#include "table/rows/row_set.hpp"

namespace tier::detail {

/// Says what a session uses its rows for.
enum class Purpose : std::uint8_t {
  Gather,    ///< counts as a use; rows may be read in the slow tier
  Update,    ///< rows are written: every row is in a slot, and no other thread writes or writes back there
  Peek,      ///< rows are read, and the policy is not told
  Prefetch,  ///< rows are fetched ahead, only into slots that no batch holds
  Flush
};

/// A row on its way into a slot.
struct Fetch {
  RowId row;
  SlotId slot;
  RowId old;         ///< the row that leaves; `no_row`: the slot was free
  bool write_back;   ///< the row leaves dirty
  BatchNumber hold;  ///< the last batch that wanted the row that leaves
  std::error_code error{};
};

/// Fetches that have begun; their bytes have not moved yet.
struct FetchList {
  std::vector<Fetch> all;
  std::size_t blocks = 0;  ///< blocks that they touch, if rows of one block are adjacent in the list

  [[nodiscard]] bool is_full(const MoveLimits& limits) const noexcept {
    return all.size() == limits.fetches || blocks == limits.blocks;
  }
  void add(const Fetch& fetch, RowId block_rows) {
    const bool same_block = !all.empty() && all.back().row / block_rows == fetch.row / block_rows;
    blocks += !same_block;
    all.push_back(fetch);
  }
  void clear() noexcept {
    all.clear();
    blocks = 0;
  }
};

/// A row that could not be moved, if there is one.
struct RowFailure {
  RowId row = 0;
  std::error_code error{};
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(error); }
};

/// Rows that the CPU read in the slow tier, which is charged for them when they have been used.
class InPlaceReads {
 public:
  void add(std::size_t bytes) noexcept {
    if (reads_++ == 0) since_ = std::chrono::steady_clock::now();
    bytes_ += bytes;
  }
  void charge(Tier& slow) noexcept {
    if (reads_ == 0) return;
    slow.charge(Direction::Read, bytes_, reads_, since_);
    reads_ = 0;
    bytes_ = 0;
  }

 private:
  std::uint64_t bytes_ = 0;
  unsigned reads_ = 0;
  std::chrono::steady_clock::time_point since_;
};

/// The rows that one call uses; they are pinned while it does. A call that uses more rows than there is room for opens its
/// session several times: `RowCache::acquire` pins some, `release` unpins them.
///
/// The caller sets the options by `start` and reads the results; the rest is the cache's. Sessions are reused, so that their
/// memory stays.
/// \threadsafety  One thread at a time.
struct RowSession {
  // Options.
  Purpose purpose = Purpose::Gather;
  BatchNumber hold = 0;  ///< the batch that the rows are held for; 0: none

  // Results, since `start`.
  std::uint64_t waited = 0;  ///< rows that were not there when asked for
  RowSet missed;             ///< rows of a gather or an update that were in no slot

  // State of the next row, which may be examined several times before it can be used.
  bool told = false;  ///< the policy knows that it is asked for
  bool late = false;  ///< it had to be waited for

  // While the session is open.
  std::uint32_t serial = 0;  ///< tells open sessions apart
  bool force = false;        ///< no other thread will make room: take any slot, whatever the policy says
  std::vector<SlotId> pins;
  FetchList fetches;
  InPlaceReads in_place;
  RowFailure failure;  ///< the first row that could not be read, with the last error

  // Scratch memory of transfers.
  std::vector<RowIo> moves;
  std::vector<IoRequest> requests;

  /// Begins a call.   \param most_rows  of a gather or an update   \throws  `std::bad_alloc`, if there are such
  void start(Purpose for_purpose, BatchNumber for_batch, std::size_t most_rows) {
    purpose = for_purpose;
    hold = for_batch;
    waited = 0;
    told = late = false;
    missed.reset(most_rows);
  }
  /// Makes room for what the cache notes of `rows` rows, so that nothing throws later.
  void reserve(const MoveLimits& limits, std::size_t rows) {
    pins.reserve(rows);  // each row may pin a slot again, if another session has pinned it in between
    fetches.all.reserve(limits.fetches);
    moves.reserve(limits.moves);
    requests.reserve(limits.requests);
  }
  /// True if the program waits for the rows.
  [[nodiscard]] bool is_awaited() const noexcept {
    return purpose == Purpose::Gather || purpose == Purpose::Update;
  }
};

/// Counts the sessions that are open.   \threadsafety  Externally synchronised, by the lock of the cache.
class OpenSessions {
 public:
  void open(RowSession& session) noexcept {
    ++open_;
    awaited_ += session.is_awaited();
    if (++last_serial_ == 0) ++last_serial_;
    session.serial = last_serial_;
    session.force = false;
    session.failure = {};
  }
  void close(const RowSession& session) noexcept {
    --open_;
    awaited_ -= session.is_awaited();
  }
  [[nodiscard]] bool none() const noexcept { return open_ == 0; }
  /// True if a gather or an update has its session open.
  [[nodiscard]] bool any_awaited() const noexcept { return awaited_ != 0; }

 private:
  std::uint32_t open_ = 0;
  std::uint32_t awaited_ = 0;
  std::uint32_t last_serial_ = 0;
};

}  // namespace tier::detail
