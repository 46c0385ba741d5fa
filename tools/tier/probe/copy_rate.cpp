// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy_rate.hpp"

#include <tier/copy/copy_engine.hpp>
#include <tier/core/error.hpp>
#include <tier/core/mutex.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

namespace tier::tool {
namespace {

/// One copy that can be waited for, or that resubmits itself until told to stop.
class Piece final : public CopyTask {
 public:
  Piece() = default;
  void set(CopyEngine* again, const std::atomic<bool>* go_on) {
    again_ = again;
    go_on_ = go_on;
  }
  [[nodiscard]] std::error_code wait() {
    const MutexLock lock{mutex_};
    while (!ended_) changed_.wait(mutex_);
    ended_ = false;
    return error_;
  }

 protected:
  void finished(std::error_code error, bool) noexcept override {
    if (again_ != nullptr && !error && go_on_->load()) return again_->submit(*this, Priority::Prefetch);
    const MutexLock lock{mutex_};
    error_ = error;
    ended_ = true;
    changed_.notify_all();
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  std::error_code error_ TIER_GUARDED_BY(mutex_);
  bool ended_ TIER_GUARDED_BY(mutex_) = false;
  CopyEngine* again_ = nullptr;
  const std::atomic<bool>* go_on_ = nullptr;
};

std::vector<Piece> pieces_of(const Way& way) {
  std::vector<Piece> pieces(way.bytes / way.piece);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].from = {way.from, i * way.piece};
    pieces[i].to = {way.to, way.place + i * way.piece};
    pieces[i].size = way.piece;
  }
  return pieces;
}

TierError error_of(std::error_code error, const Way& way) {
  return {error, "copying from " + std::string{way.from->name()} + " to " + std::string{way.to->name()}};
}

void wait_for(std::vector<Piece>& pieces, const Way& way) {
  for (auto& piece : pieces)
    if (const auto error = piece.wait()) throw error_of(error, way);
}

}  // namespace

double copy_rate(const Way& way, By by) {
  constexpr int runs = 5;
  CopyEngine engine{{.yields = false}};
  double rate = 0;
  for (int run = 0; run < runs; ++run) {
    auto pieces = pieces_of(way);
    const auto start = std::chrono::steady_clock::now();
    std::vector<CopyTask*> tasks;
    for (auto& p : pieces) {
      if (by == By::Mover)
        engine.submit(p, Priority::Prefetch);
      else
        tasks.push_back(&p);
    }
    engine.run(tasks);
    wait_for(pieces, way);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    rate = std::max(rate, static_cast<double>(way.bytes) / taken.count());
  }
  return rate;
}

double seconds_of_one(const Way& way) {
  CopyEngine engine{{.yields = false}};
  std::vector<std::uint64_t> goes_over(4 << 20, 1);  // 32 MiB, since kernels touch much between copies
  auto pieces = pieces_of(way);
  std::vector<double> seconds;
  for (auto& piece : pieces) {
    for (auto& value : goes_over) value = value * 3 + 1;
    CopyTask* const one = &piece;
    const auto start = std::chrono::steady_clock::now();
    engine.run({&one, 1});
    if (const auto error = piece.wait()) throw error_of(error, way);
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2));
  return seconds[seconds.size() / 2];
}

double while_copying(const Way& way, const std::function<double()>& work) {
  auto pieces = pieces_of(way);
  CopyEngine engine{{.yields = false}};
  std::atomic<bool> go_on{true};
  for (auto& p : pieces) {
    p.set(&engine, &go_on);
    engine.submit(p, Priority::Prefetch);
  }
  const double result = work();
  go_on = false;
  wait_for(pieces, way);
  return result;
}

}  // namespace tier::tool
