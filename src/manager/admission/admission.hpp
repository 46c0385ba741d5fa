// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  The fourth floor of the manager: who may come in.
#include "advice.hpp"
#include "fault_server.hpp"
#include "gate.hpp"
#include "hints.hpp"
#include "objects.hpp"
#include "place_finder.hpp"
#include "window_objects.hpp"

namespace tier {

/// The parts of the fourth floor, in order.
struct Admission {
  Admission(Manager& manager, State& state, Store& store, Movement& movement, AdviceBudget budget)
      : hints{state, store, movement},
        places{state, store, movement},
        objects{state, store, movement, places},
        windows{state, store, movement, places, objects},
        gate{state, store, movement, hints, places},
        advice{state, store, hints, objects, gate, budget},
        faults{manager, state, store, movement, gate, advice} {}

  Hints hints;
  PlaceFinder places;
  Objects objects;
  WindowObjects windows;
  Gate gate;
  Advice advice;
  FaultServer faults;
};

}  // namespace tier
