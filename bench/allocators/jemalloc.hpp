// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  jemalloc in its own library, which hides its malloc: linked or loaded otherwise, it would become the program's.
#include <cstddef>

namespace tier::bench {

[[nodiscard]] void* jemalloc_allocate(std::size_t size, std::size_t alignment) noexcept;
void jemalloc_free(void* p, std::size_t size, std::size_t alignment) noexcept;

}  // namespace tier::bench
