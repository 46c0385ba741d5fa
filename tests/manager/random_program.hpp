// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A random program and its expected results: each object beside a plain copy of its bytes.
#include "random_policy.hpp"
#include "support/memory_tier.hpp"

#include <tier/core/error.hpp>
#include <tier/manager/manager.hpp>

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <first_touch/first_touch.hpp>
#include <hint_aware/hint_aware.hpp>
#include <lru/lru.hpp>
#include <memory>
#include <mutex>
#include <page_migration/page_migration.hpp>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tier::test {

/// The library has broken a promise.
struct Broken : std::logic_error {
  using std::logic_error::logic_error;
};

inline void require(bool holds, const char* what) {
  if (!holds) throw Broken{what};
}

/// An object with its expected bytes.
struct Modelled {
  ObjectHandle handle;
  std::vector<std::byte> bytes;
  std::size_t from = 0,
              to = 0;    // bytes written since it was made or retired
  bool retired = false;  // may only be overwritten
  unsigned open = 0;     // number of this thread's open scopes on it
};
using ModelledPtr = std::shared_ptr<Modelled>;

/// A scope that stays open for some time, and perhaps ends on another thread.
struct OpenScope {
  std::vector<Operand> batch;
  std::vector<ModelledPtr> objects;
};

/// \throws  `Broken` saying which bytes differ
inline void compare(const Operand& op, const Modelled& object) {
  const auto written = std::span{object.bytes}.subspan(object.from, object.to - object.from);
  if (written.empty()) return;
  require(op.address != nullptr, "an entered operand has an address");
  const auto* const now = op.address + object.from;
  if (std::memcmp(now, written.data(), written.size()) == 0) return;
  const auto at = std::mismatch(written.begin(), written.end(), now).first - written.begin();
  throw Broken{"object " + std::to_string(op.object) + " of " + std::to_string(object.bytes.size()) +
               " bytes differs from byte " + std::to_string(object.from + static_cast<std::size_t>(at)) +
               " on; bytes " + std::to_string(object.from) + " to " + std::to_string(object.to) +
               " have been written"};
}

/// Ends scopes that other threads have opened, and destroys their objects. It enters no scope, so waits for it are short.
/// \threadsafety  `take` can be called by any thread.
class Closer {
 public:
  Closer() : thread_{[this] { run(); }} {}
  ~Closer() {
    if (thread_.joinable()) thread_.join();
  }
  Closer(const Closer&) = delete;
  Closer& operator=(const Closer&) = delete;

  void take(OpenScope scope) {
    const std::lock_guard lock{mutex_};
    scopes_.push_back(std::move(scope));
    changed_.notify_one();
  }
  /// \throws  `Broken` if a scope showed wrong bytes
  void finish() {
    {
      const std::lock_guard lock{mutex_};
      done_ = true;
      changed_.notify_one();
    }
    thread_.join();
    require(wrong_ == 0, "a scope that ends on another thread shows its bytes until then");
  }

 private:
  void run() {
    for (;;) {
      std::unique_lock lock{mutex_};
      changed_.wait(lock, [&] { return done_ || !scopes_.empty(); });
      if (scopes_.empty()) return;
      OpenScope scope = std::move(scopes_.front());
      scopes_.pop_front();
      lock.unlock();
      close(scope);
    }
  }
  void close(OpenScope& scope) {
    for (std::size_t i = 0; i < scope.batch.size(); ++i) try {
        compare(scope.batch[i], *scope.objects[i]);
      } catch (const Broken&) {
        ++wrong_;
      }
    if (scopes_closed_++ % 2 == 0) scope.objects.clear();  // their bytes are freed at the last unpin
    Manager::leave(scope.batch);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<OpenScope> scopes_;
  bool done_ = false;
  std::uint64_t wrong_ = 0, scopes_closed_ = 0;
  std::thread thread_;  // last, because it uses the others
};

struct ProgramOptions {
  std::size_t objects = 40;
  std::size_t largest = 24'000;  ///< of most objects; a few are larger
  unsigned largest_shift = 8;    ///< alignments are 64 << 0 to 64 << (this - 1)
  bool io_may_fail = false;      ///< permits `TierError`; the last bytes written must survive
  Closer* closer = nullptr;      ///< takes over scopes and their objects from this thread
};

/// Takes random steps on a manager. \throws  `Broken`
/// \threadsafety  Used by one thread; several programs may share a manager.
class Program {
 public:
  Program(std::shared_ptr<Manager> manager, std::uint64_t seed, ProgramOptions options = {})
      : manager_{std::move(manager)}, random_{seed}, options_{options} {}
  ~Program() { close_all(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void step() {
    switch (below(32)) {
      case 0:
      case 1:
      case 2:
        return create();
      case 3:
      case 4:
        return destroy();
      case 5:
      case 6:
        return retire();
      case 7:
      case 8:
        return hint();
      case 9:
      case 10:
        return prefetch();
      case 11:
        if (below(50) == 0) manager_->end_of_step();
        return;
      case 12:
        if (below(200) == 0) manager_->compact();
        return;
      case 13:
        return kernel();
      case 14:
      case 15:
      case 16:
        return open(1 + below(3));
      case 17:
      case 18:
      case 19:
        return close(true);
      case 20:
      case 21:
      case 22:
        return batch(2 + below(9));
      default:
        return batch(1);
    }
  }

  /// Ends its scopes and reads all objects, wherever they are.
  void check_all() {
    while (!open_.empty()) close(true);
    for (auto& object : objects_) {
      if (object->retired) continue;
      Operand op = Operand::of(object->handle.ref(), Use::Read);
      if (!enter({&op, 1})) continue;
      compare(op, *object);
      Manager::leave({&op, 1});
    }
  }
  void no_more_failures() { options_.io_may_fail = false; }
  /// Returns how often there was no room.
  [[nodiscard]] std::uint64_t lacked() const { return lacked_; }
  /// Returns how often a scope met an I/O error.
  [[nodiscard]] std::uint64_t failed() const { return failed_; }

 private:
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  /// Prefers recent objects: half of the picks are among the last four.
  ModelledPtr& any() {
    const auto n = objects_.size();
    return objects_[below(2) == 0 ? below(n) : n - 1 - below(std::min<std::size_t>(n, 4))];
  }

  std::size_t size() {
    static constexpr std::array<std::size_t, 7> special{0, 1, 63, 64, 65, 4096, 4095};
    switch (below(8)) {
      case 0:
        return special[below(special.size())];
      case 1:
      case 2:
        return 1 + below(3000);
      default:
        return 1 + below(options_.largest);
    }
  }
  void create() {
    if (objects_.size() >= options_.objects) return destroy();
    const auto bytes = size();
    auto object = std::make_shared<Modelled>();
    const auto shift = below(8) == 0 ? below(options_.largest_shift) : below(4);
    try {
      object->handle = manager_->create(Bytes{bytes}, std::size_t{64} << shift, "object");
    } catch (const OutOfTierMemory&) {
      ++lacked_;
      return;
    }
    object->bytes.resize(bytes);
    objects_.push_back(std::move(object));
  }
  void destroy() {
    if (objects_.empty()) return;
    std::swap(objects_[below(objects_.size())], objects_.back());
    objects_.back()->handle.reset();  // open scopes keep using it
    objects_.pop_back();
  }
  void retire() {
    if (objects_.empty()) return;
    Modelled& object = *any();
    manager_->retire(object.handle.ref());
    object.from = object.to = 0;
    object.retired = true;
  }
  void hint() {
    if (objects_.empty()) return;
    const auto which = static_cast<Hint>(below(4));
    const auto object = any();
    if (below(2) == 0) return manager_->hint(which, object->handle.ref(), 0);
    manager_->hint_later(which, object->handle.ref(), 0);
    if (below(4) != 0) use(on({object}));
  }
  void prefetch() {
    if (!objects_.empty()) std::ignore = manager_->prefetch(any()->handle.ref());
  }

  OpenScope choose(std::size_t count) {
    std::vector<ModelledPtr> objects;
    for (std::size_t i = 0; i < count; ++i) objects.push_back(any());  // perhaps the same one twice
    return on(std::move(objects));
  }
  OpenScope on(std::vector<ModelledPtr> objects) try {
    OpenScope scope;
    for (const auto& object : objects)
      scope.batch.push_back(Operand::of(object->handle.ref(), pick_use(*object)));
    scope.objects = std::move(objects);
    return scope;
  } catch (const OutOfTierMemory&) {  // no new place for a retired small object
    ++lacked_;
    return {};
  }
  Use pick_use(const Modelled& object) {
    return object.retired || object.bytes.empty() ? Use::Overwrite : static_cast<Use>(below(3));
  }
  void batch(std::size_t count) {
    if (!objects_.empty()) use(choose(count));
  }
  void use(OpenScope scope) {
    if (!enter(scope.batch)) return;
    touch(scope);
    Manager::leave(scope.batch);
  }
  void kernel() {
    if (objects_.empty()) return;
    OpenScope scope = choose(1 + below(4));
    if (!enter(scope.batch)) return;
    const auto id = random_();
    manager_->kernel_begin({.scope = id, .kernel = "kernel"}, scope.batch);
    touch(scope);
    Manager::leave(scope.batch);
    manager_->kernel_end(id, below(100'000));
  }
  /// Leaves the scope open, so that scopes entered meanwhile are nested.
  void open(std::size_t count) {
    if (objects_.empty() || open_.size() >= 3) return close(true);
    OpenScope scope = choose(count);
    if (!enter(scope.batch)) return;
    touch(scope);
    for (auto& object : scope.objects) ++object->open;
    open_.push_back(std::move(scope));
  }
  void close(bool checked) {
    if (open_.empty()) return;
    std::swap(open_[below(open_.size())], open_.back());
    OpenScope scope = std::move(open_.back());
    open_.pop_back();
    for (auto& object : scope.objects) --object->open;
    if (!checked) return Manager::leave(scope.batch);
    write_again(scope);
    if (options_.closer != nullptr && below(4) == 0 && alone(scope)) return hand_over(std::move(scope));
    Manager::leave(scope.batch);
  }
  void close_all() noexcept {
    while (!open_.empty()) close(false);
  }
  /// Checks that bytes written through another scope are visible through this one, and writes again: a pin does not weaken.
  void write_again(OpenScope& scope) {
    for (std::size_t i = 0; i < scope.batch.size(); ++i) {
      Modelled& object = *scope.objects[i];
      compare(scope.batch[i], object);
      if (object.to > 0 && scope.batch[i].use != Use::Read) write(scope.batch[i], object, false);
    }
  }
  /// True if no other open scope of this program has one of its objects.
  static bool alone(const OpenScope& scope) {
    return std::ranges::none_of(scope.objects, [](const auto& object) { return object->open > 0; });
  }
  void hand_over(OpenScope scope) {
    std::erase_if(objects_, [&](const auto& mine) { return std::ranges::count(scope.objects, mine) > 0; });
    options_.closer->take(std::move(scope));
  }

  /// Enters as scopes do: by the way that takes no lock if that is open.
  bool enter(std::span<Operand> batch) {
    try {
      bool complete = true;
      for (auto& op : batch) {
        if (below(4) == 0) op.block->state.share();  // as if other threads read it, too
        op.entered = op.block->try_enter(op.use, manager_->clock().stamp(), op.slot);
        if (op.entered) op.address = op.block->address.load(std::memory_order_relaxed) + op.offset;
        complete = complete && op.entered;
      }
      if (!complete) manager_->enter(batch, {random_(), open_.empty(), {}});
    } catch (const OutOfTierMemory&) {
      ++lacked_;
      return nothing_entered(batch);
    } catch (const TierError&) {
      if (!options_.io_may_fail) throw;
      ++failed_;
      return nothing_entered(batch);
    }
    require(std::ranges::all_of(batch, &Operand::entered), "a scope enters all its operands");
    return true;
  }
  static bool nothing_entered(std::span<const Operand> batch) {
    require(std::ranges::none_of(batch, &Operand::entered), "a scope enters all its operands or none");
    return false;
  }
  void touch(OpenScope& scope) {
    for (std::size_t i = 0; i < scope.batch.size(); ++i) {
      Modelled& object = *scope.objects[i];
      const auto use = scope.batch[i].use;
      if (use != Use::Overwrite) compare(scope.batch[i], object);
      if (use != Use::Read) write(scope.batch[i], object, use == Use::Overwrite);
    }
  }
  /// \param anew  discards earlier bytes; then writes all bytes or some, as a program does that reserves more than it uses
  void write(const Operand& op, Modelled& object, bool anew) {
    const auto size = object.bytes.size();
    object.retired = false;
    if (size == 0) return;
    anew = anew || object.to == 0;
    const bool all = anew && below(2) == 0;
    const std::size_t from = all ? 0 : below(size);
    const std::size_t n = all ? size : 1 + below(std::min<std::size_t>(size - from, anew ? size : 64));
    std::uint64_t word = random_();
    for (std::size_t i = 0; i < n; i += sizeof word) {
      word = word * 0x9e3779b97f4a7c15 + 1;
      std::memcpy(object.bytes.data() + from + i, &word, std::min(sizeof word, n - i));
    }
    std::memcpy(op.address + from, object.bytes.data() + from, n);
    const bool meets = !anew && from <= object.to && object.from <= from + n;
    if (!anew && !meets) return;  // bytes in between are unknown, so this stretch is not compared
    object.from = anew ? from : std::min(object.from, from);
    object.to = anew ? from + n : std::max(object.to, from + n);
  }

  std::shared_ptr<Manager> manager_;
  std::mt19937_64 random_;
  ProgramOptions options_;
  std::vector<ModelledPtr> objects_;
  std::vector<OpenScope> open_;
  std::uint64_t lacked_ = 0, failed_ = 0;
};

inline constexpr std::uint64_t program_threads = 3;

/// Number of policies that programs run under.
inline constexpr int policy_count = 7;
inline std::unique_ptr<Policy> program_policy(int which, std::uint64_t seed) {
  const std::vector<std::pair<std::string, std::string>> mode_0{{"mode", "0"}}, mode_lm{{"mode", "LM"}},
      often{{"period_ms", "0.1"}};
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
    case 5:
      return make_page_migration(often);
    default:
      return std::make_unique<RandomPolicy>(seed);
  }
}

/// Tiers that programs run on, small compared with a program's objects.
struct ProgramTiers {
  const char* name;
  std::vector<MemoryTierOptions> tiers;
  ProgramOptions program{};
};
inline const std::vector<ProgramTiers>& program_tiers() {
  using std::chrono::nanoseconds;
  static const std::vector<ProgramTiers> all = [] {
    const MemoryTierOptions fast{"fast", 128_KiB, nanoseconds{100}, true};
    const MemoryTierOptions middle{"middle", 256_KiB, nanoseconds{300}, true};
    const MemoryTierOptions slow{"slow", 768_KiB, nanoseconds{3000}, true};
    const MemoryTierOptions device{"device", 768_KiB, nanoseconds{5000}, false};
    const MemoryTierOptions second_device{"second device", 512_KiB, nanoseconds{9000}, false};
    const MemoryTierOptions filling_device{.name = "filling device",
                                           .capacity = 768_KiB,
                                           .latency = nanoseconds{5000},
                                           .addressable = false,
                                           .reserves = true,
                                           .reserving = std::chrono::microseconds{100}};
    const ProgramOptions large{.objects = 16, .largest = 400'000, .largest_shift = 16};
    return std::vector<ProgramTiers>{
        {"two", {fast, slow}},
        {"two, a device", {fast, device}},
        {"three", {fast, middle, slow}},
        {"three, a device", {fast, middle, device}},
        {"three, two devices", {fast, device, second_device}},
        {"two, a device whose space comes slowly", {fast, filling_device}},
        {"three, larger, with alignments up to 2 MiB",
         {{"fast", 4_MiB, nanoseconds{100}, true},
          {"middle", 6_MiB, nanoseconds{300}, true},
          {"device", 16_MiB, nanoseconds{3000}, false}},
         large},
    };
  }();
  return all;
}

/// Runs three programs on one manager, each on its own thread; a fourth thread ends some of their scopes.
/// \param run  called with each program; takes its steps and lets it check its objects
/// \return     failures of the programs, empty texts if there are none   \throws  `Broken`
template <class Run>
std::vector<std::string> run_programs(const std::shared_ptr<Manager>& manager, ProgramOptions options,
                                      std::uint64_t seed, Run run) {
  std::vector<std::string> broken(program_threads);
  Closer closer;
  options.objects /= 2;
  options.closer = &closer;
  {
    std::vector<std::jthread> running;
    for (std::uint64_t t = 0; t < program_threads; ++t)
      running.emplace_back([&, t] {
        try {
          Program program{manager, seed + t, options};
          run(program);
        } catch (const std::exception& e) {
          broken[t] = e.what();
        }
      });
  }
  closer.finish();
  return broken;
}

inline std::vector<std::unique_ptr<Tier>> make_tiers(const ProgramTiers& shape) {
  std::vector<std::unique_ptr<Tier>> tiers;
  for (const auto& options : shape.tiers) tiers.push_back(std::make_unique<MemoryTier>(options));
  return tiers;
}

}  // namespace tier::test
