// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The object of an arena.
#include <tier/core/bytes.hpp>
#include <tier/core/function_ref.hpp>
#include <tier/manager/manager.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pmr/covered_blocks.hpp"
#include "pmr/metadata.hpp"

namespace tier::detail {

/// Addresses for as much as an arena may hold, and blocks where something lies. There is an object from the first use on.
/// \threadsafety  Externally synchronised.
class ArenaWindow {
 public:
  /// \param covered  outlives this: told of blocks in which something lies
  ArenaWindow(std::shared_ptr<Manager> manager, std::string_view name, Bytes maximum, CoveredBlocks& covered);

  /// From now on something lies there.   \pre  Within the maximum.
  /// \throws  what the manager throws; nothing has changed
  void use(std::size_t offset, std::size_t size);
  /// Nothing lies there any more: blocks that are empty now have no bytes in any tier.
  /// \pre  It was used, in these pieces or others.
  void leave(std::size_t offset, std::size_t size) noexcept;
  /// All is empty, and the object goes.
  void clear() noexcept;

  /// \pre  It is used.
  [[nodiscard]] std::byte* at(std::size_t offset) const noexcept {
    return handle_.ref().object->window + offset;
  }
  [[nodiscard]] Bytes maximum() const noexcept { return maximum_; }
  /// Calls `visit` with an address in each block in which something lies, at most so often.   \return  how often
  std::size_t for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const;
  [[noreturn]] void throw_full(std::size_t size, std::size_t alignment, Bytes used) const;

 private:
  struct Part {
    std::size_t begin;
    const Block* block;
    std::size_t used;
    bool retired;
  };
  /// The parts of a range, by number.
  struct Range {
    std::size_t first = 0, last = 0;
  };

  void grow_to(std::size_t size);
  void add_new_parts();
  [[nodiscard]] Range parts_in(std::size_t offset, std::size_t size) const noexcept;
  void retire_unused(Range range) noexcept;
  void count(Range range, std::size_t offset, std::size_t size, bool used) noexcept;

  std::shared_ptr<Manager> manager_;
  std::string name_;
  Bytes maximum_;
  CoveredBlocks& covered_;
  ObjectHandle handle_;
  std::vector<Part, MetadataAllocator<Part>> parts_;  // one for each block, in order
};

}  // namespace tier::detail
