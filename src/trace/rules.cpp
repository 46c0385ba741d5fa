// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/rules.hpp"

#include <algorithm>

#include "core/broken_rule.hpp"

namespace tier::trace {
namespace {

constexpr Bytes most{(1ULL << 63) - 1};

bool is_whole_write(Role role) noexcept { return role == Role::Creates || role == Role::Overwrites; }

std::string letter(Role role) { return {static_cast<char>(role)}; }

}  // namespace

std::string Rules::named(TensorIndex tensor) const {
  return "tensor " + std::to_string(trace_.tensor(tensor).id);
}

void Rules::declare(TensorIndex tensor) {
  states_.resize(tensor + 1);
  const auto& declared = trace_.tensor(tensor);
  if (declared.kind != TensorKind::Parameter) return;
  states_[tensor].life = Life::Alive;
  if (trace_.header("recorded")) return come_alive(declared.size);  // objects come as the program goes
  // The parameter existed during all events so far, too.
  if (declared.size > most - peak_) throw BrokenRule{"more than 8 EiB alive at once"};
  live_ += declared.size;
  peak_ += declared.size;
  of_iteration_ += declared.size;
}

void Rules::come_alive(Bytes size) {
  if (size > most - live_) throw BrokenRule{"more than 8 EiB alive at once"};
  live_ += size;
  peak_ = std::max(peak_, live_);
  of_iteration_ = std::max(of_iteration_, live_);
}

void Rules::kernel(std::span<const Operand> operands) {
  ++kernels_;
  begun_ = true;
  unmeasured_ = true;
  for (const auto& operand : operands) {
    if (operand.role == Role::Creates)
      create(operand.tensor);
    else
      check_alive(operand.tensor);
    check_only_role(operand);
    check_touched(operand);
  }
}

void Rules::create(TensorIndex tensor) {
  const auto life = states_[tensor].life;
  if (trace_.tensor(tensor).kind == TensorKind::Parameter)
    throw BrokenRule{named(tensor) +
                     " is a parameter and exists from the start: name it under O, which overwrites, not "
                     "under W, which creates"};
  if (life == Life::Alive) throw BrokenRule{named(tensor) + " is created a second time"};
  if (life == Life::Retired || life == Life::Ended) check_alive(tensor);
  begin_life(tensor);
}

/// For a tensor that survived an earlier iteration, W means the same as O.
void Rules::begin_life(TensorIndex tensor) {
  auto& life = states_[tensor].life;
  if (life == Life::Declared) come_alive(trace_.tensor(tensor).size);
  life = Life::Alive;
  of_this_one_.push_back(tensor);
}

void Rules::check_alive(TensorIndex tensor) const {
  switch (states_[tensor].life) {
    case Life::Declared:
      throw BrokenRule{named(tensor) + " is used before a kernel creates it"};
    case Life::Retired:
      throw BrokenRule{named(tensor) + " is used after its X"};
    case Life::Ended:
      throw BrokenRule{named(tensor) + " is used after the end of its iteration"};
    case Life::Alive:
    case Life::Survivor:
      return;
  }
}

void Rules::check_only_role(const Operand& operand) {
  auto& state = states_[operand.tensor];
  if (state.kernel == kernels_ && (state.role != operand.role || is_whole_write(operand.role)))
    throw BrokenRule{named(operand.tensor) + " stands under both " + letter(state.role) + " and " +
                     letter(operand.role) + " of one kernel"};
  state.kernel = kernels_;
  state.role = operand.role;
}

void Rules::check_touched(const Operand& operand) const {
  const auto size = trace_.tensor(operand.tensor).size;
  if (operand.touched > size)
    throw BrokenRule{named(operand.tensor) + " has " + std::to_string(size.count) + " bytes, not " +
                     std::to_string(operand.touched.count)};
  if (is_whole_write(operand.role) && operand.touched != size)
    throw BrokenRule{letter(operand.role) + " writes the whole of " + named(operand.tensor) + ", " +
                     std::to_string(size.count) + " bytes, not " + std::to_string(operand.touched.count)};
}

void Rules::measurement() {
  if (!unmeasured_) throw BrokenRule{"a measurement must follow a kernel, and be its only one"};
  unmeasured_ = false;
}

void Rules::archive(std::span<const TensorIndex> tensors) {
  begun_ = true;
  for (const auto tensor : tensors) check_alive(tensor);
}

/// A retire begins no iteration, because objects may go after the last one.
void Rules::retire(std::span<const TensorIndex> tensors) {
  for (const auto tensor : tensors) {
    check_alive(tensor);
    states_[tensor].life = Life::Retired;
    live_ -= trace_.tensor(tensor).size;
  }
}

void Rules::end_iteration() {
  for (const auto tensor : of_this_one_) {
    auto& life = states_[tensor].life;
    if (life != Life::Alive) continue;
    const auto& ended = trace_.tensor(tensor);
    if (ended.kind == TensorKind::Gradient) {
      life = Life::Survivor;
    } else {
      life = Life::Ended;
      live_ -= ended.size;
    }
  }
  of_this_one_.clear();
  of_iteration_ = live_;
  ++ended_;
  begun_ = false;
}

}  // namespace tier::trace
