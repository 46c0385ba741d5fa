// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Bags of items: each line holds a user's number and the items of that user, separated by blanks.
#include <optional>

#include "click_logs/text_lines.hpp"

namespace dlrm {

/// Asks which of two items belongs to a bag: one of its own, held out of the bag, or one drawn from all items. Each line
/// makes two records: bag without the item, item (label 1); the same bag, drawn item (label 0).
/// A bag of fewer than two items makes none.
class BagsLog final : public Log {
 public:
  /// Reads the file once for its largest item.   \param seed  decides which items are held out and drawn, line by line
  BagsLog(const std::filesystem::path& path, std::uint64_t seed);
  [[nodiscard]] const LogShape& shape() const override { return shape_; }
  bool next(Record& record) override;
  void rewind() override;
  [[nodiscard]] const BadLines& bad_lines() const override { return lines_.bad_lines(); }

 private:
  void parse(std::string_view line);
  std::uint64_t draw_other_item() const;

  LogShape shape_;
  TextLines lines_;
  std::uint64_t seed_;
  std::uint64_t items_ = 0;         // the largest item plus one
  std::vector<std::uint64_t> bag_;  // of the last line read
  std::optional<Record> negative_;  // of the same line; returned next
};

}  // namespace dlrm
