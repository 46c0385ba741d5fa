// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "table/row_values.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

#include <array>

#include "table/narrow_values.hpp"

namespace tier::detail {
namespace {

#define TIER_INLINE inline __attribute__((always_inline))

template <class Value>
TIER_INLINE void load_all(float* out, const std::uint16_t* row, std::size_t n) noexcept {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) out[i] = Value::load(row[i]);
}

template <class Value>
TIER_INLINE void add_all(float* out, const std::uint16_t* row, std::size_t n) noexcept {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) out[i] += Value::load(row[i]);
}

/// \param round_of  returns the rounding for a column
template <class Value, class RoundOf>
TIER_INLINE void store_all(std::uint16_t* row, const float* values, std::size_t n,
                           const RoundOf& round_of) noexcept {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) row[i] = Value::store(values[i], round_of(i));
}

struct ToNearest {
  TIER_INLINE NearestEven operator()(std::size_t) const noexcept { return {}; }
};
struct ByChance {
  std::uint32_t random;
  TIER_INLINE Stochastic operator()(std::size_t column) const noexcept {
    return {random_of_value(random, static_cast<std::uint32_t>(column))};
  }
};

template <class Value>
struct Portable {
  static void load(float* out, const std::uint16_t* row, std::size_t n) noexcept {
    load_all<Value>(out, row, n);
  }
  static void add(float* out, const std::uint16_t* row, std::size_t n) noexcept {
    add_all<Value>(out, row, n);
  }
  static void nearest(std::uint16_t* row, const float* values, std::size_t n) noexcept {
    store_all<Value>(row, values, n, ToNearest{});
  }
  static void stochastic(std::uint16_t* row, const float* values, std::size_t n,
                         std::uint32_t random) noexcept {
    store_all<Value>(row, values, n, ByChance{random});
  }
  static constexpr NarrowKernels kernels{load, add, nearest, stochastic};
};

#if defined(__x86_64__)
#define TIER_AVX2 __attribute__((target("avx2")))
template <class Value>
struct Avx2 {
  TIER_AVX2 static void load(float* out, const std::uint16_t* row, std::size_t n) noexcept {
    load_all<Value>(out, row, n);
  }
  TIER_AVX2 static void add(float* out, const std::uint16_t* row, std::size_t n) noexcept {
    add_all<Value>(out, row, n);
  }
  TIER_AVX2 static void nearest(std::uint16_t* row, const float* values, std::size_t n) noexcept {
    store_all<Value>(row, values, n, ToNearest{});
  }
  TIER_AVX2 static void stochastic(std::uint16_t* row, const float* values, std::size_t n,
                                   std::uint32_t random) noexcept {
    store_all<Value>(row, values, n, ByChance{random});
  }
  static constexpr NarrowKernels kernels{load, add, nearest, stochastic};
};

/// Uses the CPU's conversions of halves; it has none with stochastic rounding.
#define TIER_F16C __attribute__((target("avx2,f16c")))
struct F16c {
  static constexpr std::size_t lanes = 8;

  TIER_F16C static void load(float* out, const std::uint16_t* row, std::size_t n) noexcept {
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes) _mm256_storeu_ps(out + i, eight(row + i));
    for (; i < n; ++i) out[i] = _cvtsh_ss(row[i]);
  }
  TIER_F16C static void add(float* out, const std::uint16_t* row, std::size_t n) noexcept {
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
      _mm256_storeu_ps(out + i, _mm256_add_ps(_mm256_loadu_ps(out + i), eight(row + i)));
    for (; i < n; ++i) out[i] += _cvtsh_ss(row[i]);
  }
  TIER_F16C static void nearest(std::uint16_t* row, const float* values, std::size_t n) noexcept {
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(row + i),
                       _mm256_cvtps_ph(_mm256_loadu_ps(values + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < n; ++i) row[i] = _cvtss_sh(values[i], _MM_FROUND_TO_NEAREST_INT);
  }
  static constexpr NarrowKernels kernels{load, add, nearest, Avx2<Half>::stochastic};

 private:
  TIER_F16C static __m256 eight(const std::uint16_t* row) noexcept {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row)));
  }
};

// Asks the CPU itself, because Clang 14 has no `__builtin_cpu_supports("f16c")`. Asks once, since a hypervisor traps
// CPUID, which takes 4 us.
bool has_f16c() noexcept {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  }();
  return has;
}
#endif

}  // namespace

std::span<const NarrowKernels> narrow_kernels(RowStorage storage) noexcept {
#if defined(__x86_64__)
  static constexpr std::array of_half{F16c::kernels, Avx2<Half>::kernels, Portable<Half>::kernels};
  static constexpr std::array of_bfloat16{Avx2<BFloat16>::kernels, Portable<BFloat16>::kernels};
  const bool avx2 = __builtin_cpu_supports("avx2") != 0;  // also checks that the system saves the registers
  if (storage == RowStorage::Half) return std::span{of_half}.subspan(avx2 ? (has_f16c() ? 0 : 1) : 2);
  return std::span{of_bfloat16}.subspan(avx2 ? 0 : 1);
#else
  static constexpr std::array of_half{Portable<Half>::kernels};
  static constexpr std::array of_bfloat16{Portable<BFloat16>::kernels};
  return storage == RowStorage::Half ? std::span{of_half} : std::span{of_bfloat16};
#endif
}

namespace {

/// Returns null for floats.
const NarrowKernels* best_kernels(RowStorage storage) noexcept {
  return storage == RowStorage::Float ? nullptr : &narrow_kernels(storage).front();
}

std::uint16_t* narrow(std::byte* row) noexcept { return reinterpret_cast<std::uint16_t*>(row); }

}  // namespace

RowValues::RowValues(const TableOptions& options) noexcept
    : kernels_{best_kernels(options.storage)}, dim_{options.dim}, seed_{options.stochastic_seed} {}

void RowValues::store(std::byte* row, const float* values, RowId id, std::uint64_t change) const noexcept {
  if (are_floats())
    std::memcpy(row, values, dim_ * sizeof(float));
  else if (seed_)
    kernels_->store_stochastic(narrow(row), values, dim_, random_of_row(*seed_, change, id));
  else
    kernels_->store_nearest(narrow(row), values, dim_);
}

}  // namespace tier::detail

namespace tier {

RowFormat::RowFormat(RowStorage storage) noexcept : kernels_{detail::best_kernels(storage)} {}

void RowFormat::load(std::span<float> values, const std::byte* row) const noexcept {
  if (kernels_ == nullptr)
    detail::FloatValues{values.size()}.load(values.data(), row);
  else
    detail::NarrowValues{*kernels_, values.size()}.load(values.data(), row);
}

void RowFormat::add(std::span<float> sums, const std::byte* row) const noexcept {
  if (kernels_ == nullptr)
    detail::FloatValues{sums.size()}.add(sums.data(), row);
  else
    detail::NarrowValues{*kernels_, sums.size()}.add(sums.data(), row);
}

void RowFormat::store(std::byte* row, std::span<const float> values) const noexcept {
  if (kernels_ == nullptr)
    std::memcpy(row, values.data(), values.size_bytes());
  else
    kernels_->store_nearest(detail::narrow(row), values.data(), values.size());
}

}  // namespace tier
