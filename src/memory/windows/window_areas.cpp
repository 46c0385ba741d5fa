// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/windows/window_areas.hpp"

#include <sys/mman.h>
#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <cstdio>
#include <system_error>
#include <utility>

#include "memory/io/scratch_file.hpp"
#include "memory/system/mapping.hpp"
#include "memory/system/pages.hpp"

namespace tier {
namespace {

/// Address space costs nothing until it is used, but sanitizers and limits of the address space may leave less.
constexpr std::size_t area_size = std::size_t{256} << 30;

}  // namespace

WindowAreas::WindowAreas(std::string directory, Bytes most, Userfaultfd* served) noexcept
    : directory_{std::move(directory)}, most_{most}, served_{served} {}

std::optional<AddressWindow> WindowAreas::take(std::size_t size, std::size_t alignment) noexcept {
  const MutexLock lock{mutex_};
  if (const auto window = carve(size, alignment)) return window;
  free_resting();
  return carve(size, alignment);
}

AddressWindow WindowAreas::take_from_new_area(std::size_t size, std::size_t alignment) {
  auto area = make_area(size, alignment);
  const MutexLock lock{mutex_};
  areas_.push_back(std::move(area));
  if (const auto window = carve(size, alignment)) return *window;
  throw OutOfTierMemory{"no memory to describe a window"};
}

std::optional<AddressWindow> WindowAreas::carve(std::size_t size, std::size_t alignment) noexcept {
  for (const auto& area : areas_)
    if (const auto window = area->carve(size, alignment)) return window;
  return std::nullopt;
}

std::size_t WindowAreas::usual_size() const noexcept {
  if (directory_.empty()) return area_size;
  return std::min<std::uint64_t>(round_up(most_.count, huge_page_bytes),
                                 ScratchFile::largest_file() / huge_page_bytes * huge_page_bytes);
}

std::unique_ptr<WindowArea> WindowAreas::make_area(std::size_t wanted, std::size_t alignment) const {
  const auto least = round_up(wanted + alignment, huge_page_bytes);
  for (auto size = std::max(usual_size(), least);; size = std::max(size / 2, least)) {
    std::unique_ptr<ScratchFile> file;
    if (!directory_.empty())
      file =
          std::make_unique<ScratchFile>(directory_, Bytes{size}, ScratchFile::Mode::Buffered, "of windows");
    auto addresses = reserve_addresses(size, file != nullptr ? file->descriptor() : -1);
    if (addresses == nullptr && size > least) continue;
    if (addresses == nullptr) break;
    prepare(addresses.get(), size);
    return std::make_unique<WindowArea>(std::move(addresses), std::move(file));
  }
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(), "no address space for a window of %zu bytes%s", wanted,
                if_mappings_are_used_up());
  throw OutOfTierMemory{text.data(), std::make_error_code(std::errc::not_enough_memory)};
}

void WindowAreas::prepare(std::byte* begin, std::size_t size) const {
  if (!directory_.empty()) ::madvise(begin, size, MADV_DONTFORK);  // keeps a child's stores out
  if (served_ == nullptr) return;
  // Otherwise a fault there creates a table of small pages, and a huge page that is moved there gets split.
  ::madvise(begin, size, MADV_HUGEPAGE);
  if (!served_->serve(begin, size))
    throw OutOfTierMemory{"userfaultfd cannot register address space for windows", last_system_error()};
}

void WindowAreas::open(std::byte* begin, std::size_t size) {
  const MutexLock lock{mutex_};
  if (area_of(begin)->open(begin, size)) return;
  throw OutOfTierMemory{std::string{"the system refuses to make the addresses of a window accessible"} +
                            if_mappings_are_used_up(),
                        last_system_error()};
}

void WindowAreas::close(std::byte* page) {
  const MutexLock lock{mutex_};
  area_of(page)->close(page);
}

WindowArea* WindowAreas::area_of(const std::byte* address) const noexcept {
  for (const auto& area : areas_)
    if (area->contains(address)) return area.get();
  return nullptr;
}

const WindowArea& WindowAreas::at(const std::byte* address) noexcept {
  const MutexLock lock{mutex_};
  return *area_of(address);
}

void WindowAreas::forbid_use(const AddressWindow& window) const noexcept {
  if (rests_inaccessible()) ::mprotect(window.address, window.size, PROT_NONE);
}

void WindowAreas::release(const AddressWindow& window) noexcept {
  const MutexLock lock{mutex_};
  if constexpr (detail::checked) {
    free(std::exchange(resting_[released_++ % most_resting], window));
  } else {
    free(window);
  }
}

void WindowAreas::free_resting() noexcept {
  for (auto& window : resting_) free(std::exchange(window, {}));
}

void WindowAreas::free(const AddressWindow& window) noexcept {
  if (window.address == nullptr) return;
  if (rests_inaccessible() && ::mprotect(window.address, window.size, PROT_READ | PROT_WRITE) != 0)
    return;  // no mapping is left to split it off from those still resting: never reused
  area_of(window.address)->free(window);
}

void WindowAreas::forbid_all() noexcept {
  for (const auto& area : areas_)
    TIER_VERIFY(
        ::mprotect(area->begin(), area->size(), PROT_NONE) == 0 || ::munmap(area->begin(), area->size()) == 0,
        "the system refuses to close windows to the child of a fork");
}

Bytes WindowAreas::metadata() {
  const MutexLock lock{mutex_};
  Bytes sum;
  for (const auto& area : areas_) sum += area->metadata();
  return sum;
}

}  // namespace tier
