// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "steps/lowering.hpp"

#include <fmt/format.h>
#include <tier/core/assert.hpp>
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <numeric>
#include <tuple>

#include "common/checked_sizes.hpp"
#include "steps/functions.hpp"

namespace training {
namespace {

using Tag = dnnl::memory::format_tag;

/// The most values of an optimiser's state in one tensor.
constexpr std::size_t most_of_a_state = 4 << 20;

/// Returns the bytes of a description; for a part, without the gaps between its rows.
std::size_t bytes_of(const dnnl::memory::desc& desc) {
  const auto dims = desc.dims();
  return static_cast<std::size_t>(count_of(dims)) * dnnl::memory::data_type_size(desc.data_type());
}

}  // namespace

const dnnl::engine& cpu() {
  static const dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  return engine;
}

dnnl::memory::desc dense(const Dims& dims) {
  std::ignore = count_of(dims);
  constexpr Tag tags[] = {Tag::a, Tag::ab, Tag::abc, Tag::nhwc};
  TIER_VERIFY(!dims.empty() && dims.size() <= std::size(tags), "values must have one to four dimensions");
  return {dims, dnnl::memory::data_type::f32, tags[dims.size() - 1]};
}

dnnl::memory::desc any_layout(const Dims& dims) {
  std::ignore = count_of(dims);
  return {dims, dnnl::memory::data_type::f32, Tag::any};
}

Step Lowering::lower() {
  find_consumers();
  const auto& layers = network_.layers();
  values_.resize(layers.size());
  contributions_.resize(layers.size());
  std::vector<std::unique_ptr<LoweredLayer>> lowered;
  for (std::size_t i = 0; i < layers.size(); ++i) lowered.push_back(make_lowered(layers[i], {i}));
  for (const auto& layer : lowered) layer->declare(*this);
  for (const auto& layer : lowered) layer->forward(*this);
  if (!is_training()) return std::move(step_);
  for (std::size_t i = layers.size(); i-- > 0;) {
    const bool loss = i + 1 == layers.size();
    if (!loss && contributions_[i].empty())
      continue;  // nothing learned is below, or the loss does not depend on it
    if (!loss) sum_contributions({i});
    lowered[i]->backward(*this);
    if (!loss) --pending_.at(contributions_[i].front());
  }
  return std::move(step_);
}

void Lowering::find_consumers() {
  const auto& layers = network_.layers();
  consumers_.assign(layers.size(), 0);
  needs_gradient_.assign(layers.size(), false);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto& inputs = layers[i].inputs;
    for (const auto input : inputs) ++consumers_[input.layer];
    const auto& attributes = layers[i].attributes;
    const bool learns =
        std::holds_alternative<Convolution>(attributes) || std::holds_alternative<BatchNorm>(attributes) ||
        std::holds_alternative<InnerProduct>(attributes) || std::holds_alternative<Embedding>(attributes) ||
        std::holds_alternative<Lstm>(attributes) || std::holds_alternative<LayerNorm>(attributes) ||
        std::holds_alternative<PositionEmbedding>(attributes);
    needs_gradient_[i] =
        learns || std::ranges::any_of(inputs, [this](Value input) { return needs_gradient(input); });
  }
}

dnnl::primitive_attr Lowering::attributes() const {
  dnnl::primitive_attr attributes;
  if (!learning_.hidden_scratchpads) attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

TensorId Lowering::tensor(std::string name, Kind kind, const dnnl::memory::desc& desc) {
  bytes_ += static_cast<std::uint64_t>(count_of(desc.dims())) * sizeof(float);
  if (bytes_ > sample::most_bytes)
    throw tier::ConfigError{fmt::format(
        "the tensors of a step of {} take more than {}: make options such as --batch and --image smaller",
        step_.network, tier::to_human(tier::Bytes{sample::most_bytes}))};
  constexpr std::size_t most_tensors = 100'000;  // their descriptions take memory, too
  if (step_.tensors.size() == most_tensors)
    throw tier::ConfigError{
        fmt::format("a step of {} has more than {} tensors: make options such as --width and --steps smaller",
                    step_.network, most_tensors)};
  step_.tensors.push_back({std::move(name), kind, desc, desc.get_size()});
  return step_.tensors.size() - 1;
}

TensorId Lowering::parameter(std::string name, const dnnl::memory::desc& desc, const Initial& initial) {
  const auto id = tensor(name, Kind::Parameter, desc);
  step_.parameters.push_back({id, initial});
  return id;
}

TensorId Lowering::learned(std::string name, const dnnl::memory::desc& desc, const Initial& initial) {
  const auto id = parameter(name, desc, initial);
  const bool adam = learning_.optimizer == Optimizer::Adam;
  const auto count = static_cast<std::size_t>(count_of(desc.dims()));
  for (std::size_t first = 0; first < count; first += most_of_a_state) {
    StateSlice slice{.first = first, .count = std::min(most_of_a_state, count - first)};
    const auto suffix = count > most_of_a_state ? fmt::format(".{}", first / most_of_a_state) : "";
    for (const auto* of : adam ? std::vector{".mean", ".square"} : std::vector{".velocity"})
      slice.tensors.push_back(
          parameter(name + of + suffix, dense({static_cast<std::int64_t>(slice.count)}), {}));
    states_[id].push_back(std::move(slice));
  }
  if (initial.deviation > 0) decaying_.insert(id);
  return id;
}

Kernel Lowering::made(NewKernel from) const {
  Kernel kernel{.name = std::move(from.name),
                .op = std::move(from.op),
                .phase = from.phase,
                .flops = from.flops,
                .primitive = std::move(from.primitive),
                .function = std::move(from.function),
                .again = {}};
  for (const auto& [index, tensor, role, part, offset] : from.operands) {
    const bool whole = part.is_zero();
    const auto bytes = whole ? step_.tensors[tensor].bytes : bytes_of(part);
    auto use = std::ranges::find(kernel.uses, tensor, &Use::tensor);
    if (use == kernel.uses.end()) {
      use = kernel.uses.insert(use, {tensor, role, bytes});
    } else {
      use->bytes = std::min(use->bytes + bytes, step_.tensors[tensor].bytes);
      if (use->role != role) use->role = Role::Updates;
    }
    kernel.arguments.push_back({index, static_cast<std::size_t>(use - kernel.uses.begin()),
                                whole ? step_.tensors[tensor].desc : part, offset});
  }
  return kernel;
}

void Lowering::add(NewKernel kernel) { step_.kernels.push_back(made(std::move(kernel))); }

void Lowering::add_again(Value layer) {
  const auto found = with_relu_.find(layer.layer);
  if (found != with_relu_.end())
    step_.kernels.back().again = std::make_shared<const Kernel>(made(found->second));
}

TensorId Lowering::output(Value of_layer) {
  const auto& layer = network_.layer(of_layer);
  return values_[of_layer.layer] = tensor(layer.name + ".y", Kind::Activation, dense(layer.shape));
}

TensorId Lowering::output_in_place(Value of_layer) {
  if (!may_overwrite_input(of_layer)) return output(of_layer);
  return values_[of_layer.layer] = of(network_.layer(of_layer).inputs.front());
}

void Lowering::set_output(Value layer, TensorId tensor) { values_[layer.layer] = tensor; }

bool Lowering::may_overwrite_input(Value value) const {
  const auto& layer = network_.layer(value);
  const auto input = layer.inputs.front();
  const auto& producer = network_.layer(input);
  if (consumers_[input.layer] != 1 || std::holds_alternative<Input>(producer.attributes)) return false;
  return !is_training() ||
         (!backward_reads(producer.attributes).output && !backward_reads(layer.attributes).input);
}

TensorId Lowering::labels() {
  if (!labels_) labels_ = tensor("labels", Kind::Input, dense(network_.layers().back().shape));
  return *labels_;
}

TensorId Lowering::laid_out(TensorId from, const dnnl::memory::desc& wanted, Phase phase) {
  if (desc(from) == wanted) return from;
  for (const auto made : layouts_[from])
    if (desc(made) == wanted) return made;
  const auto made = copied(from, step_.tensors[from].name + ".layout", Kind::Temporary, wanted, phase);
  layouts_[from].push_back(made);
  return made;
}

TensorId Lowering::copied(TensorId from, std::string name, Kind kind, const dnnl::memory::desc& wanted,
                          Phase phase) {
  const auto to = tensor(name, kind, wanted);
  const dnnl::reorder::primitive_desc primitive{cpu(), desc(from), cpu(), wanted, attributes()};
  add({.name = std::move(name),
       .op = "copy",
       .phase = phase,
       .operands = {{DNNL_ARG_FROM, from, Role::Reads}, {DNNL_ARG_TO, to, Role::Overwrites}}},
      primitive);
  return to;
}

TensorId Lowering::gradient(Value value) { return contributions_[value.layer].front(); }

TensorId Lowering::new_gradient(const Layer& layer, Value input) {
  return tensor(layer.name + ".dx", Kind::Gradient, dense(shape(input)));
}

void Lowering::contribute(Value input, TensorId gradient) {
  if (!needs_gradient(input)) return;
  contributions_[input.layer].push_back(gradient);
  ++pending_[gradient];
}

void Lowering::sum_contributions(Value value) {
  auto& parts = contributions_[value.layer];
  if (parts.size() == 1) return;
  auto base = std::ranges::find_if(parts, [this](TensorId part) { return is_own(part); });
  std::size_t first = 1;
  if (base != parts.end()) {
    std::iter_swap(parts.begin(), base);
  } else {
    const auto sum = tensor(network_.layer(value).name + ".dy", Kind::Gradient, dense(shape(value)));
    add_tensors(network_.layer(value).name + ".dy", Phase::Backward, parts[0], parts[1], sum);
    --pending_[parts[0]];
    --pending_[parts[1]];
    pending_[sum] = 1;
    parts[0] = sum;
    first = 2;
  }
  for (std::size_t i = first; i < parts.size(); ++i) {
    add_tensors(network_.layer(value).name + ".dy", Phase::Backward, parts[0], parts[i], parts[0]);
    --pending_[parts[i]];
  }
  parts.resize(1);
}

void Lowering::add_tensors(std::string name, Phase phase, TensorId a, TensorId b, TensorId sum) {
  const dnnl::binary::desc op{dnnl::algorithm::binary_add, desc(a), desc(b), desc(sum)};
  const dnnl::binary::primitive_desc primitive{op, attributes(), cpu()};
  add({.name = std::move(name),
       .op = "add",
       .phase = phase,
       .operands = {{DNNL_ARG_SRC_0, a, a == sum ? Role::Updates : Role::Reads},
                    {DNNL_ARG_SRC_1, b, Role::Reads},
                    {DNNL_ARG_DST, sum, a == sum ? Role::Updates : Role::Overwrites}}},
      primitive);
}

void Lowering::learn(TensorId parameter, TensorId gradient) {
  if (desc(gradient) != desc(parameter))
    gradient = copied(gradient, step_.tensors[gradient].name + ".plain", Kind::Gradient, desc(parameter),
                      Phase::Backward);
  for (const auto& slice : states_.at(parameter)) update(parameter, gradient, slice);
}

void Lowering::update(TensorId parameter, TensorId gradient, const StateSlice& slice) {
  NewKernel kernel{.name = step_.tensors[parameter].name + ".update", .op = "sgd", .phase = Phase::Update};
  const auto part = dense({static_cast<std::int64_t>(slice.count)});
  const auto before = slice.first * sizeof(float);
  kernel.operands = {{0, parameter, Role::Updates, part, before}, {0, gradient, Role::Reads, part, before}};
  for (const auto state : slice.tensors) kernel.operands.push_back({0, state, Role::Updates});
  const auto count = slice.count;
  const float decay = decaying_.contains(parameter) ? learning_.decay : 0;
  if (learning_.optimizer == Optimizer::Adam) {
    kernel.op = "adam";
    kernel.function = [=](std::span<float* const> data, Iteration& iteration) {
      step_adam({data[0], data[1], data[2], data[3], count}, iteration, decay);
    };
  } else {
    const float momentum = learning_.momentum;
    kernel.function = [=](std::span<float* const> data, Iteration& iteration) {
      step_sgd({data[0], data[1], data[2], count}, iteration.rate, momentum, decay);
    };
  }
  add(std::move(kernel));
}

Step lower_training(const Network& network, const Learning& learning) {
  return Lowering{network, Mode::Training, learning}.lower();
}

Step lower_prediction(const Network& network, const Learning& learning) {
  return Lowering{network, Mode::Prediction, learning}.lower();
}

}  // namespace training
