// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/advisor.hpp"

#include <tier/core/error.hpp>

namespace tier::detail {

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

}  // namespace tier::detail
