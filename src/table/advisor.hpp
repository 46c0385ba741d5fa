// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The data behind `RowTable::advise`.
#include <memory>
#include <string>

#include "table/miss_ratio_curve.hpp"
#include "table/reuse_sample.hpp"
#include "table/table_plan.hpp"

namespace tier::detail {

/// Keeps a sample of the rows that a table was asked for, if its options want one, and the sizes of its caches.
/// \threadsafety  Internally synchronised.
class Advisor {
 public:
  /// \throws  `ConfigError` for options that no table can have
  Advisor(Manager& manager, const TableOptions& options);

  /// Counts these rows as asked for.
  void note(std::span<const RowId> rows) noexcept {
    if (sample_ != nullptr) sample_->note(rows);
  }
  /// \throws  `ConfigError` if there is no sample
  [[nodiscard]] MissRatioCurve advise() const;
  void reset_counts() noexcept {
    if (sample_ != nullptr) sample_->reset_counts();
  }
  /// Holds the lock over a fork.
  void before_fork() noexcept {
    if (sample_ != nullptr) sample_->before_fork();
  }
  void after_fork() noexcept {
    if (sample_ != nullptr) sample_->after_fork();
  }

 private:
  std::string table_;
  CacheSizes sizes_;
  std::unique_ptr<ReuseSample> sample_;
};

}  // namespace tier::detail
