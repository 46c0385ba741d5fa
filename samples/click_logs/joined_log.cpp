// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "click_logs/joined_log.hpp"

namespace dlrm {
namespace {

BadLines sum(BadLines all, const BadLines& more) {
  all.count += more.count;
  for (const auto& message : more.messages)
    if (all.messages.size() < BadLines::kept) all.messages.push_back(message);
  if (all.unused == 0) all.first_unused = more.first_unused;
  all.unused += more.unused;
  return all;
}

}  // namespace

bool JoinedLog::next(Record& record) {
  for (; at_ < parts_.size(); ++at_) {
    const bool found = parts_[at_]->next(record);
    const auto& bad = parts_[at_]->bad_lines();
    if (ended_.count + bad.count != bad_.count || ended_.unused + bad.unused != bad_.unused)
      bad_ = sum(ended_, bad);
    if (found) return true;
    ended_ = bad_;
  }
  return false;
}

void JoinedLog::rewind() {
  for (const auto& part : parts_) part->rewind();
  at_ = 0;
  ended_ = bad_ = {};
}

}  // namespace dlrm
