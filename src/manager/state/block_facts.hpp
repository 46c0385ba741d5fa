// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Questions about one block that its record alone answers.
#include <tier/policy/policy.hpp>

#include <string>
#include <string_view>

#include "records.hpp"

namespace tier {

/// True if no slower tier has a current copy of bytes that the program has written.
[[nodiscard]] bool dirty(const Block& b) noexcept;
/// Returns what a policy may know of the block.
[[nodiscard]] BlockFacts facts(const Block& b) noexcept;
/// Returns the name of the block's object, or what stands for one.
[[nodiscard]] std::string_view name_of(const Block& b) noexcept;
/// Describes a block for messages about broken invariants.
[[nodiscard]] std::string described(const Block& b);
/// Marks a settled block moving, if it has no pins beyond `own_pins`.
[[nodiscard]] bool start_moving(Block& b, std::uint32_t own_pins = 0) noexcept;
/// True if a device still reads the block at its place in a window, for a transfer that was given up. The block must not be
/// hidden then, because the read would fault.
[[nodiscard]] bool is_read(const Block& b) noexcept;

/// True if a tagged address is behind the end of its block: the last block of a window need not fill its unit.
[[nodiscard]] inline bool is_behind(const Block& b, const std::byte* address) noexcept {
  return address >= b.record->window_address + b.size;
}

/// Calls `f` with each block of an object.
template <class F>
void for_each_block(const Object& object, F&& f) {
  if (object.blocks.empty()) f(*object.block);
  for (auto* b : object.blocks) f(*b);
}

}  // namespace tier
