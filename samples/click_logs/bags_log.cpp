// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "click_logs/bags_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/hashing.hpp"
#include "common/shown_text.hpp"

namespace dlrm {

using sample::mix;

BagsLog::BagsLog(const std::filesystem::path& path, std::uint64_t seed)
    : shape_{.dense = 1, .features = {"bag", "item"}}, lines_{path}, seed_{seed} {
  while (lines_.next([this](std::string_view line) {
    parse(line);
    return true;
  })) {
    for (const auto item : bag_) items_ = std::max(items_, item + 1);
  }
  rewind();
}

void BagsLog::rewind() {
  lines_.rewind();
  negative_.reset();
}

void BagsLog::parse(std::string_view line) {
  bag_.clear();
  std::size_t field = 0;
  for (std::size_t start = 0; start < line.size();) {
    const auto end = std::min(line.find(' ', start), line.size());
    const auto text = line.substr(start, end - start);
    start = end + 1;
    if (text.empty()) continue;
    std::uint32_t number = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || stop != text.data() + text.size()) {
      throw_bad_field(field + 1, field == 0 ? "user" : "item",
                      fmt::format("\"{}\" is not a number", sample::shown(text)));
    }
    if (field++ > 0) bag_.push_back(number);
  }
  if (field == 0) throw_bad_field(1, "user", "missing, the line is empty");
}

bool BagsLog::next(Record& record) {
  if (negative_) {
    record = *negative_;
    negative_.reset();
    return true;
  }
  const bool found = lines_.next([this](std::string_view line) {
    parse(line);
    if (bag_.size() >= 2) return true;
    lines_.note_unused("fewer than two items in the bag");
    return false;
  });
  if (!found) return false;
  const auto other = draw_other_item();
  const auto place =
      static_cast<std::ptrdiff_t>(mix(seed_, lines_.line_number(), std::uint64_t{0}) % bag_.size());
  const auto held_out = bag_[static_cast<std::size_t>(place)];
  bag_.erase(bag_.begin() + place);

  record.label = 1;
  record.dense.assign(1, static_cast<float>(std::log1p(static_cast<double>(bag_.size()))));
  record.ids.resize(2);
  record.ids[0].clear();
  for (const auto item : bag_) record.ids[0].push_back(mix(item));
  record.ids[1].assign(1, mix(held_out));
  negative_ = record;
  negative_->label = 0;
  negative_->ids[1].assign(1, mix(other));
  return true;
}

// A bag may hold nearly all items, so after some tries one of its own items is accepted.
std::uint64_t BagsLog::draw_other_item() const {
  std::uint64_t item = 0;
  for (std::uint64_t attempt = 1; attempt <= 16; ++attempt) {
    item = mix(seed_, lines_.line_number(), attempt) % items_;
    if (std::find(bag_.begin(), bag_.end(), item) == bag_.end()) break;
  }
  return item;
}

}  // namespace dlrm
