// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The kernels of the model's dense part on plain pointers, by oneDNN if it has them. They know nothing of tiers.
///
/// All arrays are fp32, row-major and dense. Outputs are overwritten unless stated otherwise. Equal inputs and an equal
/// number of threads give the same bits.
#include <cstddef>
#include <memory>
#include <span>

namespace dlrm {

/// Computes y = x w^T + b, optionally with a ReLU.   x [batch, in], w [out, in], b [out], y [batch, out]
class LinearLayer {
 public:
  LinearLayer(std::size_t batch, std::size_t in, std::size_t out, bool relu);
  LinearLayer(LinearLayer&&) noexcept;
  ~LinearLayer();

  void forward(const float* x, const float* w, const float* b, float* y) const;
  /// \param dy  updated: becomes 0 where the ReLU was inactive. Call this before the other two.
  void backward_relu(const float* y, float* dy) const;
  void backward_weights(const float* x, const float* dy, float* dw, float* db) const;
  void backward_data(const float* dy, const float* w, float* dx) const;

  [[nodiscard]] bool relu() const;

 private:
  struct Primitives;
  std::unique_ptr<Primitives> primitives_;
};

/// Computes the dot products of all pairs of a sample's features, and puts them after the first feature.
/// x [batch, features, dim], pairs [batch, dim + features (features - 1) / 2], products [batch, features, features]
class Interaction {
 public:
  Interaction(std::size_t batch, std::size_t features, std::size_t dim);
  Interaction(Interaction&&) noexcept;
  ~Interaction();
  /// Returns the width of a row of `pairs`.
  [[nodiscard]] static std::size_t width(std::size_t features, std::size_t dim) {
    return dim + features * (features - 1) / 2;
  }

  /// \param products  scratch memory
  void forward(const float* x, float* products, float* pairs) const;
  /// \param products  scratch memory
  void backward(const float* x, const float* dpairs, float* products, float* dx) const;

 private:
  struct Primitives;
  std::unique_ptr<Primitives> primitives_;
};

/// Puts the parts, [batch, dim] each, side by side: [batch, parts, dim].
void concatenate(std::span<const float* const> parts, std::size_t batch, std::size_t dim, float* out);
/// Reverses `concatenate`.
void split(const float* in, std::size_t batch, std::size_t dim, std::span<float* const> parts);

/// Computes the mean binary cross-entropy of the first labels.size() of `samples` logits, and its gradient, else 0.
/// \return  the mean, summed in double in sample order
double loss_and_gradient(const float* logits, std::span<const float> labels, std::size_t samples,
                         float* dlogits);

/// w -= rate g
void step_sgd(float* w, const float* g, std::size_t count, float rate);
/// s += g^2, w -= rate g / (sqrt(s) + epsilon)
void step_adagrad(float* w, const float* g, float* s, std::size_t count, float rate);

inline constexpr float adagrad_epsilon = 1e-8F;

}  // namespace dlrm
