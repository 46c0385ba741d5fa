// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/tiers/bus_errors.hpp"

namespace tier {
namespace {

// initial-exec: otherwise its first use could allocate, and may be in the handler.
[[gnu::tls_model("initial-exec")]] constinit thread_local BusErrorGuard* guard = nullptr;
struct ::sigaction earlier {};

/// True if an access raised the signal: no process sent it, and it does not report a bad page that no thread reads.
bool is_of_an_access(const ::siginfo_t& info) noexcept {
  return info.si_code > 0 && info.si_code != BUS_MCEERR_AO;
}

void pass_on(int signal, ::siginfo_t* info, void* context) noexcept {
  if ((earlier.sa_flags & SA_SIGINFO) != 0) return earlier.sa_sigaction(signal, info, context);
  if (earlier.sa_handler == SIG_IGN && !is_of_an_access(*info)) return;
  if (earlier.sa_handler != SIG_DFL && earlier.sa_handler != SIG_IGN) return earlier.sa_handler(signal);
  std::signal(signal, SIG_DFL);
  ::raise(signal);  // ends the process where it was, as soon as this returns
}

}  // namespace

bool BusErrorGuard::waits_for(const ::siginfo_t& info) const noexcept {
  const auto page = std::uintptr_t{1} << (info.si_code == BUS_MCEERR_AR ? info.si_addr_lsb : 0);
  const auto bad = reinterpret_cast<std::uintptr_t>(info.si_addr) & ~(page - 1);
  return is_of_an_access(info) && bad < end_ && bad + page > begin_;
}

void BusErrorGuard::on_signal(int signal, ::siginfo_t* info, void* context) noexcept {
  auto* const mine = guard;
  if (mine == nullptr || !mine->waits_for(*info)) return pass_on(signal, info, context);
  siglongjmp(mine->back_, 1);
}

void install_bus_error_handler() noexcept {
  [[maybe_unused]] static const bool installed = [] {
    ::sigaction(SIGBUS, nullptr, &earlier);  // first: the handler may be called at once
    struct ::sigaction ours {};
    ours.sa_sigaction = BusErrorGuard::on_signal;
    ours.sa_mask = earlier.sa_mask;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | (earlier.sa_flags & SA_RESTART);
    return ::sigaction(SIGBUS, &ours, nullptr) == 0;
  }();
}

BusErrorGuard::BusErrorGuard() noexcept {
  ::sigset_t taken;
  ::sigemptyset(&taken);
  ::sigaddset(&taken, SIGBUS);
  ::pthread_sigmask(SIG_UNBLOCK, &taken, &before_);
}

// sigsetjmp does not save the mask, because that is a system call for each copy, which may have only 4 KiB.
std::error_code BusErrorGuard::during(std::span<const std::byte> memory, FunctionRef<void()> copy) noexcept {
  begin_ = reinterpret_cast<std::uintptr_t>(memory.data());
  end_ = begin_ + memory.size();
  if (sigsetjmp(back_, 0) == 0) {
    guard = this;
    copy();
    guard = nullptr;
    return {};
  }
  guard = nullptr;
  auto mask = before_;
  ::sigdelset(&mask, SIGBUS);
  ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);  // the mask before the handler
  return std::make_error_code(std::errc::io_error);
}

}  // namespace tier
