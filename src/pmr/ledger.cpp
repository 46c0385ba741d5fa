// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/assert.hpp>

#include <array>
#include <cstdarg>
#include <cstdio>

#include "pmr/ledger.hpp"

namespace tier::detail {
namespace {

[[noreturn, gnu::format(printf, 2, 3)]] void fail(const char* resource, const char* format, ...) noexcept {
  std::array<char, 300> what{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(what.data(), what.size(), format, arguments);
  va_end(arguments);
  assertion_failed(resource, what.data(), __FILE__, __LINE__);
}

}  // namespace

void refuse_unknown(const char* resource, const void* p, bool within) noexcept {
  fail(resource,
       within ? "%p is deallocated twice, or is no allocation but lies within one"
              : "%p is deallocated, but was not allocated here or was deallocated before",
       p);
}

void refuse_other(const char* resource, const void* p, Request asked, Request was) noexcept {
  fail(resource, "%p is deallocated as %zu B aligned to %zu, but was allocated as %zu B aligned to %zu", p,
       asked.size, asked.alignment, was.size, was.alignment);
}

void Ledger::add(void* p, std::size_t size, std::size_t alignment) {
  const MutexLock lock{mutex_};
  entries_.insert_or_assign(p, Request{size, alignment});
}

bool Ledger::try_remove(void* p, Request asked) noexcept {
  const MutexLock lock{mutex_};
  const auto entry = entries_.find(p);
  if (entry == entries_.end() || entry->second != asked) return false;
  entries_.erase(entry);
  return true;
}

void Ledger::remove(void* p, Request asked) noexcept {
  if (try_remove(p, asked)) return;
  if (const auto was = find(p)) refuse_other(resource_.c_str(), p, asked, *was);
  refuse_unknown(resource_.c_str(), p, false);
}

std::optional<Request> Ledger::find(void* p) const noexcept {
  const MutexLock lock{mutex_};
  const auto entry = entries_.find(p);
  return entry == entries_.end() ? std::nullopt : std::optional{entry->second};
}

void Ledger::clear() noexcept {
  const MutexLock lock{mutex_};
  entries_.clear();
}

void Ledger::report_leaks(Amount others) noexcept {
  const MutexLock lock{mutex_};
  const auto allocations = others.allocations + entries_.size();
  if (allocations == 0) return;
  auto bytes = others.bytes;
  for (const auto& [p, request] : entries_) bytes += request.size;
  std::fprintf(stderr, "libtier: %s gives back its memory while %zu of its allocations, %zu B, are in use\n",
               resource_.c_str(), allocations, bytes);
  entries_.clear();
}

}  // namespace tier::detail
