// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A computation that keeps all cores busy while something else is measured.
#include <tier/copy/parallel_for.hpp>

#include <cstddef>
#include <functional>
#include <vector>

namespace tier::tool {

/// The memory that each thread computes on: 1 KiB again and again, or 8 MiB, which displaces other data from a core's
/// caches as kernels do.
enum class Over { Little, Caches };

/// Multiplies and adds on all threads of an arena.   \threadsafety  one caller at a time
class Computation {
 public:
  Computation(Arena& arena, Over over);
  /// Measures the computation, the best of several runs.   \return  seconds
  [[nodiscard]] double seconds();
  /// Returns multiplications and additions of floats per second.
  [[nodiscard]] double operations();
  /// Runs `work` while all cores compute.   \return  the result of `work`
  double beside(const std::function<double()>& work);

 private:
  void once();
  [[nodiscard]] std::size_t rounds() const noexcept;

  Arena& arena_;
  std::vector<std::vector<float>> values_;  // of each thread
};

}  // namespace tier::tool
