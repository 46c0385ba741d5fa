// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Computation that keeps all cores busy, for measuring beside it.
#include <tier/copy/parallel_for.hpp>

#include <cstddef>
#include <functional>
#include <vector>

namespace tier::tool {

/// What each thread goes over: 1 KiB again and again, or 8 MiB, which push what others keep out of a core's caches, as kernels
/// do.
enum class Over { Little, Caches };

/// Multiplies and adds on all threads of an arena.   \threadsafety  one caller at a time
class Computation {
 public:
  Computation(Arena& arena, Over over);
  /// The shortest of some runs.   \return  seconds
  [[nodiscard]] double seconds();
  /// Multiplications and additions of floats in a second.
  [[nodiscard]] double operations();
  /// Runs `work` while all cores compute.   \return  what that returns
  double beside(const std::function<double()>& work);

 private:
  void once();
  [[nodiscard]] std::size_t rounds() const noexcept;

  Arena& arena_;
  std::vector<std::vector<float>> values_;  // each thread's
};

}  // namespace tier::tool
