// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure_rows.hpp"

#include <tier/runtime/row_policies.hpp>
#include <tier/table/row_table.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace tier::tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t dim = 32, batch = 8192;
constexpr std::uint64_t row_bytes = dim * sizeof(float);
constexpr int runs = 7;
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

  /// ns, the medians of some batches, and rows of one.
  struct Taken {
    double prefetch = 0, gather = 0, update = 0;
    double moved = 0, written = 0;
  };
  Taken take(bool prefetches, bool updates) {
    std::vector<double> ahead, gathers, changes;
    const auto one = [&] {
      draw();
      ahead.push_back(time([&] {
        if (prefetches) table_.prefetch(ids_);
        table_.settle();
      }));
      gathers.push_back(time([&] { gather(); }));
      changes.push_back(time([&] {
        if (updates) update();
      }));
    };
    if (updates)
      for (std::uint64_t asked = 0; asked < 2 * table_.slots(); asked += batch)
        one();  // until most rows are dirty
    table_.reset_statistics();
    for (auto* times : {&ahead, &gathers, &changes}) times->clear();
    for (int run = 0; run < runs; ++run) one();
    const auto counts = table_.statistics();
    return {median(ahead), median(gathers), median(changes),
            static_cast<double>(counts.missed_rows + counts.prefetched_rows) / runs,
            static_cast<double>(counts.written_rows) / runs};
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
  static double time(auto&& work) {
    const auto start = Clock::now();
    work();
    return std::chrono::duration<double>(Clock::now() - start).count() * ns;
  }
  static double median(std::vector<double>& times) {
    std::ranges::nth_element(times, times.begin() + runs / 2);
    return times[runs / 2];
  }
  void draw() {
    ids_.resize(batch);
    for (auto& id : ids_) id = static_cast<RowId>(random_() % table_.rows());
  }
  void gather() { table_.gather(ids_, out_); }
  void update() { table_.update(ids_, out_, Add{}); }

  RowTable<float> table_;
  std::vector<RowId> ids_;
  std::vector<float> out_;
  std::mt19937_64 random_{1};
};

std::chrono::nanoseconds whole_ns(double time) {
  return std::chrono::nanoseconds{std::llround(std::max(0.0, time))};
}

}  // namespace

void measure_rows(const std::shared_ptr<Manager>& manager, replay::Machine& machine) {
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
      none_moved = announced.prefetch;
      machine.row_lookup = whole_ns((alone.gather - whole.gather) / batch);
      machine.row_update = whole_ns((alone.update - whole.update) / batch);
      machine.row_announce = whole_ns((none_moved + announced.gather - alone.gather) / batch);
    }
    // As most rows move: fetched ahead, while nobody waits.
    Rows some{context, all, all / 8, tier};
    const auto clean = some.take(true, false), dirty = some.take(true, true);
    const auto moved =
        device.addressable ? row_bytes : std::max(row_bytes, manager->tier(tier).model().granularity.count);
    const auto bytes_ns = [&](double rate) {  // as a replay counts them
      return std::max(static_cast<double>(moved) / rate * ns,
                      static_cast<double>(device.latency.count()) / device.parallelism);
    };
    const auto read = (clean.prefetch - none_moved) / clean.moved;
    device.row_read = whole_ns(read - bytes_ns(device.mover_read));
    if (dirty.written > 0)
      device.row_write = whole_ns((dirty.prefetch - none_moved - read * dirty.moved) / dirty.written -
                                  bytes_ns(device.mover_write));
  }
}

}  // namespace tier::tool
