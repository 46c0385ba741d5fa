// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include "dlrm_model/metrics.hpp"

namespace metrics_test {

using namespace dlrm;

TEST_CASE("the AUC is the share of pairs in the right order, ties counting half") {
  const auto* chosen = std::getenv("TIER_SEED");
  const auto seed = chosen ? std::stoul(chosen) : std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 50; ++round) {
    std::vector<Prediction> predictions(2 + random() % 60);
    for (auto& [logit, label] : predictions) {
      logit = static_cast<float>(random() % 10);
      label = static_cast<float>(random() % 2);
    }
    predictions[0].label = 0;
    predictions[1].label = 1;
    double pairs = 0;
    double won = 0;
    for (const auto& a : predictions) {
      for (const auto& b : predictions) {
        if (a.label < 1 || b.label > 0) continue;
        ++pairs;
        won += a.logit > b.logit ? 1 : a.logit == b.logit ? 0.5 : 0;
      }
    }
    CHECK(auc(predictions) == doctest::Approx(won / pairs));
  }
}

TEST_CASE("without both labels, or with a prediction that is no number, there is no AUC") {
  CHECK(std::isnan(auc({})));
  CHECK(std::isnan(auc({{1, 1}, {2, 1}})));
  CHECK(std::isnan(auc({{1, 0}, {std::numeric_limits<float>::quiet_NaN(), 1}})));
}

TEST_CASE("the log loss is that of the logits' probabilities, also far out") {
  CHECK(log_loss({.logit = 0, .label = 1}) == doctest::Approx(std::log(2)));
  CHECK(log_loss({.logit = 2, .label = 1}) == doctest::Approx(-std::log(1 / (1 + std::exp(-2)))));
  CHECK(log_loss({.logit = 2, .label = 0}) == doctest::Approx(-std::log(1 - 1 / (1 + std::exp(-2)))));
  CHECK(log_loss({.logit = -1000, .label = 1}) == doctest::Approx(1000));
  CHECK(log_loss({.logit = 1000, .label = 1}) == doctest::Approx(0));
  CHECK(log_loss(std::vector<Prediction>{{0, 1}, {-1000, 1}}) == doctest::Approx((std::log(2) + 1000) / 2));
}

}  // namespace metrics_test
