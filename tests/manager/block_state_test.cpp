// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  The state word of a block by itself: users of the bytes and movers exclude each other.
#include <doctest/doctest.h>
#include <tier/core/config.hpp>
#include <tier/manager/block_state.hpp>

#include <atomic>
#include <cstdint>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"
#include "support/seed.hpp"
#include "support/steps.hpp"

namespace tier::block_state_test {
namespace {

/// The expected contents of the word.
struct Model {
  std::uint32_t pins = 0;
  bool moving = false, retired = false, failed = false, awaited = false;
  BlockState::Hints hints;
};

bool agree(BlockState::Value value, const Model& model) {
  const bool needs_manager = model.moving || model.retired || model.failed || model.hints.asks;
  return value.pins() == model.pins && value.is_pinned() == (model.pins > 0) &&
         value.is_moving() == model.moving && value.is_retired() == model.retired &&
         value.has_failed() == model.failed && value.is_awaited() == model.awaited &&
         value.is_outside() == model.hints.outside && value.is_passing() == model.hints.passing &&
         value.needs_manager() == needs_manager &&
         value.needs_more_than_a_pin() == (needs_manager || model.hints.watched) &&
         value.was_last_awaited() == (model.pins == 1 && (model.awaited || model.retired));
}

}  // namespace

TEST_CASE("a block begins settled, and anybody may use it") {
  const BlockState state;
  CHECK(agree(state.now(), {}));
  CHECK(state.now().word() == 0);
}

TEST_CASE("any series of transitions leaves the word that a plain model has, and tells what it was before") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  BlockState state;
  Model model;
  const auto flip = [&] { return random() % 2 == 0; };
  for (std::uint64_t i = 0; i < test::steps(100'000); ++i) {
    CAPTURE(i);
    switch (random() % 11) {
      case 0:
        REQUIRE(agree(flip() ? state.pin() : state.pin_anyway(), model));
        ++model.pins;
        break;
      case 1:
        if (model.pins == 0) break;
        REQUIRE(agree(state.unpin(), model));
        --model.pins;
        break;
      case 2: {
        const auto own = static_cast<std::uint32_t>(random() % 3);
        const bool may = model.pins <= own && !model.moving && !model.retired;
        REQUIRE(state.try_begin_move(own) == may);
        model.moving = model.moving || may;
        break;
      }
      case 3:
        if (!model.moving) break;
        state.end_move();
        model.moving = false;
        break;
      case 4:
        state.retire();
        model.retired = true;
        break;
      case 5:
        REQUIRE(state.revive() == model.retired);
        model.retired = false;
        break;
      case 6:
        if (!model.moving) break;
        state.fail();
        model.failed = true;
        break;
      case 7:
        state.recover();
        model.failed = false;
        break;
      case 8:
        REQUIRE(agree(state.await_last_pin(), model));
        model.awaited = true;
        break;
      case 9:
        state.stop_awaiting();
        model.awaited = false;
        break;
      default:
        model.hints = {flip(), flip(), flip(), flip()};
        state.set_hints(model.hints);
    }
    REQUIRE(agree(state.now(), model));
    REQUIRE(agree(state.glance(), model));
  }
}

TEST_CASE("nobody moves what is in use, and nobody uses what moves") {
  BlockState state;
  std::atomic<int> users{0};
  std::atomic<bool> moves{false}, over{false};
  std::atomic<std::uint64_t> wrong{0}, uses{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!over) {
        std::this_thread::yield();  // or else the word is pinned all the time
        if (state.pin().needs_manager()) {
          state.unpin();
          continue;
        }
        ++users;
        wrong += moves.load() ? 1 : 0;
        ++uses;
        --users;
        state.unpin();
      }
    });
  constexpr std::uint64_t wanted = 2000;
  std::uint64_t moved = 0;
  while (moved < wanted || uses < wanted) {  // a single mover, as under the manager's lock
    if (!state.try_begin_move()) continue;
    moves = true;
    wrong += users.load() != 0 ? 1 : 0;
    moves = false;
    state.end_move();
    ++moved;
    std::this_thread::yield();
  }
  over = true;
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(state.now().word() == 0);
}

TEST_CASE("the last pin to go is told once, whoever awaits it") {
  for (std::uint64_t round = 0; round < test::steps(300); ++round) {
    BlockState state;
    constexpr int count = 3;
    for (int i = 0; i < count; ++i) state.pin();
    std::atomic<int> told{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&] { told += state.unpin().was_last_awaited() ? 1 : 0; });
    const bool tells = state.await_last_pin().is_pinned();
    for (auto& thread : threads) thread.join();
    CHECK(told == (tells ? 1 : 0));
  }
}

TEST_CASE("checked builds abort on a transition that no state has") {
  if (!detail::checked) return;
  struct Case {
    const char* name;
    void (*broken)(BlockState&);
    const char* message;
  };
  const std::vector<Case> cases{
      {"unpin", [](BlockState& state) { state.unpin(); },
       "a block must not be unpinned more often than it was pinned"},
      {"end", [](BlockState& state) { state.end_move(); }, "only a move that has begun can end"},
      {"fail", [](BlockState& state) { state.fail(); }, "reading can fail only while the block moves"}};
  for (const auto& [name, broken, message] : cases) {
    CAPTURE(std::string{name});
    const auto ended = test::run_in_child(name, [&call = broken] {
      BlockState state;
      call(state);
    });
    CHECK(ended.signal != 0);
    CHECK(ended.errors.find(message) != std::string::npos);
  }
}

}  // namespace tier::block_state_test
