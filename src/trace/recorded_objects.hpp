// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The objects and blocks of a recording.
#include <tier/policy/policy.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <unordered_map>
#include <vector>

#include "trace/recorded_events.hpp"

namespace tier::trace {

/// Stands for an index that is not there.
inline constexpr std::uint32_t no_index = std::numeric_limits<std::uint32_t>::max();

struct RecordedObject {
  std::uint64_t id = 0;
  std::uint64_t size = 0;  ///< final size
  std::uint64_t alignment = 1;
  std::vector<std::uint64_t> blocks{};  ///< final blocks
  std::uint32_t name = 0;
  bool grouped = false;
  // State of a walk over the events:
  std::uint32_t life = no_index;  ///< the last life
  TensorIndex tensor = 0;         ///< tensor of that life
  bool alive = false;
  bool destroyed = false;
  bool created = false;              ///< the life began with a write of the whole object
  bool placed = false;               ///< if grouped: the life's placement is written
  bool told_as_home = false;         ///< its setting as home of a table's rows is written
  std::uint32_t operand = no_index;  ///< index among the operands of the current kernel
};

struct RecordedBlock {
  std::vector<std::uint32_t> objects;  ///< one, or those of a group, in order
  std::size_t first = 0;               ///< all objects before it are destroyed
  std::uint32_t number = 0;            ///< its number among the object's blocks
  TierIndex tier = no_tier;
};

/// Keeps the objects and blocks that a recording names, with what they were at its end, and finds them. Beside that each has
/// a state, which whoever walks over the events keeps.
/// \threadsafety  Externally synchronised.
class RecordedObjects {
 public:
  /// Collects the final size, name and blocks of all objects.
  explicit RecordedObjects(const RecordedEvents& recorded);

  /// Returns the state of all to what it is before the first event.
  void begin_walk();

  /// \param object  an index that a search returned
  [[nodiscard]] RecordedObject& operator[](std::uint32_t object) { return objects_[object]; }
  [[nodiscard]] const RecordedObject& operator[](std::uint32_t object) const { return objects_[object]; }
  /// \pre  An object has the block.
  [[nodiscard]] RecordedBlock& block(std::uint64_t id) { return blocks_.at(id); }
  [[nodiscard]] const RecordedBlock& block(std::uint64_t id) const { return blocks_.at(id); }

  /// Returns null if no object has the block.
  [[nodiscard]] RecordedBlock* find_block(std::uint64_t id);
  [[nodiscard]] std::optional<std::uint32_t> find(std::uint64_t id) const;
  /// Returns the block's object; in a group the first that is alive, else the last that was.
  [[nodiscard]] std::optional<std::uint32_t> find_at(std::uint64_t block);
  /// Returns the first object that is home of the table whose rows have moved: it has the table's name, and is in the slower
  /// tier.
  [[nodiscard]] std::optional<std::uint32_t> find_home(const RecordedEvent& rows_moved) const;
  /// Returns the block's number among the object's, or `whole_tensor` if it is the only one.
  [[nodiscard]] std::uint32_t block_number(std::uint64_t block, std::uint32_t object) const;

  /// Returns the largest id of an object.
  [[nodiscard]] std::uint64_t last_id() const noexcept { return last_id_; }

 private:
  void collect(const RecordedEvents& recorded, const RecordedEvent& event);

  std::vector<RecordedObject> objects_;
  std::unordered_map<std::uint64_t, std::uint32_t> by_id_;
  std::unordered_map<std::uint64_t, RecordedBlock> blocks_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> fixed_;  // objects that never move, by name
  std::uint64_t last_id_ = 0;
};

}  // namespace tier::trace
