// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plain_table.hpp"

#include <algorithm>
#include <boost/sort/spreadsort/integer_sort.hpp>

#include "huge_buffer.hpp"

// One function, compiled for both kinds of CPU and chosen at run time.
#if defined(__x86_64__)
#define DLRM_WIDEST_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define DLRM_WIDEST_VECTORS
#endif

namespace dlrm {
namespace {

// Rows are asked for this far ahead of their use, as in libtier's tables.
constexpr std::size_t prefetch_distance = 12;
constexpr std::size_t cache_line_floats = 16;

// Inlined always: GCC takes a call of a function that only prefetches for one without effect, and drops it.
[[gnu::always_inline]] inline void prefetch_row(const float* row, std::size_t floats) {
  for (std::size_t i = 0; i < floats; i += cache_line_floats) __builtin_prefetch(row + i);
  __builtin_prefetch(row + floats - 1);
}

DLRM_WIDEST_VECTORS void add(float* out, const float* in, std::size_t count) {
#pragma omp simd
  for (std::size_t i = 0; i < count; ++i) out[i] += in[i];
}

RowId row_of(std::uint64_t occurrence) { return static_cast<RowId>(occurrence >> 32); }
std::size_t sample_of(std::uint64_t occurrence) { return occurrence & 0xffffffff; }

std::shared_ptr<float> huge_rows(std::size_t size_bytes) {
  auto buffer = std::make_shared<HugeBuffer>(size_bytes);
  return {buffer, buffer->data()};
}

}  // namespace

PlainTable::PlainTable(const TableShape& shape, std::shared_ptr<tbb::task_arena> arena)
    : PlainTable{shape, std::move(arena), huge_rows(shape.size_bytes())} {}

// On the same threads as libtier's tables, so that the two differ in nothing but where rows are.
PlainTable::PlainTable(const TableShape& shape, std::shared_ptr<tbb::task_arena> arena,
                       std::shared_ptr<float> rows)
    : shape_{shape}, arena_{std::move(arena)}, rows_{std::move(rows)} {
  in_parallel(shape_.rows, [this](std::size_t begin, std::size_t end) {
    for (auto id = begin; id < end; ++id) {
      initial_row(shape_, static_cast<RowId>(id), {row(static_cast<RowId>(id)), shape_.dim});
    }
  });
}

void PlainTable::gather(const Lookup& lookup, std::span<float> out) {
  in_parallel(lookup.samples(), [&](std::size_t begin, std::size_t last) {
    for (auto sample = begin; sample < last; ++sample) {
      const auto end =
          std::min<std::size_t>(lookup.starts[sample + 1] + prefetch_distance, lookup.ids.size());
      for (auto i = std::min<std::size_t>(lookup.starts[sample] + prefetch_distance, end); i < end; ++i) {
        prefetch_row(row(lookup.ids[i]), shape_.dim);
      }
      sum_bag(lookup.bag(sample), out.data() + sample * shape_.dim);
    }
  });
}

void PlainTable::sum_bag(std::span<const RowId> bag, float* out) const {
  std::fill_n(out, shape_.dim, 0.0F);
  for (const auto id : bag) add(out, row(id), shape_.dim);
}

void PlainTable::update(const Lookup& lookup, std::span<const float> gradients) {
  order_by_row(lookup);
  shape_.learning.with_row_optimizer([&](const auto& optimizer) { update_rows(gradients, optimizer); });
}

void PlainTable::order_by_row(const Lookup& lookup) {
  occurrences_.clear();
  starts_.clear();
  for (std::size_t sample = 0; sample < lookup.samples(); ++sample) {
    for (const auto id : lookup.bag(sample)) occurrences_.push_back(std::uint64_t{id} << 32 | sample);
  }
  boost::sort::spreadsort::integer_sort(occurrences_.begin(), occurrences_.end());
  for (std::size_t i = 0; i < occurrences_.size(); ++i) {
    if (i == 0 || row_of(occurrences_[i - 1]) != row_of(occurrences_[i]))
      starts_.push_back(static_cast<std::uint32_t>(i));
  }
  starts_.push_back(static_cast<std::uint32_t>(occurrences_.size()));
}

template <class Optimizer>
void PlainTable::update_rows(std::span<const float> gradients, const Optimizer& optimizer) {
  const auto dim = shape_.dim;
  const auto rows = starts_.size() - 1;
  in_parallel(rows, [&](std::size_t begin, std::size_t end) {
    std::vector<float> sum(dim);
    for (auto r = begin; r < end; ++r) {
      if (r + prefetch_distance < rows) {
        prefetch_row(row(row_of(occurrences_[starts_[r + prefetch_distance]])), shape_.row_floats());
      }
      std::fill(sum.begin(), sum.end(), 0.0F);
      for (auto i = starts_[r]; i < starts_[r + 1]; ++i) {
        add(sum.data(), gradients.data() + sample_of(occurrences_[i]) * dim, dim);
      }
      float* values = row(row_of(occurrences_[starts_[r]]));
      optimizer(std::span{values, dim}, std::span{values + dim, shape_.learning.row_states()},
                std::span<const float>{sum});
    }
  });
}

void PlainTable::read_all(tier::FunctionRef<void(std::span<const float>)> visit) {
  for (RowId id = 0; id < shape_.rows; ++id) visit({row(id), shape_.dim});
  if (shape_.learning.row_states() == 0) return;
  for (RowId id = 0; id < shape_.rows; ++id) visit({row(id) + shape_.dim, shape_.learning.row_states()});
}

}  // namespace dlrm
