// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/seed.hpp"
#include "support/test_manager.hpp"

#include <doctest/doctest.h>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace tier::chain_test {
namespace {

using namespace literals;

/// Opens scopes on an object that the program owns, because chains need no runtime.
struct Opener {
  float value = 0;
  Tensor<float> object = Tensor<float>::wrap(&value, {1});

  Scope operator()() const { return ReadScope{object}; }
  /// A scope has no open parent if and only if its chain is new.
  bool next_is_root(Chain other) const { return !((*this)().chain() == other); }
};

}  // namespace

TEST_CASE("a scope and those opened under it are a chain; the next root is another") {
  const Opener open;
  std::optional<Scope> outer{open()};
  const auto chain = outer->chain();
  {
    const auto inner = open();
    CHECK(inner.chain() == chain);
    CHECK(open().chain() == chain);
  }
  outer.reset();
  CHECK(open.next_is_root(chain));
}

TEST_CASE("scopes may end in any order: the chain lives until its last one does") {
  const Opener open;
  std::optional<Scope> first{open()};
  const auto chain = first->chain();
  std::optional<Scope> second{open()};
  first.reset();
  CHECK(open().chain() == chain);
  second.reset();
  CHECK(open.next_is_root(chain));
}

TEST_CASE("another thread has a chain of its own, unless a guard carries one there") {
  const Opener open;
  const auto outer = open();
  std::thread{[&] {
    CHECK(open.next_is_root(outer.chain()));
    {
      ChainGuard guard{outer.chain()};
      CHECK(open().chain() == outer.chain());
    }
    CHECK(open.next_is_root(outer.chain()));
  }}.join();
}

TEST_CASE("a guard over open scopes gives their chain back at its end") {
  const Opener open;
  const auto outer = open();
  const Chain foreign{12345};
  {
    ChainGuard guard{foreign};
    CHECK(open().chain() == foreign);
  }
  CHECK(open().chain() == outer.chain());
}

TEST_CASE("a scope that outlives its guard keeps the guard's chain open") {
  const Opener open;
  const Chain foreign{12345};
  std::optional<Scope> kept;
  {
    ChainGuard guard{foreign};
    kept.emplace(open());
  }
  CHECK(open().chain() == foreign);
  kept.reset();
  CHECK(open.next_is_root(foreign));
}

TEST_CASE("a scope that ends on another thread leaves the opening thread without a parent") {
  const Opener open;
  std::optional<Scope> scope{open()};
  const auto chain = scope->chain();
  std::thread{[&] {
    scope.reset();
    CHECK(open.next_is_root(chain));
  }}.join();
  CHECK(open.next_is_root(chain));
}

TEST_CASE("a scope may outlive its thread, and the threads after it begin without a parent") {
  const Opener open;
  std::vector<Scope> left;
  std::set<std::uint64_t> chains;
  for (int i = 0; i < 20; ++i) {
    std::thread{[&] { left.push_back(open()); }}.join();
    CHECK(chains.insert(left.back().chain().id()).second);
    if (i % 3 == 2) left.erase(left.begin());  // the next thread can reuse the record
  }
}

TEST_CASE("nesting is counted right whichever thread opens and ends, in any order") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const Opener open;
  std::vector<Scope> mine;  // opened by this thread
  std::optional<Chain> chain;
  for (int step = 0; step < 300; ++step) {
    if (mine.empty() || random() % 2 == 0) {
      mine.push_back(open());
      if (mine.size() == 1 && chain) CHECK_FALSE(mine.front().chain() == *chain);
      if (mine.size() == 1) chain = mine.front().chain();
      CHECK(mine.back().chain() == *chain);
      continue;
    }
    std::swap(mine[random() % mine.size()], mine.back());
    if (random() % 4 == 0)
      std::thread{[&] { mine.pop_back(); }}.join();
    else
      mine.pop_back();
  }
}

TEST_CASE("two threads pass scopes to each other while both open their own") {
  const Opener open;
  for (int round = 0; round < 200; ++round) {
    std::vector<Scope> to_left, to_right;
    const auto fill = [&](std::vector<Scope>& scopes) {
      for (int i = 0; i < 4; ++i) scopes.push_back(open());
    };
    {
      std::thread left{[&] { fill(to_right); }}, right{[&] { fill(to_left); }};
      left.join();
      right.join();
    }
    {
      std::thread left{[&] { to_left.clear(); }}, right{[&] { to_right.clear(); }};
      left.join();
      right.join();
    }
  }
  std::set<std::uint64_t> chains;
  for (int i = 0; i < 10; ++i) std::thread{[&] { chains.insert(open().chain().id()); }}.join();
  CHECK(chains.size() == 10);  // each was a root: no thread inherited an open scope
}

}  // namespace tier::chain_test
