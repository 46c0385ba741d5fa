// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How large a table's cache should be, from a log of ids.
#include <tier/core/export.hpp>
#include <tier/manager/manager.hpp>
#include <tier/table/miss_ratio_curve.hpp>
#include <tier/table/table_options.hpp>

#include <memory>
#include <span>
#include <string>

namespace tier {
namespace detail {
class Advisor;
}

/// Tells from a log of ids how large a table's cache should be, before the table exists: predicts what its
/// `RowTable::advise` would return after gathers of the same ids.
/// \code{.cpp}
/// tier::TableOptions options;  // of the table to be
/// options.rows = 1000, options.dim = 64, options.sample = 8192;
/// tier::CacheAdvisor advisor{*runtime.manager(), options};
/// const std::vector<tier::RowId> log{17, 4, 17, 17, 4, 99};
/// advisor.note(log);  // piece by piece
/// std::printf("half of the rows are there with %s\n",
///             to_human(advisor.advise().least_for(0.5).bytes).c_str());
/// \endcode
///
/// Takes the ids in pieces, so that a log need not fit memory. Samples `TableOptions::sample` rows, and uses the memory
/// stated there.
/// \threadsafety  Internally synchronised. Two calls at the same time count in either order.
class TIER_EXPORT CacheAdvisor {
 public:
  /// \param options  of the future table
  /// \throws         `ConfigError` for options that no table can have
  CacheAdvisor(Manager& manager, const TableOptions& options);
  CacheAdvisor(CacheAdvisor&&) noexcept;
  CacheAdvisor& operator=(CacheAdvisor&&) noexcept;
  ~CacheAdvisor();

  /// Counts these ids as asked for next.
  /// \throws      `std::out_of_range` naming table, id and bound, before anything changes
  /// \complexity  a hash an id; for a sampled one also a look-up, and log(`TableOptions::sample`)
  void note(std::span<const RowId> ids);
  /// \throws  `ConfigError` if `TableOptions::sample` is 0
  [[nodiscard]] MissRatioCurve advise() const;

 private:
  std::string table_;
  RowId rows_;
  std::unique_ptr<detail::Advisor> advisor_;
};

}  // namespace tier
