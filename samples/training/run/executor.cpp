// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run/executor.hpp"

#include "common/hashing.hpp"
#include "run/stopwatch.hpp"
#include "step/functions.hpp"
#include "step/lowering.hpp"

namespace training {

Parameters::Parameters(const Step& step, Memory& memory, std::uint64_t seed) : memory_{memory} {
  for (const auto& parameter : step.parameters) {
    const auto& tensor = tensors_.emplace_back(step.tensors[parameter.tensor]);
    slots_.push_back(memory.add(tensor.name, tensor.bytes));
    const SlotUse use{slots_.back(), Role::Overwrites};
    memory.run("initialise", {&use, 1}, [&](std::span<std::byte* const> data) {
      initialise(parameter.initial, sample::mix(seed, std::uint64_t{parameter.tensor}),
                 {reinterpret_cast<float*>(data[0]), tensor.bytes / sizeof(float)});
    });
  }
}

void Parameters::visit(tier::FunctionRef<void(const StepTensor&, std::span<const float>)> f) const {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const SlotUse use{slots_[i], Role::Reads};
    memory_.run("visit", {&use, 1}, [&](std::span<std::byte* const> data) {
      f(tensors_[i], {reinterpret_cast<const float*>(data[0]), tensors_[i].bytes / sizeof(float)});
    });
  }
}

void Parameters::add_to(sample::Checksum& checksum) const {
  visit([&](const StepTensor&, std::span<const float> values) { checksum.add(std::as_bytes(values)); });
}

Executor::Executor(const Step& step, const Parameters& parameters, Memory& memory, std::size_t ahead)
    : step_{step}, memory_{memory}, stream_{cpu()}, hints_{hints_of(step, ahead)} {
  for (TensorId t = 0; t < step.tensors.size(); ++t) {
    const auto& tensor = step.tensors[t];
    slots_.push_back(t < parameters.count() ? parameters.slot(t) : memory.add(tensor.name, tensor.bytes));
  }
  for (const auto& kernel : step.kernels) kernels_.push_back(make_ready(kernel));
}

Executor::Ready Executor::make_ready(const Kernel& kernel) const {
  Ready ready;
  for (const auto& use : kernel.uses) ready.uses.push_back({slots_[use.tensor], use.role});
  if (kernel.function) return ready;
  ready.primitive = dnnl::primitive{kernel.primitive.get()};
  for (const auto& argument : kernel.arguments) {
    ready.arguments.push_back({argument.desc, cpu(), DNNL_MEMORY_NONE});
    ready.by_index.emplace(argument.index, ready.arguments.back());
  }
  return ready;
}

void Executor::run(Iteration& iteration) {
  for (std::size_t i = 0; i < kernels_.size(); ++i) run_kernel(i, iteration);
  memory_.end_of_step();
}

void Executor::run_kernel(std::size_t index, Iteration& iteration) {
  const auto& kernel = step_.kernels[index];
  const auto& hints = hints_[index];
  for (const auto tensor : hints.prefetch) memory_.prefetch(slots_[tensor]);
  memory_.run(kernel.name, kernels_[index].uses, [&](std::span<std::byte* const> data) {
    const Stopwatch watch;
    compute(kernel, kernels_[index], data, iteration);
    compute_seconds_ += watch.seconds();
  });
  for (const auto tensor : hints.retire) memory_.retire(slots_[tensor]);
  for (const auto tensor : hints.archive) memory_.archive(slots_[tensor]);
}

void Executor::compute(const Kernel& kernel, const Ready& ready, std::span<std::byte* const> data,
                       Iteration& iteration) {
  if (kernel.function) {
    data_.clear();
    for (const auto& argument : kernel.arguments)
      data_.push_back(reinterpret_cast<float*>(data[argument.use]));
    return kernel.function(data_, iteration);
  }
  for (std::size_t i = 0; i < ready.arguments.size(); ++i)
    ready.arguments[i].set_data_handle(data[kernel.arguments[i].use]);
  ready.primitive.execute(stream_, ready.by_index);
  stream_.wait();
}

}  // namespace training
