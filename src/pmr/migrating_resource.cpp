// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/pmr/migrating_resource.hpp>

#include <string>

#include "pmr/pool.hpp"
#include "pmr/window_memory.hpp"

namespace tier {
namespace {

struct Windows {
  detail::WindowMemory memory;
};

/// A pool, and before it the windows that it draws from.
class MigratingPool final : private Windows, public detail::Pool {
 public:
  MigratingPool(const RuntimeRef& runtime, std::string_view name)
      : Windows{{runtime.manager(), name}},
        Pool{{},
             memory,
             detail::EmptySlabs::Returned,
             "MigratingResource \"" + std::string{name} + '"',
             detail::HugeRequests::PassedOn} {}
};

}  // namespace

MigratingResource::MigratingResource(const RuntimeRef& runtime, std::string_view name)
    : PooledResource{{detail::make_metadata<MigratingPool>(runtime, name).release(), [](detail::Pool* pool) {
                        detail::MetadataDelete{}(static_cast<MigratingPool*>(pool));
                      }}} {}

MigratingResource::~MigratingResource() = default;

}  // namespace tier
