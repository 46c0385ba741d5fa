// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/windows/window_tags.hpp"

#include <tier/core/error.hpp>
#include <tier/core/mutex.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <system_error>

#include "memory/system/mapping.hpp"
#include "memory/windows/address_window.hpp"

namespace tier {
namespace {

constexpr std::size_t max_ranges = 64;

std::uint64_t number_of(const void* address) noexcept { return reinterpret_cast<std::uintptr_t>(address); }

/// The ranges of all window spaces, for `find`: written under the lock `listing`, read without one.
struct TaggedRange {
  std::atomic<std::uint64_t> begin{0};
  std::atomic<std::uint64_t> size{0};  // 0: free
  std::atomic<std::atomic<void*>*> tags{nullptr};
};
std::array<TaggedRange, max_ranges> tagged_ranges;
Mutex listing;

std::atomic<void*>* tag_of(const void* address) noexcept {
  for (auto& range : tagged_ranges) {
    const auto size = range.size.load(std::memory_order_acquire);
    const auto offset = number_of(address) - range.begin.load(std::memory_order_relaxed);
    if (offset < size) return range.tags.load(std::memory_order_relaxed) + offset / window_unit;
  }
  return nullptr;
}

std::atomic<void*>* tags_in(const ReservedAddresses& memory) noexcept {
  return reinterpret_cast<std::atomic<void*>*>(memory.get());
}

/// Lets `find` see tags.   \return  false if there are too many ranges
bool list(const std::byte* begin, std::size_t size, std::atomic<void*>* tags) noexcept {
  const MutexLock lock{listing};
  for (auto& range : tagged_ranges) {
    if (range.tags.load(std::memory_order_relaxed) != nullptr) continue;
    range.tags.store(tags, std::memory_order_relaxed);
    range.begin.store(number_of(begin), std::memory_order_relaxed);
    range.size.store(size, std::memory_order_release);
    return true;
  }
  return false;
}

void unlist(const std::atomic<void*>* tags) noexcept {
  const MutexLock lock{listing};
  for (auto& range : tagged_ranges)
    if (range.tags.load(std::memory_order_relaxed) == tags) {
      range.size.store(0, std::memory_order_release);
      range.tags.store(nullptr, std::memory_order_relaxed);
    }
}

[[noreturn]] void throw_no_address_space(std::size_t size) {
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(), "no address space to describe %zu bytes of windows%s", size,
                if_mappings_are_used_up());
  throw OutOfTierMemory{text.data(), std::make_error_code(std::errc::not_enough_memory)};
}

}  // namespace

WindowTags::WindowTags(std::byte* begin, std::size_t size)
    : memory_{reserve_addresses(size / window_unit * sizeof(std::atomic<void*>), -1)} {
  if (memory_ == nullptr || !open_reserved(memory_.get(), memory_.get_deleter().size))
    throw_no_address_space(size);
  if (list(begin, size, tags_in(memory_))) return;
  throw OutOfTierMemory{
      "a process can have at most 64 ranges of addresses for windows; each runtime takes one, and more if "
      "its windows outgrow the first",
      std::make_error_code(std::errc::not_enough_memory)};
}

WindowTags::~WindowTags() { unlist(tags_in(memory_)); }

void WindowTags::set(std::byte* begin, std::size_t size, void* tag) noexcept {
  auto* const first = tag_of(begin);
  for (std::size_t i = 0; i * window_unit < size; ++i) first[i].store(tag, std::memory_order_release);
}

void* WindowTags::find(const void* address) noexcept {
  const auto* const tag = tag_of(address);
  return tag == nullptr ? nullptr : tag->load(std::memory_order_acquire);
}

}  // namespace tier
