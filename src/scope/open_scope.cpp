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
    if (operand.block != nullptr && operand.block->manager != &manager)
      detail::of_two_runtimes(operands_.all(), kernel);
  manager.enter(operands_.all(), {.scope = nesting_.id(), .root = nesting_.is_root(), .kernel = kernel});
}

void Scope::begin_kernel(Manager& manager, std::string_view kernel, std::uint64_t shapes) {
  auto* const observer = manager.thread_observer();
  who_ = {.observer = observer, .begun = {}, .at_ns = 0};
  if (manager.tells_kernels()) {
    try {
      manager.kernel_begin({nesting_.id(), nesting_.is_root(), kernel, shapes}, operands_.all());
    } catch (...) {
      leave();  // no destructor runs after a constructor that throws
      throw;
    }
    who_.at_ns = now_ns();
  }
  if (observer != nullptr) who_.begun = observer->on_scope_begin(kernel);
  told_ = managed() != nullptr;
  if (told_) return;
  // Reports the end at once: nothing is pinned that would keep manager and observer alive until the scope ends.
  if (observer != nullptr) observer->on_scope_end(who_.begun, operands_.all());
  if (who_.at_ns != 0) manager.kernel_end(nesting_.id(), 0);
}

void Scope::end_kernel() noexcept {
  const auto* const operand = managed();
  if (operand == nullptr) return;
  if (who_.observer != nullptr) who_.observer->on_scope_end(who_.begun, operands_.all());
  if (who_.at_ns != 0) operand->block->manager->kernel_end(nesting_.id(), now_ns() - who_.at_ns);
}

const Operand* Scope::managed() const noexcept {
  const auto operands = operands_.all();
  const auto found = std::ranges::find_if(operands, [](const Operand& o) { return o.block != nullptr; });
  return found != operands.end() ? &*found : nullptr;
}

}  // namespace tier
