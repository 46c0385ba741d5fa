// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Tiers as text, and the factory that makes them.
#include <tier/memory/tier_text.hpp>
#include <tier/memory/tiers.hpp>
