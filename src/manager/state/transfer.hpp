// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What the manager keeps of a transfer of one block.
#include <tier/copy/copy_engine.hpp>
#include <tier/manager/block.hpp>

#include <atomic>
#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <mutex>

#include "memory/windows/window_space.hpp"
#include "records.hpp"
#include "space_refusals.hpp"

namespace tier {

struct Room;
class Transfers;

enum class TransferKind : std::uint8_t {
  Fetch,   ///< to a faster tier, which becomes the primary's
  Evict,   ///< to a slower tier, which becomes the primary's; the old region goes
  Clean,   ///< to a slower tier, which then holds a current copy
  Compact  ///< within a tier
};

/// Describes a transfer of one block. Owns `to_region` until it has ended.
struct Transfer final : CopyTask, boost::intrusive::list_base_hook<> {
  Transfer(Transfers& all, Block& b, TransferKind k, Cause c) noexcept
      : owner{all}, block{&b}, moved{b.id}, kind{k}, cause{c} {}
  std::error_code prepare(std::uint64_t offset, std::uint64_t size) noexcept override;
  /// Write-protects what is read, once.   \return  false if there is no memory for that
  bool hold_writes() noexcept;
  void finished(std::error_code error, bool cancelled) noexcept override;

  Transfers& owner;
  Block* block;  ///< null once the block has given it up (orphaned)
  BlockId moved;
  TransferKind kind;
  Cause cause;
  Region* to_region = nullptr;
  Region* from_region = nullptr;  ///< not freed before the end, whatever it belongs to
  TierIndex from_tier = no_tier;
  std::uint64_t version = 0;  ///< of the block at the start
  std::uint64_t start_ns = 0;
  std::byte* landing = nullptr;              ///< where the bytes for a window arrive; null: in `to_region`
  WindowSpace* windows = nullptr;            ///< has the pages that are read, if they are in a window
  const PagePolicy* window_pages = nullptr;  ///< of the tier whose pages, in the window, are read
  std::uint64_t to_protect = 0;              ///< bytes of the window to write-protect before bytes move
  std::atomic<bool> is_protected{false};
  std::uint64_t space = 0;  ///< bytes of space to ask for before bytes move; 0: the target has its space
  SpaceRefusals* refusals = nullptr;    ///< of the target's tier
  std::atomic<bool> unprepared{false};  ///< space or pages were refused: neither side is to blame
  bool for_stores = false;              ///< who waits for the bytes will write them
  bool is_clean = false;                ///< the target has the bytes already
  bool delivering = false;              ///< bytes are being copied to the window: not to be given up
  bool delivered = false;               ///< bytes are in the window, but are not published yet
  bool withdrawing = false;             ///< pages are being taken out of the window: nobody may enter
  bool withdrawn = false;               ///< the pages are gone: the target takes over
  Room* room = nullptr;                 ///< the room that waits for the old region
  unsigned references = 1;              ///< 1 for being in flight, 1 for each thread that waits for it
  bool awaited = false;                 ///< a scope depends on it: not to be cancelled for room
  bool submitted = false;               ///< to the movers
  bool hurried = false;                 ///< a thread without room has helped with it
  bool ended = false;
  std::error_code failure{};  ///< valid once it has ended
  std::once_flag protecting;
};

using TransferList = boost::intrusive::list<Transfer>;

}  // namespace tier
