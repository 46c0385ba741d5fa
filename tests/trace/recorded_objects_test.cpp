// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/recorded_objects.hpp"

#include <tier/manager/observer.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <initializer_list>

namespace tier::recorded_objects_test {

using trace::RecordedEvent;
using trace::RecordedEvents;
using trace::RecordedObjects;
using trace::RecordKind;

namespace {

struct Recorded {
  /// Adds an event about an object. \param flags  as `y` of its record
  Recorded& object(ObjectChange change, std::uint64_t id, std::uint64_t size,
                   std::initializer_list<std::uint64_t> blocks, std::uint8_t flags = 0,
                   std::uint32_t name = 0) {
    RecordedEvent event;
    event.kind = RecordKind::Object;
    event.x = static_cast<std::uint8_t>(change);
    event.y = flags;
    event.name = name;
    event.first_word = events.words.size();
    event.word_count = static_cast<std::uint32_t>(3 + blocks.size());
    events.words.insert(events.words.end(), {id, size, 64});
    events.words.insert(events.words.end(), blocks);
    events.events.push_back(event);
    return *this;
  }
  RecordedEvents events;
};

}  // namespace

TEST_CASE("an object has the size and the blocks that it ended with") {
  Recorded recorded;
  recorded.object(ObjectChange::Made, 7, 100, {1}).object(ObjectChange::Grown, 7, 300, {1, 2});
  const RecordedObjects objects{recorded.events};
  const auto found = objects.find(7);
  REQUIRE(found);
  CHECK(objects[*found].size == 300);
  CHECK(objects[*found].blocks.size() == 2);
  CHECK(objects.block_number(2, *found) == 1);
  CHECK(objects.last_id() == 7);
  CHECK_FALSE(objects.find(8));
}

TEST_CASE("the only block of an object is the whole tensor, and nobody has a block that no object names") {
  Recorded recorded;
  recorded.object(ObjectChange::Made, 7, 100, {1});
  RecordedObjects objects{recorded.events};
  CHECK(objects.block_number(1, *objects.find(7)) == trace::whole_tensor);
  CHECK(objects.find_block(2) == nullptr);
  CHECK_FALSE(objects.find_at(2));
}

TEST_CASE("of a group's objects the first that is alive has the block, else the last that was") {
  Recorded recorded;
  for (const std::uint64_t id : {1, 2, 3})
    recorded.object(ObjectChange::Made, id, 64, {9}, trace::grouped_object);
  RecordedObjects objects{recorded.events};
  const auto begin_life = [&](std::uint64_t id) {
    auto& object = objects[*objects.find(id)];
    object.life = 0;
    object.alive = true;
  };
  CHECK(objects.find_at(9) == objects.find(1));  // none has lived
  begin_life(2);
  begin_life(3);
  CHECK(objects.find_at(9) == objects.find(2));
  objects[*objects.find(1)].destroyed = true;
  objects[*objects.find(2)].destroyed = true;
  objects[*objects.find(2)].alive = false;
  CHECK(objects.find_at(9) == objects.find(3));
  objects[*objects.find(3)].alive = false;
  CHECK(objects.find_at(9) == objects.find(3));
  objects.begin_walk();
  CHECK_FALSE(objects[*objects.find(2)].destroyed);
}

TEST_CASE("a table's rows have their home in the object of its name that is in the slower tier") {
  Recorded recorded;
  recorded.object(ObjectChange::Made, 1, 64, {1}, trace::placed_object, 5)
      .object(ObjectChange::Made, 2, 64, {2}, trace::placed_object, 5);
  RecordedObjects objects{recorded.events};
  for (const std::uint64_t id : {1, 2}) objects[*objects.find(id)].alive = true;
  objects.block(1).tier = 0;
  objects.block(2).tier = 1;
  RecordedEvent moved;
  moved.name = 5;
  moved.x = 1;
  moved.y = 0;
  CHECK(objects.find_home(moved) == objects.find(2));
  moved.name = 6;
  CHECK_FALSE(objects.find_home(moved));
}

}  // namespace tier::recorded_objects_test
