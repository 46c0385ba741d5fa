// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A checksum over what a run computed.
#include <cstddef>
#include <memory>
#include <span>

#include "common/hashing.hpp"

namespace sample {

/// Computes XXH3 of all added bytes, in order.
class Checksum {
 public:
  Checksum() : state_{XXH3_createState()} { XXH3_64bits_reset(state_.get()); }
  /// Not inlined, because g++ 12 then warns of accesses that its branches exclude.
  [[gnu::noinline]] void add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  }
  void add(double value) { add(std::as_bytes(std::span{&value, 1})); }
  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const noexcept { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;  // created by the library, which aligns it
};

}  // namespace sample
