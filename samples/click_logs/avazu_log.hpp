// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Avazu's click log: a header, then id, click, hour and 21 categories, separated by commas.
#include "click_logs/text_lines.hpp"

namespace dlrm {

class AvazuLog final : public Log {
 public:
  explicit AvazuLog(const std::filesystem::path& path);
  [[nodiscard]] const LogShape& shape() const override { return shape_; }
  bool next(Record& record) override;
  void rewind() override { lines_.rewind(); }
  [[nodiscard]] const BadLines& bad_lines() const override { return lines_.bad_lines(); }

 private:
  void parse(std::string_view line, Record& record);

  LogShape shape_;
  TextLines lines_;
  Fields fields_;
};

}  // namespace dlrm
