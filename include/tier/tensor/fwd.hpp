// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Forward declarations of tensor/, for headers that only name its types.
#include <tier/core/standard.hpp>

namespace tier {

class Shape;
struct Windowed;

template <class T>
class Tensor;

template <class T>
class TensorRows;

template <class T>
class TensorView;

}  // namespace tier
