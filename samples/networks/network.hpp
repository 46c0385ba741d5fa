// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A network as data: layers, their inputs and the shapes of their outputs. Nothing is allocated.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace training {

/// Images are [batch, channels, height, width], sequences [steps, batch, width], rows [batch, width].
using Dims = std::vector<std::int64_t>;
/// Returns the number of values.   \throws  `tier::ConfigError` naming the extents above 1 PiB of floats
[[nodiscard]] std::int64_t count_of(const Dims& dims);

/// Vertical and horizontal extent.
using Pair = std::array<std::int64_t, 2>;

struct Input {};
struct Convolution {
  std::int64_t channels = 0;
  Pair kernel{1, 1};
  Pair stride{1, 1};
  Pair padding{0, 0};
  bool bias = false;
};
struct BatchNorm {};
struct Relu {};
enum class PoolKind : std::uint8_t { Max, Mean };
struct Pooling {
  PoolKind kind = PoolKind::Max;
  Pair kernel{2, 2};
  Pair stride{2, 2};
  Pair padding{0, 0};
};
struct Concat {};  // joins channels
struct Sum {};
/// Multiplies each image as a whole, or each row of a sequence, by weights.
struct InnerProduct {
  std::int64_t width = 0;
  bool bias = true;
};
struct Dropout {
  float share = 0.5F;  ///< of the values that become 0
};
/// Maps whole numbers below `count`, [steps, batch], to rows.
struct Embedding {
  std::int64_t count = 0;
  std::int64_t width = 0;
};
struct Lstm {
  std::int64_t width = 0;
  std::int64_t layers = 1;         ///< each reads the output of the one below
  std::int64_t steps_at_once = 0;  ///< per kernel; 0: all. Affects results only by rounding
};
/// Normalises each row of a sequence.
struct LayerNorm {};
/// Adds to each row of a sequence the learned row of its step.
struct PositionEmbedding {
  std::int64_t count = 0;  ///< steps of the longest sequence
};
/// Takes rows with query, key and value side by side. Causal: each step attends to itself and earlier steps.
struct Attention {
  std::int64_t heads = 1;
};
/// The mean cross-entropy of softmax against labels, given as one class per row.
struct SoftmaxLoss {};

using Attributes =
    std::variant<Input, Convolution, BatchNorm, Relu, Pooling, Concat, Sum, InnerProduct, Dropout, Embedding,
                 Lstm, LayerNorm, PositionEmbedding, Attention, SoftmaxLoss>;

/// The output of a layer, named by the layer's place in its network.
struct Value {
  std::size_t layer = 0;
  friend auto operator<=>(Value, Value) = default;
};

struct Layer {
  std::string name;  ///< `conv12`: unique in its network
  Attributes attributes;
  std::vector<Value> inputs;
  Dims shape;  ///< of the output
};

/// Builds a network layer by layer, so that each comes after its inputs.
class Network {
 public:
  explicit Network(std::string name) : name_{std::move(name)} {}

  Value input(const Dims& shape) { return add(Input{}, {}, shape); }
  /// \throws  `tier::ConfigError` if the image is smaller than the kernel; so do `max_pool` and `mean_pool`
  Value convolution(Value x, const Convolution& attributes);
  Value batch_norm(Value x) { return add(BatchNorm{}, {x}, shape(x)); }
  Value relu(Value x) { return add(Relu{}, {x}, shape(x)); }
  Value max_pool(Value x, Pooling attributes);
  Value mean_pool(Value x, Pooling attributes);
  /// Reduces the whole image to [batch, channels, 1, 1].
  Value mean_of_image(Value x);
  /// \pre  the images differ only in their channels
  Value concat(std::span<const Value> parts);
  Value concat(std::initializer_list<Value> parts) { return concat(std::span{parts.begin(), parts.size()}); }
  /// \pre  equal shapes
  Value sum(Value a, Value b);
  Value inner_product(Value x, const InnerProduct& attributes);
  Value dropout(Value x, const Dropout& attributes) { return add(attributes, {x}, shape(x)); }
  Value embedding(Value ids, const Embedding& attributes);
  Value lstm(Value x, const Lstm& attributes);
  Value layer_norm(Value x) { return add(LayerNorm{}, {x}, shape(x)); }
  /// \pre  no sequence is longer than the attributes allow
  Value position_embedding(Value x, const PositionEmbedding& attributes);
  /// \throws  `tier::ConfigError` if the heads do not share the width evenly
  Value attention(Value x, const Attention& attributes);
  /// Ends the network.
  void softmax_loss(Value logits);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] const Layer& layer(Value value) const { return layers_.at(value.layer); }
  [[nodiscard]] const Dims& shape(Value value) const { return layer(value).shape; }

 private:
  Value add(Attributes attributes, std::vector<Value> inputs, Dims shape);

  std::string name_;
  std::vector<Layer> layers_;
  std::map<std::string_view, std::size_t> count_of_kind_;
};

}  // namespace training
