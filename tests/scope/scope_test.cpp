// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/child.hpp"
#include "support/sanitized.hpp"
#include "support/test_manager.hpp"

#include <doctest/doctest.h>
#include <tier/core/config.hpp>
#include <tier/scope/scope.hpp>
#include <tier/tensor/tensor.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <csignal>
#include <latch>
#include <optional>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tier::scope_test {
namespace {

using namespace literals;
using test::run_in_child;
using FloatTensor = Tensor<float>;

std::uint32_t pins(const FloatTensor& tensor) { return tensor.object().object->block->pins(); }

std::vector<FloatTensor> tensors(const std::shared_ptr<Manager>& manager, std::size_t n) {
  std::vector<FloatTensor> result;
  for (std::size_t i = 0; i < n; ++i) result.emplace_back(manager, Shape{4, 4}, "t" + std::to_string(i));
  return result;
}

void fill(FloatTensor& tensor, float value) {
  WriteScope out{overwrites(tensor)};
  std::ranges::fill(out[tensor].elements(), value);
}

// Refusals by the compiler, as properties of types; tests/habits/check_refusals.py checks their messages.
template <class T>
concept CanRead = detail::OperandsFor<Use::Read, T> && HintOperand<T, Use::Read>;
template <class T>
concept CanWrite = detail::OperandsFor<Use::Update, T> || detail::OperandsFor<Use::Overwrite, T>;
static_assert(CanRead<FloatTensor&> && CanRead<const FloatTensor&>);
static_assert(!CanRead<FloatTensor> && !CanRead<const FloatTensor>, "a temporary would dangle");
static_assert(CanWrite<FloatTensor&>);
static_assert(!CanWrite<const FloatTensor&>, "a const object is not written");
static_assert(!CanWrite<FloatTensor> && !CanWrite<const FloatTensor>);
static_assert(!CanRead<int&> && !CanWrite<int&>);
template <class T>
concept CanSayItWillRead = HintOperand<T, Use::Read>;
template <class T>
concept CanSayItWillWrite = HintOperand<T, Use::Update>;
static_assert(CanSayItWillRead<FloatTensor&> && CanSayItWillRead<const FloatTensor&>);
static_assert(!CanSayItWillRead<FloatTensor> && !CanSayItWillRead<int&>, "there would be nothing to use");
static_assert(CanSayItWillWrite<FloatTensor&>);
static_assert(!CanSayItWillWrite<const FloatTensor&> && !CanSayItWillWrite<FloatTensor>);
static_assert(CanWrite<std::vector<FloatTensor*>&> && !CanWrite<std::vector<const FloatTensor*>&>);
template <class List>
concept IsForReadScope = detail::ListFor<List, Use::Read>;
template <class List>
concept IsForWriteScope = detail::ListFor<List, Use::Update>;
static_assert(IsForReadScope<Reads<FloatTensor>> && !IsForReadScope<Updates<FloatTensor>>);
static_assert(IsForWriteScope<Updates<FloatTensor>> && IsForWriteScope<Overwrites<FloatTensor>>);
static_assert(!IsForWriteScope<Reads<FloatTensor>>);
static_assert(!std::is_copy_constructible_v<Scope> && std::is_nothrow_move_constructible_v<Scope>);

}  // namespace

TEST_CASE("a kernel's scope gives const views of what it reads and mutable ones of what it writes") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  FloatTensor x{manager, {2, 3}}, y{manager, {3, 2}};
  fill(x, 2);
  {
    KernelScope k{"double", reads(x), overwrites(y)};
    static_assert(std::is_same_v<decltype(k.in(x)), TensorView<const float>>);
    static_assert(std::is_same_v<decltype(k.out(y)), TensorView<float>>);
    CHECK(k.in(x).shape() == Shape{2, 3});
    for (std::size_t i = 0; i < 6; ++i) k.out(y).data()[i] = 2 * k.in(x).data()[i];
    CHECK(k.in(y)(2, 1) == 4);
  }
  ReadScope in{y};
  CHECK(in[y](2, 1) == 4);
}

TEST_CASE("structured bindings are the views in the order of the operands") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  FloatTensor x{manager, {2}}, w{manager, {3}}, y{manager, {4}};
  {
    KernelScope k{"k", reads(x, w), overwrites(y)};
    auto& [xv, wv, yv] = k;
    static_assert(std::is_same_v<decltype(wv), TensorView<const float>>);
    static_assert(std::is_same_v<decltype(yv), TensorView<float>>);
    CHECK(xv.data() == k.in(x).data());
    CHECK(wv.data() == k.in(w).data());
    CHECK(yv.data() == k.out(y).data());
    CHECK(yv.count() == 4);
  }
  ReadScope in{x, w};
  auto& [xv, wv] = in;
  CHECK(xv.data() == in[x].data());
  CHECK(wv.data() == in[w].data());
  WriteScope out{x, overwrites(y)};
  auto& [xo, yo] = out;
  CHECK(xo.data() == out[x].data());
  CHECK(yo.data() == out[y].data());
}

TEST_CASE("a scope pins its objects until it ends, each as often as it is named") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  auto t = tensors(manager, 2);
  {
    ReadScope outer{t[0], t[1], t[0]};
    CHECK(pins(t[0]) == 2);
    WriteScope inner{t[1]};
    CHECK(pins(t[1]) == 2);
  }
  CHECK(pins(t[0]) == 0);
  CHECK(pins(t[1]) == 0);
}

TEST_CASE("a scope keeps its pins when it moves, and its old place ends nothing") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  auto t = tensors(manager, 12);
  SUBCASE("into another scope of its type") {
    ReadScope first{t[0]};
    ReadScope second{std::move(first)};
    CHECK(pins(t[0]) == 1);
    CHECK(second[t[0]].count() == 16);
  }
  SUBCASE("over an open scope, which ends") {
    Scope scope = ReadScope{t[0]};
    scope = WriteScope{t[1]};
    CHECK(pins(t[0]) == 0);
    CHECK(pins(t[1]) == 1);
    CHECK(scope.out(t[1]).count() == 16);
  }
  SUBCASE("into a list, with more operands than a scope holds inline") {
    std::vector<FloatTensor*> all;
    for (auto& tensor : t) all.push_back(&tensor);
    std::vector<Scope> scopes;
    for (int i = 0; i < 3; ++i) scopes.emplace_back(ReadScope{reads(all)});
    for (const auto& tensor : t) CHECK(pins(tensor) == 3);
    CHECK(scopes[0].in(t[11]).data() == scopes[2].in(t[11]).data());
  }
  for (const auto& tensor : t) CHECK(pins(tensor) == 0);
}

TEST_CASE("a scope stays valid when its object moves") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  FloatTensor x{manager, {4}};
  WriteScope out{x};
  FloatTensor moved = std::move(x);
  CHECK(out[moved].count() == 4);
}

TEST_CASE("a scope may be opened on a set of objects that is known at run time only") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  auto t = tensors(manager, 10);
  Tensor<double> other{manager, {2}};
  std::vector<ObjectRef> refs{other.object()};
  for (auto& tensor : t) refs.push_back(tensor.object());
  std::array<const FloatTensor*, 2> two{&t[8], &t[9]};
  {
    KernelScope k{"set", updates(refs), reads(two), reads(t[0])};
    CHECK(pins(t[9]) == 2);
    CHECK(k.out(other).count() == 2);
    CHECK(k.out(t[3]).count() == 16);
    auto& [t0] = k;  // bindings exist for named operands alone
    CHECK(t0.data() == k.in(t[0]).data());
  }
  ArchiveScope cold{refs};
  for (const auto& tensor : t) CHECK(pins(tensor) == 0);
}

TEST_CASE("an exception that unwinds a scope unpins its objects and keeps what was written") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  FloatTensor x{manager, {4}};
  const auto fails = [&] {
    WriteScope out{overwrites(x)};
    std::ranges::fill(out[x].elements(), 7.0F);
    ReadScope inner{x};
    throw std::runtime_error{"midway"};
  };
  CHECK_THROWS_AS(fails(), std::runtime_error);
  CHECK(pins(x) == 0);
  CHECK(ReadScope{x}[x](3) == 7);
}

TEST_CASE("a batch that does not fit enters nothing, and its parts can then be used one by one") {
  const auto manager = test::make_manager({tiers::dram(1_MiB), tiers::file("/var/tmp", 8_MiB)});
  std::vector<FloatTensor> t;
  for (int i = 0; i < 4; ++i) t.emplace_back(manager, Shape{96, 1024});  // 384 KiB each
  for (std::size_t i = 0; i < 4; ++i) fill(t[i], static_cast<float>(i));
  for (int round = 0; round < 2; ++round) {  // in the second round other operands are resident at first
    const auto all = [&] { ReadScope scope{t[0], t[1], t[2], t[3]}; };
    CHECK_THROWS_AS(all(), OutOfTierMemory);
    for (const auto& tensor : t) CHECK(pins(tensor) == 0);
    for (std::size_t i = 4; i-- > 0;) CHECK(ReadScope{t[i]}[t[i]](95, 1023) == static_cast<float>(i));
  }
  manager->check_invariants();
}

TEST_CASE("a root scope waits for room that others pin; one with an open parent throws at once") {
  const auto manager = test::make_manager({tiers::dram(1_MiB), tiers::file("/var/tmp", 8_MiB)});
  FloatTensor x{manager, {192, 1024}};  // 768 KiB: there is room for one of the two
  FloatTensor y{manager, {192, 1024}};
  fill(y, 1);
  fill(x, 2);
  const auto open_y = [&] { ReadScope in{y}; };
  std::optional<Scope> held{ReadScope{x}};
  CHECK_THROWS_AS(open_y(), OutOfTierMemory);
  std::thread{[&] {
    ChainGuard guard{held->chain()};
    CHECK_THROWS_AS(open_y(), OutOfTierMemory);
  }}.join();

  std::latch begun{1};
  float read = 0;
  std::thread root{[&] {
    begun.count_down();
    read = ReadScope{y}[y](191, 1023);
  }};
  begun.wait();
  held.reset();
  root.join();
  CHECK(read == 1);
}

TEST_CASE("an object that ends inside a scope keeps its bytes until the scope ends") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  std::optional<FloatTensor> x{std::in_place, manager, Shape{1024}};
  fill(*x, 6);
  {
    ReadScope in{*x};
    const auto view = in[*x];
    x.reset();
    CHECK(view(1023) == 6);
    CHECK(manager->statistics().tiers[0].used.count >= 4096);
  }
  CHECK(manager->statistics().tiers[0].used == 0_B);
  CHECK(manager->statistics().objects == 0);
}

TEST_CASE("a scope may end in the very instant in which its object and its manager do") {
  for (int round = 0; round < 2000; ++round) {
    auto manager = test::make_manager({tiers::dram(64_KiB)});
    std::optional<FloatTensor> x{std::in_place, manager, Shape{16}};
    std::optional scope{ReadScope{*x}};
    std::latch ready{2};
    std::thread other{[&] {
      ready.arrive_and_wait();
      scope.reset();
    }};
    ready.arrive_and_wait();
    x.reset();
    manager.reset();
    other.join();
  }
}

TEST_CASE("memory of the program takes part in scopes beside objects") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  std::vector<float> mine(16, 3);
  auto wrapped = FloatTensor::wrap(mine.data(), {4, 4});
  auto second = FloatTensor::wrap(mine.data() + 8, {8});
  FloatTensor x{manager, {4, 4}};
  WriteScope out{wrapped, x, second};
  CHECK(out[wrapped].data() == mine.data());
  CHECK(out[second].data() == mine.data() + 8);
  CHECK(pins(x) == 1);
  will_use(wrapped, x);
  CHECK(prefetch(wrapped) == Outcome::Done);
}

TEST_CASE("kernels and scopes are told to an observer with name, roles and end") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  auto t = tensors(manager, 3);
  const test::Recording recorded{*manager};
  {
    KernelScope k{"conv", reads(t[0], t[1]), overwrites(t[2])};
    KernelScope moved{std::move(k)};
    ReadScope unnamed{t[0]};
  }
  manager->end_of_step();
  REQUIRE(recorded->begun.size() == 2);
  CHECK(recorded->begun[0].name == "conv");
  CHECK(recorded->begun[0].uses == std::vector{Use::Read, Use::Read, Use::Overwrite});
  CHECK(recorded->begun[1].name.empty());
  CHECK(recorded->ended == std::vector{recorded->begun[1].scope, recorded->begun[0].scope});
}

TEST_CASE("a kernel's hash is that of its name and of its operands' roles and shapes") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  FloatTensor wide{manager, {2, 512}}, also_wide{manager, {2, 512}}, tall{manager, {512, 2}};
  const test::Recording recorded{*manager};
  { KernelScope k{"k", reads(wide), overwrites(tall)}; }
  { KernelScope k{"k", reads(also_wide), overwrites(tall)}; }
  { KernelScope k{"k", reads(tall), overwrites(wide)}; }
  { KernelScope k{"k", reads(wide, tall)}; }
  { KernelScope k{"k", reads(tall, wide)}; }
  { KernelScope k{"other", reads(wide), overwrites(tall)}; }
  std::vector<std::uint64_t> hashes;
  for (const auto& kernel : recorded->begun) hashes.push_back(kernel.hash);
  REQUIRE(hashes.size() == 6);
  CHECK(hashes[0] == hashes[1]);
  hashes.erase(hashes.begin());
  CHECK(std::set(hashes.begin(), hashes.end()).size() == 5);
}

TEST_CASE("hints are told with the scope that they come from") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  auto t = tensors(manager, 2);
  const test::Recording recorded{*manager};
  will_read(t[0]);
  std::uint64_t scope = 0;
  {
    KernelScope k{"k", reads(t[0])};
    will_write(t[1]);
    scope = recorded->begun.at(0).scope;
  }
  archive(t[0]);
  REQUIRE(recorded->hints.size() == 3);
  CHECK(recorded->hints[0].hint == Hint::WillRead);
  CHECK(recorded->hints[0].scope == 0);
  CHECK(recorded->hints[1].hint == Hint::WillWrite);
  CHECK(recorded->hints[1].scope == scope);
  CHECK(recorded->hints[1].block == t[1].object().object->block->id);
  CHECK(recorded->hints[2].hint == Hint::Archive);
  CHECK(recorded->hints[2].scope == 0);
}

TEST_CASE("an ArchiveScope archives, pins nothing, allows use, and says will_use at its end") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  FloatTensor x{manager, {4}};
  fill(x, 5);
  const test::Recording recorded{*manager};
  {
    ArchiveScope cold{x};
    ArchiveScope moved{std::move(cold)};
    CHECK(pins(x) == 0);
    CHECK(ReadScope{x}[x](0) == 5);
  }
  manager->end_of_step();
  REQUIRE(recorded->hints.size() == 2);
  CHECK(recorded->hints[0].hint == Hint::Archive);
  CHECK(recorded->hints[1].hint == Hint::WillUse);
}

TEST_CASE("a retired object can be overwritten, and no scope can read it before") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  FloatTensor x{manager, {4}};
  fill(x, 1);
  {
    ReadScope in{x};
    retire(x);
    CHECK(in[x](0) == 1);  // still pinned
  }
  const auto read = [&] { ReadScope scope{x}; };
  CHECK_THROWS_AS(read(), TierError);
  fill(x, 2);
  CHECK(ReadScope{x}[x](3) == 2);
}

TEST_CASE(
    "in every build a scope aborts for what is not in it or only read there, with names and the caller's "
    "line") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  auto t = tensors(manager, 3);
  const auto aborted = [](const std::string& label, auto&& part) {
    const auto ended = run_in_child(label, part);
    CHECK(ended.signal == SIGABRT);
    return ended.errors;
  };
  const auto here = [](int line) {
    return "libtier: " + std::string{__FILE__} + ":" + std::to_string(line) + ": ";
  };
  const auto write = [&] { std::ignore = KernelScope{"k", reads(t[0]), updates(t[2])}.out(t[0]); };
  const auto only_read_here = here(__LINE__ - 1);
  CHECK(
      aborted("only read", write) ==
      only_read_here +
          "\"t0\" (object 1) is not in this scope for writing; the scope has \"t0\" (object 1) for reading, "
          "\"t2\" (object 3) for writing: name it in updates() or overwrites() when the scope is opened\n");
  const auto read = [&] { std::ignore = ReadScope{t[0], t[0]}.in(t[1]); };
  const auto absent_here = here(__LINE__ - 1);
  CHECK(aborted("absent", read) ==
        absent_here +
            "\"t1\" (object 2) is not in this scope; the scope has \"t0\" (object 1) for reading: name it in "
            "reads(), updates() or overwrites() when the scope is opened\n");
  CHECK(
      aborted("absent by []", [&] { std::ignore = ReadScope{t[0]}[t[1]]; }) ==
      "libtier: \"t1\" (object 2) is not in this scope; the scope has \"t0\" (object 1) for reading: name it "
      "in reads(), "
      "updates() or overwrites() when the scope is opened; to see the line, use in() or out() instead of "
      "[]\n");
  std::vector<float> mine(4);
  const auto wrapped = FloatTensor::wrap(mine.data(), {4});
  CHECK(aborted("memory", [&] {
          std::ignore = ReadScope{t[0]}[wrapped];
        }).starts_with("libtier: memory of the program is not in this scope; the scope has "));
  const FloatTensor unnamed{manager, {4}};
  CHECK(aborted("unnamed", [&] {
          std::ignore = ReadScope{t[0]}[unnamed];
        }).starts_with("libtier: object 4 is not in"));
  const auto allowed = run_in_child("allowed", [&] { std::ignore = WriteScope{t[0]}[t[0]]; });
  CHECK(allowed.signal == 0);
  CHECK(allowed.code == 0);
}

TEST_CASE("in every build a scope aborts that is opened on objects of two runtimes, with a name of each") {
  const auto one = test::make_manager({tiers::dram(1_MiB)}), other = test::make_manager({tiers::dram(1_MiB)});
  FloatTensor x{one, {4}, "x"}, y{other, {4}, "y"}, z{other, {4}, "z"};
  const auto kernel = run_in_child("kernel", [&] { const KernelScope k{"conv", reads(x), overwrites(y)}; });
  CHECK(kernel.signal == SIGABRT);
  CHECK(kernel.errors ==
        "libtier: kernel \"conv\" has objects of two runtimes: \"x\" (object 1) is of one, \"y\" (object 1) "
        "of another. A scope takes objects of one runtime: open a scope for each\n");
  const auto scope = run_in_child("scope", [&] { const ReadScope in{z, x}; });
  CHECK(scope.signal == SIGABRT);
  CHECK(
      scope.errors.starts_with("libtier: a scope has objects of two runtimes: \"z\" (object 2) is of one, "));
  const auto foreign =
      run_in_child("foreign", [&] { std::ignore = ReadScope{x}[y]; });  // ids are the same in another runtime
  CHECK(foreign.signal == SIGABRT);
  CHECK(foreign.errors.starts_with(
      "libtier: \"y\" (object 1) is not in this scope; the scope has \"x\" (object 1) for reading"));
  const ReadScope in{x};
  const WriteScope out{y};
  CHECK(out[y].count() == in[x].count());
}

#if defined(TIER_CHECKED)

namespace {
/// The message of a checked build about `x`.
constexpr const char* changed =
    "libtier: \"x\" (object 1) has changed while no scope had it open for writing: it was written through a "
    "view that was "
    "given for reading, or whose scope had ended\n";

/// Returns a pointer that outlives its scope.
float* left_over(FloatTensor& x) {
  const WriteScope out{x};
  return out[x].data();
}
}  // namespace

TEST_CASE("checked builds find what was written after the scope of a view, and AddressSanitizer where") {
  for (const std::size_t count :
       {std::size_t{7}, std::size_t{1} << 16}) {  // compared as a whole, or in pieces
    const auto ended = run_in_child("written " + std::to_string(count), [count] {
      const auto manager = test::make_manager({tiers::dram(1_MiB)});
      FloatTensor x{manager, {count}, "x"};
      fill(x, 1);
      *const_cast<volatile float*>(left_over(x)) = 2;
      const ReadScope in{x};
    });
    if (test::address_sanitized) {
      CHECK(ended.errors.find("use-after-poison") != std::string::npos);
      CHECK(ended.code != 0);
    } else {
      CHECK(ended.errors == changed);
      CHECK(ended.signal == SIGABRT);
    }
  }
  if (!test::address_sanitized) return;
  const auto read = run_in_child("read", [] {
    const auto manager = test::make_manager({tiers::dram(1_MiB)});
    FloatTensor x{manager, {16}, "x"};
    fill(x, 1);
    const volatile float* const left = left_over(x);
    [[maybe_unused]] const float value = *left;
  });
  CHECK(read.errors.find("use-after-poison") != std::string::npos);
}

TEST_CASE("checked builds find what was written through a view that is for reading, when its scope ends") {
  const auto ended = run_in_child("written", [] {
    const auto manager = test::make_manager({tiers::dram(1_MiB)});
    FloatTensor x{manager, {16}, "x"};
    fill(x, 1);
    {
      const ReadScope in{x};
      *const_cast<float*>(in[x].data()) = 2;
    }
    std::fputs("went on", stderr);
  });
  CHECK(ended.errors == changed);
  CHECK(ended.signal == SIGABRT);
}

TEST_CASE("checked builds find nothing in what scopes write, whatever moves in between") {
  const auto manager = test::make_manager({tiers::dram(1_MiB), tiers::file("/var/tmp", 8_MiB)});
  std::vector<FloatTensor> t;
  for (int i = 0; i < 4; ++i)
    t.emplace_back(manager, Shape{96, 1024}, "t");  // 384 KiB each: not all fit in fast memory
  for (std::size_t i = 0; i < 4; ++i) fill(t[i], static_cast<float>(i));
  for (int round = 0; round < 3; ++round) {
    for (auto& x : t) {
      const ReadScope outer{x};
      const WriteScope inner{x};  // of the same chain
      inner[x](95, 1023) += 1;
    }
    for (auto& x : t) std::ignore = prefetch(x);
    for (std::size_t i = 0; i < 4; ++i) {
      CHECK(ReadScope{t[i]}[t[i]](95, 1023) == static_cast<float>(i) + static_cast<float>(round) + 1);
      const WriteScope both{t[i], updates(t[i])};
      both[t[i]](0, 0) = 1;
    }
  }
  retire(t[0]);
  fill(t[0], 9);
  CHECK(ReadScope{t[0]}[t[0]](3, 3) == 9);
  FloatTensor never{manager, {96, 1024}, "never written"};
  { const ReadScope in{never}; }
  for (auto& x : t) CHECK(ReadScope{x}[x].count() == 96 * 1024);
  { const ReadScope in{never}; }
}

namespace {
/// Moves a block as hints say: leaves a copy in slow memory, uses that copy, and goes back.
class Switching final : public Policy {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "switching"; }
  [[nodiscard]] Placement place(const AllocationEvent&, PolicyContext&) override { return {0, true}; }
  [[nodiscard]] MissDecision on_miss(const MissEvent&, PolicyContext&) override { return {no_tier, false}; }
  void on_hint(const HintEvent& event, PolicyContext& context) override {
    if (event.hint == Hint::Archive) outcomes.push_back(context.copy(event.block, 1));
    if (event.hint == Hint::WillRead) outcomes.push_back(context.make_primary(event.block, 1));
    if (event.hint == Hint::WillWrite) outcomes.push_back(context.make_primary(event.block, 0));
  }
  std::vector<Outcome> outcomes;
};
}  // namespace

TEST_CASE("a copy that scopes have used, and that is used no more, may be written back to") {
  auto owned = std::make_unique<Switching>();
  const auto& outcomes = owned->outcomes;
  const auto manager =
      test::make_manager({tiers::dram(1_MiB), tiers::emulated("cxl", 8_MiB)}, {}, {}, std::move(owned));
  FloatTensor x{manager, {96, 1024}, "x"};
  fill(x, 1);
  const auto copied = [&](std::uint64_t times) {
    archive(x);
    while (manager->statistics().bytes_moved(0, 1) < times * x.size_bytes().count) std::this_thread::yield();
  };
  copied(1);
  will_read(x);
  CHECK(ReadScope{x}[x](95, 1023) == 1);  // in slow memory
  will_write(x);
  fill(x, 2);
  copied(2);
  will_read(x);
  CHECK(ReadScope{x}[x](95, 1023) == 2);
  CHECK(outcomes == std::vector<Outcome>(5, Outcome::Done));
}

TEST_CASE("a checked build fills what will be overwritten with NaNs") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  FloatTensor x{manager, {4}}, y{manager, {4}};
  fill(x, 1);
  fill(y, 1);
  KernelScope k{"k", overwrites(x), updates(y)};
  for (const auto value : k.in(x).elements()) CHECK(std::isnan(value));
  for (const auto value : k.in(y).elements()) CHECK(value == 1);
}

TEST_CASE("a checked build reports conflicting access between chains, naming the object") {
  const auto manager = test::make_manager({tiers::dram(1_MiB)});
  FloatTensor x{manager, {4}, "the weights"};
  const auto in_another_chain = [&](auto&& open) { std::thread{open}.join(); };

  const auto read_write = run_in_child("read, then write", [&] {
    ReadScope mine{x};
    in_another_chain([&] { WriteScope theirs{x}; });
  });
  CHECK(read_write.signal == SIGABRT);
  CHECK(read_write.errors.find("conflicting access to \"the weights\"") != std::string::npos);

  const auto write_read = run_in_child("write, then read", [&] {
    WriteScope mine{x};
    in_another_chain([&] { ReadScope theirs{x}; });
  });
  CHECK(write_read.signal == SIGABRT);

  // None of these is a conflict: both read; one chain on two threads; one scope after the other.
  {
    ReadScope mine{x};
    in_another_chain([&] { ReadScope theirs{x}; });
  }
  {
    WriteScope mine{x};
    in_another_chain([&, chain = mine.chain()] {
      ChainGuard guard{chain};
      WriteScope theirs{x};
    });
  }
  in_another_chain([&] { WriteScope theirs{x}; });
}
#endif

}  // namespace tier::scope_test
