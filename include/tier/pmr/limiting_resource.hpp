// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A resource that refuses to exceed a budget.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/pmr/forwarding_resource.hpp>

#include <atomic>
#include <cstddef>
#include <memory_resource>

namespace tier {

/// Keeps a part of a program within a budget: caps the bytes outstanding at once from an upstream resource, as requested,
/// without rounding.
/// \code{.cpp}
/// #include <tier/core/error.hpp>
/// tier::LimitingResource limited{*std::pmr::new_delete_resource(), 1_MiB};
/// std::pmr::vector<std::byte> buffer(500'000, &limited);
/// try {
///   buffer.resize(2'000'000);
/// } catch (const tier::OutOfTierMemory&) {
///   assert(limited.outstanding() == tier::Bytes{500'000});
/// }
/// \endcode
/// \threadsafety  Internally synchronised if `upstream` is: the only state is one atomic count.
class TIER_EXPORT LimitingResource final : public ForwardingResource {
 public:
  /// \pre  `upstream` outlives this resource.
  LimitingResource(std::pmr::memory_resource& upstream, Bytes budget) noexcept
      : ForwardingResource{upstream}, budget_{budget} {}
  LimitingResource(const LimitingResource&) = delete;
  LimitingResource& operator=(const LimitingResource&) = delete;
  /// Reports on stderr if bytes are outstanding.
  ~LimitingResource() override;

  [[nodiscard]] Bytes budget() const noexcept { return budget_; }
  /// A snapshot: another thread may change it before you look.
  [[nodiscard]] Bytes outstanding() const noexcept { return {outstanding_.load(std::memory_order_relaxed)}; }

 private:
  class Reservation;

  /// \throws  `OutOfTierMemory` beyond the budget, and what upstream throws; nothing has changed
  void* do_allocate(std::size_t size, std::size_t alignment) override;
  void do_deallocate(void* p, std::size_t size, std::size_t alignment) noexcept override;

  Bytes budget_;
  std::atomic<std::size_t> outstanding_{0};  // never above budget_.count; orders nothing else
};

}  // namespace tier
