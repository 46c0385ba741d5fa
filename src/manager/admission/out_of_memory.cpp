// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "out_of_memory.hpp"

#include <tier/core/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "manager/state/block_facts.hpp"

namespace tier {
namespace {

/// True for the errors of a file system that has no space left, or gives this user or process no more.
bool is_of_space(const std::error_code& cause) noexcept {
  return cause == std::errc::no_space_on_device || cause == std::errc::file_too_large ||
         cause == std::error_code{EDQUOT, std::generic_category()};
}

/// Bytes of the tier's regions that cannot leave now.
std::uint64_t pinned_in(const TierState& tier) noexcept {
  std::uint64_t pinned = 0;
  for (auto s = tier.heap.first(); s != RegionHeap::none; s = tier.heap.next(s)) {
    const auto* region = static_cast<const Region*>(tier.heap.owner(s));
    if (region == nullptr || region->block == nullptr) continue;
    const auto& record = *region->block->record;
    if (record.immovable || (record.primary() == region && region->block->pins() != 0))
      pinned += tier.heap.size(s);
  }
  return pinned;
}

}  // namespace

void throw_out_of_memory(const TierSet& tiers, std::uint64_t size, std::string_view what,
                         std::error_code cause, NoRoom why) {
  // Uses a fixed buffer: this code must not allocate.
  std::array<char, 1000> text{};
  std::size_t used = 0;
  const auto say = [&](const char* format, auto... args) {
    if (used + 1 >= text.size()) return;
    const int n = std::snprintf(text.data() + used, text.size() - used, format, args...);
    if (n > 0) used = std::min(text.size() - 1, used + static_cast<std::size_t>(n));
  };
  const auto bytes = [](Bytes b) { return static_cast<unsigned long long>(b.count); };
  if (what.empty())
    say("no room for %llu bytes:", static_cast<unsigned long long>(size));
  else
    say("no room for %llu bytes (%.*s):", static_cast<unsigned long long>(size),
        static_cast<int>(what.size()), what.data());
  for (const auto& t : tiers) {
    say(" %.*s: %llu bytes, %llu free, largest run %llu, %llu pinned;",
        static_cast<int>(t.tier->name().size()), t.tier->name().data(), bytes(t.heap.capacity()),
        bytes(t.heap.capacity() - t.used()), bytes(t.heap.largest_free()),
        static_cast<unsigned long long>(pinned_in(t)));
  }
  if (why == NoRoom::IsKept)
    say(" some is %s;", "kept free, so that blocks can be exchanged between the tiers");
  if (const auto& largest = tiers.largest_addressable(); size > largest.heap.capacity().count)
    say(" an object in use must fit in a tier that the CPU can address, and the largest of these, %.*s, is "
        "smaller: use parts of the object (tier::windowed), or give that tier more;",
        static_cast<int>(largest.tier->name().size()), largest.tier->name().data());
  std::array<char, 100> words{};
  const bool is_errno =
      cause.category() == std::generic_category() || cause.category() == std::system_category();
  if (cause && is_errno)
    say(" cause: %s", ::strerror_r(cause.value(), words.data(), words.size()));
  else if (cause)
    say(" cause: error %d of %s", cause.value(), cause.category().name());
  if (is_of_space(cause)) {
    const char* before = " in";
    for (const auto& t : tiers) {
      const auto directory = t.tier->directory();
      if (directory.empty()) continue;
      say("%s \"%.*s\"", std::exchange(before, " or"), static_cast<int>(directory.size()), directory.data());
    }
  }
  throw OutOfTierMemory{std::string_view{text.data(), used}, cause};
}

void throw_unreadable(const TierSet& tiers, const Block& b, std::error_code error) {
  const auto tier = b.record->primary() != nullptr ? b.record->primary()->tier : TierIndex{0};
  throw TierError{error, "reading \"" + std::string{name_of(b)} + "\" from tier " +
                             std::string{tiers[tier].tier->name()} + " failed"};
}

void throw_retired(std::string_view name) {
  throw TierError{std::make_error_code(std::errc::no_such_file_or_directory),
                  "only a scope that overwrites can be opened on a retired object: " + std::string{name}};
}

void throw_destroyed() {
  throw TierError{std::make_error_code(std::errc::no_such_file_or_directory),
                  "a scope cannot be opened on an object that was destroyed"};
}

}  // namespace tier
