// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Threads that live from one sample to the next, as those of a program do.
#include <tier/core/function_ref.hpp>

#include <barrier>
#include <cstddef>
#include <optional>
#include <thread>
#include <vector>

namespace tier::bench {

/// \threadsafety  Externally synchronised.
class Team {
 public:
  explicit Team(std::size_t size) : step_{static_cast<std::ptrdiff_t>(size)} {
    for (std::size_t i = 1; i < size; ++i) threads_.emplace_back([this, i] { serve(i); });
  }
  ~Team() {
    work_.reset();
    step_.arrive_and_wait();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] std::size_t size() const noexcept { return threads_.size() + 1; }
  /// Calls `work(i)` on each thread, with 0 on the caller's, and returns when all have ended.
  void run(FunctionRef<void(std::size_t)> work) {
    work_ = work;
    step_.arrive_and_wait();
    work(0);
    step_.arrive_and_wait();
  }

 private:
  void serve(std::size_t i) {
    while (true) {
      step_.arrive_and_wait();
      if (!work_) return;
      (*work_)(i);
      step_.arrive_and_wait();
    }
  }

  std::barrier<> step_;
  std::optional<FunctionRef<void(std::size_t)>> work_;
  std::vector<std::jthread> threads_;
};

}  // namespace tier::bench
