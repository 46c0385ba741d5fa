// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/table/cache_advisor.hpp>

#include "table/advisor.hpp"
#include "table/call_checks.hpp"
#include "table/rows/row_layout.hpp"

namespace tier {

CacheAdvisor::CacheAdvisor(Manager& manager, const TableOptions& options)
    : table_{options.name}, rows_{static_cast<RowId>(options.rows)} {
  detail::check_options(options);
  advisor_ = std::make_unique<detail::Advisor>(manager, options);
}

CacheAdvisor::CacheAdvisor(CacheAdvisor&&) noexcept = default;
CacheAdvisor& CacheAdvisor::operator=(CacheAdvisor&&) noexcept = default;
CacheAdvisor::~CacheAdvisor() = default;

void CacheAdvisor::note(std::span<const RowId> ids) {
  detail::check_ids(ids, rows_, table_);
  advisor_->note(ids);
}

MissRatioCurve CacheAdvisor::advise() const { return advisor_->advise(); }

}  // namespace tier
