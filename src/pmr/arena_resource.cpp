// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/pmr/arena_resource.hpp>

#include <algorithm>
#include <string>

#include "memory/windows/window_space.hpp"
#include "pmr/arena_memory.hpp"
#include "pmr/pool.hpp"
#include "pmr/window_memory.hpp"

namespace tier {

/// Keeps an arena's window, the memory that carves it, and a pool over that. A monotonic arena uses the window directly, up
/// to an offset.
/// \threadsafety  Internally synchronised by the pool's lock, which is held over a fork.
class detail::ArenaPool {
 public:
  ArenaPool(const RuntimeRef& runtime, Bytes maximum, const ArenaOptions& options)
      : ArenaPool{runtime, maximum, options, "ArenaResource \"" + std::string{options.name} + '"'} {}
  ~ArenaPool() {
    if (!monotonic_) pool_.report_allocations();
    release();
  }
  ArenaPool(const ArenaPool&) = delete;
  ArenaPool& operator=(const ArenaPool&) = delete;

  [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment) {
    if (!monotonic_) return pool_.allocate(size, alignment);
    void* const p = advance(size, alignment);
    if constexpr (checked) ledger_.add(p, size, alignment);
    return p;
  }
  void deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
    if (!monotonic_) return pool_.deallocate(p, size, alignment);
    if constexpr (checked) ledger_.remove(p, {size, alignment});
  }
  void release() noexcept;
  [[nodiscard]] Bytes maximum() const noexcept { return window_.maximum(); }
  std::size_t for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const {
    const MutexLock lock{mutex()};
    return window_.for_each_block(at_most, visit);
  }
  [[nodiscard]] std::shared_ptr<void> cover() const {
    return detail::cover(pool_.heap().shared_from_this(), covered_);
  }

 private:
  ArenaPool(const RuntimeRef& runtime, Bytes maximum, const ArenaOptions& options, const std::string& name)
      : monotonic_{options.monotonic},
        window_{runtime.manager(), options.name, maximum, *covered_},
        pool_{{}, memory_, EmptySlabs::Returned, name, HugeRequests::PassedOn},
        ledger_{name} {}

  [[nodiscard]] void* advance(std::size_t size, std::size_t alignment);
  [[nodiscard]] Mutex& mutex() const noexcept { return pool_.heap().mutex(); }

  bool monotonic_;
  std::shared_ptr<CoveredBlocks> covered_ =
      std::allocate_shared<CoveredBlocks>(MetadataAllocator<CoveredBlocks>{});
  ArenaWindow window_;
  ArenaMemory memory_{window_};
  Pool pool_;
  Ledger ledger_;                   // used if monotonic
  std::size_t end_ = 0, used_ = 0;  // end of the allocations, and of the part of the window in use
};

void* detail::ArenaPool::advance(std::size_t size, std::size_t alignment) {
  check_window_alignment(alignment);
  const MutexLock lock{mutex()};
  const auto maximum = window_.maximum().count;
  const auto begin = round_up(end_, alignment);
  if (begin > maximum || std::max<std::size_t>(size, 1) > maximum - begin)
    window_.throw_full(size, alignment, {end_});
  const auto end = begin + std::max<std::size_t>(size, 1);
  if (end > used_) {
    const auto whole = round_up(end, WindowSpace::unit);
    window_.use(used_, whole - used_);
    used_ = whole;
  }
  end_ = end;
  return window_.at(begin);
}

void detail::ArenaPool::release() noexcept {
  pool_.release();
  const MutexLock lock{mutex()};
  if constexpr (checked) ledger_.clear();
  end_ = used_ = 0;
  if (memory_.is_empty()) window_.clear();  // else another thread has just allocated
}

ArenaResource::ArenaResource(const RuntimeRef& runtime, Bytes maximum, const ArenaOptions& options)
    : pool_{detail::make_metadata<detail::ArenaPool>(runtime, maximum, options).release(),
            [](detail::ArenaPool* pool) { detail::MetadataDelete{}(pool); }} {}

ArenaResource::~ArenaResource() = default;

void ArenaResource::release() noexcept { pool_->release(); }

Bytes ArenaResource::maximum() const noexcept { return pool_->maximum(); }

std::size_t ArenaResource::block_count() const noexcept {
  return pool_->for_each_block(std::size_t(-1), [](const void*) {});
}

void ArenaResource::for_each_block(std::size_t at_most, FunctionRef<void(const void*)> visit) const {
  pool_->for_each_block(at_most, visit);
}

std::shared_ptr<void> ArenaResource::cover() const { return pool_->cover(); }

void* ArenaResource::do_allocate(std::size_t size, std::size_t alignment) {
  return pool_->allocate(size, alignment);
}

void ArenaResource::do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept {
  pool_->deallocate(p, size, alignment);
}

}  // namespace tier
