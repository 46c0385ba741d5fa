// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  An object in the slow tier, and a way to hold up its fetch.
#include "rig.hpp"

#include <doctest/doctest.h>

namespace tier::test {

struct Fetch {
  static constexpr Bytes size = 1536_KiB;  // three chunks of the CPU's copies, one of a device's

  explicit Fetch(bool addressable) : rig{8_MiB, 16_MiB, addressable}, object{rig.make(size, 'a', "cold")} {
    REQUIRE(rig.evict(object) == Outcome::Done);
    rig.settle();
    REQUIRE(rig.where(object) == 1);
  }
  void prefetch() { REQUIRE(rig.manager->prefetch(object.ref()) == Outcome::Done); }
  template <class Holding>
  void prefetch(Holding& hold) {
    prefetch();
    hold.wait_for_arrival();
  }
  std::uint32_t pins() const { return object.ref().object->block->pins(); }
  std::uint64_t version() const { return object.ref().object->block->version.load(); }
  auto reader() {
    return in_thread([this] { return rig.holds(object, 'a'); });
  }

  Rig rig;
  ObjectHandle object;
};

template <class F>
void on_both_kinds_of_slow_tier(const F& test) {
  for (const bool addressable : {true, false}) {
    CAPTURE(addressable);
    Fetch fetch{addressable};
    test(fetch, addressable);
    fetch.rig.slow().fails = nullptr;
    fetch.rig.settle();
  }
}

}  // namespace tier::test
