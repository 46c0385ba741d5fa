// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  CachedArrays' four modes on one small training step: their traffic is ordered as in the paper.
#include "rig.hpp"

#include <doctest/doctest.h>

#include <hint_aware/hint_aware.hpp>
#include <map>

namespace tier::modes_test {
namespace {

using namespace test;

struct Traffic {
  std::uint64_t read = 0, written = 0;  // from and to the slow tier, in place or by copies
};

/// Trains a chain of layers. Forward, each layer makes an activation and a temporary; backward, in reverse order, two
/// kernels read the activation (for the gradients of data and of weights). Dead objects are retired.
class Step {
 public:
  Step(Manager& manager, Tier& slow) : manager_{manager}, slow_{slow} {}

  void run() {
    for (std::size_t i = 0; i < layers; ++i) forward(i);
    for (std::size_t i = layers; i-- > 0;) backward(i);
    activations_.clear();
    gradient_ = {};
    manager_.end_of_step();
  }

  Traffic in_place;

 private:
  static constexpr std::size_t layers = 40;

  ObjectHandle make(std::string_view name) { return manager_.create(64_KiB, 64, name); }
  void kernel(std::vector<Operand> batch) {
    for (const auto& op : batch)
      manager_.hint(op.use == Use::Read ? Hint::WillRead : Hint::WillWrite, ref(op), 0);
    manager_.enter(batch, {++scope_, true, "kernel"});
    for (const auto& op : batch)
      if (op.address >= slow_.base() && op.address < slow_.base() + slow_.capacity().count)
        (op.use == Use::Read ? in_place.read : in_place.written) += op.size;
    Manager::leave(batch);
  }
  static Operand on(const ObjectHandle& object, Use use) { return Operand::of(object.ref(), use); }
  ObjectRef ref(const Operand& op) const { return refs_.at(op.object); }
  void know(const ObjectHandle& object) { refs_[object.ref().id()] = object.ref(); }
  void retire(ObjectHandle& object) {
    manager_.retire(object.ref());
    refs_.erase(object.ref().id());
    object.reset();
  }

  void forward(std::size_t i) {
    auto temporary = make("temporary");
    know(temporary);
    activations_.push_back(make("activation"));
    know(activations_.back());
    std::vector<Operand> batch{on(temporary, Use::Overwrite)};
    if (i > 0) batch.push_back(on(activations_[i - 1], Use::Read));
    kernel(std::move(batch));
    kernel({on(temporary, Use::Read), on(activations_[i], Use::Overwrite)});
    retire(temporary);
  }
  void backward(std::size_t i) {
    auto next = make("gradient");
    know(next);
    std::vector<Operand> data{on(activations_[i], Use::Read), on(next, Use::Overwrite)};
    if (gradient_) data.push_back(on(gradient_, Use::Read));
    kernel(std::move(data));
    auto weights = make("weights' gradient");
    know(weights);
    kernel({on(activations_[i], Use::Read), on(next, Use::Read), on(weights, Use::Overwrite)});
    retire(weights);
    retire(activations_[i]);
    if (gradient_) retire(gradient_);
    gradient_ = std::move(next);
  }

  Manager& manager_;
  Tier& slow_;
  std::vector<ObjectHandle> activations_;
  ObjectHandle gradient_;
  std::map<ObjectId, ObjectRef> refs_;
  std::uint64_t scope_ = 0;
};

Traffic traffic_of(const std::string& mode, Bytes fast) {
  std::vector<std::unique_ptr<Tier>> tiers;
  tiers.push_back(std::make_unique<MemoryTier>(fast_tier(fast)));
  tiers.push_back(std::make_unique<MemoryTier>(slow_tier(32_MiB, true)));
  const std::vector<std::pair<std::string, std::string>> options{{"mode", mode}};
  auto manager = Manager::make(std::move(tiers), make_hint_aware(options), {.threads = 1, .yields = false});
  Step step{*manager, manager->tier(1)};
  for (int i = 0; i < 2; ++i) {
    step.run();
    manager->quiesce();
  }
  const auto s = manager->statistics();
  manager->check_invariants();
  CHECK(step.in_place.read + step.in_place.written == s.in_place_bytes);
  return {s.bytes_moved(1, 0) + step.in_place.read, s.bytes_moved(0, 1) + step.in_place.written};
}

}  // namespace

TEST_CASE("the modes 0, L, LM and LMP differ in slow traffic on one program, in the paper's order") {
  for (const auto fast : {512_KiB, 1_MiB}) {
    CAPTURE(fast.count);
    const auto none = traffic_of("0", fast), local = traffic_of("L", fast), freeing = traffic_of("LM", fast),
               prefetching = traffic_of("LMP", fast);
    MESSAGE(fast.count << ": read 0 " << none.read << ", L " << local.read << ", LM " << freeing.read
                       << ", LMP " << prefetching.read);
    MESSAGE(fast.count << ": written 0 " << none.written << ", L " << local.written << ", LM "
                       << freeing.written << ", LMP " << prefetching.written);
    CHECK(none.read > local.read);
    CHECK(local.read > freeing.read);
    CHECK(freeing.read > prefetching.read);
    CHECK(std::min(none.written, local.written) > 2 * std::max(freeing.written, prefetching.written));
    CHECK(none.written != local.written);
  }
}

}  // namespace tier::modes_test
