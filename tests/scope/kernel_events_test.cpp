// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Events of a kernel: its hash, which is equal for equal kernels on equal shapes, and its time.
#include "support/test_manager.hpp"

#include <doctest/doctest.h>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <chrono>
#include <cstdint>
#include <set>
#include <vector>

namespace tier::kernel_events_test {
namespace {

using namespace literals;
using FloatTensor = Tensor<float>;
using Clock = std::chrono::steady_clock;

/// \threadsafety  The manager serialises its calls; read the records while no scope is open.
class Kernels final : public Observer {
 public:
  struct Told {
    std::uint64_t scope, hash, duration_ns, time_ns;
  };
  void on_kernel_begin(const KernelEvent& e) noexcept override { begun.push_back(told(e)); }
  void on_kernel_end(const KernelEvent& e) noexcept override { ended.push_back(told(e)); }

  std::vector<Told> begun, ended;

 private:
  static Told told(const KernelEvent& e) { return {e.scope, e.hash, e.duration_ns, e.time_ns}; }
};

struct Watched {
  Watched() { manager->add_observer(kernels); }
  ~Watched() { manager->remove_observer(kernels); }
  /// Returns the hash in the events of a kernel's begin and end.
  template <class... Lists>
  std::uint64_t hash(std::string_view name, const Lists&... lists) {
    { const KernelScope kernel{name, lists...}; }
    manager->end_of_step();  // reports the end, too
    REQUIRE(kernels.begun.size() == kernels.ended.size());
    CHECK(kernels.begun.back().scope == kernels.ended.back().scope);
    CHECK(kernels.begun.back().hash == kernels.ended.back().hash);
    return kernels.begun.back().hash;
  }

  std::shared_ptr<Manager> manager = test::make_manager({tiers::dram(1_MiB)});
  Kernels kernels;
};

void spin_for(Clock::duration time) {
  const auto begin = Clock::now();
  while (Clock::now() - begin < time) {
  }
}
std::uint64_t ns(Clock::duration time) {
  return static_cast<std::uint64_t>(time / std::chrono::nanoseconds{1});
}

}  // namespace

TEST_CASE("kernels of one name on operands of the same shapes have one hash, whichever the objects are") {
  Watched w;
  FloatTensor a{w.manager, {4, 8}}, b{w.manager, {4, 8}}, c{w.manager, {3, 5}}, d{w.manager, {3, 5}};
  const auto hash = w.hash("matmul", reads(a), overwrites(c));
  CHECK(hash == w.hash("matmul", reads(a), overwrites(c)));
  CHECK(hash == w.hash("matmul", reads(b), overwrites(d)));
}

TEST_CASE("kernels of other names, other shapes, another order or number of operands have other hashes") {
  Watched w;
  FloatTensor a{w.manager, {4, 8}}, b{w.manager, {4, 9}}, c{w.manager, {3, 5}}, d{w.manager, {3, 6}};
  const std::vector<std::uint64_t> hashes{
      w.hash("matmul", reads(a), overwrites(c)),    w.hash("matmul2", reads(a), overwrites(c)),
      w.hash("matmul", reads(b), overwrites(c)),    w.hash("matmul", reads(a), overwrites(d)),
      w.hash("matmul", reads(c), overwrites(a)),    w.hash("matmul", reads(a)),
      w.hash("matmul", reads(a, b), overwrites(c)), w.hash("", reads(a), overwrites(c))};
  CHECK(std::set(hashes.begin(), hashes.end()).size() == hashes.size());
}

TEST_CASE("the time of a kernel is told at its end, and is that of its scope") {
  Watched w;
  FloatTensor a{w.manager, {4, 8}};
  constexpr auto work = std::chrono::milliseconds{3};
  const auto begin = Clock::now();
  {
    const KernelScope outer{"outer", updates(a)};
    spin_for(work);
    const KernelScope inner{"inner", reads(a)};
    spin_for(work);
  }
  const auto all = Clock::now() - begin;
  w.manager->end_of_step();
  REQUIRE(w.kernels.begun.size() == 2);
  REQUIRE(w.kernels.ended.size() == 2);
  for (const auto& told : w.kernels.begun) CHECK(told.duration_ns == 0);
  const auto inner = w.kernels.ended[0].duration_ns, outer = w.kernels.ended[1].duration_ns;
  CHECK(w.kernels.ended[0].scope == w.kernels.begun[1].scope);
  CHECK(inner >= ns(work));
  CHECK(outer >= inner + ns(work));
  CHECK(outer <= ns(all));
}

}  // namespace tier::kernel_events_test
