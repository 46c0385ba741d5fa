// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The rules of a trace: which tensor may be used when and how. They know nothing of its text.
#include <tier/trace/trace.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tier::trace {

/// The largest number of bytes, and of nanoseconds, that a trace may have.
inline constexpr std::uint64_t most_bytes = (1ULL << 63) - 1;

/// Follows the tensors of a trace through their lives, event by event. Each function throws `BrokenRule` if its event
/// breaks a rule; no function may be called after that.
class Rules {
 public:
  /// \param trace  outlives this; tensors are declared in it before an event names them
  explicit Rules(const Trace& trace) : trace_{trace} {}

  void declare(TensorIndex tensor);
  void kernel(std::span<const Operand> operands);
  void measurement();
  void archive(std::span<const TensorIndex> tensors);
  void retire(std::span<const TensorIndex> tensors);
  void end_iteration();

  /// Returns the number of iterations: those that have ended, and an unfinished one.
  [[nodiscard]] std::uint64_t iterations() const noexcept { return ended_ + (begun_ ? 1 : 0); }
  /// Returns the most bytes alive during an event so far. Parameters are alive from the start; those of a recording,
  /// whose objects come as the program goes, from where they are declared.
  [[nodiscard]] Bytes peak() const noexcept { return peak_; }
  /// Returns the same for this iteration.
  [[nodiscard]] Bytes peak_of_iteration() const noexcept { return of_iteration_; }

 private:
  enum class Life : std::uint8_t { Declared, Alive, Survivor, Retired, Ended };
  struct State {
    std::uint32_t kernel = 0;  // number of the last kernel that used it; 0: none
    Role role{};               // in that kernel
    Life life = Life::Declared;
  };

  void check_touched(const Operand& operand) const;
  void check_only_role(const Operand& operand);
  void create(TensorIndex tensor);
  void check_alive(TensorIndex tensor) const;
  void begin_life(TensorIndex tensor);
  void come_alive(Bytes size);
  [[nodiscard]] std::string named(TensorIndex tensor) const;

  const Trace& trace_;
  std::vector<State> states_;             // of each tensor
  std::vector<TensorIndex> of_this_one_;  // tensors created in this iteration
  std::uint32_t kernels_ = 0;
  std::uint64_t ended_ = 0;
  bool begun_ = false;
  bool unmeasured_ = false;  // the last kernel has no measurement yet
  Bytes live_, peak_, of_iteration_;
};

}  // namespace tier::trace
