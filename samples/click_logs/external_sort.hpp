// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Sorts more records than memory holds, through temporary files.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tier/core/error.hpp>

namespace dlrm {

/// An unnamed file of `T`s. It is deleted when it is closed, however the program ends.
template <class T>
requires std::is_trivially_copyable_v<T>
class TemporaryFile {
 public:
  TemporaryFile() : file_{std::tmpfile()} {
    if (!file_) throw tier::TierError{tier::last_system_error(), "creating a temporary file"};
  }
  void append(std::span<const T> values) {
    if (std::fwrite(values.data(), sizeof(T), values.size(), file_.get()) != values.size()) {
      throw tier::TierError{tier::last_system_error(), "writing a temporary file"};
    }
  }
  std::optional<T> next() {
    T value;
    if (std::fread(&value, sizeof(T), 1, file_.get()) == 1) return value;
    if (std::ferror(file_.get()))
      throw tier::TierError{tier::last_system_error(), "reading a temporary file"};
    return {};
  }
  /// \throws  `TierError` if appended values could not be written
  void rewind() {
    if (std::fflush(file_.get()) != 0 || std::fseek(file_.get(), 0, SEEK_SET) != 0) {
      throw tier::TierError{tier::last_system_error(), "writing a temporary file"};
    }
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

/// Sorts by `operator<`, which must order any two different values. Holds at most `capacity` values, and the buffers of
/// `fan_in` files.
template <class T>
class ExternalSort {
 public:
  static constexpr std::size_t fan_in = 64;

  explicit ExternalSort(std::size_t capacity) { values_.reserve(capacity); }

  void add(const T& value) {
    if (values_.size() == values_.capacity()) write_run();
    values_.push_back(value);
  }

  /// Returns all values in order, positioned at the first.
  TemporaryFile<T> finish() && {
    write_run();
    std::vector<T>{}.swap(values_);
    while (runs_.size() > 1) merge_some();
    auto sorted = std::move(runs_.front());
    sorted.rewind();
    return sorted;
  }

 private:
  void write_run() {
    std::sort(values_.begin(), values_.end());
    runs_.emplace_back().append(values_);
    values_.clear();
  }

  void merge_some() {
    const auto count = std::min(runs_.size(), fan_in);
    using Head = std::pair<T, std::size_t>;  // a value and its run
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    const auto advance = [&](std::size_t run) {
      if (const auto value = runs_[run].next()) heads.emplace(*value, run);
    };
    for (std::size_t run = 0; run < count; ++run) {
      runs_[run].rewind();
      advance(run);
    }
    TemporaryFile<T> merged;
    while (!heads.empty()) {
      const auto [value, run] = heads.top();
      heads.pop();
      merged.append({&value, 1});
      advance(run);
    }
    runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(count));
    runs_.push_back(std::move(merged));
  }

  std::vector<T> values_;
  std::vector<TemporaryFile<T>> runs_;
};

}  // namespace dlrm
