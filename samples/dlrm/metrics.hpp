// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  How well clicks were predicted.
#include <vector>

namespace dlrm {

struct Prediction {
  float logit;
  float label;  ///< 0 or 1
};

/// The chance that a clicked sample is ranked above one that is not, a tie counting one half. Exact.
/// \return  NaN unless both kinds are there.
[[nodiscard]] double auc(std::vector<Prediction> predictions);

/// Mean binary cross-entropy in nats.
[[nodiscard]] double log_loss(const std::vector<Prediction>& predictions);

/// The same of one sample, without overflow for large logits.
[[nodiscard]] double log_loss(const Prediction& prediction);

}  // namespace dlrm
