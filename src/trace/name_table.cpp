// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/name_table.hpp"

#include <new>
#include <utility>

namespace tier::trace {

std::uint32_t NameTable::number_of(std::string_view name) noexcept try {
  constexpr std::size_t most = std::size_t{64} << 20;  // bytes of all names; further ones are lost
  if (name.empty()) return 0;
  const MutexLock lock{mutex_};
  std::string key{name};
  const auto found = numbers_.find(key);
  if (found != numbers_.end()) return found->second;
  if (bytes_ + name.size() > most) throw std::bad_alloc{};
  names_.reserve(names_.size() + 1 > names_.capacity() ? 2 * names_.size() + 16 : names_.capacity());
  const auto added = numbers_.emplace(std::move(key), static_cast<std::uint32_t>(names_.size() + 1)).first;
  names_.push_back(&added->first);
  bytes_ += name.size();
  return added->second;
} catch (const std::bad_alloc&) {
  lost_.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

}  // namespace tier::trace
