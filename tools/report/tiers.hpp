// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The tiers that a trace names.
#include <tier/core/bytes.hpp>
#include <tier/memory/tier.hpp>
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tier::tool::report {

using TierNumber = std::uint32_t;

struct TierOfTrace {
  std::string name;  ///< as lines of the trace have it
  std::string spec;  ///< of the configuration; empty if it lacks the tier
  std::optional<Bytes> capacity;
  std::optional<TierModel> model{};  ///< that the recording assumed
  std::string no_model{};            ///< the trace's text for the model, if it cannot be read
};

/// Numbers the tiers: first those of the configuration, fastest first, then the others in order of their lines.
/// \threadsafety  Confined to one thread, because it caches placements.
class Tiers {
 public:
  /// The placement of an operand whose blocks are in several tiers.
  static constexpr TierNumber several = 0xFFFF'FFFE;
  static constexpr TierNumber unknown = 0xFFFF'FFFF;

  /// \param trace  outlives this
  explicit Tiers(const trace::Trace& trace);

  [[nodiscard]] std::span<const TierOfTrace> all() const noexcept { return all_; }
  [[nodiscard]] std::size_t count() const noexcept { return all_.size(); }
  /// True if the configuration tells which tiers are fast. Number 0 is then the fastest.
  [[nodiscard]] bool ranked() const noexcept { return configured_ != 0; }
  /// Returns the number of a tier that a line names.
  [[nodiscard]] TierNumber number(trace::NameIndex name) const;
  /// True if a move goes to a faster tier; false if that is unknown.
  [[nodiscard]] bool is_faster(TierNumber to, TierNumber from) const noexcept;
  /// Returns the tier of each operand of a measured kernel, `unknown` for one without bytes; empty if the line has none.
  [[nodiscard]] std::span<const TierNumber> placement(const trace::Measurement& measurement) const;

 private:
  void configure(std::string_view specs);
  void read_models();
  TierNumber add(std::string_view name);
  [[nodiscard]] std::vector<TierNumber> read_placement(std::string_view text) const;

  const trace::Trace& trace_;
  std::vector<TierOfTrace> all_;
  std::unordered_map<std::string, TierNumber> by_text_;
  std::unordered_map<trace::NameIndex, TierNumber> by_name_;
  mutable std::unordered_map<trace::NameIndex, std::vector<TierNumber>> placements_;
  std::size_t configured_ = 0;
};

}  // namespace tier::tool::report
