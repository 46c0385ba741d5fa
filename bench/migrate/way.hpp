// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A way to move an object between the memory of two nodes.
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

/// The cost of one move, and what was found afterwards.
struct Moved {
  double seconds = 0;
  std::size_t pages = 0;  ///< small ones, of the object
  std::size_t elsewhere =
      0;                  ///< pages that are not on the target node or not in memory, as the kernel reports
  std::size_t wrong = 0;  ///< words of the object that have changed
};

/// Keeps an object, moves it, and knows its contents. Before each move, untimed, it writes one word in each page, so that
/// every way has to copy, and copied contents differ from older ones.
/// \threadsafety  Confined to one thread.
class Way {
 public:
  virtual ~Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Moves the object, first there, then back, and so on.
  /// \throws  `tier::TierError` or `tier::OutOfTierMemory` if it cannot be moved
  [[nodiscard]] virtual Moved move(Leg leg);
  /// Returns the object's bytes in huge pages, after a move.
  [[nodiscard]] virtual tier::Bytes huge() const = 0;
  /// Returns the bytes that are moved besides the object, if the way cannot single it out.
  [[nodiscard]] virtual tier::Bytes besides() const { return {}; }

 protected:
  Way(std::string name, Nodes nodes) : name_{std::move(name)}, nodes_{nodes} {}

  /// Writes the object. Call it once there is memory.
  void fill();
  [[nodiscard]] unsigned node_after(Leg leg) const noexcept {
    return leg == Leg::There ? nodes_.away : nodes_.home;
  }
  [[nodiscard]] unsigned node_before(Leg leg) const noexcept {
    return leg == Leg::There ? nodes_.home : nodes_.away;
  }

 private:
  virtual void carry(Leg leg) = 0;
  /// Returns the place of the object before and after the leg.
  [[nodiscard]] virtual std::span<std::byte> before(Leg leg) const noexcept = 0;
  [[nodiscard]] virtual std::span<std::byte> after(Leg leg) const noexcept = 0;
  /// Called if pages were found elsewhere.
  virtual void missed() {}

  std::string name_;
  Nodes nodes_;
  std::uint64_t stamp_ = 0;  // of the last move
};

}  // namespace migrate
