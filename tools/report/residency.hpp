// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Finds the tier of each object of a trace over time.
#include <tier/trace/trace.hpp>

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "axis.hpp"
#include "further_copies.hpp"
#include "tiers.hpp"

namespace tier::tool::report {

/// A change of the bytes in a tier.
struct Change {
  Time time = 0;
  TierNumber tier = 0;  ///< `Tiers::count()`: a tier that the trace does not name
  trace::TensorKind kind{};
  std::int64_t bytes = 0;
  friend bool operator==(const Change&, const Change&) = default;
};

/// Follows the objects of a trace, event by event, in order. An object's tier comes from the first of these: a line that
/// gives it, the source of a migration, the placement of a kernel's operand. It then holds since the object was made. An
/// object whose place has a line exists from that line on. Blocks are those of a window, cut at multiples of a power of
/// two, if that gives as many as the lines mention. Otherwise a block's size is the largest that was moved of it, or of
/// another block of its object, or an equal share of the object. The home of a table's rows stays where it is.
class Residency {
 public:
  /// \param trace, tiers  must outlive this
  Residency(const trace::Trace& trace, const Tiers& tiers, bool timed);

  /// \param event  its number in the trace   \param time  of the event
  void apply(std::size_t event, Time time);
  /// Returns all changes in order of time, including objects still alive whose tier no line has given.
  [[nodiscard]] std::vector<Change> finish() &&;

 private:
  /// A part of an object in one place. Its history begins at `since`.
  struct Part {
    std::int64_t bytes = 0;
    Time since = 0;
    TierNumber tier = Tiers::unknown;
  };
  /// The blocks that lines mention, and the rest of the object.
  struct Object {
    bool alive = false;
    Part rest;
    std::map<std::uint32_t, Part> blocks;
  };
  struct BlockSizes {
    std::unordered_map<std::uint32_t, std::uint64_t> moved;
    std::uint64_t largest = 0;
    std::uint32_t count = 0;
  };

  void see_block(trace::TensorIndex tensor, std::uint32_t block, Bytes moved);
  void kernel(std::size_t event, Time time);
  void begin(trace::TensorIndex tensor, Time time);
  void end(trace::TensorIndex tensor, Time time);
  void end_iteration(Time time);
  void place(const trace::Placement& placement, Time time);
  void migrate(const trace::Migration& migration, bool copies);
  [[nodiscard]] Part& part(trace::TensorIndex tensor, std::uint32_t block, TierNumber tier);
  [[nodiscard]] std::int64_t size_of_block(trace::TensorIndex tensor, std::uint32_t block) const;
  void locate(trace::TensorIndex tensor, Part& part, TierNumber tier);
  void move(trace::TensorIndex tensor, Part& part, TierNumber tier, Time time);
  void change(Time time, TierNumber tier, trace::TensorIndex tensor, std::int64_t bytes);

  const trace::Trace& trace_;
  const Tiers& tiers_;
  bool timed_;
  bool recorded_;
  std::unordered_map<trace::TensorIndex, BlockSizes> block_sizes_;
  std::vector<Object> objects_;
  std::vector<bool> copies_;  // by migration, true if it has changed no place
  std::vector<bool> homes_;   // by object, true if it is a home of rows, which stays in place
  std::vector<bool> placed_;  // by object, true if a line gives its place
  std::vector<trace::TensorIndex> of_this_iteration_;
  std::vector<Change> changes_;
};

/// Returns the changes of all events.
[[nodiscard]] std::vector<Change> changes_of(const trace::Trace& trace, const Tiers& tiers,
                                             std::span<const Time> times, bool timed);

}  // namespace tier::tool::report
