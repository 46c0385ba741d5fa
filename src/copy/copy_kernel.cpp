// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/copy/copy_kernel.hpp>

#include <chrono>

#include "copy/kernel_choice.hpp"
#include "copy/kernel_measurement.hpp"

namespace tier {

CopyKernel copy_kernel() {
  auto& choice = detail::KernelChoice::of_process();
  choice.begin();
  return {detail::current_kernel().name, std::string{detail::describe(choice.origin())},
          detail::kernel_file()};
}

void set_copy_kernel(std::string_view name) { detail::KernelChoice::of_process().set(name); }

std::vector<std::string> copy_kernel_names() {
  std::vector<std::string> names;
  for (const auto& kernel : detail::stream_kernels()) names.emplace_back(kernel.name);
  return names;
}

std::vector<CopyKernelRate> measure_copy_kernels() {
  detail::KernelMeasurement measurement{
      detail::stream_kernels(),
      {.time = std::chrono::seconds{1}, .rounds = 15, .candidates = detail::stream_kernels().size()}};
  while (measurement.step()) {
  }
  std::vector<CopyKernelRate> rates;
  for (const auto& rate : measurement.rates()) rates.push_back({rate.kernel->name, rate.bytes_per_second});
  return rates;
}

}  // namespace tier
