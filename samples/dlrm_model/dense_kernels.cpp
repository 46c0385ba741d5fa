// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dense_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <oneapi/dnnl/dnnl.hpp>

#include "metrics.hpp"

namespace dlrm {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using dnnl::prop_kind;
using Tag = memory::format_tag;

memory::desc array(const memory::dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

memory::dim extent(std::size_t n) { return static_cast<memory::dim>(n); }

const dnnl::engine& cpu() {
  static const dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  return engine;
}

struct Argument {
  int index;
  memory::desc desc;
  const float* pointer;
};

// oneDNN takes inputs and outputs as plain void pointers, hence the cast.
void execute(const dnnl::primitive& primitive, std::initializer_list<Argument> arguments) {
  thread_local dnnl::stream stream{cpu()};
  std::unordered_map<int, memory> map;
  for (const auto& [index, desc, pointer] : arguments) {
    map.emplace(index, memory{desc, cpu(), const_cast<float*>(pointer)});
  }
  primitive.execute(stream, map);
  stream.wait();
}

}  // namespace

struct LinearLayer::Primitives {
  memory::desc x, w, b, y;
  bool relu;
  dnnl::inner_product_forward forward;
  dnnl::eltwise_backward backward_relu;
  dnnl::inner_product_backward_weights backward_weights;
  dnnl::inner_product_backward_data backward_data;

  Primitives(std::size_t batch, std::size_t in, std::size_t out, bool with_relu)
      : x{array({extent(batch), extent(in)}, Tag::ab)},
        w{array({extent(out), extent(in)}, Tag::ab)},
        b{array({extent(out)}, Tag::a)},
        y{array({extent(batch), extent(out)}, Tag::ab)},
        relu{with_relu} {
    dnnl::primitive_attr attributes;
    if (relu) {
      dnnl::post_ops operations;
      operations.append_eltwise(1, algorithm::eltwise_relu, 0, 0);
      attributes.set_post_ops(operations);
    }
    const dnnl::inner_product_forward::primitive_desc hint{
        {prop_kind::forward_training, x, w, b, y}, attributes, cpu()};
    forward = dnnl::inner_product_forward{hint};
    backward_weights = dnnl::inner_product_backward_weights{{{x, w, b, y}, cpu(), hint}};
    backward_data = dnnl::inner_product_backward_data{{{x, w, y}, cpu(), hint}};
    // The slope is computed from the output, so the input need not be kept.
    const auto from_output = algorithm::eltwise_relu_use_dst_for_bwd;
    const dnnl::eltwise_forward::primitive_desc relu_hint{{prop_kind::forward_training, from_output, y, 0, 0},
                                                          cpu()};
    backward_relu = dnnl::eltwise_backward{{{from_output, y, y, 0, 0}, cpu(), relu_hint}};
  }
};

LinearLayer::LinearLayer(std::size_t batch, std::size_t in, std::size_t out, bool relu)
    : primitives_{std::make_unique<Primitives>(batch, in, out, relu)} {}
LinearLayer::LinearLayer(LinearLayer&&) noexcept = default;
LinearLayer::~LinearLayer() = default;

bool LinearLayer::relu() const { return primitives_->relu; }

void LinearLayer::forward(const float* x, const float* w, const float* b, float* y) const {
  const auto& p = *primitives_;
  execute(
      p.forward,
      {{DNNL_ARG_SRC, p.x, x}, {DNNL_ARG_WEIGHTS, p.w, w}, {DNNL_ARG_BIAS, p.b, b}, {DNNL_ARG_DST, p.y, y}});
}

void LinearLayer::backward_relu(const float* y, float* dy) const {
  const auto& p = *primitives_;
  execute(p.backward_relu,
          {{DNNL_ARG_DST, p.y, y}, {DNNL_ARG_DIFF_DST, p.y, dy}, {DNNL_ARG_DIFF_SRC, p.y, dy}});
}

void LinearLayer::backward_weights(const float* x, const float* dy, float* dw, float* db) const {
  const auto& p = *primitives_;
  execute(p.backward_weights, {{DNNL_ARG_SRC, p.x, x},
                               {DNNL_ARG_DIFF_DST, p.y, dy},
                               {DNNL_ARG_DIFF_WEIGHTS, p.w, dw},
                               {DNNL_ARG_DIFF_BIAS, p.b, db}});
}

void LinearLayer::backward_data(const float* dy, const float* w, float* dx) const {
  const auto& p = *primitives_;
  execute(p.backward_data,
          {{DNNL_ARG_DIFF_DST, p.y, dy}, {DNNL_ARG_WEIGHTS, p.w, w}, {DNNL_ARG_DIFF_SRC, p.x, dx}});
}

struct Interaction::Primitives {
  std::size_t batch, features, dim, width;
  memory::desc x, transposed, products;
  dnnl::matmul forward;   // products = x x^T
  dnnl::matmul backward;  // dx = (dproducts + dproducts^T) x

  Primitives(std::size_t samples, std::size_t count, std::size_t columns)
      : batch{samples},
        features{count},
        dim{columns},
        width{Interaction::width(count, columns)},
        x{array({extent(batch), extent(features), extent(dim)}, Tag::abc)},
        transposed{array({extent(batch), extent(dim), extent(features)}, Tag::acb)},
        products{array({extent(batch), extent(features), extent(features)}, Tag::abc)},
        forward{{{x, transposed, products}, cpu()}},
        backward{{{products, x, x}, cpu()}} {}
};

Interaction::Interaction(std::size_t batch, std::size_t features, std::size_t dim)
    : primitives_{std::make_unique<Primitives>(batch, features, dim)} {}
Interaction::Interaction(Interaction&&) noexcept = default;
Interaction::~Interaction() = default;

void Interaction::forward(const float* x, float* products, float* pairs) const {
  const auto& p = *primitives_;
  execute(
      p.forward,
      {{DNNL_ARG_SRC, p.x, x}, {DNNL_ARG_WEIGHTS, p.transposed, x}, {DNNL_ARG_DST, p.products, products}});
#pragma omp parallel for schedule(static)
  for (std::size_t sample = 0; sample < p.batch; ++sample) {
    const float* square = products + sample * p.features * p.features;
    float* out = std::copy_n(x + sample * p.features * p.dim, p.dim, pairs + sample * p.width);
    for (std::size_t i = 1; i < p.features; ++i) out = std::copy_n(square + i * p.features, i, out);
  }
}

void Interaction::backward(const float* x, const float* dpairs, float* products, float* dx) const {
  const auto& p = *primitives_;
#pragma omp parallel for schedule(static)
  for (std::size_t sample = 0; sample < p.batch; ++sample) {
    float* square = products + sample * p.features * p.features;
    const float* in = dpairs + sample * p.width + p.dim;
    for (std::size_t i = 0; i < p.features; ++i) {
      square[i * p.features + i] = 0;
      for (std::size_t j = 0; j < i; ++j) square[i * p.features + j] = square[j * p.features + i] = *in++;
    }
  }
  execute(p.backward,
          {{DNNL_ARG_SRC, p.products, products}, {DNNL_ARG_WEIGHTS, p.x, x}, {DNNL_ARG_DST, p.x, dx}});
#pragma omp parallel for schedule(static)
  for (std::size_t sample = 0; sample < p.batch; ++sample) {
    float* first = dx + sample * p.features * p.dim;
    const float* in = dpairs + sample * p.width;
    for (std::size_t i = 0; i < p.dim; ++i) first[i] += in[i];
  }
}

void concatenate(std::span<const float* const> parts, std::size_t batch, std::size_t dim, float* out) {
#pragma omp parallel for schedule(static)
  for (std::size_t sample = 0; sample < batch; ++sample) {
    float* row = out + sample * parts.size() * dim;
    for (const float* part : parts) row = std::copy_n(part + sample * dim, dim, row);
  }
}

void split(const float* in, std::size_t batch, std::size_t dim, std::span<float* const> parts) {
#pragma omp parallel for schedule(static)
  for (std::size_t sample = 0; sample < batch; ++sample) {
    const float* row = in + sample * parts.size() * dim;
    for (float* part : parts) {
      std::copy_n(row, dim, part + sample * dim);
      row += dim;
    }
  }
}

double loss_and_gradient(const float* logits, std::span<const float> labels, std::size_t samples,
                         float* dlogits) {
  double loss = 0;
  const auto count = static_cast<double>(labels.size());
  for (std::size_t i = 0; i < labels.size(); ++i) {
    loss += log_loss({.logit = logits[i], .label = labels[i]});
    const double chance = 1 / (1 + std::exp(-static_cast<double>(logits[i])));
    dlogits[i] = static_cast<float>((chance - static_cast<double>(labels[i])) / count);
  }
  std::fill(dlogits + labels.size(), dlogits + samples, 0.0F);
  return loss / count;
}

void step_sgd(float* w, const float* g, std::size_t count, float rate) {
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < count; ++i) w[i] -= rate * g[i];
}

void step_adagrad(float* w, const float* g, float* s, std::size_t count, float rate) {
#pragma omp parallel for simd schedule(static)
  for (std::size_t i = 0; i < count; ++i) {
    s[i] += g[i] * g[i];
    w[i] -= rate * g[i] / (std::sqrt(s[i]) + adagrad_epsilon);
  }
}

}  // namespace dlrm
