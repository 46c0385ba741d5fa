// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/advisor.hpp"

#include <tier/core/error.hpp>
#include <tier/table/cache_advisor.hpp>
#include <tier/table/row_table.hpp>

namespace tier {
namespace detail {

Advisor::Advisor(Manager& manager, const TableOptions& options) : table_{options.name} {
  if (options.sample == 0) return;
  sizes_ = cache_sizes(manager, options);
  sample_ = std::make_unique<ReuseSample>(sizes_.layout.rows, options.sample);
}

MissRatioCurve Advisor::advise() const {
  if (sample_ == nullptr)
    throw ConfigError{"table '" + table_ +
                      "' has no sample to advise from; TableOptions::sample sets its size"};
  return miss_ratio_curve(sample_->counts(), sizes_);
}

}  // namespace detail

MissRatioCurve advise(Manager& manager, const TableOptions& options, std::span<const RowId> ids) {
  CacheAdvisor advisor{manager, options};
  advisor.note(ids);
  return advisor.advise();
}

}  // namespace tier
