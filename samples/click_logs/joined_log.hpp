// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Joins logs of one format, one after the other.
#include "click_logs/log.hpp"

namespace dlrm {

class JoinedLog final : public Log {
 public:
  /// \param parts  at least one
  explicit JoinedLog(std::vector<std::unique_ptr<Log>> parts) : parts_{std::move(parts)} {}

  [[nodiscard]] const LogShape& shape() const override { return parts_.front()->shape(); }
  bool next(Record& record) override;
  void rewind() override;
  [[nodiscard]] const BadLines& bad_lines() const override { return bad_; }

 private:
  std::vector<std::unique_ptr<Log>> parts_;
  std::size_t at_ = 0;
  BadLines ended_;  // of the parts that have ended
  BadLines bad_;    // the same plus those of the current part
};

}  // namespace dlrm
