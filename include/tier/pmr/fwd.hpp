// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Forward declarations of pmr/, for headers that only name its types.
#include <tier/core/standard.hpp>

namespace tier {

class AllocationGroup;
class ArenaResource;
class FailureCallbackResource;
class ForwardingResource;
class GroupResource;
class LimitingResource;
class LoggingResource;
class MigratingResource;
class PlacedResource;
class PoolResource;
class PooledResource;
class StatisticsResource;
struct ArenaOptions;
struct ResourceStatistics;

template <class T>
class Allocator;

}  // namespace tier
