// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A machine as a replay models it: its devices, and the cost of kernels on it. All rates are bytes, or
///        operations, a second.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/tier.hpp>
#include <tier/replay/machines.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tier::replay {

/// A kind of memory. Kernels stream through it with all cores. Copies have rates of their own, because their stores are
/// non-temporal and a single thread may carry them out.
struct Device {
  std::string name;
  std::string source;     ///< where the numbers come from
  double read = 0;        ///< loads of kernels
  double store = 0;       ///< ordinary stores of kernels
  double copy_read = 0;   ///< as the source of a copy, by all cores
  double copy_write = 0;  ///< as the target of a copy, by all cores
  double mover_read = 0;  ///< as the source of a copy, by one thread in the background, beside kernels
  double mover_write = 0;
  std::chrono::nanoseconds latency{0};
  unsigned parallelism = 16;  ///< requests that it serves at once
  /// Time of a table's row on its way to a cache in the fastest device, or back, in addition to its bytes: for policy,
  /// map and slot, in the background beside kernels.
  std::chrono::nanoseconds row_read{1000}, row_write{1000};
  /// Devices with the same link share it: their bytes take their time one after the other. Empty: a link of its own.
  std::string link;
  bool addressable = true;
  bool persistent = false;

  /// Returns the model that managers and policies see.
  [[nodiscard]] TIER_EXPORT TierModel tier_model() const;
};

/// The cost of one operation's kernels. Traces give logical bytes; repeated passes, and bytes that stay in caches, are
/// given here.
struct OpCost {
  std::string op;           ///< its name, or a prefix of several names: the longest match counts
  double efficiency = 0.5;  ///< share of the machine's operations a second
  double reads = 1;         ///< passes over the bytes read
  double writes = 1;        ///< passes over the bytes written
};

/// A measured slow-down: how many times as long kernels take if operands are in this device, not the fastest.
struct SlowDown {
  std::string device;
  std::string op;  ///< as `OpCost::op`
  double inputs = 1, outputs = 1, both = 1;
};

/// Says how fast a machine computes, reads, writes and copies, for replays. `find_machine` has some that are known;
/// `tier probe` measures this one and writes a file, which `read_machine` reads.
/// \code{.cpp}
/// #include <tier/replay/machine_file.hpp>
/// tier::replay::Machine machine = *tier::replay::find_machine("server");
/// machine.operations *= 2;  // what if it computed twice as fast?
/// tier::replay::write_machine(machine, "faster.json");
/// assert(tier::replay::read_machine("faster.json").operations == machine.operations);
/// \endcode
struct Machine {
  std::string name;
  std::string source;
  unsigned cores = 1;
  double operations = 0;  ///< floating point, single precision, all cores
  /// Share of the speed of kernels, and of work on rows, that is lost while a mover copies.
  double lost_to_mover = 0;
  /// Start-up time of a copy between memories that a thread waits for, in addition to its bytes at `copy_read` and
  /// `copy_write`, because threads must arrive first. The sum is at most what a mover takes.
  std::chrono::nanoseconds copy_start{0};
  // Time per row of a table with a cache, beyond that of a table held whole. The defaults, as that of `row_read`, are our
  // choices for machines that were not measured.
  std::chrono::nanoseconds row_lookup{10};    ///< to look up a row in a gather
  std::chrono::nanoseconds row_update{50};    ///< to update a row
  std::chrono::nanoseconds row_announce{50};  ///< to announce a row, and keep it wanted until its batch ends
  std::vector<Device> devices;
  std::vector<OpCost> ops;
  std::vector<SlowDown> slow_downs;

  /// Returns null if no device has that name.
  [[nodiscard]] TIER_EXPORT const Device* find(std::string_view device) const noexcept;
  /// Returns the cost of an operation; the default one if nothing is known of it.
  [[nodiscard]] TIER_EXPORT const OpCost& cost_of(std::string_view op) const noexcept;
  /// Returns null if nothing has been measured.
  [[nodiscard]] TIER_EXPORT const SlowDown* slow_down_of(std::string_view device,
                                                         std::string_view op) const noexcept;

  /// \throws  `ConfigError` naming the value that makes no sense: a rate that is not above zero, a time that is negative
  ///          or above 10^15 ns, two devices of one name, control characters in names
  TIER_EXPORT void check() const;
};

}  // namespace tier::replay
