// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/tier.hpp>

#include <cstdio>
#include <vector>
using namespace tier::literals;
using tier::tiers::dram, tier::tiers::file;

int main() {
  tier::Runtime runtime{{.tiers = {dram(64_MiB), file("/var/tmp", 1_GiB)}, .policy = "hint_aware"}};
  std::vector<tier::Tensor<float>> layers;  // 256 MiB of them, over 64 MiB of fast memory
  for (int i = 0; i < 64; ++i) layers.emplace_back(runtime, tier::Shape{1024, 1024});
  for (auto& layer : layers) {
    tier::KernelScope step{"fill", tier::overwrites(layer)};
    step.out(layer).data()[0] = 1.0F;  // a plain pointer, valid until the scope ends
  }
  float sum = 0;
  for (auto& layer : layers) sum += tier::ReadScope{layer}[layer].data()[0];
  std::printf("%g of 64 survived\n", sum);
}
