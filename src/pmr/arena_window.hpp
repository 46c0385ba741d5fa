// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The object behind an arena.
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

/// Reserves addresses for an arena's maximum, and has blocks only for the parts in use. The object is made by the first
/// use.
/// \threadsafety  Externally synchronised.
class ArenaWindow {
 public:
  /// \param covered  outlives this; told which blocks are in use
  ArenaWindow(std::shared_ptr<Manager> manager, std::string_view name, Bytes maximum, CoveredBlocks& covered);

  /// Puts a range in use.   \pre  It is within the maximum.
  /// \throws  what the manager throws; nothing has changed
  void use(std::size_t offset, std::size_t size);
  /// Ends the use of a range. Blocks that are empty then have no bytes in any tier.
  /// \pre  The range is in use, in these pieces or others.
  void leave(std::size_t offset, std::size_t size) noexcept;
  /// Ends all use, and destroys the object.
  void clear() noexcept;

  /// \pre  The object exists.
  [[nodiscard]] std::byte* at(std::size_t offset) const noexcept {
    return handle_.ref().object->window + offset;
  }
  [[nodiscard]] Bytes maximum() const noexcept { return maximum_; }
  /// Calls `visit` with an address in each block in use, at most `at_most` times.   \return  how often
  std::size_t for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const;
  [[noreturn]] void throw_full(std::size_t size, std::size_t alignment, Bytes used) const;

 private:
  struct Part {
    std::size_t begin;
    const Block* block;
    std::size_t used;
    bool retired;
  };
  /// A range of parts, by index.
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
