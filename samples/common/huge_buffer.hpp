// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Plain memory as a program without libtier would take it: in huge pages, touched before use.
#include <cstddef>
#include <memory>

namespace sample {

/// Holds zeroed floats in huge pages if the system gives them, touched by all threads.
class HugeBuffer {
 public:
  /// \throws  `tier::TierError` if the system does not have enough memory
  explicit HugeBuffer(std::size_t size_bytes);
  [[nodiscard]] float* data() const { return static_cast<float*>(memory_.get()); }

 private:
  struct Unmap {
    std::size_t size;
    void operator()(void* memory) const noexcept;
  };
  std::unique_ptr<void, Unmap> memory_;
};

}  // namespace sample
