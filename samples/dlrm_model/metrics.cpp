// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace dlrm {

// Computes the rank-sum form: for each group of equal logits, counts the samples below it.
double auc(std::vector<Prediction> predictions) {
  for (const auto& prediction : predictions) {
    if (std::isnan(prediction.logit)) return prediction.logit;
  }
  std::sort(predictions.begin(), predictions.end(),
            [](const Prediction& a, const Prediction& b) { return a.logit < b.logit; });
  double pairs_won = 0;
  std::uint64_t clicked = 0;
  std::uint64_t ignored = 0;
  for (std::size_t i = 0; i < predictions.size();) {
    const float logit = predictions[i].logit;
    std::uint64_t clicked_here = 0;
    std::uint64_t ignored_here = 0;
    for (; i < predictions.size() && predictions[i].logit == logit; ++i) {
      ++(predictions[i].label > 0 ? clicked_here : ignored_here);
    }
    pairs_won += static_cast<double>(clicked_here) *
                 (static_cast<double>(ignored) + 0.5 * static_cast<double>(ignored_here));
    clicked += clicked_here;
    ignored += ignored_here;
  }
  if (clicked == 0 || ignored == 0) return std::numeric_limits<double>::quiet_NaN();
  return pairs_won / (static_cast<double>(clicked) * static_cast<double>(ignored));
}

double log_loss(const Prediction& prediction) {
  const double x = prediction.logit;
  return std::max(x, 0.0) - x * static_cast<double>(prediction.label) + std::log1p(std::exp(-std::abs(x)));
}

double log_loss(const std::vector<Prediction>& predictions) {
  double sum = 0;
  for (const auto& prediction : predictions) sum += log_loss(prediction);
  return sum / static_cast<double>(predictions.size());
}

}  // namespace dlrm
