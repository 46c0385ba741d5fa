// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A click log of any size, generated while it is read.
#include "click_logs/log.hpp"
#include "common/access_skew.hpp"

namespace dlrm {

struct GeneratedLogOptions {
  std::uint64_t records = 200'000;
  std::vector<std::uint64_t> rows;  ///< of each table
  std::size_t pooling = 8;          ///< ids per table and record
  std::string skew = "production";
  std::uint64_t seed = 1;
};

/// Generates records. Every row and every dense feature has a hidden weight, and the sum of these gives the probability of
/// a click: so there is something to learn, and a best AUC that no model beats. A record is a pure function of its number.
class GeneratedLog final : public Log {
 public:
  explicit GeneratedLog(const GeneratedLogOptions& options);
  [[nodiscard]] const LogShape& shape() const override { return shape_; }
  bool next(Record& record) override;
  void rewind() override { next_ = 0; }
  [[nodiscard]] const BadLines& bad_lines() const override { return none_; }

 private:
  double draw_dense(Record& record) const;
  double draw_ids(Record& record) const;

  GeneratedLogOptions options_;
  LogShape shape_;
  std::vector<sample::AccessSkew> tables_;
  std::uint64_t next_ = 0;
  BadLines none_;
};

}  // namespace dlrm
