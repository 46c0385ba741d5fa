// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Which tier each object of a trace is in, over time.
#include <tier/trace/trace.hpp>

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "axis.hpp"
#include "further_copies.hpp"
#include "tiers.hpp"

namespace tier::tool::report {

/// Bytes that come to a tier, or leave it, for good or for another.
struct Change {
  Time time = 0;
  TierNumber tier = 0;  ///< `Tiers::count()`: none that the trace names
  trace::TensorKind kind{};
  std::int64_t bytes = 0;
  friend bool operator==(const Change&, const Change&) = default;
};

/// Follows the objects of a trace, event by event, in its order. What it knows of a place comes from the first of: a line
/// that gives it, the tier that a migration leaves, the placement of a kernel's operand; it then holds since the object was
/// made. An object with a line of its place is there from that line on. Blocks are those of a window cut at multiples of a
/// power of two, if as many as lines tell of make up the object; else a block's size is the largest that was moved of it,
/// of another block of its object, or an equal share of the object. The home of a table's rows stays where it is.
class Residency {
 public:
  /// \param trace, tiers  outlive this
  Residency(const trace::Trace& trace, const Tiers& tiers, bool timed);

  /// \param event  its number in the trace   \param time  of it
  void apply(std::size_t event, Time time);
  /// All changes so far and what is still alive where no line has told its tier, in order of time.
  [[nodiscard]] std::vector<Change> finish() &&;

 private:
  /// A part of an object in one place. Nothing happens to it before `since`.
  struct Part {
    std::int64_t bytes = 0;
    Time since = 0;
    TierNumber tier = Tiers::unknown;
  };
  /// Blocks that lines tell of, and all that is not in one of them.
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
  std::vector<bool> copies_;  // of each migration, whether it has changed no place
  std::vector<bool> homes_;   // of each object, whether its migrations are of rows, and it stays
  std::vector<bool> placed_;  // whether a line gives the object's place
  std::vector<trace::TensorIndex> of_this_iteration_;
  std::vector<Change> changes_;
};

/// Every event applied.
[[nodiscard]] std::vector<Change> changes_of(const trace::Trace& trace, const Tiers& tiers,
                                             std::span<const Time> times, bool timed);

}  // namespace tier::tool::report
