// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A machine with round numbers.
#include <tier/replay/machine.hpp>

namespace tier::test {

/// fast: 10 GB/s; slow: 1 GB/s; disk: 0.1 GB/s, by I/O. A mover copies at half of that. 1 TFLOP/s.
inline replay::Machine small_machine() {
  const auto device = [](std::string name, double rate, std::chrono::nanoseconds latency) {
    return replay::Device{.name = std::move(name),
                          .source = "a test",
                          .read = rate,
                          .store = rate,
                          .copy_read = rate,
                          .copy_write = rate,
                          .mover_read = rate / 2,
                          .mover_write = rate / 2,
                          .latency = latency,
                          .link = {}};
  };
  auto disk = device("disk", 1e8, std::chrono::nanoseconds{50'000});
  disk.addressable = false;
  return {.name = "small",
          .source = "a test",
          .cores = 2,
          .operations = 1e12,
          .devices = {device("fast", 1e10, std::chrono::nanoseconds{100}),
                      device("slow", 1e9, std::chrono::nanoseconds{300}), disk},
          .ops = {{.op = "conv", .efficiency = 0.5}, {.op = "bn_", .reads = 2}},
          .slow_downs = {}};
}

}  // namespace tier::test
