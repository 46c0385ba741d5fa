// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace training::test {
namespace {

using Index = std::int64_t;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }
/// Returns the index into [batch, channels, height, width].
std::size_t place(const Dims& d, Index n, Index c, Index h, Index w) {
  return at(((n * d[1] + c) * d[2] + h) * d[3] + w);
}

void for_each_of(const Dims& d, auto f) {
  for (Index n = 0; n < d[0]; ++n)
    for (Index c = 0; c < d[1]; ++c)
      for (Index h = 0; h < d[2]; ++h)
        for (Index w = 0; w < d[3]; ++w) f(n, c, h, w);
}

/// Calls f(y, x, ky, kx) for each place of the window that lies in the image.
void for_each_in_window(const Dims& image, const Pair& kernel, const Pair& stride, const Pair& padding,
                        Index h, Index w, auto f) {
  for (Index ky = 0; ky < kernel[0]; ++ky) {
    for (Index kx = 0; kx < kernel[1]; ++kx) {
      const auto y = h * stride[0] - padding[0] + ky;
      const auto x = w * stride[1] - padding[1] + kx;
      if (y >= 0 && y < image[2] && x >= 0 && x < image[3]) f(y, x, ky, kx);
    }
  }
}

class Reference {
 public:
  /// \param keep  if empty, predicts
  Reference(const Network& network, const Weights& weights, const Batch& batch,
            const std::function<bool(std::size_t, std::size_t)>& keep)
      : network_{network}, weights_{weights}, batch_{batch}, keep_{keep} {}

  double loss() {
    for (const auto& layer : network_.layers()) {
      values_.emplace_back(at(count_of(layer.shape)));
      std::visit([&](const auto& attributes) { compute(layer, attributes, values_.back()); },
                 layer.attributes);
    }
    double sum = 0;
    for (const double each : values_.back()) sum += each;
    return sum / static_cast<double>(values_.back().size());
  }

 private:
  const Values& in(const Layer& layer, std::size_t i = 0) const { return values_[layer.inputs[i].layer]; }
  const Dims& shape_in(const Layer& layer, std::size_t i = 0) const {
    return network_.shape(layer.inputs[i]);
  }
  const Values& weights(const Layer& layer, const char* which) const {
    return weights_.at(layer.name + "." + which);
  }

  void compute(const Layer&, const Input&, Values& y) { y = batch_.inputs; }

  void compute(const Layer& layer, const Convolution& a, Values& y) {
    const auto& x = in(layer);
    const auto& image = shape_in(layer);
    const auto& w = weights(layer, "w");
    const Dims of_weights{a.channels, image[1], a.kernel[0], a.kernel[1]};
    for_each_of(layer.shape, [&](Index n, Index c, Index h, Index v) {
      double sum = a.bias ? weights(layer, "b")[at(c)] : 0;
      for_each_in_window(image, a.kernel, a.stride, a.padding, h, v,
                         [&](Index yy, Index xx, Index ky, Index kx) {
                           for (Index i = 0; i < image[1]; ++i)
                             sum += x[place(image, n, i, yy, xx)] * w[place(of_weights, c, i, ky, kx)];
                         });
      y[place(layer.shape, n, c, h, v)] = sum;
    });
  }

  void compute(const Layer& layer, const BatchNorm&, Values& y) {
    const auto& d = layer.shape;
    const auto& x = in(layer);
    const auto& scale_shift = weights(layer, "w");
    const auto [mean, variance] =
        keep_ ? statistics(d, x)
              : std::pair{weights(layer, "running_mean"), weights(layer, "running_variance")};
    for_each_of(d, [&](Index n, Index c, Index h, Index w) {
      const auto i = place(d, n, c, h, w);
      y[i] = (x[i] - mean[at(c)]) / std::sqrt(variance[at(c)] + 1e-5) * scale_shift[at(c)] +
             scale_shift[at(d[1] + c)];
    });
  }

  /// Returns the mean and variance of each channel.
  static std::pair<Values, Values> statistics(const Dims& d, const Values& x) {
    const auto count = static_cast<double>(d[0] * d[2] * d[3]);
    Values mean(at(d[1]));
    Values variance(at(d[1]));
    for_each_of(d,
                [&](Index n, Index c, Index h, Index w) { mean[at(c)] += x[place(d, n, c, h, w)] / count; });
    for_each_of(d, [&](Index n, Index c, Index h, Index w) {
      variance[at(c)] += std::pow(x[place(d, n, c, h, w)] - mean[at(c)], 2) / count;
    });
    return {mean, variance};
  }

  void compute(const Layer& layer, const Relu&, Values& y) {
    std::ranges::transform(in(layer), y.begin(), [](double x) { return std::max(x, 0.0); });
  }

  void compute(const Layer& layer, const Pooling& a, Values& y) {
    const auto& x = in(layer);
    const auto& image = shape_in(layer);
    for_each_of(layer.shape, [&](Index n, Index c, Index h, Index w) {
      double top = -std::numeric_limits<double>::infinity();
      double sum = 0;
      int count = 0;
      for_each_in_window(image, a.kernel, a.stride, a.padding, h, w, [&](Index yy, Index xx, Index, Index) {
        top = std::max(top, x[place(image, n, c, yy, xx)]);
        sum += x[place(image, n, c, yy, xx)];
        ++count;
      });
      y[place(layer.shape, n, c, h, w)] = a.kind == PoolKind::Max ? top : sum / count;
    });
  }

  void compute(const Layer& layer, const Concat&, Values& y) {
    Index before = 0;
    for (std::size_t part = 0; part < layer.inputs.size(); ++part) {
      const auto& d = shape_in(layer, part);
      for_each_of(d, [&](Index n, Index c, Index h, Index w) {
        y[place(layer.shape, n, before + c, h, w)] = in(layer, part)[place(d, n, c, h, w)];
      });
      before += d[1];
    }
  }

  void compute(const Layer& layer, const Sum&, Values& y) {
    std::ranges::transform(in(layer), in(layer, 1), y.begin(), std::plus<>{});
  }

  void compute(const Layer& layer, const InnerProduct& a, Values& y) {
    const auto rows = count_of(layer.shape) / a.width;
    const auto width = count_of(shape_in(layer)) / rows;
    for (Index row = 0; row < rows; ++row) {
      for (Index o = 0; o < a.width; ++o) {
        double sum = a.bias ? weights(layer, "b")[at(o)] : 0;
        for (Index i = 0; i < width; ++i)
          sum += in(layer)[at(row * width + i)] * weights(layer, "w")[at(o * width + i)];
        y[at(row * a.width + o)] = sum;
      }
    }
  }

  void compute(const Layer& layer, const Dropout& a, Values& y) {
    if (!keep_) {
      y = in(layer);
      return;
    }
    const auto index = static_cast<std::size_t>(&layer - network_.layers().data());
    const auto& d = layer.shape;
    const auto scale = 1 / (1 - double{a.share});
    const auto drop = [&](std::size_t i, std::size_t in_memory) {
      y[i] = keep_(index, in_memory) ? in(layer)[i] * scale : 0;
    };
    if (d.size() != 4) {
      for (std::size_t i = 0; i < y.size(); ++i) drop(i, i);
      return;
    }
    for_each_of(d, [&](Index n, Index c, Index h, Index w) {
      drop(place(d, n, c, h, w), at(((n * d[2] + h) * d[3] + w) * d[1] + c));
    });
  }

  void compute(const Layer& layer, const Embedding& a, Values& y) {
    const auto width = at(a.width);
    for (std::size_t i = 0; i < in(layer).size(); ++i) {
      const auto id = static_cast<std::size_t>(in(layer)[i]);
      for (std::size_t j = 0; j < width; ++j) y[i * width + j] = weights(layer, "w")[id * width + j];
    }
  }

  /// Hochreiter and Schmidhuber, 1997, with forget gates; gates in the order input, forget, candidate, output.
  void compute(const Layer& layer, const Lstm& a, Values& y) {
    const auto& d = shape_in(layer);
    auto x = in(layer);
    for (std::int64_t i = 0; i < a.layers; ++i)
      x = after_lstm(layer.name + "_l" + std::to_string(i), x, at(d[0]), at(d[1]), at(a.width));
    y = x;
  }

  Values after_lstm(const std::string& name, const Values& x, std::size_t steps, std::size_t batch,
                    std::size_t width) {
    const auto inputs = x.size() / (steps * batch);
    const auto& wx = weights_.at(name + ".wx");
    const auto& wh = weights_.at(name + ".wh");
    const auto& bias = weights_.at(name + ".b");
    const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
    Values y(steps * batch * width);
    Values h(batch * width);
    Values c(batch * width);
    for (std::size_t t = 0; t < steps; ++t) {
      const Values old = h;
      for (std::size_t n = 0; n < batch; ++n) {
        for (std::size_t o = 0; o < width; ++o) {
          double gate[4];
          for (std::size_t g = 0; g < 4; ++g) {
            gate[g] = bias[g * width + o];
            for (std::size_t i = 0; i < inputs; ++i)
              gate[g] += x[(t * batch + n) * inputs + i] * wx[(i * 4 + g) * width + o];
            for (std::size_t i = 0; i < width; ++i)
              gate[g] += old[n * width + i] * wh[(i * 4 + g) * width + o];
          }
          auto& cell = c[n * width + o];
          cell = sigmoid(gate[1]) * cell + sigmoid(gate[0]) * std::tanh(gate[2]);
          y[(t * batch + n) * width + o] = h[n * width + o] = sigmoid(gate[3]) * std::tanh(cell);
        }
      }
    }
    return y;
  }

  /// Ba et al., 2016.
  void compute(const Layer& layer, const LayerNorm&, Values& y) {
    const auto& x = in(layer);
    const auto& scale_shift = weights(layer, "w");
    const auto width = at(layer.shape.back());
    for (std::size_t row = 0; row < y.size(); row += width) {
      double mean = 0;
      double variance = 0;
      for (std::size_t i = 0; i < width; ++i) mean += x[row + i] / static_cast<double>(width);
      for (std::size_t i = 0; i < width; ++i)
        variance += std::pow(x[row + i] - mean, 2) / static_cast<double>(width);
      for (std::size_t i = 0; i < width; ++i)
        y[row + i] =
            (x[row + i] - mean) / std::sqrt(variance + 1e-5) * scale_shift[i] + scale_shift[width + i];
    }
  }

  void compute(const Layer& layer, const PositionEmbedding&, Values& y) {
    const auto batch = at(layer.shape[1]), width = at(layer.shape[2]);
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = in(layer)[i] + weights(layer, "w")[i / (batch * width) * width + i % width];
  }

  /// Vaswani et al., 2017. Each input row holds query, key and value; a head has its part of each.
  void compute(const Layer& layer, const Attention& a, Values& y) {
    const auto& x = in(layer);
    const auto steps = at(layer.shape[0]), batch = at(layer.shape[1]), width = at(layer.shape[2]);
    const auto heads = at(a.heads), share = width / heads;
    for (std::size_t n = 0; n < batch; ++n) {
      for (std::size_t head = 0; head < heads; ++head) {
        const auto place = [&](std::size_t t, std::size_t part, std::size_t i) {
          return (t * batch + n) * 3 * width + part * width + head * share + i;
        };
        for (std::size_t t = 0; t < steps; ++t) {
          Values weight(t + 1);  // of this and the earlier steps
          double sum = 0;
          for (std::size_t u = 0; u <= t; ++u) {
            double score = 0;
            for (std::size_t i = 0; i < share; ++i) score += x[place(t, 0, i)] * x[place(u, 1, i)];
            sum += weight[u] = std::exp(score / std::sqrt(static_cast<double>(share)));
          }
          for (std::size_t i = 0; i < share; ++i) {
            double value = 0;
            for (std::size_t u = 0; u <= t; ++u) value += weight[u] / sum * x[place(u, 2, i)];
            y[(t * batch + n) * width + head * share + i] = value;
          }
        }
      }
    }
  }

  void compute(const Layer& layer, const SoftmaxLoss&, Values& y) {
    const auto classes = in(layer).size() / y.size();
    for (std::size_t row = 0; row < y.size(); ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < classes; ++i) sum += std::exp(in(layer)[row * classes + i]);
      y[row] = std::log(sum) - in(layer)[row * classes + static_cast<std::size_t>(batch_.labels[row])];
    }
  }

  const Network& network_;
  const Weights& weights_;
  const Batch& batch_;
  const std::function<bool(std::size_t, std::size_t)>& keep_;
  std::vector<Values> values_;
};

}  // namespace

double reference_loss(const Network& network, const Weights& weights, const Batch& batch,
                      const std::function<bool(std::size_t, std::size_t)>& keep) {
  return Reference{network, weights, batch, keep}.loss();
}

}  // namespace training::test
