// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The steps of the dense part on plain pointers, by oneDNN where it has them. They know nothing of tiers.
///
/// All arrays are fp32, row-major and dense; outputs are overwritten unless it says otherwise. The same inputs and
/// number of threads give the same bits.
#include <cstddef>
#include <memory>
#include <span>

namespace dlrm {

/// y = x w^T + b, with or without a ReLU after it.   x [batch, in], w [out, in], b [out], y [batch, out]
class LinearLayer {
 public:
  LinearLayer(std::size_t batch, std::size_t in, std::size_t out, bool relu);
  LinearLayer(LinearLayer&&) noexcept;
  ~LinearLayer();

  void forward(const float* x, const float* w, const float* b, float* y) const;
  /// \param dy  updated: where the ReLU was shut, the gradient becomes 0. Call this before the other two.
  void backward_relu(const float* y, float* dy) const;
  void backward_weights(const float* x, const float* dy, float* dw, float* db) const;
  void backward_data(const float* dy, const float* w, float* dx) const;

  [[nodiscard]] bool relu() const;

 private:
  struct Primitives;
  std::unique_ptr<Primitives> primitives_;
};

/// The dot product of every two of a sample's features, behind the first feature itself.
/// x [batch, features, dim], pairs [batch, dim + features (features - 1) / 2], products [batch, features, features]
class Interaction {
 public:
  Interaction(std::size_t batch, std::size_t features, std::size_t dim);
  Interaction(Interaction&&) noexcept;
  ~Interaction();
  /// Of a row of `pairs`.
  [[nodiscard]] static std::size_t width(std::size_t features, std::size_t dim) {
    return dim + features * (features - 1) / 2;
  }

  /// \param products  scratch
  void forward(const float* x, float* products, float* pairs) const;
  /// \param products  scratch
  void backward(const float* x, const float* dpairs, float* products, float* dx) const;

 private:
  struct Primitives;
  std::unique_ptr<Primitives> primitives_;
};

/// The parts, [batch, dim] each, side by side: [batch, parts, dim].
void concatenate(std::span<const float* const> parts, std::size_t batch, std::size_t dim, float* out);
/// And back.
void split(const float* in, std::size_t batch, std::size_t dim, std::span<float* const> parts);

/// Mean binary cross-entropy of the first labels.size() of `samples` logits, and its gradient (0 for the others).
/// \return  the mean, summed in sample order in double.
double loss_and_gradient(const float* logits, std::span<const float> labels, std::size_t samples,
                         float* dlogits);

/// w -= rate g
void step_sgd(float* w, const float* g, std::size_t count, float rate);
/// s += g^2, w -= rate g / (sqrt(s) + epsilon)
void step_adagrad(float* w, const float* g, float* s, std::size_t count, float rate);

inline constexpr float adagrad_epsilon = 1e-8F;

}  // namespace dlrm
