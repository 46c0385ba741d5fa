// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "click_logs/criteo_log.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/hashing.hpp"

namespace dlrm {

using sample::hash_text;

namespace {

LogShape criteo_shape() {
  LogShape shape{.dense = CriteoLog::integers, .features = {}};
  for (std::size_t i = 1; i <= CriteoLog::categories; ++i) shape.features.push_back(fmt::format("C{}", i));
  return shape;
}

std::vector<std::string> criteo_fields() {
  std::vector<std::string> names{"label"};
  for (std::size_t i = 1; i <= CriteoLog::integers; ++i) names.push_back(fmt::format("I{}", i));
  for (const auto& name : criteo_shape().features) names.push_back(name);
  return names;
}

}  // namespace

CriteoLog::CriteoLog(const std::filesystem::path& path)
    : shape_{criteo_shape()}, lines_{path}, fields_{criteo_fields()} {}

bool CriteoLog::next(Record& record) {
  return lines_.next([&](std::string_view line) {
    parse(line, record);
    return true;
  });
}

// Counts are heavy-tailed, hence the logarithm. A missing count and the few negative ones become 0. A missing category is a
// value of its own: the hash of the empty text.
void CriteoLog::parse(std::string_view line, Record& record) {
  fields_.split(line, '\t');
  record.label = fields_.label(0);
  record.dense.resize(integers);
  for (std::size_t i = 0; i < integers; ++i) {
    const std::int64_t value = fields_[1 + i].empty() ? 0 : fields_.number<std::int64_t>(1 + i, "an integer");
    record.dense[i] = static_cast<float>(std::log1p(static_cast<double>(std::max<std::int64_t>(value, 0))));
  }
  record.ids.resize(categories);
  for (std::size_t i = 0; i < categories; ++i) {
    const std::size_t field = 1 + integers + i;
    const auto text = fields_[field];
    if (text.size() > 8 || text.find_first_not_of("0123456789abcdefABCDEF") != std::string_view::npos) {
      fields_.throw_not(field, "a hexadecimal hash of 8 digits");
    }
    record.ids[i].assign(1, hash_text(text));
  }
}

}  // namespace dlrm
