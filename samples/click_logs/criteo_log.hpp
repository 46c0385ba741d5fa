// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Criteo's click logs: label, 13 integers, 26 hexadecimal hashes, separated by tabs, no header.
#include "click_logs/text_lines.hpp"

namespace dlrm {

class CriteoLog final : public Log {
 public:
  static constexpr std::size_t integers = 13;
  static constexpr std::size_t categories = 26;

  explicit CriteoLog(const std::filesystem::path& path);
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
