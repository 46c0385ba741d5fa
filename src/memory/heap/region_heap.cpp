// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>
#include <tier/memory/region_heap.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "memory/heap/free_lists.hpp"
#include "memory/heap/region_slots.hpp"

namespace tier {
namespace {

using Slot = RegionHeap::Slot;

void require(bool condition, const char* invariant) {
  if (!condition) throw std::logic_error{std::string{"region heap: broken invariant "}.append(invariant)};
}

}  // namespace

struct RegionHeap::Impl {
  Impl(Bytes capacity, Bytes granule);

  Slot find(std::uint64_t size, std::size_t alignment) const noexcept;
  Slot probe(std::uint64_t size, std::size_t alignment) const noexcept;
  bool fits(Slot slot, std::uint64_t size, std::size_t alignment) const noexcept;
  Slot take(Slot slot, std::uint64_t size, std::size_t alignment, void* owner) noexcept;
  Slot give(Slot slot) noexcept;

  void cut_head(Slot slot, std::uint64_t size) noexcept;
  void cut_tail(Slot slot, std::uint64_t size) noexcept;
  void absorb_next(Slot slot) noexcept;
  void link_between(Slot previous, Slot slot, Slot next) noexcept;
  void list(Slot slot) noexcept;
  void unlist(Slot slot) noexcept;

  std::uint64_t padded(Bytes size) const noexcept {
    return std::max<std::uint64_t>(round_up(size.count, granule_.count), granule_.count);
  }
  std::uint64_t units(std::uint64_t size) const noexcept { return size >> granule_bits_; }
  SizeClass class_of(Slot slot) const noexcept { return SizeClass::of(units(slots_[slot].size())); }
  const RegionRecord& live(Slot slot) const noexcept {
    TIER_ASSERT(!slots_[slot].is_free() && !slots_[slot].is_condemned(), "the slot must be a live region");
    return slots_[slot];
  }
  RegionRecord& live(Slot slot) noexcept {
    return const_cast<RegionRecord&>(std::as_const(*this).live(slot));
  }

  void check_slots() const;
  void check_lists() const;

  Bytes capacity_;
  Bytes granule_;
  unsigned granule_bits_;
  RegionSlots slots_;
  FreeLists classes_;
  Slot first_ = none;
  std::uint64_t used_ = 0;
  std::uint64_t condemned_ = 0;
  std::size_t live_ = 0;
};

RegionHeap::Impl::Impl(Bytes capacity, Bytes granule)
    : capacity_{capacity.count & ~(granule.count - 1)},
      granule_{granule},
      granule_bits_{static_cast<unsigned>(std::countr_zero(granule.count))} {
  TIER_ASSERT(std::has_single_bit(granule.count) && granule.count >= 64,
              "a granule must be a power of two, 64 or more");
  TIER_ASSERT(capacity.count <= std::numeric_limits<std::uint64_t>::max() / 2, "a capacity must fit 63 bits");
  if (capacity_.count == 0) return;
  if (!slots_.ensure(1)) throw std::bad_alloc{};
  first_ = slots_.take();
  slots_[first_] = {0, capacity_.count, {none, none}, {}};
  list(first_);
}

/// Finds a free slot that fits. Sizes recur, so it looks at the class of exactly this size first, and then at the next
/// class whose slots all fit.
Slot RegionHeap::Impl::find(std::uint64_t size, std::size_t alignment) const noexcept {
  const auto head = classes_.head(SizeClass::of(units(size)));
  if (head != none && fits(head, size, alignment)) return head;
  const auto worst = size + std::max(alignment, granule_.count) - granule_.count;
  auto sure = SizeClass::of_at_least(units(worst));
  return classes_.seek(sure) ? classes_.head(sure) : probe(size, alignment);
}

/// Tries a few slots of classes that may fit if no class surely fits, so that this stays O(1).
Slot RegionHeap::Impl::probe(std::uint64_t size, std::size_t alignment) const noexcept {
  unsigned tries = 32;  // a guess: a few cache misses, on a path that otherwise ends in an eviction
  for (auto c = SizeClass::of(units(size)); classes_.seek(c); c = c.following())
    for (Slot slot = classes_.head(c); slot != none; slot = slots_[slot].listed.next) {
      if (fits(slot, size, alignment)) return slot;
      if (--tries == 0) return none;
    }
  return none;
}

bool RegionHeap::Impl::fits(Slot slot, std::uint64_t size, std::size_t alignment) const noexcept {
  const auto& record = slots_[slot];
  const auto begin = round_up(record.offset, alignment);
  return begin <= record.end() && record.end() - begin >= size;
}

/// Takes a free slot that fits, and cuts off what is not needed; the slot keeps its number.
Slot RegionHeap::Impl::take(Slot slot, std::uint64_t size, std::size_t alignment, void* owner) noexcept {
  if (!slots_.ensure(2)) return none;
  unlist(slot);
  auto& record = slots_[slot];
  if (const auto head = round_up(record.offset, alignment) - record.offset; head != 0) cut_head(slot, head);
  if (record.size() > size) cut_tail(slot, size);
  record.owner = owner;
  used_ += size;
  ++live_;
  return slot;
}

Slot RegionHeap::Impl::give(Slot slot) noexcept {
  auto& record = slots_[slot];
  const auto [previous, next] = record.neighbours;
  if (previous != none) __builtin_prefetch(&slots_[previous]);
  if (next != none) __builtin_prefetch(&slots_[next]);
  used_ -= record.size();
  --live_;
  if (next != none && slots_[next].is_free()) {
    unlist(next);
    absorb_next(slot);
  }
  if (previous != none && slots_[previous].is_free()) {
    unlist(previous);
    absorb_next(previous);
    slot = previous;
  }
  list(slot);
  return slot;
}

void RegionHeap::Impl::cut_head(Slot slot, std::uint64_t size) noexcept {
  auto& record = slots_[slot];
  const Slot head = slots_.take();
  slots_[head] = {record.offset, size, {none, none}, {}};
  link_between(record.neighbours.previous, head, slot);
  record.offset += size;
  record.tagged_size -= size;
  list(head);
}

void RegionHeap::Impl::cut_tail(Slot slot, std::uint64_t size) noexcept {
  auto& record = slots_[slot];
  const Slot tail = slots_.take();
  slots_[tail] = {record.offset + size, record.size() - size, {none, none}, {}};
  record.tagged_size = size;
  link_between(slot, tail, record.neighbours.next);
  list(tail);
}

void RegionHeap::Impl::absorb_next(Slot slot) noexcept {
  auto& record = slots_[slot];
  const Slot absorbed = record.neighbours.next;
  record.tagged_size += slots_[absorbed].size();
  record.neighbours.next = slots_[absorbed].neighbours.next;
  if (record.neighbours.next != none) slots_[record.neighbours.next].neighbours.previous = slot;
  slots_.give(absorbed);
}

void RegionHeap::Impl::link_between(Slot previous, Slot slot, Slot next) noexcept {
  slots_[slot].neighbours = {previous, next};
  (previous == none ? first_ : slots_[previous].neighbours.next) = slot;
  if (next != none) slots_[next].neighbours.previous = slot;
}

void RegionHeap::Impl::list(Slot slot) noexcept {
  auto& record = slots_[slot];
  const auto c = SizeClass::of(units(record.size()));
  const Slot head = classes_.head(c);
  record.tagged_size |= RegionRecord::free_flag;
  record.listed = {none, head};
  if (head != none) slots_[head].listed.previous = slot;
  classes_.set_head(c, slot);
}

void RegionHeap::Impl::unlist(Slot slot) noexcept {
  auto& record = slots_[slot];
  const auto [previous, next] = record.listed;
  record.tagged_size &= ~std::uint64_t{RegionRecord::free_flag};
  if (next != none) slots_[next].listed.previous = previous;
  if (previous != none)
    slots_[previous].listed.next = next;
  else
    classes_.set_head(class_of(slot), next);
}

void RegionHeap::Impl::check_slots() const {
  std::uint64_t end = 0, used = 0, condemned = 0;
  std::size_t live = 0, count = 0;
  Slot previous = none;
  for (Slot slot = first_; slot != none; previous = slot, slot = slots_[slot].neighbours.next) {
    const auto& record = slots_[slot];
    require(record.offset == end && record.size() >= granule_.count && record.size() % granule_.count == 0 &&
                record.neighbours.previous == previous,
            "H1: the slots tile the capacity");
    require(previous == none || !(record.is_free() && slots_[previous].is_free()),
            "H2: no two neighbours are free");
    end = record.end();
    ++count;
    if (record.is_free()) continue;
    used += record.size();
    (record.is_condemned() ? condemned : live) += record.is_condemned() ? record.size() : 1;
  }
  require(end == capacity_.count && count == slots_.in_use(), "H1: the slots tile the capacity");
  require(used == used_ && condemned == condemned_ && live == live_, "H4: used is the sum of live slots");
}

void RegionHeap::Impl::check_lists() const {
  std::size_t listed = 0, free = 0;
  for (SizeClass c{0, 0}; c.level < SizeClass::levels; c = c.following()) {
    require((classes_.head(c) == none) == classes_.says_empty(c), "H3: bitmaps and lists agree");
    Slot previous = none;
    for (Slot slot = classes_.head(c); slot != none;
         previous = slot, slot = slots_[slot].listed.next, ++listed)
      require(slots_[slot].is_free() && class_of(slot) == c && slots_[slot].listed.previous == previous,
              "H3: a list holds the free slots of its class");
  }
  for (Slot slot = first_; slot != none; slot = slots_[slot].neighbours.next) free += slots_[slot].is_free();
  require(listed == free, "H3: every free slot is in a list");
}

RegionHeap::RegionHeap(Bytes capacity, Bytes granule) : impl_{std::make_unique<Impl>(capacity, granule)} {}
RegionHeap::~RegionHeap() = default;
RegionHeap::RegionHeap(RegionHeap&&) noexcept = default;
RegionHeap& RegionHeap::operator=(RegionHeap&&) noexcept = default;

Slot RegionHeap::allocate(Bytes size, std::size_t alignment, void* owner) noexcept {
  TIER_ASSERT(std::has_single_bit(alignment) && alignment >> 40 == 0,
              "an alignment must be a power of two, up to 2^39");
  TIER_ASSERT(owner != nullptr, "a live region must have an owner");
  if (size > impl_->capacity_) return none;
  const auto padded = impl_->padded(size);
  const auto slot = impl_->find(padded, alignment);
  return slot == none ? none : impl_->take(slot, padded, alignment, owner);
}

Slot RegionHeap::allocate_in(Slot free, Bytes size, std::size_t alignment, void* owner) noexcept {
  TIER_ASSERT(is_free(free), "the slot must be free");
  TIER_ASSERT(std::has_single_bit(alignment) && alignment >> 40 == 0,
              "an alignment must be a power of two, up to 2^39");
  TIER_ASSERT(owner != nullptr, "a live region must have an owner");
  if (size > impl_->capacity_) return none;
  const auto padded = impl_->padded(size);
  return impl_->fits(free, padded, alignment) ? impl_->take(free, padded, alignment, owner) : none;
}

Slot RegionHeap::free(Slot slot) noexcept {
  std::ignore = impl_->live(slot);
  return impl_->give(slot);
}

void RegionHeap::condemn(Slot slot) noexcept {
  auto& record = impl_->live(slot);
  record.tagged_size |= RegionRecord::condemned_flag;
  record.owner = nullptr;
  impl_->condemned_ += record.size();
  --impl_->live_;
}

std::uint64_t RegionHeap::offset(Slot slot) const noexcept { return impl_->slots_[slot].offset; }
std::uint64_t RegionHeap::size(Slot slot) const noexcept { return impl_->slots_[slot].size(); }
bool RegionHeap::is_free(Slot slot) const noexcept { return impl_->slots_[slot].is_free(); }
void* RegionHeap::owner(Slot slot) const noexcept {
  return is_free(slot) ? nullptr : impl_->slots_[slot].owner;
}
void RegionHeap::set_owner(Slot slot, void* owner) noexcept {
  TIER_ASSERT(owner != nullptr, "a live region must have an owner");
  impl_->live(slot).owner = owner;
}

Slot RegionHeap::first() const noexcept { return impl_->first_; }
Slot RegionHeap::next(Slot slot) const noexcept { return impl_->slots_[slot].neighbours.next; }
Slot RegionHeap::previous(Slot slot) const noexcept { return impl_->slots_[slot].neighbours.previous; }

Bytes RegionHeap::capacity() const noexcept { return impl_->capacity_; }
Bytes RegionHeap::granule() const noexcept { return impl_->granule_; }
Bytes RegionHeap::used() const noexcept { return {impl_->used_}; }
Bytes RegionHeap::condemned() const noexcept { return {impl_->condemned_}; }
std::size_t RegionHeap::live_regions() const noexcept { return impl_->live_; }
Bytes RegionHeap::metadata() const noexcept { return {sizeof(Impl) + impl_->slots_.size_bytes()}; }

Bytes RegionHeap::largest_free() const noexcept {
  SizeClass c{};
  std::uint64_t largest = 0;
  if (impl_->classes_.seek_highest(c))
    for (Slot slot = impl_->classes_.head(c); slot != none; slot = impl_->slots_[slot].listed.next)
      largest = std::max(largest, size(slot));
  return {largest};
}

void RegionHeap::check_invariants() const {
  impl_->check_slots();
  impl_->check_lists();
}

}  // namespace tier
