// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/io/extent_map.hpp"

#include <tier/core/assert.hpp>

#include <algorithm>

namespace tier {

ExtentMap::ExtentMap(Bytes capacity, Bytes extent, Bytes idle_limit)
    : capacity_{capacity},
      extent_{extent},
      idle_limit_{idle_limit},
      extents_((capacity.count + extent.count - 1) / extent.count) {}

ExtentMap::Run ExtentMap::run_of(std::size_t begin, std::size_t end) const noexcept {
  const auto offset = begin * extent_.count;
  return {offset, std::min(end * extent_.count, capacity_.count) - offset};
}

/// Calls `f(extent, bytes)` for each extent that the range meets.
template <class F>
void ExtentMap::for_each_part(std::uint64_t offset, std::uint64_t size, F f) {
  for (const auto end = offset + size; offset < end;) {
    const auto index = index_of(offset);
    const auto part = std::min(end, (index + 1) * extent_.count) - offset;
    f(extents_[index], part);
    offset += part;
  }
}

void ExtentMap::claim(std::uint64_t offset, std::uint64_t size) noexcept {
  const MutexLock lock{mutex_};
  for_each_part(offset, size, [this](Extent& extent, std::uint64_t bytes) TIER_REQUIRES(mutex_) {
    if (extent.idle()) --idle_;
    extent.used += bytes;
  });
}

std::error_code ExtentMap::reserve(std::uint64_t offset, std::uint64_t size, Take take) noexcept {
  if (size == 0) return {};
  const auto end = index_of(offset + size - 1) + 1;
  const MutexLock lock{mutex_};
  for (auto i = index_of(offset); i < end;) {
    if (is_changing(i)) {
      changed_.wait(mutex_);
      continue;  // looks at it again
    }
    auto last = i;
    while (last < end && extents_[last].state == State::Bare) ++last;
    if (last > i)
      if (const auto error = take_space(i, last, take)) return error;
    i = std::max(last, i + 1);
  }
  return {};
}

bool ExtentMap::has_space(std::uint64_t offset, std::uint64_t size) const noexcept {
  if (size == 0) return true;
  const MutexLock lock{mutex_};
  for (auto i = index_of(offset); i <= index_of(offset + size - 1); ++i)
    if (extents_[i].state != State::Backed) return false;
  return true;
}

/// Meanwhile other threads find the extents being taken, and wait or skip them.
std::error_code ExtentMap::take_space(std::size_t begin, std::size_t end, Take take) noexcept {
  set_state(begin, end, State::Taking);
  const auto run = run_of(begin, end);
  mutex_.unlock();
  const auto error = take(run);
  mutex_.lock();
  set_state(begin, end, error ? State::Bare : State::Backed);
  for (auto i = begin; i < end; ++i) idle_ += extents_[i].idle();
  changed_.notify_all();
  return error;
}

Bytes ExtentMap::keep(Bytes total) noexcept {
  const MutexLock lock{mutex_};
  wanted_ = total;
  return backed_;
}

Bytes ExtentMap::back(Bytes total, Take take, std::error_code& cause) noexcept {
  const MutexLock lock{mutex_};
  wanted_ = total;
  std::size_t most = extents_.size();  // extents to take at once
  for (std::size_t i = 0; i < extents_.size() && backed_ < total;) {
    if (is_changing(i)) {
      changed_.wait(mutex_);
      continue;  // another thread may have taken enough
    }
    const auto lacking = ((total - backed_).count + extent_.count - 1) / extent_.count;
    auto end = i;
    while (end < extents_.size() && end - i < std::min(lacking, most) && extents_[end].state == State::Bare)
      ++end;
    const auto error = end > i ? take_space(i, end, take) : std::error_code{};
    if (error && most == 1) {
      cause = error;
      break;
    }
    if (error)
      most = 1;  // then one at a time, as far as space lasts
    else
      i = std::max(end, i + 1);
  }
  return backed_;
}

bool ExtentMap::release(std::uint64_t offset, std::uint64_t size) noexcept {
  const MutexLock lock{mutex_};
  for_each_part(offset, size, [this](Extent& extent, std::uint64_t bytes) TIER_REQUIRES(mutex_) {
    TIER_ASSERT(extent.used >= bytes, "only a range that was reserved can be released");
    extent.used -= bytes;
    idle_ += extent.idle();
  });
  return too_idle();
}

std::optional<ExtentMap::Run> ExtentMap::begin_return() noexcept {
  const std::size_t most =
      std::max<std::size_t>((16_MiB).count / extent_.count, 1);  // limits the wait of `reserve`
  const MutexLock lock{mutex_};
  if (!too_idle()) return std::nullopt;
  auto end = extents_.size();  // the heap fills a tier from its beginning
  while (!extents_[end - 1].idle()) --end;
  auto begin = end - 1;
  while (begin > 0 && end - begin < most && extents_[begin - 1].idle() && too_idle(end - begin + 1)) --begin;
  set_state(begin, end, State::Returning);
  idle_ -= end - begin;
  return run_of(begin, end);
}

void ExtentMap::end_return(Run run) noexcept {
  {
    const MutexLock lock{mutex_};
    set_state(index_of(run.offset), index_of(run.offset + run.size - 1) + 1, State::Bare);
  }
  changed_.notify_all();
}

void ExtentMap::set_state(std::size_t begin, std::size_t end, State state) noexcept {
  for (auto i = begin; i < end; ++i) {
    const Bytes size{run_of(i, i + 1).size};
    if (extents_[i].state == State::Backed) backed_ -= size;
    if (state == State::Backed) backed_ += size;
    extents_[i].state = state;
  }
}

}  // namespace tier
