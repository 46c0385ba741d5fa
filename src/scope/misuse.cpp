// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/scope/misuse.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "scope/names.hpp"

namespace tier::detail {
namespace {

constexpr std::size_t most_named = 8;

std::string with_use(const Operand& operand) {
  const bool is_part = operand.advice && !operand.whole;
  return (is_part ? "a part of " : "") + name_of(operand) +
         (operand.use == Use::Read ? " for reading" : " for writing");
}

/// `"x" (object 1) for reading, "y" (object 2) for writing`, each object once.
std::string list(std::span<const Operand> operands) {
  std::string text;
  std::size_t named = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto same = [&](const Operand& other) { return other.object == operands[i].object; };
    if (std::ranges::any_of(operands.first(i), same)) continue;
    if (named++ == most_named) return text + " and more";
    text.append(text.empty() ? "" : ", ").append(with_use(operands[i]));
  }
  return text.empty() ? "nothing" : text;
}

std::string place(Caller caller) {
  return caller.file != nullptr ? std::string{caller.file} + ":" + std::to_string(caller.line) + ": "
                                : std::string{};
}

}  // namespace

void not_in_scope(ObjectRef object, Use use, std::span<const Operand> here, Caller caller) noexcept {
  const bool writes = use != Use::Read;
  const auto is_object = [&](const Operand& operand) {
    return object.object != nullptr && operand.block != nullptr && operand.object == object.id() &&
           operand.block->manager == object.object->block->manager;
  };
  const bool is_read = writes && std::ranges::any_of(here, is_object);
  std::fprintf(stderr, "libtier: %s%s %s; the scope has %s: name it in %s when the scope is opened%s\n",
               place(caller).c_str(), name_of(object).c_str(),
               is_read ? "is not in this scope for writing" : "is not in this scope", list(here).c_str(),
               writes ? "updates() or overwrites()" : "reads(), updates() or overwrites()",
               caller.file != nullptr ? "" : "; to see the line, use in() or out() instead of []");
  std::abort();
}

void of_two_runtimes(std::span<const Operand> operands, std::string_view kernel) noexcept {
  const auto managed = [](const Operand& operand) { return operand.block != nullptr; };
  const auto first = std::ranges::find_if(operands, managed);
  const auto other = std::ranges::find_if(operands, [&](const Operand& operand) {
    return managed(operand) && operand.block->manager != first->block->manager;
  });
  const auto name = kernel.empty() ? std::string{"a scope"} : "kernel \"" + std::string{kernel} + "\"";
  std::fprintf(stderr,
               "libtier: %s has objects of two runtimes: %s is of one, %s of another. A scope takes objects "
               "of one runtime: open a scope for each\n",
               name.c_str(), name_of(*first).c_str(), name_of(*other).c_str());
  std::abort();
}

}  // namespace tier::detail
