// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Generates recordings as of a small training program on two tiers, with a simple manager that evicts the least
///        recently used object, copies one object at a time, and fetches early what it was told of.
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace tier::test {

struct RecordingOptions {
  std::uint64_t seed = 1;
  std::size_t layers = 12, iterations = 6;
  Bytes fast = 96_MiB;
  bool hostile = false;  ///< uses names that would break a page or a script if not escaped
};

class Recording {
 public:
  explicit Recording(const RecordingOptions& options);
  [[nodiscard]] trace::Trace make() &&;

 private:
  using Time = std::int64_t;
  struct Object {
    trace::TensorIndex tensor = 0;
    std::size_t size = 0;
    bool alive = false, fast = false, placed = false;
    Time arrives = 0;  // of an object on the way
    std::uint64_t used = 0;
  };
  using Objects = std::vector<std::size_t>;

  std::size_t object(trace::TensorKind kind, std::size_t size, const std::string& name);
  void settings();
  void kernel(const std::string& op, trace::Phase phase, const Objects& reads, const Objects& creates,
              const Objects& updates);
  void retire(const Objects& objects);
  void hint(const Objects& objects);
  void fetch(std::size_t object, trace::Cause cause, const Objects& busy);
  void make_room(std::size_t bytes, const Objects& busy);
  void place(std::size_t object);
  void migrate(std::size_t object, bool to_fast, trace::Cause cause);
  void end_iteration();
  [[nodiscard]] std::string named(const std::string& name);
  [[nodiscard]] std::string token(const std::string& name);
  [[nodiscard]] std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  [[nodiscard]] std::string tier(bool fast) { return token(fast ? "dram" : "emulated:cxl"); }

  RecordingOptions options_;
  std::mt19937_64 random_;
  trace::Trace trace_;
  std::vector<Object> objects_;
  std::vector<trace::Migration> under_way_;  // recorded when they end
  std::size_t fast_used_ = 0;
  Time now_ = 1000, mover_free_ = 0, evicted_ = 0;
  std::uint64_t sequence_ = 0, uses_ = 0, ids_ = 0;

  void tell_until(Time time);
};

}  // namespace tier::test
