// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Forward declarations of table/, for headers that only name its types.
#include <tier/core/standard.hpp>

#include <cstdint>

namespace tier {

class BackgroundWork;
class CacheAdvisor;
class RowFormat;
class TableContext;
enum class RowStorage : std::uint8_t;
struct BatchId;
struct CacheBytes;
struct CacheSize;
struct MissRatioCurve;
struct RowWiseAdagrad;
struct Sgd;
struct TableBytes;
struct TableOptions;
struct TableStatistics;

template <class T>
class RowTable;

}  // namespace tier
