// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/copy_kernels.hpp"

#include "support/seed.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace tier::copy_kernels_test {

using namespace tier::detail;

namespace {

std::vector<std::byte> random_bytes(std::size_t n) {
  std::mt19937_64 random{n};
  std::vector<std::byte> bytes(n);
  for (auto& b : bytes) b = static_cast<std::byte>(random());
  return bytes;
}

/// Copies `n` bytes at these offsets. True if exactly these have arrived and their neighbours are unchanged.
bool copies_exactly(const StreamKernel& kernel, const std::vector<std::byte>& source, std::size_t to,
                    std::size_t from, std::size_t n) {
  std::vector<std::byte> expected(to + n + 64, std::byte{0x5a});
  std::vector<std::byte> copied = expected;
  std::memcpy(expected.data() + to, source.data() + from, n);
  stream_bytes(kernel, copied.data() + to, source.data() + from, n);
  return copied == expected;
}

}  // namespace

TEST_CASE("every kernel of this CPU copies what memcpy copies, at any size and alignment") {
  const auto source = random_bytes(9000);
  for (const StreamKernel& kernel : stream_kernels()) {
    const std::string name = kernel.name;
    CAPTURE(name);
    for (std::size_t n :
         {0UL, 1UL, 63UL, 64UL, 65UL, 255UL, 256UL, 257UL, 319UL, 511UL, 512UL, 4096UL, 8191UL}) {
      CAPTURE(n);
      for (std::size_t to : {0UL, 1UL, 15UL, 31UL, 32UL, 48UL, 63UL, 64UL})
        for (std::size_t from : {0UL, 1UL, 17UL, 33UL, 63UL, 64UL})
          CHECK(copies_exactly(kernel, source, to, from, n));
    }
  }
}

TEST_CASE("every kernel of this CPU copies random ranges as memcpy does") {
  const auto seed = test::seed();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  const auto source = random_bytes(1 << 17);
  for (int i = 0; i < 200; ++i) {
    const std::size_t n = random() % (source.size() >> random() % 12);
    const std::size_t from = random() % (source.size() - n), to = random() % 4096;
    CAPTURE(n);
    CAPTURE(from);
    CAPTURE(to);
    for (const StreamKernel& kernel : stream_kernels()) CHECK(copies_exactly(kernel, source, to, from, n));
  }
}

TEST_CASE("every x86-64 and aarch64 CPU has a kernel of its baseline") {
  const std::string last = stream_kernels().back().name;
  CHECK((last == "sse2" || last == "neon"));
}

TEST_CASE("small and soon-read copies use ordinary stores, large ones never do") {
  CHECK(stores_for(4096, false) == Stores::Ordinary);
  CHECK(stores_for(1 << 20, false) == Stores::NonTemporal);
  CHECK(stores_for(1 << 20, true) == Stores::Ordinary);
  CHECK(stores_for(64 << 20, true) == Stores::NonTemporal);
  for (Stores stores : {Stores::Ordinary, Stores::NonTemporal}) {
    const auto source = random_bytes(10'001);
    std::vector<std::byte> copied(source.size());
    copy_bytes(copied.data(), source.data(), source.size(), stores);
    CHECK(copied == source);
  }
}

}  // namespace tier::copy_kernels_test
