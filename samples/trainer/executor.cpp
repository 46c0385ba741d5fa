// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trainer/executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/hashing.hpp"
#include "networks/network.hpp"
#include "steps/functions.hpp"
#include "steps/lowering.hpp"
#include "steps/recomputation.hpp"
#include "trainer/stopwatch.hpp"

namespace training {
namespace {

void visit(const dnnl_memory_desc_t& layout, int axis, const float* data, const auto& f) {
  if (axis == layout.ndims) return f(*data);
  const auto stride = layout.format_desc.blocking.strides[axis];
  for (std::int64_t i = 0; i < layout.dims[axis]; ++i) visit(layout, axis + 1, data + i * stride, f);
}

/// Calls `f` for each value of a description in memory, including padding; for a part, only for its own values.
void for_each_value(const dnnl::memory::desc& desc, const float* data, const auto& f) {
  const auto& layout = desc.data;
  const auto* const begin = data + layout.offset0;
  const auto own = static_cast<std::size_t>(count_of(desc.dims())) * sizeof(float);
  const bool strided = layout.format_kind == dnnl_blocked && layout.format_desc.blocking.inner_nblks == 0;
  if (strided && desc.get_size() != own) return visit(layout, 0, begin, f);
  std::for_each_n(begin, desc.get_size() / sizeof(float), f);
}

/// True if an earlier argument is the same: a kernel in place has it as input and as output.
bool is_repeated(const Kernel& kernel, const Argument& argument) {
  return std::any_of(kernel.arguments.data(), &argument, [&](const Argument& other) {
    return other.use == argument.use && other.offset == argument.offset && other.desc == argument.desc;
  });
}

}  // namespace

Parameters::Parameters(const Step& step, Memory& memory, std::uint64_t seed) : memory_{memory}, seed_{seed} {
  for (const auto& parameter : step.parameters) {
    const auto& tensor = tensors_.emplace_back(step.tensors[parameter.tensor]);
    slots_.push_back(memory.add(tensor.name, tensor.bytes));
    initial_.push_back(parameter);
  }
  begin_anew();
}

void Parameters::begin_anew() {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const SlotUse use{slots_[i], Role::Overwrites};
    memory_.run("initialise", {&use, 1}, [&](std::span<std::byte* const> data) {
      initialise(initial_[i].initial, sample::mix(seed_, std::uint64_t{initial_[i].tensor}),
                 {reinterpret_cast<float*>(data[0]), tensors_[i].bytes / sizeof(float)});
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

Executor::Executor(const Step& step, const Parameters& parameters, Memory& memory, const Options& options)
    : step_{options.recompute ? with_recomputation(step, options.budget) : step},
      memory_{memory},
      stream_{cpu()},
      hints_{hints_of(step_, options.budget)},
      inspection_{options.inspection} {
  for (TensorId t = 0; t < step_.tensors.size(); ++t) {
    const auto& tensor = step_.tensors[t];
    slots_.push_back(t < parameters.count() ? parameters.slot(t) : memory.add(tensor.name, tensor.bytes));
  }
  for (const auto& kernel : step_.kernels) {
    kernels_.push_back(make_ready(kernel));
    costs_.push_back({kernel.name});
  }
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
  for (std::size_t i = 0; i < kernels_.size(); ++i)
    inspection_.layers ? run_and_measure(i, iteration) : run_kernel(i, iteration);
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
    if (inspection_.values) check_values(kernel, data, iteration);
  });
  for (const auto tensor : hints.retire) memory_.retire(slots_[tensor]);
  for (const auto tensor : hints.archive) memory_.archive(slots_[tensor]);
}

void Executor::run_and_measure(std::size_t index, Iteration& iteration) {
  const auto before = memory_.traffic();
  const Stopwatch watch;
  run_kernel(index, iteration);
  auto& cost = costs_[index];
  cost.seconds += watch.seconds();
  const auto after = memory_.traffic();
  cost.stalled_s += after.stalled_s - before.stalled_s;
  cost.bytes_in += after.bytes_in - before.bytes_in;
  cost.bytes_out += after.bytes_out - before.bytes_out;
}

void Executor::forget_costs() {
  compute_seconds_ = 0;
  subnormals_ = 0;
  for (auto& cost : costs_) cost = {.layer = std::move(cost.layer)};
}

void Executor::add_layer_costs(std::vector<LayerCost>& layers) const {
  if (!inspection_.layers) return;
  for (const auto& cost : costs_) {
    const auto layer = cost.layer.substr(0, cost.layer.find('.'));
    auto found = std::ranges::find(layers, layer, &LayerCost::layer);
    if (found == layers.end()) found = layers.insert(found, {layer});
    found->seconds += cost.seconds;
    found->stalled_s += cost.stalled_s;
    found->bytes_in += cost.bytes_in;
    found->bytes_out += cost.bytes_out;
  }
}

void Executor::check_values(const Kernel& kernel, std::span<std::byte* const> data,
                            const Iteration& iteration) {
  for (const auto& argument : kernel.arguments) {
    const auto& use = kernel.uses[argument.use];
    const auto& tensor = step_.tensors[use.tensor];
    const bool has_values = tensor.kind != Kind::Temporary && tensor.kind != Kind::Input &&
                            tensor.desc.data_type() == dnnl::memory::data_type::f32;
    if (use.role == Role::Reads || !has_values || is_repeated(kernel, argument)) continue;
    const auto* const values = reinterpret_cast<const float*>(data[argument.use] + argument.offset);
    for_each_value(argument.desc, values, [&](float value) {
      if (!std::isfinite(value))
        throw NotANumber{fmt::format("iteration {}: kernel {} has written {} to {}", iteration.number,
                                     kernel.name, value, tensor.name)};
      subnormals_ += std::fpclassify(value) == FP_SUBNORMAL ? 1 : 0;
    });
  }
}

void Executor::compute(const Kernel& kernel, const Ready& ready, std::span<std::byte* const> data,
                       Iteration& iteration) {
  if (kernel.function) {
    data_.clear();
    for (const auto& argument : kernel.arguments)
      data_.push_back(reinterpret_cast<float*>(data[argument.use] + argument.offset));
    return kernel.function(data_, iteration);
  }
  for (std::size_t i = 0; i < ready.arguments.size(); ++i)
    ready.arguments[i].set_data_handle(data[kernel.arguments[i].use] + kernel.arguments[i].offset);
  ready.primitive.execute(stream_, ready.by_index);
  stream_.wait();
}

}  // namespace training
