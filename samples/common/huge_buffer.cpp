// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/huge_buffer.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <cstdint>

namespace sample {
namespace {

using namespace tier::literals;

constexpr std::size_t huge_page = (2_MiB).count;
constexpr std::size_t page = (4_KiB).count;

}  // namespace

HugeBuffer::HugeBuffer(std::size_t size_bytes) : memory_{nullptr, Unmap{0}} {
  const auto size =
      tier::round_up(std::max<std::size_t>(size_bytes, 1), size_bytes < huge_page ? page : huge_page);
  const auto reserved = size + (size < huge_page ? 0 : huge_page);  // room to align the start to a huge page
  void* memory =
      ::mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw tier::TierError{tier::last_system_error(), fmt::format("mmap of {} bytes", reserved)};
  }
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const auto begin = reserved == size ? address : tier::round_up(address, huge_page);
  if (begin > address) ::munmap(memory, begin - address);
  if (begin + size < address + reserved) {
    ::munmap(reinterpret_cast<void*>(begin + size), address + reserved - begin - size);
  }
  memory_ = {reinterpret_cast<void*>(begin), Unmap{size}};
  ::madvise(memory_.get(), size, MADV_HUGEPAGE);  // only advice: small pages work, too
  auto* bytes = static_cast<volatile std::byte*>(memory_.get());
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < size; i += page) bytes[i] = std::byte{};
}

void HugeBuffer::Unmap::operator()(void* memory) const noexcept { ::munmap(memory, size); }

}  // namespace sample
