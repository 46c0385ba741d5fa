// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/windows/fault_threads.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <tier/core/error.hpp>
#include <tier/core/mutex.hpp>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <deque>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "core/descriptor.hpp"
#include "core/own_thread.hpp"
#include "memory/system/mapping.hpp"
#include "memory/windows/address_window.hpp"

namespace tier {
namespace {

constexpr unsigned waiting_servers = 4;  // faults on a device are served side by side. A guess
/// One more serves the faults of copies that the others wait for, which may touch absent pages.
constexpr unsigned servers = waiting_servers + 1;

}  // namespace

/// State shared by the threads: whom they ask, whether they go on, and the faults that were put off.
/// \threadsafety  Internally synchronised.
class FaultThreads::Server {
 public:
  /// \throws  `TierError`
  Server(std::shared_ptr<Userfaultfd> memory, WindowFaults& faults)
      : memory_{std::move(memory)}, faults_{faults}, stop_event_{detail::open_descriptor([] {
          return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        })} {
    if (stop_event_) return;
    const auto error = last_system_error();
    throw TierError{error, "eventfd" + detail::if_descriptors_are_used_up(error.value())};
  }

  /// Reads and serves faults until `stop`.
  void serve() noexcept TIER_EXCLUDES(mutex_);
  void stop() noexcept {
    stopping_.store(true, std::memory_order_release);
    ::eventfd_write(stop_event_.get(), 1);
  }

 private:
  void read_one() noexcept TIER_EXCLUDES(mutex_);
  void put_off(const WindowFault& fault) noexcept TIER_EXCLUDES(mutex_);
  void serve_put_off() noexcept TIER_EXCLUDES(mutex_);
  std::optional<WindowFault> next_put_off() noexcept TIER_EXCLUDES(mutex_);

  std::shared_ptr<Userfaultfd> memory_;
  WindowFaults& faults_;
  detail::Descriptor stop_event_;
  std::atomic<bool> stopping_{false};
  Mutex mutex_;
  std::deque<WindowFault> put_off_ TIER_GUARDED_BY(mutex_);  // if any, all servers that may wait do
  unsigned waiting_ TIER_GUARDED_BY(mutex_) = 0;
};

void FaultThreads::Server::serve() noexcept {
  std::array<::pollfd, 2> waits{{{memory_->descriptor(), POLLIN, 0}, {stop_event_.get(), POLLIN, 0}}};
  while (!stopping_.load(std::memory_order_acquire)) {
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) {
      constexpr std::chrono::milliseconds moment{1};  // if the system refuses to wait for it
      std::this_thread::sleep_for(moment);
      waits[0].revents = POLLIN;
    }
    if (waits[0].revents != 0) read_one();
  }
}

void FaultThreads::Server::read_one() noexcept {
  const auto ended = faults_.ended_blocks();
  auto fault = memory_->read();
  if (!fault) return;
  fault->since = ended;
  if (faults_.on_fault(*fault, false)) return;
  put_off(*fault);
  serve_put_off();
}

void FaultThreads::Server::put_off(const WindowFault& fault) noexcept {
  const MutexLock lock{mutex_};
  try {
    put_off_.push_back(fault);
  } catch (const std::bad_alloc&) {  // the waiting thread faults again
    const auto into = reinterpret_cast<std::uintptr_t>(fault.address) % window_unit;
    memory_->wake(fault.address - into, window_unit);
  }
}

/// Serves put-off faults, unless as many threads as may wait already do: then one of them takes it.
void FaultThreads::Server::serve_put_off() noexcept {
  {
    const MutexLock lock{mutex_};
    if (waiting_ == waiting_servers) return;
    ++waiting_;
  }
  while (auto fault = next_put_off()) {
    if (stopping_.load(std::memory_order_acquire)) return;  // `faults_` may be gone
    if (!faults_.on_fault(*fault, true)) put_off(*fault);
  }
}

/// Takes the next put-off fault.   \return  nothing if there is none; this thread then no longer counts as waiting
std::optional<WindowFault> FaultThreads::Server::next_put_off() noexcept {
  const MutexLock lock{mutex_};
  if (put_off_.empty()) {
    --waiting_;
    return std::nullopt;
  }
  const auto fault = put_off_.front();
  put_off_.pop_front();
  return fault;
}

FaultThreads::FaultThreads(std::shared_ptr<Userfaultfd> memory, WindowFaults& faults)
    : server_{std::make_shared<Server>(std::move(memory), faults)} {
  try {
    threads_.reserve(servers);
    for (unsigned i = 0; i < servers; ++i)
      threads_.push_back(detail::own_thread([server = server_] { server->serve(); }));
  } catch (const std::system_error& error) {
    stop();
    throw TierError{error.code(),
                    std::string{"starting the threads that serve windows"} + if_mappings_are_used_up()};
  } catch (...) {
    stop();
    throw;
  }
}

FaultThreads::~FaultThreads() { stop(); }

void FaultThreads::stop() noexcept {
  server_->stop();
  for (auto& thread : threads_) {
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();
    else
      thread.join();
  }
}

}  // namespace tier
