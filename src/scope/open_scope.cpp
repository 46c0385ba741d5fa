// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/scope/open_scope.hpp>

#include <algorithm>
#include <chrono>

namespace tier {
namespace {

std::uint64_t now_ns() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                    std::chrono::nanoseconds{1});
}

}  // namespace

void Scope::enter_slowly(Manager& manager, std::string_view kernel) {
  for (const auto& operand : operands_.all())
    TIER_VERIFY(operand.block == nullptr || operand.block->manager == &manager,
                "the objects of a scope belong to one runtime");
  manager.enter(operands_.all(), {.scope = nesting_.id(), .root = nesting_.is_root(), .kernel = kernel});
}

void Scope::begin_kernel(Manager& manager, std::string_view kernel, std::uint64_t shapes) {
  try {
    manager.kernel_begin({nesting_.id(), nesting_.is_root(), kernel, shapes}, operands_.all());
  } catch (...) {
    leave();  // the constructor is not through: nobody else would
    throw;
  }
  told_at_ns_ = now_ns();
}

void Scope::end_kernel() noexcept {
  const auto operands = operands_.all();
  const auto managed = std::ranges::find_if(operands, [](const Operand& o) { return o.block != nullptr; });
  if (managed != operands.end()) managed->block->manager->kernel_end(nesting_.id(), now_ns() - told_at_ns_);
}

}  // namespace tier
