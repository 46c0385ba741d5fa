// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Places of objects that are too small to move alone.
#include <tier/core/bytes.hpp>
#include <tier/manager/block.hpp>
#include <tier/manager/object.hpp>

#include <bitset>
#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tier {

/// A block of 64 KiB shared by objects too small to move alone where a tier wants direct I/O.
struct Group : boost::intrusive::list_base_hook<> {
  static constexpr std::size_t size = std::size_t{64} << 10;
  static constexpr std::size_t granule = 64;
  static constexpr std::size_t granules = size / granule;

  Block* block = nullptr;
  std::bitset<granules> used;
  std::bitset<granules> leaving;  ///< free once the present pins have gone
  std::size_t live = 0;           ///< objects
  std::uint64_t frees = 0;        ///< how often `leaving` has become free
  bool listed = false;            ///< among the groups with room
};

/// Says where in which group a small object lies. An object takes whole granules of 64 B. After its end they serve others
/// as soon as no scope has the group pinned: a scope may be on one of its neighbours.
/// \threadsafety  Under the manager's lock.
class SmallObjects {
 public:
  /// Free granules of a group, from `first` on.
  struct Place {
    Group* group = nullptr;  ///< null: there is no room
    std::size_t first = 0;
  };

  SmallObjects() = default;
  SmallObjects(const SmallObjects&) = delete;
  SmallObjects& operator=(const SmallObjects&) = delete;
  /// \pre  each group has been erased, or its block will not be used any more
  ~SmallObjects() { with_room_.clear(); }

  [[nodiscard]] Place find(std::size_t size, std::size_t alignment) noexcept;
  /// Adds a group and returns its beginning.   \pre  `block` has `Group::size` bytes
  [[nodiscard]] Place add(std::unique_ptr<Group> group, Block& block) noexcept;
  /// Gives the object its place.
  void take(Place place, Object& object) noexcept;
  /// Gives up the object's granules, which become free when the present pins have gone.
  void leave(Group& group, Object& object) noexcept;
  /// Undoes `leave`.   \return  false if the granules are free already
  [[nodiscard]] bool stay(Group& group, Object& object) noexcept;
  /// Frees the granules that objects have left.   \pre  no scope has the group pinned
  /// \param dying  the group has no objects any more, and is not used again
  void free_left(Group& group, bool dying) noexcept;
  /// Counts off an object that is gone or has another place.   \return  true for the last: the group is not used again
  [[nodiscard]] bool forget_one(Group& group) noexcept;
  /// Excludes the group from further use.
  void retire(Group& group) noexcept;
  void erase(Group& group) noexcept;

  [[nodiscard]] Bytes memory() const noexcept { return Bytes{count_ * sizeof(Group)}; }

 private:
  boost::intrusive::list<Group> with_room_;
  std::size_t count_ = 0;
};

}  // namespace tier
