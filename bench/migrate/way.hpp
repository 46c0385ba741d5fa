// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  One way to move an object between the memory of two nodes.
#include <tier/core/bytes.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace migrate {

struct Nodes {
  unsigned home = 0, away = 0;
};

enum class Leg : std::uint8_t { There, Back };

/// What one move took, and what was found afterwards.
struct Moved {
  double seconds = 0;
  std::size_t pages = 0;  ///< small ones, of the object
  std::size_t elsewhere =
      0;  ///< of them not on the node they were moved to, or not in memory, as the kernel says
  std::size_t wrong = 0;  ///< words of the object that are not as they were
};

/// Keeps an object, moves it, and knows what is in it. Before each move, untimed, one word in each page is written, so that
/// no way can do without copying, and what was copied is told from what was there before.
/// \threadsafety  Confined to one thread.
class Way {
 public:
  virtual ~Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// First there, then back, and so on.
  /// \throws  `tier::TierError` or `tier::OutOfTierMemory` if it cannot be moved
  [[nodiscard]] virtual Moved move(Leg leg);
  /// Of the object, after a move.
  [[nodiscard]] virtual tier::Bytes huge() const = 0;
  /// What is moved besides the object, because the way knows no objects.
  [[nodiscard]] virtual tier::Bytes besides() const { return {}; }

 protected:
  Way(std::string name, Nodes nodes) : name_{std::move(name)}, nodes_{nodes} {}

  /// To be called once there is memory.
  void fill();
  [[nodiscard]] unsigned node_after(Leg leg) const noexcept {
    return leg == Leg::There ? nodes_.away : nodes_.home;
  }
  [[nodiscard]] unsigned node_before(Leg leg) const noexcept {
    return leg == Leg::There ? nodes_.home : nodes_.away;
  }

 private:
  virtual void carry(Leg leg) = 0;
  /// Where the object is before and after the leg.
  [[nodiscard]] virtual std::span<std::byte> before(Leg leg) const noexcept = 0;
  [[nodiscard]] virtual std::span<std::byte> after(Leg leg) const noexcept = 0;
  /// Pages were found elsewhere.
  virtual void missed() {}

  std::string name_;
  Nodes nodes_;
  std::uint64_t stamp_ = 0;  // of the last move
};

}  // namespace migrate
