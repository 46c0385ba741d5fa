// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Random programs against a plain-memory model: whatever moves, the bytes written last are read next.
#include "random_policy.hpp"
#include "support/memory_tier.hpp"
#include "support/seed.hpp"

#include <tier/core/error.hpp>
#include <tier/manager/manager.hpp>

#include <doctest/doctest.h>
#include <first_touch/first_touch.hpp>
#include <hint_aware/hint_aware.hpp>
#include <lru/lru.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace tier;
using tier::test::MemoryTier;

namespace {

std::uint64_t steps(std::uint64_t usual) {
  if (const char* text = std::getenv("TIER_STEPS")) return std::strtoull(text, nullptr, 0);
  return usual;
}

/// One object with what it should hold.
struct Modelled {
  ObjectHandle handle;
  std::vector<std::byte> bytes;
  bool defined = false;  // written since it was made or retired
};

struct OpenScope {
  std::vector<Operand> batch;
  std::vector<Modelled*> objects;
};

class Program {
 public:
  Program(std::shared_ptr<Manager> manager, std::uint64_t seed)
      : manager_{std::move(manager)}, random_{seed} {}

  void step() {
    switch (below(16)) {
      case 0:
        create();
        break;
      case 1:
        destroy();
        break;
      case 2:
        retire();
        break;
      case 3:
        hint();
        break;
      case 4:
        std::ignore = objects_.empty() ? Outcome::Gone : manager_->prefetch(any().handle.ref());
        break;
      case 5:
        if (below(50) == 0) manager_->end_of_step();
        break;
      case 6:
        if (below(200) == 0) manager_->compact();
        break;
      case 7:
        nest();
        break;
      default:
        scope();
        break;
    }
  }

  /// Everything is as it should be, wherever it is.
  void check_all() {
    for (auto& object : objects_)
      if (object->defined) use(*object, Use::Read);
  }
  std::uint64_t lacked() const { return lacked_; }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  Modelled& any() { return *objects_[below(objects_.size())]; }

  void create() {
    if (objects_.size() >= 40) return destroy();
    const std::size_t size = below(4) == 0 ? 1 + below(3000) : 1 + below(24'000);
    auto object = std::make_unique<Modelled>();
    try {
      object->handle = manager_->create(Bytes{size}, std::size_t{64} << below(8), "object");
    } catch (const OutOfTierMemory&) {
      ++lacked_;
      return;
    }
    object->bytes.resize(size);
    objects_.push_back(std::move(object));
  }
  void destroy() {
    if (objects_.empty()) return;
    std::swap(objects_[below(objects_.size())], objects_.back());
    objects_.pop_back();
  }
  void retire() {
    if (objects_.empty()) return;
    Modelled& object = any();
    manager_->retire(object.handle.ref());
    object.defined = false;
  }
  void hint() {
    if (objects_.empty()) return;
    manager_->hint(static_cast<Hint>(below(4)), any().handle.ref(), 0);
  }
  void scope() {
    if (objects_.empty()) return;
    Modelled& object = any();
    use(object, pick_use(object));
  }
  Use pick_use(const Modelled& object) {
    return object.defined ? static_cast<Use>(below(3)) : Use::Overwrite;
  }
  void use(Modelled& object, Use how) {
    Operand op = Operand::of(object.handle.ref(), how);
    if (!enter({&op, 1}, true)) return;
    touch(op, object, how);
    Manager::leave({&op, 1});
  }
  bool enter(std::span<Operand> batch, bool root) {
    try {
      manager_->enter(batch, {1, root, {}});
      return true;
    } catch (const OutOfTierMemory&) {
      ++lacked_;
      for (const auto& op : batch) REQUIRE_FALSE(op.entered);
      return false;
    }
  }
  /// Several objects at once, and a second scope inside the first.
  void nest() {
    if (objects_.size() < 4) return;
    std::vector<Modelled*> chosen;
    for (auto& object : objects_) chosen.push_back(object.get());
    std::shuffle(chosen.begin(), chosen.end(), random_);
    const auto outer = 1 + below(3);
    std::vector<Operand> first;
    std::vector<Use> uses;
    for (std::size_t i = 0; i < outer; ++i) {
      uses.push_back(pick_use(*chosen[i]));
      first.push_back(Operand::of(chosen[i]->handle.ref(), uses.back()));
    }
    if (!enter(first, true)) return;
    for (std::size_t i = 0; i < outer; ++i) touch(first[i], *chosen[i], uses[i]);
    Operand inner = Operand::of(chosen[outer]->handle.ref(), pick_use(*chosen[outer]));
    const Use how = chosen[outer]->defined ? inner.use : Use::Overwrite;
    if (enter({&inner, 1}, false)) {
      touch(inner, *chosen[outer], how);
      Manager::leave({&inner, 1});
    }
    for (std::size_t i = 0; i < outer; ++i)
      if (chosen[i]->defined) compare(first[i], *chosen[i]);
    if (below(4) == 0) {  // retired while pinned: the bytes stay until the end of the scope
      manager_->retire(chosen[0]->handle.ref());
      chosen[0]->defined = false;
    }
    Manager::leave(first);
  }
  void compare(const Operand& op, const Modelled& object) {
    REQUIRE(op.address != nullptr);
    REQUIRE(std::memcmp(op.address, object.bytes.data(), object.bytes.size()) == 0);
  }
  void touch(const Operand& op, Modelled& object, Use how) {
    if (object.defined && how != Use::Overwrite) compare(op, object);
    if (how == Use::Read) return;
    auto& bytes = object.bytes;
    const std::size_t from = how == Use::Update ? below(bytes.size()) : 0;
    const std::size_t n =
        how == Use::Update ? 1 + below(std::min<std::size_t>(bytes.size() - from, 64)) : bytes.size();
    std::uint64_t word = random_();
    for (std::size_t i = from; i < from + n; ++i)
      bytes[i] = static_cast<std::byte>((word += 0x9e3779b97f4a7c15) >> 56);
    std::memcpy(op.address + from, bytes.data() + from, n);
    object.defined = true;
  }

  std::shared_ptr<Manager> manager_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Modelled>> objects_;
  std::uint64_t lacked_ = 0;
};

std::vector<std::unique_ptr<Tier>> two_tiers(bool addressable) {
  std::vector<std::unique_ptr<Tier>> tiers;
  tiers.push_back(std::make_unique<MemoryTier>(
      test::MemoryTierOptions{"fast", 128_KiB, std::chrono::nanoseconds{100}, true}));
  tiers.push_back(std::make_unique<MemoryTier>(
      test::MemoryTierOptions{"slow", 768_KiB, std::chrono::nanoseconds{300}, addressable}));
  return tiers;
}

std::vector<std::unique_ptr<Tier>> three_tiers(bool addressable) {
  auto tiers = two_tiers(true);
  tiers.push_back(std::make_unique<MemoryTier>(
      test::MemoryTierOptions{"slowest", 512_KiB, std::chrono::nanoseconds{5000}, addressable}));
  return tiers;
}

std::unique_ptr<Policy> policy(int which, std::uint64_t seed) {
  const std::vector<std::pair<std::string, std::string>> mode_0{{"mode", "0"}}, mode_lm{{"mode", "LM"}};
  switch (which) {
    case 0:
      return make_first_touch({});
    case 1:
      return make_lru({});
    case 2:
      return make_hint_aware({});
    case 3:
      return make_hint_aware(mode_0);
    case 4:
      return make_hint_aware(mode_lm);
    default:
      return std::make_unique<test::RandomPolicy>(seed);
  }
}

}  // namespace

TEST_CASE("whatever moves, the bytes written last are the bytes read next") {
  const auto seed = test::seed();
  CAPTURE(seed);
  MESSAGE("seed " << seed);
  const auto total = steps(240'000);
  for (int which = 0; which < 6; ++which) {
    for (int shape = 0; shape < 4; ++shape) {
      CAPTURE(which);
      CAPTURE(shape);
      const bool addressable = shape % 2 == 0;
      auto manager = Manager::make(shape < 2 ? two_tiers(addressable) : three_tiers(addressable),
                                   policy(which, seed), {.threads = 1, .movers = 1});
      Program program{manager, seed + static_cast<std::uint64_t>(which * 4 + shape)};
      for (std::uint64_t i = 0; i < total / 24; ++i) {
        CAPTURE(i);
        program.step();
        manager->check_invariants();
      }
      program.check_all();
      manager->quiesce();
      manager->check_invariants();
    }
  }
}

TEST_CASE("whatever moves under several threads, each reads what it wrote last") {
  const auto seed = test::seed();
  CAPTURE(seed);
  MESSAGE("seed " << seed);
  const auto total = steps(100'000);
  for (int which = 0; which < 6; ++which) {
    for (const bool addressable : {true, false}) {
      CAPTURE(which);
      CAPTURE(addressable);
      auto manager =
          Manager::make(three_tiers(addressable), policy(which, seed), {.threads = 2, .movers = 2});
      std::vector<std::thread> threads;
      for (std::uint64_t t = 0; t < 3; ++t)
        threads.emplace_back([&, t] {
          Program program{manager, seed + t};
          for (std::uint64_t i = 0; i < total / 36; ++i) program.step();
          program.check_all();
        });
      for (auto& thread : threads) thread.join();
      manager->quiesce();
      manager->check_invariants();
    }
  }
}
