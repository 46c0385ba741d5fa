// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The manager in which objects are made, for layers below runtime/.
#include <tier/manager/manager.hpp>

#include <concepts>
#include <memory>
#include <utility>

namespace tier {

/// A parameter that says in which runtime something is made: a `Runtime`, or a shared pointer to its manager.
/// \code{.cpp}
/// const auto make_weights = [](const tier::RuntimeRef& where) {
///   return tier::Tensor<float>{where, {64, 64}};
/// };
/// const auto in_runtime = make_weights(runtime);
/// const auto in_same = make_weights(runtime.manager());
/// \endcode
/// \threadsafety  Immutable.
class RuntimeRef {
 public:
  RuntimeRef(std::shared_ptr<Manager> manager) noexcept  // NOLINT: implicit, it stands for its argument
      : manager_{std::move(manager)} {}
  template <class Runtime>
  requires requires(const Runtime& runtime) {
    { runtime.manager() } -> std::convertible_to<std::shared_ptr<Manager>>;
  }
  RuntimeRef(const Runtime& runtime) : manager_{runtime.manager()} {}  // NOLINT: likewise

  [[nodiscard]] const std::shared_ptr<Manager>& manager() const noexcept { return manager_; }

 private:
  std::shared_ptr<Manager> manager_;
};

}  // namespace tier
