// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scope/names.hpp"

#include <string_view>

namespace tier::detail {
namespace {

std::string with_id(std::string_view name, ObjectId id) {
  const auto object = "object " + std::to_string(id);
  return name.empty() ? object : "\"" + std::string{name} + "\" (" + object + ")";
}

}  // namespace

std::string name_of(const Operand& operand) {
  if (operand.whole)
    if (const auto found = object_of(operand.address); found.object != nullptr) return name_of(found);
  if (operand.block == nullptr) return operand.whole ? with_id({}, operand.object) : "memory of the program";
  for (const auto& object : operand.block->manager->object_statistics())
    if (object.id == operand.object) return with_id(object.name, object.id);
  return with_id({}, operand.object);
}

std::string name_of(ObjectRef object) {
  return object.object != nullptr ? with_id(object.object->name, object.id()) : "memory of the program";
}

}  // namespace tier::detail
