// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "networks/network.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>

#include <limits>
#include <utility>

namespace training {
namespace {

constexpr std::array<std::string_view, std::variant_size_v<Attributes>> kinds{
    "input",   "conv",  "bn",   "relu", "pool",     "concat",    "sum", "fc",
    "dropout", "embed", "lstm", "ln",   "position", "attention", "loss"};

std::int64_t extent_after(std::int64_t extent, std::int64_t kernel, std::int64_t stride,
                          std::int64_t padding) {
  const auto room = extent + 2 * padding - kernel;
  if (room < 0)
    throw tier::ConfigError{
        fmt::format("the image is too small for this network: {} pixels are left where a "
                    "layer needs {}; --image N enlarges it",
                    extent, kernel - 2 * padding)};
  return room / stride + 1;
}

Dims after(const Dims& x, std::int64_t channels, const Pair& kernel, const Pair& stride,
           const Pair& padding) {
  return {x[0], channels, extent_after(x[2], kernel[0], stride[0], padding[0]),
          extent_after(x[3], kernel[1], stride[1], padding[1])};
}

}  // namespace

std::int64_t count_of(const Dims& dims) {
  constexpr std::int64_t most = std::int64_t{1} << 48;  // 1 PiB of floats
  std::int64_t count = 1;
  bool fits = true;
  for (const auto extent : dims) fits = !__builtin_mul_overflow(count, extent, &count) && fits;
  if (fits && count >= 0 && count <= most) return count;
  throw tier::ConfigError{
      fmt::format("a tensor of {} values is too large: at most {} are allowed; make options such as --batch "
                  "and --image smaller",
                  fmt::join(dims, " x "), most)};
}

namespace {

/// Checks an image's size, since oneDNN counts its values in 32 bits.
void check_shape(const Dims& shape) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (count_of(shape) == 0 || shape.size() != 4 || count_of(shape) / shape[0] <= most) return;
  throw tier::ConfigError{fmt::format(
      "an image of {} x {} x {} values in a layer is too large: at most {} are allowed; make --image smaller",
      shape[1], shape[2], shape[3], most)};
}

}  // namespace

Value Network::add(Attributes attributes, std::vector<Value> inputs, Dims shape) {
  check_shape(shape);
  const auto kind = kinds[attributes.index()];
  auto name = fmt::format("{}{}", kind, ++count_of_kind_[kind]);
  layers_.push_back({std::move(name), std::move(attributes), std::move(inputs), std::move(shape)});
  return {layers_.size() - 1};
}

Value Network::convolution(Value x, const Convolution& a) {
  return add(a, {x}, after(shape(x), a.channels, a.kernel, a.stride, a.padding));
}

Value Network::max_pool(Value x, Pooling a) {
  a.kind = PoolKind::Max;
  return add(a, {x}, after(shape(x), shape(x)[1], a.kernel, a.stride, a.padding));
}

Value Network::mean_pool(Value x, Pooling a) {
  a.kind = PoolKind::Mean;
  return add(a, {x}, after(shape(x), shape(x)[1], a.kernel, a.stride, a.padding));
}

Value Network::mean_of_image(Value x) {
  const Pair whole{shape(x)[2], shape(x)[3]};
  return mean_pool(x, {.kernel = whole, .stride = {1, 1}});
}

Value Network::concat(std::span<const Value> parts) {
  auto dims = shape(parts.front());
  dims[1] = 0;
  for (const auto part : parts) {
    const auto& of = shape(part);
    TIER_VERIFY(of[0] == dims[0] && of[2] == dims[2] && of[3] == dims[3],
                "parts must agree in all dimensions but channels");
    dims[1] += of[1];
  }
  return add(Concat{}, {parts.begin(), parts.end()}, dims);
}

Value Network::sum(Value a, Value b) {
  TIER_VERIFY(shape(a) == shape(b), "values that are added must have the same shape");
  return add(Sum{}, {a, b}, shape(a));
}

Value Network::inner_product(Value x, const InnerProduct& a) {
  const auto& of = shape(x);
  return add(a, {x}, of.size() == 3 ? Dims{of[0], of[1], a.width} : Dims{of[0], a.width});
}

Value Network::embedding(Value ids, const Embedding& a) {
  const auto& of = shape(ids);
  return add(a, {ids}, {of[0], of[1], a.width});
}

Value Network::lstm(Value x, const Lstm& a) {
  const auto& of = shape(x);
  return add(a, {x}, {of[0], of[1], a.width});
}

Value Network::position_embedding(Value x, const PositionEmbedding& a) {
  TIER_VERIFY(shape(x)[0] <= a.count, "each step of a sequence must have a position");
  return add(a, {x}, shape(x));
}

Value Network::attention(Value x, const Attention& a) {
  const auto& of = shape(x);
  const auto width = of[2] / 3;
  if (width % a.heads != 0)
    throw tier::ConfigError{
        fmt::format("a width of {} is no multiple of {}, the number of attention heads", width, a.heads)};
  return add(a, {x}, {of[0], of[1], width});
}

void Network::softmax_loss(Value logits) {
  const auto& of = shape(logits);
  add(SoftmaxLoss{}, {logits}, {count_of(of) / of.back()});
}

}  // namespace training
