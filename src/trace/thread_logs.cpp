// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/thread_logs.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace tier::trace {
namespace {

std::atomic<std::uint64_t> log_pools{0};

}  // namespace

std::uint32_t ThreadLog::learn(KnownName& known, std::string_view name, NameTable& names) noexcept {
  try {
    known.number = 0;
    known.text.assign(name);
  } catch (const std::bad_alloc&) {
    known.text.clear();
  }
  const auto number = names.number_of(name);
  if (number == 0) known.text.clear();  // tried again the next time
  if (!known.text.empty()) known.number = number;
  return number;
}

ThreadLogPool::ThreadLogPool(ChunkPool& chunks) noexcept : id_{++log_pools}, chunks_{chunks} {}

ThreadLog* ThreadLogPool::take() noexcept try {
  const MutexLock lock{mutex_};
  for (const auto& log : logs_)
    if (!log->taken.exchange(true, std::memory_order_acq_rel)) {
      log->thread = ++threads_;
      return log.get();
    }
  logs_.push_back(std::make_unique<ThreadLog>(chunks_));
  logs_.back()->thread = ++threads_;
  return logs_.back().get();
} catch (const std::bad_alloc&) {
  return nullptr;
}

ThreadLog* ThreadLogPool::find(std::size_t index) const noexcept {
  const MutexLock lock{mutex_};
  return index < logs_.size() ? logs_[index].get() : nullptr;
}

constinit thread_local OwnLogs::Last OwnLogs::last{};
constinit thread_local bool OwnLogs::ended = false;

OwnLogs::~OwnLogs() {
  ended = true;
  last = {};
  for (auto& own : all_)
    if (const auto owner = own.owner.lock()) own.log->taken.store(false, std::memory_order_release);
}

ThreadLog* OwnLogs::of(ThreadLogPool& pool, std::weak_ptr<const void> owner) noexcept try {
  if (ended) return nullptr;
  thread_local OwnLogs own;
  auto& all = own.all_;
  auto found = std::ranges::find(all, pool.id(), &Own::id);
  if (found == all.end()) {
    last = {};
    std::erase_if(all, [](const Own& one) { return one.owner.expired(); });
    all.reserve(all.size() + 1);
    auto* const log = pool.take();
    if (log == nullptr) return nullptr;
    found = all.insert(all.end(), {std::move(owner), pool.id(), log});
  }
  last = {pool.id(), found->log};
  return found->log;
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace tier::trace
