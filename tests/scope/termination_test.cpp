// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Open scopes wait for threads of their own chain, which need room, while other roots wait for theirs: all end.
#include "support/seed.hpp"
#include "support/steps.hpp"
#include "support/test_manager.hpp"

#include <doctest/doctest.h>
#include <tier/core/error.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace tier::termination_test {
namespace {

using namespace literals;
using FloatTensor = Tensor<float>;

constexpr Bytes fast = 1_MiB;
constexpr std::size_t families = 3, helpers = 2, shared_count = 10, own_count = 2;

/// Tensors that all chains read; each holds its index.
using Shared = std::vector<FloatTensor>;

/// Tensors that one thread alone writes, and the values that it wrote last.
struct Own {
  std::vector<FloatTensor> tensors;
  std::vector<float> values;
};

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_{seed} {}
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  Shape shape() { return {16 + below(48), 1024}; }  // 64 to 256 KiB, nearly
 private:
  std::mt19937_64 engine_;
};

Own make_own(const std::shared_ptr<Manager>& manager, Random& random) {
  Own own;
  for (std::size_t i = 0; i < own_count; ++i) own.tensors.emplace_back(manager, random.shape(), "own");
  own.values.assign(own_count, -1);
  return own;
}

/// One thread of a chain: it nests scopes that need room, and may wait for a thread of its own.
class Nester {
 public:
  Nester(const Shared& shared, std::span<Own> own, std::uint64_t seed)
      : shared_{shared}, own_{own.front()}, others_{own.subspan(1)}, random_{seed} {}

  /// Opens a root scope; before its end all threads that work for it have ended.
  void root() try {
    with_batch([&](const Scope& scope) {
      std::vector<std::future<int>> working;
      for (std::size_t i = 0; i < others_.size(); ++i)
        if (i == 0 || random_.below(2) == 0) working.push_back(helper(scope, others_.subspan(i, 1)));
      nest(random_.below(2));
      for (auto& helper : working) refused_ += helper.get();
    });
  } catch (const OutOfTierMemory&) {
    ++refused_roots_;
  }
  int refused() const { return refused_; }
  int refused_roots() const { return refused_roots_; }

 private:
  std::future<int> helper(const Scope& scope, std::span<Own> own) {
    return std::async(std::launch::async, [this, chain = scope.chain(), own, seed = random_.below(1 << 20)] {
      const ChainGuard guard{chain};
      Nester nester{shared_, own, seed};
      nester.nest(1 + nester.random_.below(3));
      return nester.refused_;
    });
  }
  void nest(std::uint64_t depth) {
    if (depth == 0) return;
    try {
      with_batch([&](const Scope&) { nest(depth - 1); });
    } catch (const OutOfTierMemory&) {
      ++refused_;
    }
  }
  /// Opens a scope on objects that fit fast memory together, checks the values that it reads, and writes.
  template <class F>
  void with_batch(const F& inside) {
    std::vector<const FloatTensor*> read;
    std::vector<FloatTensor*> written;
    Bytes sum;
    const auto fits = [&](const FloatTensor& t) { return (sum += t.size_bytes() + 4_KiB) <= fast; };
    const auto mine = random_.below(own_count);
    if (random_.below(2) == 0 && fits(own_.tensors[mine])) written.push_back(&own_.tensors[mine]);
    for (std::size_t i = 0, n = 1 + random_.below(5); i < n; ++i) {
      const auto& t = shared_[random_.below(shared_.size())];
      if (std::ranges::find(read, &t) == read.end() && fits(t)) read.push_back(&t);
    }
    const bool overwritten = random_.below(2) == 0;
    if (overwritten) {
      const KernelScope scope{"overwrites", reads(read), overwrites(written)};
      use(scope, read, written, mine, false);
      inside(scope);
    } else {
      const KernelScope scope{"updates", reads(read), updates(written)};
      use(scope, read, written, mine, true);
      inside(scope);
    }
  }
  void use(const Scope& scope, const auto& read, const auto& written, std::size_t mine, bool kept) {
    for (const auto* t : read) check(scope.in(*t), static_cast<float>(t - shared_.data()));
    for (auto* t : written) {
      const auto elements = scope.out(*t).elements();
      if (kept) check(scope.in(*t), own_.values[mine]);
      elements.front() = elements.back() = own_.values[mine] = static_cast<float>(random_.below(1000));
    }
  }
  static void check(const auto& view, float value) {
    if (view.elements().front() != value || view.elements().back() != value)
      throw std::runtime_error{"read " + std::to_string(view.elements().front()) + " and " +
                               std::to_string(view.elements().back()) + ", not " + std::to_string(value)};
  }

  const Shared& shared_;
  Own& own_;
  std::span<Own> others_;
  Random random_;
  int refused_ = 0, refused_roots_ = 0;
};

void fill(FloatTensor& tensor, float value) {
  const WriteScope out{overwrites(tensor)};
  std::ranges::fill(out[tensor].elements(), value);
}

/// Ends the process if a thread hangs, because a return would wait for the threads.
void expect_end(const std::future<int>& thread, std::uint64_t seed) {
  if (thread.wait_for(std::chrono::minutes{5}) == std::future_status::ready) return;
  std::fprintf(stderr, "scopes wait for each other for ever, seed %llu\n",
               static_cast<unsigned long long>(seed));
  std::abort();
}

int run_families(const std::shared_ptr<Manager>& manager, std::uint64_t seed, std::uint64_t roots) {
  Random random{seed};
  Shared shared;
  for (std::size_t i = 0; i < shared_count; ++i) {
    shared.emplace_back(manager, random.shape(), "shared " + std::to_string(i));
    fill(shared.back(), static_cast<float>(i));
  }
  std::vector<std::vector<Own>> own(families);
  for (auto& family : own)
    for (std::size_t i = 0; i < 1 + helpers; ++i) {
      family.push_back(make_own(manager, random));
      for (auto& tensor : family.back().tensors) fill(tensor, -1);
    }
  std::vector<std::future<int>> running;
  for (std::size_t f = 0; f < families; ++f)
    running.push_back(std::async(std::launch::async, [&, f] {
      Nester nester{shared, own[f], seed + f};
      for (std::uint64_t i = 0; i < roots; ++i) nester.root();
      CHECK(nester.refused_roots() == 0);
      return nester.refused();
    }));
  int refused = 0;
  for (auto& family : running) expect_end(family, seed);
  for (auto& family : running) CHECK_NOTHROW(refused += family.get());
  manager->quiesce();
  manager->check_invariants();
  return refused;
}

}  // namespace

TEST_CASE(
    "scopes that wait for threads of their chains always end, whatever room those and other roots need") {
  const auto seed = test::seed();
  CAPTURE(seed);
  const auto roots =
      std::min<std::uint64_t>(test::steps(600), 20'000) / families / 2;  // each has many scopes and threads
  for (const auto& slow : {tiers::file("/var/tmp", 16_MiB), tiers::emulated("cxl", 16_MiB)}) {
    const auto manager = test::make_manager({tiers::dram(fast), slow});
    const int refused = run_families(manager, seed, roots);
    MESSAGE("seed " << seed << ", " << roots * families << " roots, " << refused << " nested scopes refused");
    CHECK(manager->close().empty());
  }
}

}  // namespace tier::termination_test
