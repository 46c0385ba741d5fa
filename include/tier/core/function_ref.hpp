// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A reference to a callable, like C++26's `std::function_ref`: two words, no allocation.
#include <tier/core/standard.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace tier {

template <class Signature>
class FunctionRef;

/// Lets a function that is no template take any callable. Refers to the callable for the duration of one call.
/// \pre  The callable outlives the reference.
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  // clang-format off
  template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, FunctionRef> && std::is_invocable_r_v<R, F&, Args...>)
  FunctionRef(F&& f) noexcept  // NOLINT: implicit, as in the standard
      // clang-format on
      : object_{const_cast<void*>(static_cast<const void*>(std::addressof(f)))},
        call_{[](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Args>(args)...);
        }} {}

  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

}  // namespace tier
