// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  What a first program needs: a runtime, tensors, tables, containers over its memory, scopes and hints.
///
/// Programs that count the time of their builds include what they use: each header compiles alone, and `tier/<layer>/fwd.hpp`
/// declares the types of a layer for headers that only name them.
#include <tier/core/bytes.hpp>
#include <tier/core/error.hpp>
#include <tier/pmr/container_scopes.hpp>
#include <tier/pmr/migrating_resource.hpp>
#include <tier/runtime/runtime.hpp>
#include <tier/scope/hints.hpp>
#include <tier/scope/scope.hpp>
#include <tier/table/row_table.hpp>
#include <tier/tensor/tensor.hpp>
