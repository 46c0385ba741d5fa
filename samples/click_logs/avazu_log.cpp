// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "click_logs/avazu_log.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "common/hashing.hpp"

namespace dlrm {

using sample::hash_text;

namespace {

const std::vector<std::string> avazu_fields{"id",         "click",        "hour",         "C1",
                                            "banner_pos", "site_id",      "site_domain",  "site_category",
                                            "app_id",     "app_domain",   "app_category", "device_id",
                                            "device_ip",  "device_model", "device_type",  "device_conn_type",
                                            "C14",        "C15",          "C16",          "C17",
                                            "C18",        "C19",          "C20",          "C21"};

constexpr std::size_t click = 1;
constexpr std::size_t hour = 2;  // YYMMDDHH; also the first category

}  // namespace

AvazuLog::AvazuLog(const std::filesystem::path& path)
    : shape_{.dense = 1, .features = {avazu_fields.begin() + hour, avazu_fields.end()}},
      lines_{path, fmt::format("{}", fmt::join(avazu_fields, ","))},
      fields_{avazu_fields} {}

bool AvazuLog::next(Record& record) {
  return lines_.next([&](std::string_view line) {
    parse(line, record);
    return true;
  });
}

// The log has no number but the time, so the hour of the day is the only dense feature.
void AvazuLog::parse(std::string_view line, Record& record) {
  fields_.split(line, ',');
  record.label = fields_.label(click);
  const auto when = fields_.number<unsigned>(hour, "a time as YYMMDDHH");
  if (when % 100 > 23) fields_.throw_not(hour, "a time as YYMMDDHH");
  record.dense.assign(1, static_cast<float>(when % 100) / 24);
  record.ids.resize(shape_.features.size());
  for (std::size_t i = 0; i < record.ids.size(); ++i) record.ids[i].assign(1, hash_text(fields_[hour + i]));
}

}  // namespace dlrm
