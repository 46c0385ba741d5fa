// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "fork_faults.hpp"

#include <tier/manager/manager.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <string_view>

namespace tier {
namespace {

struct ::sigaction earlier {};

/// Text in a fixed buffer: a handler must not allocate.
class Line {
 public:
  void add(std::string_view text) noexcept {
    const auto n = std::min(text.size(), text_.size() - size_);
    std::copy_n(text.data(), n, text_.data() + size_);
    size_ += n;
  }
  void add(std::uint64_t number, int base) noexcept {
    std::array<char, 64> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr;
    add({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
  void write() const noexcept { [[maybe_unused]] const auto n = ::write(STDERR_FILENO, text_.data(), size_); }

 private:
  std::array<char, 512> text_;
  std::size_t size_ = 0;
};

/// Takes no lock, because windows are looked up without one.
void explain(const void* address) noexcept {
  if (block_of(address).manager == nullptr) return;
  Line line;
  line.add("libtier: the child of a fork has touched 0x");
  line.add(reinterpret_cast<std::uintptr_t>(address), 16);
  if (const auto object = object_of(address); object.object != nullptr) {
    line.add(", in \"");
    line.add(std::string_view{object.object->name}.substr(0, 100));
    line.add("\" (object ");
    line.add(object.id(), 10);
    line.add(")");
  }
  line.add(
      ", which is absent from its window and cannot be fetched there: move it to memory before the fork "
      "(tier::migrate), or open a scope on it, which throws an exception instead of ending the child\n");
  line.write();
}

void on_fault(int signal, ::siginfo_t* info, void*) noexcept {
  const bool is_access = info->si_code > 0;
  if (is_access) explain(info->si_addr);
  struct ::sigaction now {};
  ::sigaction(signal, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) == 0 || now.sa_sigaction != on_fault)
    return;  // called by a handler that was installed after ours
  ::sigaction(signal, &earlier, nullptr);
  if (!is_access) ::raise(signal);  // sent as a signal: nothing would repeat it
}

}  // namespace

void explain_faults_in_child() noexcept {
  struct ::sigaction now {};
  ::sigaction(SIGSEGV, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_fault) return;
  earlier = now;
  struct ::sigaction ours {};
  ours.sa_sigaction = on_fault;
  ours.sa_mask = earlier.sa_mask;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGSEGV, &ours, nullptr);
}

}  // namespace tier
