// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>

#include <array>
#include <cstdarg>
#include <cstdio>

#include "pmr/ledger.hpp"

namespace tier::detail {

void Ledger::add(void* p, std::size_t size, std::size_t alignment) {
  const MutexLock lock{mutex_};
  entries_.insert_or_assign(p, Entry{size, alignment});
}

void Ledger::remove(void* p, std::size_t size, std::size_t alignment, bool within) noexcept {
  const MutexLock lock{mutex_};
  const auto entry = entries_.find(p);
  if (entry == entries_.end())
    fail(within ? "%p is deallocated twice, or is no allocation but lies within one"
                : "%p is deallocated, which was not allocated here or was deallocated before",
         p);
  const auto [was, was_alignment] = entry->second;
  if (was != size || was_alignment != alignment)
    fail("%p is deallocated as %zu B aligned to %zu, but was allocated as %zu B aligned to %zu", p, size,
         alignment, was, was_alignment);
  entries_.erase(entry);
}

void Ledger::clear() noexcept {
  const MutexLock lock{mutex_};
  entries_.clear();
}

void Ledger::report_leaks() noexcept {
  const MutexLock lock{mutex_};
  if (entries_.empty()) return;
  std::size_t bytes = 0;
  for (const auto& [p, entry] : entries_) bytes += entry.size;
  std::fprintf(stderr, "libtier: %s gives back its memory before %zu of its allocations, %zu B\n",
               resource_.c_str(), entries_.size(), bytes);
  entries_.clear();
}

void Ledger::fail(const char* format, ...) const noexcept {
  std::array<char, 200> what{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(what.data(), what.size(), format, arguments);
  va_end(arguments);
  assertion_failed(resource_.c_str(), what.data(), __FILE__, __LINE__);
}

}  // namespace tier::detail
