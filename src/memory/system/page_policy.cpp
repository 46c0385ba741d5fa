// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/system/page_policy.hpp"

#include <tier/core/error.hpp>

#if defined(TIER_WITH_NUMA)
#include <numaif.h>
#endif

namespace tier {
namespace {

constexpr int prefer = 1, bind = 2, interleave = 3, weighted_interleave = 6;  // the last from Linux 6.9 on
#if defined(TIER_WITH_NUMA)
static_assert(prefer == MPOL_PREFERRED && bind == MPOL_BIND && interleave == MPOL_INTERLEAVE);
#endif

}  // namespace

PagePolicy::PagePolicy(Mode mode, std::span<const unsigned> nodes) noexcept : mode_{mode} {
  constexpr auto bits = 8 * sizeof(unsigned long);
  for (const auto node : nodes) mask_[node / bits] |= 1UL << (node % bits);
}

int PagePolicy::system_mode() const noexcept {
  switch (mode_) {
    case Mode::Bind:
      return bind;
    case Mode::Prefer:
      return prefer;
    case Mode::Interleave:
      return interleave;
    case Mode::WeightedInterleave:
      break;
  }
  return weighted_interleave;
}

ThreadPolicy::ThreadPolicy([[maybe_unused]] const PagePolicy* policy) noexcept {
#if defined(TIER_WITH_NUMA)
  if (policy == nullptr) return;
  changed_ = ::get_mempolicy(&mode_, mask_.data(), PagePolicy::mask_bits, nullptr, 0) == 0 &&
             ::set_mempolicy(policy->system_mode(), policy->mask().data(), PagePolicy::mask_bits) == 0;
  if (!changed_) error_ = last_system_error();
#endif
}

ThreadPolicy::~ThreadPolicy() {
#if defined(TIER_WITH_NUMA)
  if (!changed_) return;
  const bool has_nodes = mask_ != PagePolicy::Mask{};
  ::set_mempolicy(mode_, has_nodes ? mask_.data() : nullptr, has_nodes ? PagePolicy::mask_bits : 0);
#endif
}

}  // namespace tier
