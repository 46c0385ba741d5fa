// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/table/detail/table_core.hpp>

#include <atomic>
#include <utility>

#include "table/cached_table.hpp"
#include "table/direct_table.hpp"
#include "table/table_base.hpp"
#include "table/whole_table.hpp"

namespace tier::detail {
namespace {

/// A table of one kind that is attached to its context: told of forks, asked for statistics, and called in the background,
/// from when all its members exist until the first of them ends.
template <class Kind>
class Attached final : public Kind {
 public:
  /// Sets the first contents, too.
  explicit Attached(TableSetup& setup) : Kind{setup}, attachment_{*this} {
    Kind::fill(setup.options.initial);
  }

 private:
  class Attachment {
   public:
    explicit Attachment(Attached& table) : table_{table} { table_.context().attach(table_); }
    ~Attachment() {
      table_.closing_ = true;
      table_.context().remove(table_);
    }
    Attachment(const Attachment&) = delete;
    Attachment& operator=(const Attachment&) = delete;

   private:
    Attached& table_;
  };

  bool work() noexcept override { return !closing_.load(std::memory_order_relaxed) && Kind::work(); }

  std::atomic<bool> closing_{false};
  Attachment attachment_;
};

}  // namespace

std::unique_ptr<TableCore> TableCore::make(std::shared_ptr<TableContext> context, TableOptions options) {
  TableSetup setup{std::move(context), std::move(options)};
  switch (setup.plan.kind) {
    case TableKind::Whole:
      return std::make_unique<Attached<WholeTable>>(setup);
    case TableKind::Cached:
      return std::make_unique<Attached<CachedTable>>(setup);
    case TableKind::Direct:
      break;
  }
  return std::make_unique<Attached<DirectTable>>(setup);
}

}  // namespace tier::detail
