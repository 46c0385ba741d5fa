// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure_rows.hpp"

#include <tier/runtime/row_policies.hpp>
#include <tier/table/row_table.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace tier::tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t dim = 32, batch = 8192;
constexpr std::uint64_t row_bytes = dim * sizeof(float);
constexpr int runs = 48;
constexpr double ns = 1e9;

struct Add {
  void operator()(std::span<float> row, std::span<float>, std::span<const float> gradient) const noexcept {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += gradient[i];
  }
};

/// A table whose rows are asked for at random.
class Rows {
 public:
  /// \param slots  as many as there are rows: it is whole
  Rows(const std::shared_ptr<TableContext>& context, std::uint64_t rows, std::uint64_t slots, TierIndex slow)
      : table_{context, options(rows, slots, slow)}, out_(batch * dim) {
    for (std::uint64_t asked = 0; asked < 4 * slots; asked += batch) {  // until all slots are full
      draw();
      gather();
    }
  }

  /// Of some batches.
  struct Taken {
    std::vector<double> prefetch, gather, update;  ///< ns of each
    double moved = 0, written = 0;                 ///< rows of one, on average
  };
  Taken take(bool prefetches, bool updates) {
    Taken taken;
    table_.reset_statistics();
    for (int run = 0; run < runs; ++run) one(prefetches, updates, taken);
    const auto counts = table_.statistics();
    taken.moved = static_cast<double>(counts.missed_rows + counts.prefetched_rows) / runs;
    taken.written = static_cast<double>(counts.written_rows) / runs;
    return taken;
  }
  void update_most() {
    Taken unused;
    for (std::uint64_t asked = 0; asked < 2 * table_.slots(); asked += batch) one(false, true, unused);
  }

 private:
  static TableOptions options(std::uint64_t rows, std::uint64_t slots, TierIndex slow) {
    TableOptions options;
    options.rows = rows;
    options.dim = dim;
    options.slots = slots;
    if (slots < rows) options.slow = slow;
    options.policy = make_row_policy("hint_aware");
    options.name = "probe";
    return options;
  }
  void one(bool prefetches, bool updates, Taken& taken) {
    draw();
    if (prefetches) taken.prefetch.push_back(time([&] { fetch(); }));
    taken.gather.push_back(time([&] { gather(); }));
    if (updates) taken.update.push_back(time([&] { update(); }));
  }
  static double time(auto&& work) {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - start).count() * ns;
  }
  void draw() {
    ids_.resize(batch);
    for (auto& id : ids_) id = static_cast<RowId>(random_() % table_.rows());
  }
  void fetch() {
    table_.prefetch(ids_);
    table_.settle();
  }
  void gather() { table_.gather(ids_, out_); }
  void update() { table_.update(ids_, out_, Add{}); }

  RowTable<float> table_;
  std::vector<RowId> ids_;
  std::vector<float> out_;
  std::mt19937_64 random_{1};
};

/// Of calls that nothing else keeps from a core.
double median(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

/// Of calls whose threads have a core at one time and none at another.
double mean(const std::vector<double>& times) {
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

Rows::Taken take_beside(Computation& kernels, Rows& rows, bool updates) {
  Rows::Taken taken;
  kernels.beside([&] {
    taken = rows.take(true, updates);
    return 0.0;
  });
  return taken;
}

std::chrono::nanoseconds whole_ns(double time) {
  return std::chrono::nanoseconds{std::llround(std::max(0.0, time))};
}

}  // namespace

void measure_rows(const std::shared_ptr<Manager>& manager, Computation& kernels, replay::Machine& machine) {
  const auto context = std::make_shared<TableContext>(manager);
  constexpr std::uint64_t most = 1 << 30;  // bytes: policy, map and slots of a large table are in no cache
  const auto rows_in = [&](TierIndex tier) {
    return std::max<std::uint64_t>(2 * batch,
                                   std::min(most, manager->tier(tier).capacity().count / 2) / row_bytes);
  };
  const auto rows = rows_in(Manager::fastest());
  const auto whole = Rows{context, rows, rows, 0}.take(false, true);
  double none_moved = 0;  // ns of a prefetch whose rows are all there
  for (TierIndex tier = 1; tier < manager->tier_count(); ++tier) {
    auto& device = machine.devices[tier];
    const auto all = std::min(rows, rows_in(tier));
    if (tier == 1) {
      Rows cached{context, all, all - 1, tier};
      const auto alone = cached.take(false, true), announced = cached.take(true, false);
      machine.row_lookup = whole_ns((median(alone.gather) - median(whole.gather)) / batch);
      machine.row_update = whole_ns((median(alone.update) - median(whole.update)) / batch);
      machine.row_announce =
          whole_ns((median(announced.prefetch) + median(announced.gather) - median(alone.gather)) / batch);
      none_moved = mean(take_beside(kernels, cached, false).prefetch);
    }
    // As most rows move: fetched ahead, while kernels compute.
    Rows some{context, all, all / 8, tier};
    const auto clean = take_beside(kernels, some, false);
    some.update_most();
    const auto dirty = take_beside(kernels, some, true);
    const auto moved =
        device.addressable ? row_bytes : std::max(row_bytes, manager->tier(tier).model().granularity.count);
    const auto bytes_ns = [&](double rate) {  // as a replay counts them
      return std::max(static_cast<double>(moved) / rate * ns,
                      static_cast<double>(device.latency.count()) / device.parallelism);
    };
    const auto read = (mean(clean.prefetch) - none_moved) / clean.moved;
    device.row_read = whole_ns(read - bytes_ns(device.mover_read));
    if (dirty.written > 0)
      device.row_write = whole_ns((mean(dirty.prefetch) - none_moved - read * dirty.moved) / dirty.written -
                                  bytes_ns(device.mover_write));
  }
}

}  // namespace tier::tool
