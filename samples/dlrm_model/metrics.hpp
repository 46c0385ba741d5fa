// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Measures how well clicks were predicted.
#include <vector>

namespace dlrm {

struct Prediction {
  float logit;
  float label;  ///< 0 or 1
};

/// Returns the exact probability that a clicked sample ranks above one that is not; a tie counts one half.
/// \return  NaN unless there are samples of both kinds
[[nodiscard]] double auc(std::vector<Prediction> predictions);

/// Returns the mean binary cross-entropy in nats.
[[nodiscard]] double log_loss(const std::vector<Prediction>& predictions);

/// Returns the cross-entropy of one sample, without overflow for large logits.
[[nodiscard]] double log_loss(const Prediction& prediction);

}  // namespace dlrm
