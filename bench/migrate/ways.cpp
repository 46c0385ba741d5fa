// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ways.hpp"

#include <tier/copy/copy_engine.hpp>
#include <tier/core/error.hpp>
#include <tier/manager/manager.hpp>
#include <tier/runtime/policies.hpp>

#include <functional>
#include <utility>

#include "harness/engine_copies.hpp"
#include "harness/node_pages.hpp"
#include "memory/system/resident_pages.hpp"
#include "process_of_its_own.hpp"

namespace migrate {
namespace {

using tier::Bytes;
using tier::bench::NodePages;
using namespace tier::literals;

constexpr Bytes spare = 16_MiB;  // a tier's other needs: blocks, and room for faults

tier::TierSpec spec_on(unsigned node, const Object& object, Bytes more) {
  auto spec = tier::tiers::numa(std::to_string(node), object.size + more);
  spec.pages = object.pages;
  return spec;
}

/// Migrates an object with a window, as users do: copies the bytes and replaces the pages at its addresses.
class Window final : public Way {
 public:
  Window(const Object& object, Nodes nodes) : Way{"window", nodes} {
    std::vector<std::unique_ptr<tier::Tier>> tiers;
    for (const auto node : {nodes.home, nodes.away})
      tiers.push_back(tier::make_tier(spec_on(node, object, spare)));
    manager_ = tier::Manager::make(std::move(tiers), tier::make_policy("first_touch"),
                                   {.windows = tier::WindowMode::Full, .window_blocks = 2_MiB});
    object_ = manager_->create_window(object.size, 64, name());
    size_ = object.size;
    fastest_is_home_ = manager_->statistics().tiers.front().name == "numa:" + std::to_string(nodes.home);
    manager_->migrate(blocks(), tier_of(Leg::Back));
    fill();
  }
  [[nodiscard]] Bytes huge() const override {
    const auto bytes = after(Leg::Back);
    return tier::residence(bytes.data(), bytes.size()).huge;
  }

 private:
  [[nodiscard]] tier::TierIndex tier_of(Leg leg) const noexcept {
    return (leg == Leg::Back) == fastest_is_home_ ? 0 : 1;
  }
  [[nodiscard]] std::vector<tier::BlockId> blocks() const {
    std::vector<tier::BlockId> ids;
    const auto bytes = after(Leg::Back);
    tier::for_each_block(bytes.data(), bytes.data() + bytes.size(), std::size_t(-1),
                         [&](const void* address) { ids.push_back(tier::block_of(address).id); });
    return ids;
  }
  void carry(Leg leg) override { manager_->migrate(blocks(), tier_of(leg)); }
  [[nodiscard]] std::span<std::byte> before(Leg leg) const noexcept override { return after(leg); }
  [[nodiscard]] std::span<std::byte> after(Leg) const noexcept override {
    return {object_.ref().object->window, size_.count};
  }

  std::shared_ptr<tier::Manager> manager_;
  tier::ObjectHandle object_;
  Bytes size_;
  bool fastest_is_home_ = true;
};

/// Copies the bytes with the same engine and does nothing else, so addresses change.
class PlainCopy final : public Way {
 public:
  PlainCopy(const Object& object, Nodes nodes)
      : Way{"plain copy", nodes},
        size_{object.size},
        home_{tier::make_tier(spec_on(nodes.home, object, 0_B))},
        away_{tier::make_tier(spec_on(nodes.away, object, 0_B))},
        engine_{{.movers = 0}} {
    fill();
  }
  [[nodiscard]] Bytes huge() const override { return tier::residence(home_->base(), size_.count).huge; }

 private:
  void carry(Leg leg) override {
    auto *from = home_.get(), *to = away_.get();
    if (leg == Leg::Back) std::swap(from, to);
    tier::bench::run_copy(engine_, {to, 0}, {from, 0}, size_.count);
  }
  [[nodiscard]] std::span<std::byte> before(Leg leg) const noexcept override {
    return {(leg == Leg::There ? home_ : away_)->base(), size_.count};
  }
  [[nodiscard]] std::span<std::byte> after(Leg leg) const noexcept override {
    return {(leg == Leg::There ? away_ : home_)->base(), size_.count};
  }

  Bytes size_;
  std::unique_ptr<tier::Tier> home_, away_;
  tier::CopyEngine engine_;
};

/// Pages that the kernel moves: it allocates new ones on one node and frees those of the other.
class ByKernel : public Way {
 public:
  ByKernel(std::string name, const Object& object, Nodes nodes)
      : Way{std::move(name), nodes}, pages_{object.size, object.pages, nodes.home} {
    fill();
  }
  [[nodiscard]] Bytes huge() const override { return pages_.huge(); }

 protected:
  [[nodiscard]] NodePages& pages() noexcept { return pages_; }

 private:
  void missed() override { pages_.name_small_pages(); }
  [[nodiscard]] std::span<std::byte> before(Leg) const noexcept override { return pages_.bytes(); }
  [[nodiscard]] std::span<std::byte> after(Leg) const noexcept override { return pages_.bytes(); }

  NodePages pages_;
};

class MovePages final : public ByKernel {
 public:
  MovePages(const Object& object, Nodes nodes) : ByKernel{"move_pages(2)", object, nodes} {}

 private:
  void carry(Leg leg) override { pages().move_pages(node_after(leg)); }
};

class Mbind final : public ByKernel {
 public:
  Mbind(const Object& object, Nodes nodes) : ByKernel{"mbind(2)", object, nodes} {}

 private:
  void carry(Leg leg) override { pages().mbind(node_after(leg)); }
};

class MigratePages final : public ByKernel {
 public:
  MigratePages(const Object& object, Nodes nodes)
      : ByKernel{"migrate_pages(2)", object, nodes}, size_{object.size} {}
  [[nodiscard]] Bytes besides() const override {
    const auto all = resident_memory();
    return all > size_ ? all - size_ : 0_B;
  }

 private:
  void carry(Leg leg) override { tier::bench::migrate_pages(node_before(leg), node_after(leg)); }

  Bytes size_;
};

Candidate candidate(std::string name, const std::function<std::unique_ptr<Way>()>& make) {
  Candidate made{std::move(name), nullptr, {}};
  try {
    made.way = make();
  } catch (const std::exception& error) {  // such as denied in a container, or no room
    made.why_not = error.what();
  }
  return made;
}

}  // namespace

Bytes room_for(const Object& object) { return object.size * 5 + spare; }

std::vector<Candidate> make_ways(const Object& object, Nodes nodes) {
  // The child process comes first, because the other ways start threads, which a fork would not copy.
  auto migrate_pages = candidate("migrate_pages(2)", [&]() -> std::unique_ptr<Way> {
    return std::make_unique<ProcessOfItsOwn>("migrate_pages(2)", nodes,
                                             [&] { return std::make_unique<MigratePages>(object, nodes); });
  });
  std::vector<Candidate> all;
  all.push_back(candidate("window", [&] { return std::make_unique<Window>(object, nodes); }));
  all.push_back(candidate("plain copy", [&] { return std::make_unique<PlainCopy>(object, nodes); }));
  all.push_back(candidate("move_pages(2)", [&] { return std::make_unique<MovePages>(object, nodes); }));
  all.push_back(candidate("mbind(2)", [&] { return std::make_unique<Mbind>(object, nodes); }));
  all.push_back(std::move(migrate_pages));
  return all;
}

}  // namespace migrate
