// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Forward declarations of trace/, for headers that only name its types.
#include <tier/core/standard.hpp>

#include <cstdint>

namespace tier {

class TraceError;

}  // namespace tier

namespace tier::trace {

class NamePool;
class Recorder;
class Trace;
enum class Cause : std::uint8_t;
enum class Ending : bool;
enum class EventKind : std::uint8_t;
enum class Form : std::uint8_t;
enum class Phase : char;
enum class Role : char;
enum class TensorKind : char;
struct Event;
struct Fault;
struct Hint;
struct Kernel;
struct Measurement;
struct Migration;
struct Operand;
struct Placement;
struct Range;
struct ReadLimits;
struct RecorderOptions;
struct RowAccess;
struct Setting;
struct Stall;
struct Summary;
struct Table;

}  // namespace tier::trace
