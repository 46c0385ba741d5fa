// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Forward declarations of scope/, for headers that only name its types.
#include <tier/core/standard.hpp>
#include <tier/policy/fwd.hpp>

namespace tier {

class ArchiveScope;
class Chain;
class ChainGuard;
class Scope;

template <Use role, class... Ts>
struct OperandGroup;

template <Use role, class Element>
struct OperandSet;

template <Use role, class T>
struct OperandsOf;

template <class T>
struct ScopeTraits;

}  // namespace tier
