// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "measure_rows.hpp"

#include <tier/runtime/row_policies.hpp>
#include <tier/table/row_table.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <random>
#include <utility>
#include <vector>

namespace tier::tool {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t dim = 32, batch = 8192;
constexpr std::uint64_t row_bytes = dim * sizeof(float);
constexpr int timed_runs = 192;
constexpr double ns = 1e9;

struct Add {
  void operator()(std::span<float> row, std::span<float>, std::span<const float> gradient) const noexcept {
    for (std::size_t i = 0; i < row.size(); ++i) row[i] += gradient[i];
  }
};

/// How rows are drawn: by Zipf's law with exponent 1, as items and users are, or uniformly.
enum class Skew { Zipf, None };

/// A table whose rows are gathered and updated at random.
class Rows {
 public:
  /// \param slots  if equal to `rows`, the table is whole
  Rows(const std::shared_ptr<TableContext>& context, std::uint64_t rows, std::uint64_t slots, TierIndex slow)
      : table_{context, options(rows, slots, slow)}, out_(batch * dim) {
    for (std::uint64_t asked = 0; asked < 4 * slots; asked += batch) {  // until all slots are full
      draw(Skew::None);
      gather();
    }
  }

  /// Times of several batches, in ns.
  struct Taken {
    std::vector<double> prefetch, gather, update;
    double distinct = 0;  ///< mean distinct rows of a batch; each is announced and updated once
  };
  Taken take(bool prefetches, bool updates) {
    Taken taken;
    for (int run = 0; run < timed_runs; ++run) {
      draw();
      taken.distinct += static_cast<double>(distinct()) / timed_runs;
      if (prefetches) taken.prefetch.push_back(time([&] { fetch(); }));
      taken.gather.push_back(time([&] { gather(); }));
      if (updates) taken.update.push_back(time([&] { update(); }));
    }
    return taken;
  }

  /// The mean extra cost of fetching a batch over fetching one whose rows are resident.
  struct Moved {
    double longer = 0;             ///< ns
    double read = 0, written = 0;  ///< rows
  };
  /// Fetches new batches in turn with earlier ones, whose rows are still resident.
  Moved move(bool updates) {
    std::deque<std::vector<RowId>> there;
    // Two uses of a batch are separated by one new and one old batch per turn.
    const auto ago =
        std::clamp<std::size_t>((std::max(table_.slots() / batch, std::uint64_t{3}) - 1) / 2, 1, 32);
    Moved moved;
    for (int run = -static_cast<int>(ago); run < timed_runs; ++run) {
      draw(Skew::None);
      there.push_back(ids_);
      add_fetch(run < 0 ? 0 : 1.0 / timed_runs, moved);
      gather();
      if (updates) update();
      if (run < 0) continue;
      ids_ = std::move(there.front());
      there.pop_front();
      add_fetch(-1.0 / timed_runs, moved);
      gather();
    }
    return moved;
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
  void draw(Skew skew = Skew::Zipf) {
    ids_.resize(batch);
    for (auto& id : ids_) {
      auto drawn = random_();
      if (skew == Skew::Zipf) {  // Its ranks are equally likely in each power of two.
        const auto rank = std::pow(static_cast<double>(table_.rows()), static_cast<double>(drawn) * 0x1p-64);
        drawn = static_cast<std::uint64_t>(rank) * 0x9E37'79B9'7F4A'7C15;  // spreads the likely rows apart
      }
      id = static_cast<RowId>(drawn % table_.rows());
    }
  }
  void fetch() {
    table_.prefetch(ids_);
    table_.settle();
  }
  void add_fetch(double weight, Moved& sum) {
    const auto before = table_.statistics();
    sum.longer += weight * time([&] { fetch(); });
    const auto after = table_.statistics();
    const auto add = [&](double& to, std::uint64_t from, std::uint64_t now) {
      to += weight * static_cast<double>(now - from);
    };
    add(sum.read, before.missed_rows + before.prefetched_rows, after.missed_rows + after.prefetched_rows);
    add(sum.written, before.written_rows, after.written_rows);
  }
  [[nodiscard]] std::size_t distinct() const {
    auto sorted = ids_;
    std::ranges::sort(sorted);
    return static_cast<std::size_t>(std::ranges::unique(sorted).begin() - sorted.begin());
  }
  void gather() { table_.gather(ids_, out_); }
  void update() { table_.update(ids_, out_, Add{}); }

  RowTable<float> table_;
  std::vector<RowId> ids_;
  std::vector<float> out_;
  std::mt19937_64 random_{1};
};

/// Returns the median, which ignores calls that another process delayed.
double median(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

/// Measures fetches while kernels compute: most rows are fetched ahead, in the background.
Rows::Moved move_beside(Computation& kernels, Rows& rows, bool updates) {
  Rows::Moved moved;
  kernels.beside([&] {
    moved = rows.move(updates);
    return 0.0;
  });
  return moved;
}

std::chrono::nanoseconds whole_ns(double time) {
  return std::chrono::nanoseconds{std::llround(std::max(0.0, time))};
}

}  // namespace

void measure_rows(const std::shared_ptr<Manager>& manager, Computation& kernels, replay::Machine& machine) {
  const auto context = std::make_shared<TableContext>(manager);
  constexpr std::uint64_t most = 1 << 30;  // bytes: policy, map and slots of a large table exceed all caches
  const auto rows_in = [&](TierIndex tier) {
    return std::max<std::uint64_t>(2 * batch,
                                   std::min(most, manager->tier(tier).capacity().count / 2) / row_bytes);
  };
  const auto rows = rows_in(Manager::fastest());
  const auto whole = Rows{context, rows, rows, 0}.take(false, true);
  for (TierIndex tier = 1; tier < manager->tier_count(); ++tier) {
    auto& device = machine.devices[tier];
    const auto all = std::min(rows, rows_in(tier));
    if (tier == 1) {
      Rows cached{context, all, all - 1, tier};
      const auto alone = cached.take(false, true), announced = cached.take(true, false);
      machine.row_lookup = whole_ns((median(alone.gather) - median(whole.gather)) / batch);
      machine.row_update = whole_ns((median(alone.update) - median(whole.update)) / alone.distinct);
      machine.row_announce =
          whole_ns((median(announced.prefetch) + median(announced.gather) - median(alone.gather)) /
                   announced.distinct);
    }
    Rows some{context, all, all / 4, tier};
    const auto clean = move_beside(kernels, some, false), dirty = move_beside(kernels, some, true);
    const auto moved =
        device.addressable ? row_bytes : std::max(row_bytes, manager->tier(tier).model().granularity.count);
    const auto bytes_ns = [&](double rate) {  // as a replay counts them
      return std::max(static_cast<double>(moved) / rate * ns,
                      static_cast<double>(device.latency.count()) / device.parallelism);
    };
    const auto read = clean.read > 0 ? clean.longer / clean.read : 0;
    device.row_read = whole_ns(read - bytes_ns(device.mover_read));
    if (dirty.written > 0)
      device.row_write =
          whole_ns((dirty.longer - read * dirty.read) / dirty.written - bytes_ns(device.mover_write));
  }
}

}  // namespace tier::tool
