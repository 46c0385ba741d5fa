// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/mutex.hpp>
#include <tier/scope/conflicts.hpp>

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <vector>

#include "scope/names.hpp"
#include "scope/seals.hpp"

namespace tier::detail {
namespace {

/// The scopes of one chain on one object.
struct Access {
  std::uint64_t chain = 0;
  unsigned readers = 0, writers = 0;
};

[[noreturn]] void report(const Operand& operand, const Access& theirs, Chain ours) {
  std::fprintf(stderr,
               "libtier: conflicting access to %s: chain %llx %s it while chain %llx %s it. Order the "
               "scopes, or join the chains by a ChainGuard.\n",
               name_of(operand).c_str(), static_cast<unsigned long long>(ours.id()),
               operand.use == Use::Read ? "reads" : "writes", static_cast<unsigned long long>(theirs.chain),
               theirs.writers > 0 ? "writes" : "reads");
  std::abort();
}

/// Records which chains have which objects open.
class Accesses {
 public:
  static Accesses& instance() {
    static auto* const accesses = new Accesses;  // scopes may end after static destructors
    return *accesses;
  }
  /// Holds the lock over a fork, so that the child does not find it held by a thread that it lacks.
  Accesses() { pthread_atfork(&lock, &unlock, &unlock); }

  void note(Chain chain, const Operand& operand) {
    MutexLock lock{mutex_};
    auto& list = by_object_[key(operand)];
    for (const auto& theirs : list)
      if (theirs.chain != chain.id() && (theirs.writers > 0 || operand.use != Use::Read))
        report(operand, theirs, chain);
    auto ours = find(list, chain);
    if (list.empty()) unseal(operand);
    if (ours == list.end()) ours = list.insert(ours, Access{.chain = chain.id()});
    ++(operand.use == Use::Read ? ours->readers : ours->writers);
  }
  void forget(Chain chain, const Operand& operand) {
    MutexLock lock{mutex_};
    const auto object = by_object_.find(key(operand));
    if (object == by_object_.end()) return;  // there was no memory to note it
    auto& list = object->second;
    if (const auto ours = find(list, chain); ours != list.end()) {
      auto& count = operand.use == Use::Read ? ours->readers : ours->writers;
      if (count > 0) --count;
      if (ours->readers + ours->writers == 0) list.erase(ours);
    }
    if (!list.empty()) return;
    by_object_.erase(object);
    seal(operand);
  }

 private:
  static void lock() TIER_NO_THREAD_SAFETY_ANALYSIS { instance().mutex_.lock(); }
  static void unlock() TIER_NO_THREAD_SAFETY_ANALYSIS { instance().mutex_.unlock(); }

  using Key = std::pair<const Manager*, ObjectId>;
  /// Identifies a window entered as a whole by its address, because advice that was not followed has no manager. Addresses
  /// never equal ids without a manager, which begin at 2^63.
  static Key key(const Operand& operand) noexcept {
    if (operand.whole) return {nullptr, reinterpret_cast<std::uintptr_t>(operand.address)};
    return {operand.block != nullptr ? operand.block->manager : nullptr, operand.object};
  }
  static std::vector<Access>::iterator find(std::vector<Access>& list, Chain chain) {
    return std::find_if(list.begin(), list.end(), [chain](const Access& a) { return a.chain == chain.id(); });
  }

  Mutex mutex_;
  std::map<Key, std::vector<Access>> by_object_ TIER_GUARDED_BY(mutex_);
};

}  // namespace

// A check must not fail a program: if there is no memory to note an access, it is not checked.
void note_accesses(Chain chain, std::span<const Operand> batch) noexcept try {
  for (const auto& operand : batch)
    if (!operand.advice || operand.whole) Accesses::instance().note(chain, operand);
} catch (const std::bad_alloc&) {
}

void forget_accesses(Chain chain, std::span<const Operand> batch) noexcept try {
  for (const auto& operand : batch)
    if (!operand.advice || operand.whole) Accesses::instance().forget(chain, operand);
} catch (const std::bad_alloc&) {
}

void spoil(const Operand& operand) noexcept {
  if (operand.block != nullptr && !has_bytes(*operand.block->manager)) return;
  if (operand.size != 0)
    std::memset(operand.address, 0xFF, operand.size);  // a NaN in every floating-point type
}

}  // namespace tier::detail
