// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <algorithm>
#include <bit>
#include <new>
#include <utility>
#include <vector>

#include "pmr/cached_heap.hpp"
#include "pmr/metadata.hpp"
#include "pmr/thread_cache.hpp"

namespace tier::detail {
namespace {

constexpr unsigned first_limit = 8;  // cells of a class, until it is used more

}  // namespace

ThreadCache::ThreadCache(std::shared_ptr<CachedHeap> heap) noexcept
    : heap_{std::move(heap)}, seat_{heap_->add_thread(*this)} {
  std::uint32_t first = 0;
  for (unsigned c = 0; c < class_count; ++c) {
    magazines_[c] = {0, static_cast<std::uint16_t>(std::min(first_limit, magazine_capacity(SizeClass(c)))),
                     first};
    first += magazine_capacity(SizeClass(c));
  }
}

ThreadCache::~ThreadCache() { heap_->give_back(*this); }

bool ThreadCache::is_void() const noexcept { return heap_->id() != seat_.heap; }

std::span<void*> ThreadCache::room(SizeClass c) noexcept {
  const Magazine& m = magazines_[c];
  return {&cells_[m.first], std::size_t{m.limit} / 2};
}

void ThreadCache::filled(SizeClass c, std::size_t count) noexcept {
  magazines_[c].count = static_cast<std::uint16_t>(count);
  std::reverse(&cells_[magazines_[c].first], &cells_[magazines_[c].first + count]);
}

std::span<void* const> ThreadCache::oldest(SizeClass c) const noexcept {
  return cells(c).first((magazines_[c].count + 1U) / 2);
}

void ThreadCache::drop(SizeClass c, std::size_t count) noexcept {
  const auto all = cells(c);
  std::copy(all.begin() + static_cast<std::ptrdiff_t>(count), all.end(), &cells_[magazines_[c].first]);
  magazines_[c].count = static_cast<std::uint16_t>(all.size() - count);
}

bool ThreadCache::grow(SizeClass c) noexcept {
  const auto limit = std::min(magazines_[c].limit * 2U, magazine_capacity(c));
  return std::exchange(magazines_[c].limit, static_cast<std::uint16_t>(limit)) != limit;
}

/// Owns the caches of a thread. Its destructor runs with those of the thread's thread-locals, and gives all cells back.
class ThreadCaches::Owner {
 public:
  Owner() = default;
  ~Owner() {
    ThreadCaches::slots_ = &no_slot;
    mask_ = 0;
    ended_ = true;
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  /// \throws  `std::bad_alloc`; nothing has changed
  ThreadCache* add(const std::shared_ptr<CachedHeap>& heap) {
    std::erase_if(owned_,
                  [](const auto& cache) { return cache->is_void(); });  // void caches are not looked up again
    Slots slots(std::bit_ceil(2 * (owned_.size() + 1)));
    owned_.push_back(make_metadata<ThreadCache>(heap));
    for (const auto& cache : owned_) {
      auto i = cache->heap_id();
      while (slots[i & (slots.size() - 1)].heap != 0) ++i;
      slots[i & (slots.size() - 1)] = {cache->heap_id(), cache.get()};
    }
    slots_ = std::move(slots);
    ThreadCaches::slots_ = slots_.data();
    mask_ = slots_.size() - 1;
    return owned_.back().get();
  }

 private:
  using Slots = std::vector<Slot, MetadataAllocator<Slot>>;

  std::vector<MetadataPtr<ThreadCache>, MetadataAllocator<MetadataPtr<ThreadCache>>> owned_;
  Slots slots_;
};

constinit thread_local const ThreadCaches::Slot* ThreadCaches::slots_ = &no_slot;
constinit thread_local std::size_t ThreadCaches::mask_ = 0;
constinit thread_local bool ThreadCaches::ended_ = false;

ThreadCache* ThreadCaches::make(const std::shared_ptr<CachedHeap>& heap) noexcept {
  if (ended_) return nullptr;
  try {
    static thread_local Owner owner;
    return owner.add(heap);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace tier::detail
