// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "way.hpp"

#include <chrono>

#include "harness/node_pages.hpp"
#include "memory/system/pages.hpp"

namespace migrate {
namespace {

std::span<std::uint64_t> words(std::span<std::byte> bytes) {
  return {reinterpret_cast<std::uint64_t*>(bytes.data()), bytes.size() / sizeof(std::uint64_t)};
}

std::size_t words_in_page() { return tier::page_size() / sizeof(std::uint64_t); }

/// Returns the value of word `i` after the object was stamped.
std::uint64_t expected(std::size_t i, std::uint64_t stamp) {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
  return i * odd + (i % words_in_page() == 0 ? stamp : 0);
}

}  // namespace

void Way::fill() {
  const auto all = words(before(Leg::There));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = expected(i, stamp_);
}

Moved Way::move(Leg leg) {
  ++stamp_;
  const auto from = words(before(leg));
  for (std::size_t i = 0; i < from.size(); i += words_in_page()) from[i] = expected(i, stamp_);

  const auto start = std::chrono::steady_clock::now();
  carry(leg);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;

  Moved moved{.seconds = taken.count()};
  const auto bytes = after(leg);
  moved.pages = (bytes.size() + tier::page_size() - 1) / tier::page_size();
  moved.elsewhere = tier::bench::pages_elsewhere(bytes, node_after(leg));  // before a load can fault them in
  const auto all = words(bytes);
  for (std::size_t i = 0; i < all.size(); ++i) moved.wrong += all[i] != expected(i, stamp_) ? 1 : 0;
  if (moved.elsewhere > 0) missed();
  return moved;
}

}  // namespace migrate
