// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hint_aware/hint_aware.hpp"
#include "support/policy_rig.hpp"

#include <tier/core/error.hpp>
#include <tier/core/policy_spec.hpp>

#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <string>

namespace tier::hint_aware_test {

using namespace tier::test;

namespace {

/// \param spec  as in `docs/specs.md`
std::unique_ptr<Policy> made(std::string_view spec) { return make_hint_aware(parse_policy(spec).options); }

std::string refusal(std::string_view spec) {
  try {
    std::ignore = made(spec);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

/// Fast memory of three objects holds b and c, and has room for a, which is in slow memory.
struct RoomForOne {
  explicit RoomForOne(std::string_view spec) : rig{made(spec), 3}, objects{rig.fill("abcd")} {
    objects[3].reset();
    REQUIRE(rig.in_fast() == "bc");
    moved = rig.moved();
  }
  PolicyRig rig;
  std::vector<ObjectHandle> objects;
  std::uint64_t moved = 0;
};

/// A full fast memory of four blocks that notes which of them a policy evicts.
class FourBlocks final : public PolicyContext {
 public:
  std::size_t tier_count() const noexcept override { return 2; }
  TierFacts tier_facts(TierIndex tier) const noexcept override {
    TierFacts facts;
    facts.capacity = 4_MiB;
    facts.used = tier == 0 ? 4_MiB : 0_B;
    return facts;
  }
  std::optional<BlockFacts> block_facts(BlockId id) const noexcept override { return blocks.at(id); }
  TierIndex slower(TierIndex) const noexcept override { return 1; }
  bool in_background(TierIndex, TierIndex) const noexcept override { return !crowded; }
  Outcome copy(BlockId, TierIndex, When) noexcept override { return Outcome::Done; }
  Outcome fetch(BlockId, TierIndex, bool) noexcept override {
    ++fetches;
    return Outcome::Done;
  }
  Outcome make_primary(BlockId, TierIndex) noexcept override { return Outcome::Done; }
  Outcome drop(BlockId, TierIndex) noexcept override { return Outcome::Done; }
  Outcome evict(BlockId id, TierIndex) noexcept override {
    if (full) return Outcome::Full;
    if (blocks.at(id).moving || blocks.at(id).pinned) return Outcome::Pinned;
    blocks.at(id).moving = true;
    evicted += std::to_string(id);
    return Outcome::Done;
  }
  void rerank(BlockId) noexcept override {}

  std::array<BlockFacts, 4> blocks{block(0), block(1), block(2), block(3)};
  bool crowded = false;
  bool full = false;  // the slower tier
  int fetches = 0;
  std::string evicted;

 private:
  static BlockFacts block(BlockId id) { return {.id = id, .size = 1_MiB, .tier = 0, .archived = true}; }
};

constexpr Hint announcements[] = {Hint::WillUse, Hint::WillRead, Hint::WillWrite};

}  // namespace

TEST_CASE("hint-aware gives up archived objects first, however lately they were used") {
  PolicyRig rig{made("hint_aware:free=0"), 4};
  const auto objects = rig.fill("abcd");
  rig.read(objects[1]);
  rig.hint(Hint::Archive, objects[1]);
  rig.hint(Hint::Archive, objects[3]);
  const auto e = rig.fill("e");
  CHECK(rig.in_fast() == "abce");  // among archived objects, d was used longest ago
  const auto f = rig.fill("f");
  CHECK(rig.in_fast() == "acef");
  const auto g = rig.fill("g");
  CHECK(rig.in_fast() == "cefg");  // none is left, so recency decides
}

TEST_CASE("archived objects leave before their room is wanted, those archived first first") {
  PolicyRig rig{made("hint_aware:free=0.5"), 4};
  const auto objects = rig.fill("abcd");
  rig.hint(Hint::Archive, objects[2]);
  CHECK(rig.in_fast() == "abd");  // one of the two that should be free
  rig.hint(Hint::Archive, objects[3]);
  CHECK(rig.in_fast() == "ab");
  rig.hint(Hint::Archive, objects[0]);
  CHECK(rig.in_fast() == "ab");  // enough is free
  rig.read(objects[0]);
  rig.hint(Hint::Archive, objects[1]);
  const auto e = rig.fill("e");
  CHECK(rig.in_fast() == "ae");  // b is the only one still archived
  const auto moved = rig.moved();
  const auto f = rig.fill("f");
  CHECK(rig.in_fast() == "aef");
  CHECK(rig.moved() == moved);
}

TEST_CASE("what was archived while it was in use, or moved within its tier, leaves when it can") {
  const auto policy = made("hint_aware:free=0.5");
  for (auto BlockFacts::*busy : {&BlockFacts::moving, &BlockFacts::pinned}) {
    FourBlocks context;
    context.blocks[0].*busy = true;
    for (const BlockId id : {0, 1}) {
      HintEvent archived;
      archived.hint = Hint::Archive;
      archived.block = id;
      policy->on_hint(archived, context);
    }
    CHECK(context.evicted == "1");
    context.blocks[0].*busy = false;
    WatermarkEvent full;
    full.tier = 0;
    policy->on_watermark(full, context);
    CHECK(context.evicted == "10");
    policy->on_watermark(full, context);
    CHECK(context.evicted == "10");
  }
}

TEST_CASE("what was archived while the slower tiers were full leaves once they have room") {
  const auto policy = made("hint_aware:free=0.5");
  FourBlocks context;
  context.full = true;
  HintEvent archived;
  archived.hint = Hint::Archive;
  archived.block = 1;
  policy->on_hint(archived, context);
  context.full = false;
  WatermarkEvent full;
  full.tier = 0;
  policy->on_watermark(full, context);
  CHECK(context.evicted == "1");
}

TEST_CASE("while each core computes nothing is written behind or fetched ahead") {
  const auto policy = made("hint_aware:free=0.5");
  FourBlocks context;
  context.crowded = true;
  HintEvent hint;
  hint.hint = Hint::WillRead;
  hint.block = 3;
  policy->on_hint(hint, context);
  CHECK(context.fetches == 0);
  hint.hint = Hint::Archive;
  hint.block = 1;
  policy->on_hint(hint, context);
  CHECK(context.evicted.empty());

  context.crowded = false;
  hint.block = 2;
  policy->on_hint(hint, context);
  CHECK(context.evicted == "12");
  hint.hint = Hint::WillRead;
  hint.block = 3;
  policy->on_hint(hint, context);
  CHECK(context.fetches == 1);
}

TEST_CASE("an archived object that is used again is one of the others") {
  for (const Use how : {Use::Read, Use::Update, Use::Overwrite}) {
    CAPTURE(to_string(how));
    PolicyRig rig{made("hint_aware"), 3};
    const auto objects = rig.fill("abc");
    rig.hint(Hint::Archive, objects[1]);
    rig.use(objects[1], how);
    const auto d = rig.fill("d");
    CHECK(rig.in_fast() == "bcd");
  }
}

TEST_CASE("hint-aware fetches what is announced if there is room, and evicts nothing for it") {
  for (const Hint hint : announcements) {
    CAPTURE(to_string(hint));
    RoomForOne with{"hint_aware"};
    with.rig.hint(hint, with.objects[0]);
    CHECK(with.rig.in_fast() == "abc");
    CHECK(with.rig.moved() == with.moved + PolicyRig::object_size.count);

    PolicyRig full{made("hint_aware"), 3};
    const auto objects = full.fill("abcd");
    const auto moved = full.moved();
    full.hint(hint, objects[0]);
    CHECK(full.in_fast() == "bcd");
    CHECK(full.moved() == moved);
  }
  RoomForOne with{"hint_aware"};
  with.rig.hint(Hint::Archive, with.objects[0]);
  CHECK(with.rig.moved() == with.moved);
}

TEST_CASE("without prefetching no announcement fetches, and reads happen in slow memory") {
  for (const auto* spec : {"hint_aware:prefetch=off", "hint_aware:mode=LM"}) {
    CAPTURE(spec);
    RoomForOne with{spec};
    for (const Hint hint : announcements) with.rig.hint(hint, with.objects[0]);
    with.rig.read(with.objects[0]);
    CHECK(with.rig.in_fast() == "bc");
    CHECK(with.rig.moved() == with.moved);
    with.rig.use(with.objects[0], Use::Update);  // a written object comes to fast memory all the same
    CHECK(with.rig.in_fast() == "abc");
  }
}

TEST_CASE("what was asked for ahead leaves after all else until it is used") {
  for (const bool keeps : {true, false}) {
    CAPTURE(keeps);
    PolicyRig rig{made(keeps ? "hint_aware:free=0" : "hint_aware:keep=off"), 3};
    const auto objects = rig.fill("abcd");
    rig.prefetch(objects[0]);
    REQUIRE(rig.in_fast() == "acd");
    rig.read(objects[2]);
    rig.read(objects[3]);
    const auto e = rig.fill("e");
    CHECK(rig.in_fast() == (keeps ? "ade" : "cde"));
    if (!keeps) continue;
    rig.read(objects[0]);
    rig.read(objects[3]);
    rig.read(e[0]);
    const auto f = rig.fill("f");
    CHECK(rig.in_fast() == "def");
    rig.prefetch(objects[0]);
    REQUIRE(rig.in_fast() == "aef");
    rig.hint(Hint::Archive, objects[0]);  // not wanted after all
    const auto g = rig.fill("g");
    CHECK(rig.in_fast() == "efg");
  }
}

TEST_CASE("where free room is in pieces, what is not archived stays in fast memory, elsewhere") {
  for (const auto& [spec, copied] :
       {std::pair{"hint_aware", 0U}, {"hint_aware:keep=off", 1U}, {"hint_aware:mode=LMP", 1U}}) {
    CAPTURE(spec);
    PolicyRig rig{made(spec), 6};
    auto objects = rig.fill("abcdef");
    for (const auto gone : {1, 4}) objects[static_cast<std::size_t>(gone)].reset();
    const auto large = rig.make("L", 2);
    CHECK(rig.in_fast().size() == 5 - copied);
    CHECK(rig.moved() == copied * PolicyRig::object_size.count);
  }
  SUBCASE("but what is archived leaves") {
    PolicyRig rig{made("hint_aware:free=0"), 6};
    auto objects = rig.fill("abcdef");
    rig.hint(Hint::Archive, objects[0]);
    for (const auto gone : {1, 4}) objects[static_cast<std::size_t>(gone)].reset();
    const auto large = rig.make("L", 2);
    CHECK(rig.in_fast() == "Lcdf");
  }
  SUBCASE("but as much leaves as is lacking, the coldest first") {
    PolicyRig rig{made("hint_aware"), 6};
    auto objects = rig.fill("abcdef");
    objects[1].reset();
    rig.read(objects[0]);
    const auto large = rig.make("L", 2);
    CHECK(rig.in_fast().size() == 5);
    CHECK(rig.moved() == PolicyRig::object_size.count);
  }
}

TEST_CASE("with prefetching what is read comes to fast memory, announced or not") {
  RoomForOne with{"hint_aware"};
  with.rig.read(with.objects[0]);
  CHECK(with.rig.in_fast() == "abc");
}

TEST_CASE("a new object starts in fast memory, or in the slowest without local allocation") {
  PolicyRig local{made("hint_aware"), 1};
  const auto a = local.fill("a");
  const auto b = local.make("b");
  CHECK(local.in_fast() == "b");

  for (const auto* spec : {"hint_aware:local=off", "hint_aware:mode=0"}) {
    CAPTURE(spec);
    PolicyRig rig{made(spec), 2};
    const auto c = rig.make("c");
    CHECK(rig.in_fast().empty());
    CHECK(rig.used(0) == Bytes{0});
    rig.use(c, Use::Overwrite);  // where it is: the copy is made before the first kernel that reads
    CHECK(rig.in_fast().empty());
    rig.read(c);
    CHECK(rig.in_fast() == "c");
    CHECK(rig.moved() == PolicyRig::object_size.count);
  }
}

TEST_CASE(
    "without local allocation a new object is copied before its first use, and later ones follow "
    "prefetching") {
  for (const auto& [spec, comes_back] : {std::pair{"hint_aware:local=off,prefetch=off", false},
                                         {"hint_aware:mode=0", false},
                                         {"hint_aware:local=off", true}}) {
    CAPTURE(spec);
    PolicyRig rig{made(spec), 1};
    const auto objects = rig.fill("ab");
    rig.read(objects[0]);
    rig.use(objects[1], Use::Update);
    CHECK(rig.in_fast() == "b");
    rig.read(objects[0]);  // not new any more
    CHECK(rig.in_fast() == (comes_back ? "a" : "b"));
    rig.use(objects[0], Use::Update);  // an updated object comes back in any case
    CHECK(rig.in_fast() == "a");
  }
}

TEST_CASE("what is retired is free at once, or at the end of the step without early freeing") {
  PolicyRig early{made("hint_aware"), 2};
  const auto a = early.fill("a");
  early.retire(a[0]);
  CHECK(early.used(0) == Bytes{0});

  PolicyRig late{made("hint_aware:early_free=off"), 2};
  const auto b = late.fill("b");
  late.retire(b[0]);
  CHECK(late.used(0) == PolicyRig::object_size);
  late.end_of_step();
  CHECK(late.used(0) == Bytes{0});
}

TEST_CASE("a mode sets all three options, and options behind it change it") {
  const auto places_fast = [](const std::string& options) {
    PolicyRig rig{made("hint_aware:" + options), 2};
    const auto object = rig.make("a");
    return rig.in_fast() == "a";
  };
  CHECK(!places_fast("mode=0"));
  for (const auto* mode : {"mode=L", "mode=LM", "mode=LMP"}) CHECK(places_fast(mode));
  CHECK(places_fast("mode=0,local=on"));
  CHECK(!made("hint_aware:mode=L")->frees_early());
  CHECK(made("hint_aware:mode=LM")->frees_early());
}

TEST_CASE("hint-aware names the option or value that it does not know, and what it does") {
  CHECK(refusal("hint_aware:mood=LM") ==
        "unknown option at position 0 of \"mood\"; allowed: mode, local, early_free, prefetch, keep, free");
  CHECK(refusal("hint_aware:mode=PML") == "unknown mode at position 0 of \"PML\"; allowed: 0, L, LM, LMP");
  CHECK(refusal("hint_aware:prefetch=yes") ==
        "unknown value of prefetch at position 0 of \"yes\"; allowed: on, off");
  for (const auto* share : {"1", "-0.1", "some", "0.1x", "nan"}) {
    CAPTURE(share);
    CHECK(refusal("hint_aware:free=" + std::string{share}) ==
          "unknown value of free at position 0 of \"" + std::string{share} + "\"; allowed: 0 to less than 1");
  }
}

TEST_CASE(
    "the coldest run is preferred, unless some of it was asked for ahead and prefetched blocks are kept") {
  std::array<BlockFacts, 1> blocks;
  blocks[0].size = Bytes{4096};
  const Run run{.blocks = blocks, .write_back = Bytes{}, .evicted = Bytes{4096}, .hottest = 4};
  for (const auto* spec : {"hint_aware", "hint_aware:keep=off"}) {
    CAPTURE(spec);
    const auto policy = made(spec);
    blocks[0].prefetched = false;
    CHECK(policy->prefers(run, 5));
    CHECK_FALSE(policy->prefers(run, 4));  // another may write less
    blocks[0].prefetched = true;
    CHECK(policy->prefers(run, 5) == (std::string{spec} != "hint_aware"));
  }
}

}  // namespace tier::hint_aware_test
