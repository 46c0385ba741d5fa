// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/row_arithmetic.hpp"

#include <algorithm>
#include <cmath>

namespace tier::detail {
namespace {

// Eight floats at any address, in one register, or in two if registers are shorter.
// A typedef, because GCC and Clang disagree on where an alias declares its alignment, and one of them drops it.
typedef float Eight __attribute__((vector_size(32), aligned(4), may_alias));  // NOLINT(modernize-use-using)
// NOLINTNEXTLINE(modernize-use-using)
typedef std::uint32_t EightWords __attribute__((vector_size(32), aligned(4), may_alias));
constexpr std::size_t lanes = 8;

#define TIER_INLINE inline __attribute__((always_inline))

TIER_INLINE void add(float* out, const float* row, std::size_t n) noexcept {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    *reinterpret_cast<Eight*>(out + i) += *reinterpret_cast<const Eight*>(row + i);
  for (; i < n; ++i) out[i] += row[i];
}

TIER_INLINE void subtract(float* row, float factor, const float* gradient, std::size_t n) noexcept {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    *reinterpret_cast<Eight*>(row + i) -= factor * *reinterpret_cast<const Eight*>(gradient + i);
  for (; i < n; ++i) row[i] -= factor * gradient[i];
}

TIER_INLINE float squares(const float* values, std::size_t n) noexcept {
  Eight sums{};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const Eight v = *reinterpret_cast<const Eight*>(values + i);
    sums += v * v;
  }
  for (; i < n; ++i) sums[i % lanes] += values[i] * values[i];
  float sum = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) sum += sums[lane];
  return sum;
}

TIER_INLINE void adagrad(float* row, float& state, const float* gradient, std::size_t n, float rate,
                         float epsilon) noexcept {
  state += squares(gradient, n) / static_cast<float>(n);
  subtract(row, rate / (std::sqrt(state) + epsilon), gradient, n);
}

TIER_INLINE std::uint32_t largest(const std::uint32_t* values, std::size_t n) noexcept {
  EightWords most{};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const EightWords v = *reinterpret_cast<const EightWords*>(values + i);
    most = v > most ? v : most;
  }
  std::uint32_t all = 0;
  for (; i < n; ++i) all = std::max(all, values[i]);
  for (std::size_t lane = 0; lane < lanes; ++lane) all = std::max(all, std::uint32_t{most[lane]});
  return all;
}

TIER_INLINE bool ascending(const std::uint32_t* values, std::size_t n) noexcept {
  EightWords descents{};
  std::size_t i = 1;
  for (; i + lanes <= n; i += lanes) {
    const EightWords before = *reinterpret_cast<const EightWords*>(values + i - 1);
    descents |= static_cast<EightWords>(before > *reinterpret_cast<const EightWords*>(values + i));
  }
  std::uint32_t any = 0;
  for (; i < n; ++i) any |= values[i - 1] > values[i];
  for (std::size_t lane = 0; lane < lanes; ++lane) any |= descents[lane];
  return any == 0;
}

struct Kernels {
  void (*add)(float*, const float*, std::size_t) noexcept;
  void (*subtract)(float*, float, const float*, std::size_t) noexcept;
  void (*adagrad)(float*, float&, const float*, std::size_t, float, float) noexcept;
  std::uint32_t (*largest)(const std::uint32_t*, std::size_t) noexcept;
  bool (*ascending)(const std::uint32_t*, std::size_t) noexcept;
};

void add_portable(float* out, const float* row, std::size_t n) noexcept { add(out, row, n); }
void subtract_portable(float* row, float factor, const float* gradient, std::size_t n) noexcept {
  subtract(row, factor, gradient, n);
}
void adagrad_portable(float* row, float& state, const float* gradient, std::size_t n, float rate,
                      float epsilon) noexcept {
  adagrad(row, state, gradient, n, rate, epsilon);
}
std::uint32_t largest_portable(const std::uint32_t* values, std::size_t n) noexcept {
  return largest(values, n);
}
bool ascending_portable(const std::uint32_t* values, std::size_t n) noexcept { return ascending(values, n); }

#if defined(__x86_64__)
#define TIER_AVX2 __attribute__((target("avx2")))
TIER_AVX2 void add_avx2(float* out, const float* row, std::size_t n) noexcept { add(out, row, n); }
TIER_AVX2 void subtract_avx2(float* row, float factor, const float* gradient, std::size_t n) noexcept {
  subtract(row, factor, gradient, n);
}
TIER_AVX2 void adagrad_avx2(float* row, float& state, const float* gradient, std::size_t n, float rate,
                            float epsilon) noexcept {
  adagrad(row, state, gradient, n, rate, epsilon);
}
TIER_AVX2 std::uint32_t largest_avx2(const std::uint32_t* values, std::size_t n) noexcept {
  return largest(values, n);
}
TIER_AVX2 bool ascending_avx2(const std::uint32_t* values, std::size_t n) noexcept {
  return ascending(values, n);
}
#endif

Kernels best() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2"))
    return {add_avx2, subtract_avx2, adagrad_avx2, largest_avx2, ascending_avx2};
#endif
  return {add_portable, subtract_portable, adagrad_portable, largest_portable, ascending_portable};
}

const Kernels kernels = best();

}  // namespace

void add_row(float* out, const float* row, std::size_t n) noexcept { kernels.add(out, row, n); }
void subtract_scaled(float* row, float factor, const float* gradient, std::size_t n) noexcept {
  kernels.subtract(row, factor, gradient, n);
}
void adagrad_step(float* row, float& state, const float* gradient, std::size_t n, float rate,
                  float epsilon) noexcept {
  kernels.adagrad(row, state, gradient, n, rate, epsilon);
}
std::uint32_t largest_of(const std::uint32_t* values, std::size_t n) noexcept {
  return kernels.largest(values, n);
}
bool is_ascending(const std::uint32_t* values, std::size_t n) noexcept {
  return kernels.ascending(values, n);
}

}  // namespace tier::detail
