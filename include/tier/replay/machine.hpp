// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a replay knows of a machine: its devices, and what kernels cost on it. All rates are bytes, or operations, a
///        second.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/memory/tier.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tier::replay {

/// A kind of memory. Kernels stream through it with all cores; copies are told apart, since their stores are
/// non-temporal and what carries them out may be a single thread.
struct Device {
  std::string name;
  std::string source;     ///< of the numbers
  double read = 0;        ///< loads of kernels
  double store = 0;       ///< ordinary stores of kernels
  double copy_read = 0;   ///< as the source of a copy, by all cores
  double copy_write = 0;  ///< as the target of one
  double mover_read = 0;  ///< the same, by a thread in the background, beside kernels
  double mover_write = 0;
  std::chrono::nanoseconds latency{0};
  unsigned parallelism = 16;  ///< requests that it serves at once
  /// What a row of a table takes on its way to a cache in the fastest device, or back, beside its bytes: policy, map, slot.
  /// In the background, beside kernels.
  std::chrono::nanoseconds row_read{1000}, row_write{1000};
  /// Devices on one link share it: bytes that go over it take their time one after the other. Empty: its own.
  std::string link;
  bool addressable = true;
  bool persistent = false;

  /// What managers and policies see.
  [[nodiscard]] TIER_EXPORT TierModel tier_model() const;
};

/// What the kernels of one operation cost. Traces give logical bytes: what an implementation passes over more than once, or
/// leaves in caches, is said here.
struct OpCost {
  std::string op;           ///< its name, or the beginning of several names: the longest that fits counts
  double efficiency = 0.5;  ///< share of the machine's operations a second
  double reads = 1;         ///< passes over what is read
  double writes = 1;        ///< passes over what is written
};

/// Measured: how many times as long kernels of an operation take when operands lie in this device and not in the fastest.
struct SlowDown {
  std::string device;
  std::string op;  ///< as `OpCost::op`
  double inputs = 1, outputs = 1, both = 1;
};

struct Machine {
  std::string name;
  std::string source;
  unsigned cores = 1;
  double operations = 0;  ///< of floating point, in single precision, all cores
  /// Share of the speed of kernels, and of work on rows, that is lost while a mover copies.
  double lost_to_mover = 0;
  /// What a copy between memories that is waited for takes beyond its bytes' time at `copy_read` and `copy_write`, since
  /// threads have to come first; together it is at most what a mover takes.
  std::chrono::nanoseconds copy_start{0};
  // What a table with a cache takes for a row beyond what a table that is whole does. Our choices, as `row_read` is, for who
  // has not measured.
  std::chrono::nanoseconds row_lookup{10};    ///< that a gather finds there
  std::chrono::nanoseconds row_update{50};    ///< that is updated there
  std::chrono::nanoseconds row_announce{50};  ///< that is announced, and wanted until its batch ends
  std::vector<Device> devices;
  std::vector<OpCost> ops;
  std::vector<SlowDown> slow_downs;

  /// Null if there is none of that name.
  [[nodiscard]] TIER_EXPORT const Device* find(std::string_view device) const noexcept;
  /// The default one if nothing is known of the operation.
  [[nodiscard]] TIER_EXPORT const OpCost& cost_of(std::string_view op) const noexcept;
  /// Null if nothing has been measured.
  [[nodiscard]] TIER_EXPORT const SlowDown* slow_down_of(std::string_view device,
                                                         std::string_view op) const noexcept;

  /// \throws  `ConfigError` naming what makes no sense: a rate that is not above zero, a time that is negative or above 10^15 ns,
  ///          two devices of one name, control characters in names
  TIER_EXPORT void check() const;
};

/// Those of the papers, and of today. \return  null if there is none of that name
[[nodiscard]] TIER_EXPORT const Machine* find_machine(std::string_view name);
[[nodiscard]] TIER_EXPORT std::vector<std::string_view> machine_names();

}  // namespace tier::replay
