// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Chains: a scope and the scopes opened under it form a chain.
#include <tier/core/export.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace tier {

/// Names a scope and all scopes opened under it, whichever threads run them, so that threads that work together are not
/// taken for ones that are in each other's way.
class Chain {
 public:
  explicit constexpr Chain(std::uint64_t id) noexcept : id_{id} {}
  [[nodiscard]] constexpr std::uint64_t id() const noexcept { return id_; }
  friend bool operator==(Chain, Chain) = default;

 private:
  std::uint64_t id_;
};

namespace detail {

/// Counts the scopes open on one thread. Outlives the thread, since a scope opened here may end elsewhere: the owner
/// counts plainly, other threads through the atomic. Never freed; the next new thread takes it over once no scope is open.
/// No two share a cache line of 64 B.
struct alignas(64) ScopeThread {
  std::uint64_t next_id = 0;    ///< the thread's number above, a count below: unique in the process
  std::uint64_t chain = 0;      ///< of the innermost scope
  std::uint64_t innermost = 0;  ///< the innermost scope
  std::uint64_t opened = 0;     ///< scopes opened here, less those that ended here
  std::atomic<std::uint64_t> ended_elsewhere{0};

  [[nodiscard]] bool has_open() const noexcept {
    return opened != ended_elsewhere.load(std::memory_order_relaxed);
  }
};

TIER_EXPORT inline constinit thread_local ScopeThread* this_scope_thread = nullptr;
TIER_EXPORT ScopeThread& attach_scope_thread();

[[nodiscard]] inline ScopeThread& scope_thread() {
  if (this_scope_thread != nullptr) [[likely]]
    return *this_scope_thread;
  return attach_scope_thread();
}

/// Returns the scope that a hint given now comes from; 0 outside a scope.
[[nodiscard]] inline std::uint64_t innermost_scope() noexcept {
  const auto* thread = this_scope_thread;
  return thread != nullptr && thread->has_open() ? thread->innermost : 0;
}

/// One level of nesting on the thread that made it. May end on any thread.
class Nesting {
 public:
  Nesting() : Nesting{scope_thread()} {}
  Nesting(Nesting&& other) noexcept { take(other); }
  Nesting& operator=(Nesting&& other) noexcept {
    if (this == &other) return *this;
    if (thread_ != nullptr) end();
    take(other);
    return *this;
  }
  ~Nesting() {
    if (thread_ != nullptr) end();
  }

  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] Chain chain() const noexcept { return Chain{chain_}; }
  [[nodiscard]] bool is_root() const noexcept { return root_; }

 private:
  explicit Nesting(ScopeThread& thread) noexcept
      : thread_{&thread},
        id_{++thread.next_id},
        root_{!thread.has_open()},
        chain_{root_ ? id_ : thread.chain},
        parent_{root_ ? 0 : thread.innermost} {
    thread.chain = chain_;
    thread.innermost = id_;
    ++thread.opened;
  }
  void take(Nesting& other) noexcept {
    thread_ = std::exchange(other.thread_, nullptr);
    id_ = other.id_;
    chain_ = other.chain_;
    parent_ = other.parent_;
    root_ = other.root_;
  }
  void end() noexcept {
    if (thread_ == this_scope_thread) [[likely]] {
      --thread_->opened;
      if (thread_->innermost == id_) thread_->innermost = parent_;
    } else {
      // A program that hands a scope to another thread synchronises with that thread itself; the count needs no order.
      thread_->ended_elsewhere.fetch_add(1, std::memory_order_relaxed);
    }
  }

  ScopeThread* thread_ = nullptr;  // null: moved from
  std::uint64_t id_;
  bool root_;
  std::uint64_t chain_;
  std::uint64_t parent_;  // on the same thread; 0: none
};

}  // namespace detail

/// Lets a thread work for a scope of another one: carries a chain to this thread. Scopes opened here while the guard
/// lives have their parent in that chain.
/// \code{.cpp}
/// tier::Tensor<float> x{runtime, {2, 512}};
/// const tier::KernelScope step{"fill", tier::overwrites(x)};
/// std::thread helper{[&x, chain = step.chain()] {
///   const tier::ChainGuard guard{chain};
///   tier::WriteScope{x}[x](1, 0) = 1.0F;  // a part of `step`, and no conflict with it
/// }};
/// step.out(x)(0, 0) = 1.0F;
/// helper.join();
/// \endcode
/// \threadsafety  Confined to its thread.
class [[nodiscard]] ChainGuard {
 public:
  explicit ChainGuard(Chain chain)
      : thread_{detail::scope_thread()},
        was_empty_{!thread_.has_open()},
        chain_{std::exchange(thread_.chain, chain.id())},
        innermost_{std::exchange(thread_.innermost, chain.id())} {
    ++thread_.opened;
  }
  ~ChainGuard() {
    --thread_.opened;
    if (was_empty_) return;  // scopes still open were opened under the guard and keep its chain
    thread_.chain = chain_;
    thread_.innermost = innermost_;
  }
  ChainGuard(const ChainGuard&) = delete;
  ChainGuard& operator=(const ChainGuard&) = delete;

 private:
  detail::ScopeThread& thread_;
  bool was_empty_;
  std::uint64_t chain_;
  std::uint64_t innermost_;
};

}  // namespace tier
