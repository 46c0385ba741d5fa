// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The nodes that a tier's memory lies on.
#include <tier/core/bytes.hpp>
#include <tier/memory/tiers.hpp>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/numa_system.hpp"

namespace tier {

/// Pages that are in memory, by their nodes.
struct PageCounts {
  std::map<unsigned, std::size_t> on;
  std::error_code error{};  ///< the system does not say
};
/// Asks the system where pages are: all of up to 65,536, else no more than that, at even distances.
[[nodiscard]] PageCounts count_pages(const NumaSystem& system, std::byte* begin, std::size_t size);

/// Puts memory on nodes, and asks where it is.
/// \threadsafety  Immutable after `place`.
class NumaNodes {
 public:
  /// \param tier  for errors
  /// \throws      `ConfigError` if `list` is none, `TierError` naming the tier and the node if the system has no NUMA, or
  ///              if a node does not exist, has no memory, or is not allowed to this process
  NumaNodes(std::string_view list, std::string tier, std::shared_ptr<const NumaSystem> system);

  /// As firmware declares the nodes (HMAT), else as they were measured, or else by what they are: bandwidths together,
  /// latency on average.
  [[nodiscard]] TierModel model() const;
  /// By which pages come once a tier is in use: from elsewhere where a node is full, rather than not at all.
  [[nodiscard]] const PagePolicy& policy() const noexcept { return policy_; }

  /// Memory of the range comes by this policy from now on, in turns where there are several nodes.
  /// \throws  `TierError` naming the call that was refused
  void place(std::byte* begin, std::size_t size);
  /// Faults in a part of it, where there is one node from that alone: the page cache gives way. The whole range has another
  /// policy meanwhile, since parts with policies of their own would be mappings of their own, before Linux 6.15 for good.
  /// \pre     nothing is `lacking`: the system would end a program; nobody else is at it for this range
  /// \return  0, or errno
  int fault_in(std::byte* begin, std::size_t size) const noexcept;

  /// What the nodes lack for `size` bytes more, in words; empty if they have it. The system would end a program
  /// that asks a node for more than it has.
  [[nodiscard]] std::string lacking(std::size_t size, PageKind pages) const;
  /// The same of memory that comes from any of them, rather than in turns.
  [[nodiscard]] std::string lacking_together(std::size_t size) const;
  /// How much is free on the nodes, in words.
  [[nodiscard]] std::string room() const;

  /// Pages of a range, as many as are asked for.
  struct Places {
    std::size_t asked = 0;    ///< pages that are in memory
    std::size_t astray = 0;   ///< those of them that are on other nodes
    std::string where{};      ///< these: `node 0: 3`
    std::error_code error{};  ///< the system does not say
  };
  /// As `count_pages()`.
  [[nodiscard]] Places find(std::byte* begin, std::size_t size) const;

  /// `node 1`, `nodes 0,2 in turns`, `nodes 0,2 in turns of 3:1`
  [[nodiscard]] std::string description() const;

 private:
  struct Node {
    unsigned id;
    unsigned weight;  // pages in a turn
    TierModel model;
  };
  [[nodiscard]] std::size_t share(const Node& node, std::size_t size) const;
  [[nodiscard]] Bytes available(unsigned node) const;
  const NumaNode& check(unsigned node, const std::vector<NumaNode>& known) const;
  void read_weights();

  std::string tier_;
  std::shared_ptr<const NumaSystem> system_;
  std::vector<Node> nodes_;
  std::size_t weights_ = 0;  // their sum
  PagePolicy policy_;
  std::span<std::byte> placed_;
};

}  // namespace tier
