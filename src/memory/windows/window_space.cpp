// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "memory/windows/window_space.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <tier/core/assert.hpp>
#include <tier/core/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <new>
#include <optional>
#include <thread>
#include <tuple>
#include <utility>

#include "core/descriptor.hpp"
#include "core/own_thread.hpp"
#include "core/refusal.hpp"
#include "core/say.hpp"
#include "memory/io/scratch_file.hpp"
#include "memory/system/mapping.hpp"
#include "memory/system/page_policy.hpp"
#include "memory/system/pages.hpp"
#include "memory/system/system_files.hpp"
#include "memory/windows/open_ranges.hpp"

// Definitions that older kernel headers lack; the features are asked for at run time.
#ifndef UFFD_FEATURE_MOVE
#define UFFD_FEATURE_MOVE (1ULL << 16)
struct uffdio_move {
  __u64 dst, src, len, mode;
  __s64 move;
};
#define UFFDIO_MOVE _IOWR(UFFDIO, 0x05, struct uffdio_move)
#define UFFDIO_MOVE_MODE_DONTWAKE (1ULL << 0)
#define UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES (1ULL << 1)
#endif
#ifndef UFFD_FEATURE_POISON
#define UFFD_FEATURE_POISON (1ULL << 14)
struct uffdio_poison {
  struct uffdio_range range;
  __u64 mode;
  __s64 updated;
};
#define UFFDIO_POISON _IOWR(UFFDIO, 0x08, struct uffdio_poison)
#endif

namespace tier {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
/// Address space costs nothing until it is used, but sanitizers and limits of the address space may leave less.
constexpr std::size_t area_size = std::size_t{256} << 30;
constexpr std::size_t max_areas = 64;
constexpr unsigned waiting_servers = 4;  // faults on a device are served side by side. A guess
/// One more serves the faults of copies that the others wait for, which may touch absent pages.
constexpr unsigned servers = waiting_servers + 1;

std::uint64_t address_of(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }

/// The areas of all window spaces, for `find`: written under the lock `listing`, read without one.
struct Listed {
  std::atomic<std::uint64_t> begin{0};
  std::atomic<std::uint64_t> size{0};  // 0: free
  std::atomic<std::atomic<void*>*> tags{nullptr};
};
std::array<Listed, max_areas> listed;
Mutex listing;

std::atomic<void*>* tag_of(const void* address) noexcept {
  for (auto& area : listed) {
    const auto size = area.size.load(std::memory_order_acquire);
    const auto offset = address_of(address) - area.begin.load(std::memory_order_relaxed);
    if (offset < size) return area.tags.load(std::memory_order_relaxed) + offset / WindowSpace::unit;
  }
  return nullptr;
}

int open_userfaultfd() {
  constexpr int flags = O_CLOEXEC | O_NONBLOCK;
  const auto by_call = [] { return static_cast<int>(::syscall(SYS_userfaultfd, flags)); };
  if (auto opened = detail::open_descriptor(by_call)) return opened.release();
  const int error = errno;
  // The device, from Linux 6.1 on, is open to users whom its owner allows.
  if (const auto device = detail::open_file("/dev/userfaultfd", O_RDWR)) {
    const auto by_device = [&] { return ::ioctl(device.get(), _IO(0xAA, 0x00), flags); };
    if (auto opened = detail::open_descriptor(by_device)) return opened.release();
  }
  throw TierError{{error, std::generic_category()},
                  "userfaultfd, which windows need" + detail::if_descriptors_are_used_up(error)};
}

/// Tries feature sets from richest to minimal. UFFDIO_API works once per descriptor, so each try opens a new one.
/// \return  the features it has; 0 if the kernel is too old
std::uint64_t ask_for_features(int& descriptor) {
  constexpr std::uint64_t needed = UFFD_FEATURE_PAGEFAULT_FLAG_WP | UFFD_FEATURE_THREAD_ID;
  constexpr std::array<std::uint64_t, 3> sets{needed | UFFD_FEATURE_MOVE | UFFD_FEATURE_POISON,
                                              needed | UFFD_FEATURE_POISON, needed};
  for (const auto wanted : sets) {
    ::uffdio_api api{UFFD_API, wanted, 0};
    if (::ioctl(descriptor, UFFDIO_API, &api) == 0) return wanted;
    ::close(descriptor);
    descriptor = open_userfaultfd();
  }
  return 0;
}

/// True if a thread of this process is in a system call that brings pages into memory to lock them.
bool is_locking_memory(int thread) {
  // "151 0x3 ...": the number of the call and its arguments, or -1 outside a call.
  const auto call = to_number(read_line("/proc/self/task/" + std::to_string(thread) + "/syscall"));
  return call == std::size_t{SYS_mlockall} || call == std::size_t{SYS_mlock} ||
         call == std::size_t{SYS_mlock2};
}

/// Returns how many bytes from `begin` on have no page, neither in memory nor swapped out; only `pagemap` tells.
std::size_t absent_bytes(int pagemap, const std::byte* begin, std::size_t size) noexcept {
  const auto page = page_size();
  constexpr std::uint64_t present_or_swapped = std::uint64_t{3} << 62;
  std::size_t absent = 0;
  for (std::array<std::uint64_t, 512> entries{}; absent < size;) {
    const auto wanted = std::min(entries.size(), (size - absent + page - 1) / page);
    const auto read = ::pread(pagemap, entries.data(), wanted * sizeof(entries[0]),
                              static_cast<::off_t>(address_of(begin + absent) / page * sizeof(entries[0])));
    for (std::size_t i = 0; i < wanted; ++i, absent += page)
      if (read < static_cast<::ssize_t>((i + 1) * sizeof(entries[0])) ||
          (entries[i] & present_or_swapped) != 0)
        return absent;
  }
  return size;
}

}  // namespace

/// A part of the address space, with its windows.
struct WindowSpace::Area {
  Area(std::byte* begin, std::size_t bytes, std::unique_ptr<ScratchFile> behind)
      : base{begin}, size{bytes}, heap{Bytes{bytes}, Bytes{WindowSpace::unit}}, file{std::move(behind)} {}
  ~Area() {
    {
      const MutexLock lock{listing};
      for (auto& entry : listed)
        if (entry.tags.load(std::memory_order_relaxed) == tags && tags != nullptr) {
          entry.size.store(0, std::memory_order_release);
          entry.tags.store(nullptr, std::memory_order_relaxed);
        }
    }
    if (tags != nullptr) ::munmap(tags, size / WindowSpace::unit * sizeof(*tags));
    ::munmap(base, size);
  }
  Area(const Area&) = delete;
  Area& operator=(const Area&) = delete;

  bool list() noexcept {
    const auto bytes = size / WindowSpace::unit * sizeof(*tags);
    auto* const memory = map_reserved(bytes, -1);
    if (memory == nullptr) return false;
    tags = reinterpret_cast<std::atomic<void*>*>(memory);
    if (!open_reserved(memory, bytes)) return false;
    const MutexLock lock{listing};
    for (auto& entry : listed) {
      if (entry.tags.load(std::memory_order_relaxed) != nullptr) continue;
      entry.tags.store(tags, std::memory_order_relaxed);
      entry.begin.store(address_of(base), std::memory_order_relaxed);
      entry.size.store(size, std::memory_order_release);
      return true;
    }
    return false;
  }

  std::byte* base;
  std::size_t size;
  RegionHeap heap;
  std::unique_ptr<ScratchFile> file;   // null if in memory
  std::atomic<void*>* tags = nullptr;  // one for each unit
  OpenRanges open;                     // accessible so far
  std::size_t opened = 0;              // all offsets below it are, or were, open
};

/// Holds the descriptor and the threads that read it. The threads keep it alive, because one of them may be the last to let
/// go of the space.
struct WindowSpace::Server {
  explicit Server(WindowFaults& to) : faults{to}, descriptor{open_userfaultfd()} {
    features = ask_for_features(descriptor);
    stop_event = detail::open_descriptor([] { return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }).release();
    if (features == 0 || stop_event < 0) {
      const auto error = last_system_error();
      close_all();
      throw TierError{error, features == 0 ? "userfaultfd with write protection"
                                           : "eventfd" + detail::if_descriptors_are_used_up(error.value())};
    }
    if (!can_move()) return;
    pagemap = detail::open_file("/proc/self/pagemap", O_RDONLY).release();
    if (pagemap >= 0) return;
    const auto error = last_system_error();
    features &= ~UFFD_FEATURE_MOVE;  // without /proc, pages are copied
    if (error != std::errc::too_many_files_open && error != std::errc::too_many_files_open_in_system) return;
    close_all();
    throw TierError{
        error, "/proc/self/pagemap, which windows need" + detail::if_descriptors_are_used_up(error.value())};
  }
  ~Server() { close_all(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void close_all() noexcept {
    ::close(descriptor);
    if (stop_event >= 0) ::close(stop_event);
    if (pagemap >= 0) ::close(pagemap);
  }
  [[nodiscard]] bool can_move() const noexcept { return (features & UFFD_FEATURE_MOVE) != 0; }
  void stop() noexcept {
    stopping.store(true, std::memory_order_release);
    ::eventfd_write(stop_event, 1);
    for (auto& thread : threads) {
      if (thread.get_id() == std::this_thread::get_id())
        thread.detach();
      else
        thread.join();
    }
  }
  static void serve(const std::shared_ptr<Server>& self) noexcept;
  void read_one() noexcept;
  void put_off(const WindowFault& fault) noexcept TIER_EXCLUDES(mutex);
  void serve_put_off() noexcept TIER_EXCLUDES(mutex);
  std::optional<WindowFault> next_put_off() noexcept TIER_EXCLUDES(mutex);
  template <class Request>
  bool request(unsigned long code, Request& argument) noexcept {
    if (::ioctl(descriptor, code, &argument) == 0) return true;
    if (detail::is_refusal(errno)) tell_of_refusal();
    return false;
  }
  void tell_of_refusal() noexcept;

  WindowFaults& faults;
  int descriptor;
  int stop_event = -1;
  int pagemap = -1;  // for `move`
  std::uint64_t features = 0;
  std::atomic<bool> is_told{false};  // a refusal has been reported
  std::atomic<bool> stopping{false};
  std::vector<std::thread> threads;
  Mutex mutex;
  std::deque<WindowFault> later
      TIER_GUARDED_BY(mutex);  // put-off faults; if any, all servers that may wait do
  unsigned waiting TIER_GUARDED_BY(mutex) = 0;
};

/// Reports a refusal, only once. Preserves `errno`.
void WindowSpace::Server::tell_of_refusal() noexcept {
  if (is_told.exchange(true)) return;
  const int error = errno;
  std::array<char, 100> words{};
  detail::say(
      "the system refuses what it allowed when the runtime was made, ioctl of userfaultfd: %s. Accesses to "
      "what "
      "is absent from windows wait for ever, and nothing moves into windows; a sandbox has to allow ioctl, "
      "or be "
      "entered before the runtime is made",
      ::strerror_r(error, words.data(), words.size()));
  errno = error;
}

void WindowSpace::Server::serve(const std::shared_ptr<Server>& self) noexcept {
  std::array<::pollfd, 2> waits{{{self->descriptor, POLLIN, 0}, {self->stop_event, POLLIN, 0}}};
  while (!self->stopping.load(std::memory_order_acquire)) {
    if (::poll(waits.data(), waits.size(), -1) < 0 && errno != EINTR) {
      constexpr std::chrono::milliseconds moment{1};  // if the system refuses to wait for it
      std::this_thread::sleep_for(moment);
      waits[0].revents = POLLIN;
    }
    if (waits[0].revents != 0) self->read_one();
  }
}

void WindowSpace::Server::read_one() noexcept {
  ::uffd_msg message;
  const auto ended = faults.ended_blocks();
  if (::read(descriptor, &message, sizeof message) != sizeof message) return;  // another thread has read it
  if (message.event != UFFD_EVENT_PAGEFAULT) return;
  const auto flags = message.arg.pagefault.flags;
  WindowFault fault{reinterpret_cast<std::byte*>(message.arg.pagefault.address),
                    (flags & UFFD_PAGEFAULT_FLAG_WRITE) != 0, (flags & UFFD_PAGEFAULT_FLAG_WP) != 0,
                    static_cast<int>(message.arg.pagefault.feat.ptid), ended};
  if (faults.on_fault(fault, false)) return;
  put_off(fault);
  serve_put_off();
}

void WindowSpace::Server::put_off(const WindowFault& fault) noexcept {
  const MutexLock lock{mutex};
  try {
    later.push_back(fault);
  } catch (const std::bad_alloc&) {  // the waiting thread faults again
    ::uffdio_range range{address_of(fault.address) & ~(std::uint64_t{unit} - 1), unit};
    request(UFFDIO_WAKE, range);
  }
}

/// Serves put-off faults, unless as many threads as may wait already do: then one of them takes it.
void WindowSpace::Server::serve_put_off() noexcept {
  {
    const MutexLock lock{mutex};
    if (waiting == waiting_servers) return;
    ++waiting;
  }
  while (auto fault = next_put_off()) {
    if (stopping.load(std::memory_order_acquire)) return;  // `faults` may be gone
    if (!faults.on_fault(*fault, true)) put_off(*fault);
  }
}

/// Takes the next put-off fault.   \return  nothing if there is none; this thread then no longer counts as waiting
std::optional<WindowFault> WindowSpace::Server::next_put_off() noexcept {
  const MutexLock lock{mutex};
  if (later.empty()) {
    --waiting;
    return std::nullopt;
  }
  const auto fault = later.front();
  later.pop_front();
  return fault;
}

std::string WindowSpace::why_not() {
  try {
    int descriptor = open_userfaultfd();
    const auto features = ask_for_features(descriptor);
    ::close(descriptor);
    return features != 0 ? "" : "the kernel's userfaultfd knows no write protection (from Linux 5.7 on)";
  } catch (const TierError& error) {
    return error.what();
  }
}

WindowSpace::WindowSpace(WindowFaults& faults) : server_{std::make_shared<Server>(faults)} {
  try {
    server_->threads.reserve(servers);
    for (unsigned i = 0; i < servers; ++i)
      server_->threads.push_back(detail::own_thread([server = server_] { Server::serve(server); }));
  } catch (const std::system_error& error) {
    server_->stop();
    throw TierError{error.code(), std::string{"threads that serve windows"} + if_mappings_are_used_up()};
  } catch (...) {
    server_->stop();
    throw;
  }
}

/// Makes system calls that take the lock of a file or wait for a disk, one after the other on its own thread, because the
/// requesting threads hold locks that other threads need.
struct WindowSpace::FileWorker {
  explicit FileWorker(WindowSpace& to) : space{to}, thread{detail::own_thread([this] { run(); })} {}
  ~FileWorker() {
    {
      const MutexLock lock{mutex};
      stopping = true;
    }
    changed.notify_all();
    thread.join();
  }
  FileWorker(const FileWorker&) = delete;
  FileWorker& operator=(const FileWorker&) = delete;

  /// Queues a task.   \return  false if there is no memory for it, or too much advice waits already
  bool add(const FileTask& task) noexcept TIER_EXCLUDES(mutex) {
    constexpr std::size_t enough = 1000;  // late advice is of no use
    try {
      const MutexLock lock{mutex};
      if (task.window.address == nullptr && tasks.size() >= enough) return false;
      tasks.push_back(task);
    } catch (const std::bad_alloc&) {
      return false;
    }
    changed.notify_all();
    return true;
  }
  bool settle() noexcept TIER_EXCLUDES(mutex) {
    const MutexLock lock{mutex};
    if (tasks.empty() && !busy) return false;
    for (const auto last = begun + tasks.size(); ended < last && !stopping;) changed.wait(mutex);
    return true;
  }
  void run() noexcept TIER_EXCLUDES(mutex) {
    const MutexLock lock{mutex};
    for (;;) {
      while (tasks.empty() && !stopping) changed.wait(mutex);
      if (stopping) return;
      const auto task = tasks.front();
      tasks.pop_front();
      busy = true;
      ++begun;
      mutex.unlock();
      space.carry_out(task);
      mutex.lock();
      busy = false;
      ++ended;
      changed.notify_all();
    }
  }

  WindowSpace& space;
  Mutex mutex;
  CondVar changed;
  std::deque<FileTask> tasks TIER_GUARDED_BY(mutex);
  std::uint64_t begun TIER_GUARDED_BY(mutex) = 0, ended TIER_GUARDED_BY(mutex) = 0;
  bool busy TIER_GUARDED_BY(mutex) = false;
  bool stopping TIER_GUARDED_BY(mutex) = false;
  std::thread thread;
};

WindowSpace::WindowSpace(std::string directory, Bytes most) : directory_{std::move(directory)}, most_{most} {
  if (directory_.empty()) return;
  try {
    worker_ = std::make_unique<FileWorker>(*this);
  } catch (const std::system_error& error) {
    throw TierError{error.code(),
                    std::string{"a thread for the file of windows"} + if_mappings_are_used_up()};
  }
}

WindowSpace::~WindowSpace() {
  worker_.reset();
  if (server_ != nullptr) server_->stop();
  const MutexLock lock{mutex_};
  areas_.clear();
}

std::unique_ptr<WindowSpace::Area> WindowSpace::make_area(std::size_t wanted, std::size_t alignment) const {
  const auto whole = round_up(wanted + alignment, huge_page);
  const auto most = directory_.empty()
                        ? area_size
                        : std::min<std::uint64_t>(round_up(most_.count, huge_page),
                                                  ScratchFile::largest_file() / huge_page * huge_page);
  for (auto size = std::max<std::size_t>(most, whole);; size = std::max(size / 2, whole)) {
    std::unique_ptr<ScratchFile> file;
    if (!directory_.empty())
      file =
          std::make_unique<ScratchFile>(directory_, Bytes{size}, ScratchFile::Mode::Buffered, "of windows");
    auto* const base = map_reserved(size, file != nullptr ? file->descriptor() : -1);
    if (base == nullptr && size > whole) continue;
    if (base == nullptr) break;
    std::unique_ptr<Area> area;
    try {
      area = std::make_unique<Area>(base, size, std::move(file));
    } catch (...) {
      ::munmap(base, size);
      throw;
    }
    prepare(*area);
    if (!area->list()) {
      if (area->tags == nullptr) break;
      throw OutOfTierMemory{
          "windows have no more than 64 ranges of addresses in a process, one for each runtime and more "
          "where it outgrows the first",
          std::make_error_code(std::errc::not_enough_memory)};
    }
    return area;
  }
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(), "no address space for a window of %zu bytes%s", wanted,
                if_mappings_are_used_up());
  throw OutOfTierMemory{text.data(), std::make_error_code(std::errc::not_enough_memory)};
}

void WindowSpace::prepare(const Area& area) const {
  if (area.file != nullptr) ::madvise(area.base, area.size, MADV_DONTFORK);  // keeps a child's stores out
  if (mode() == WindowMode::Restricted) return;
  // Otherwise a fault there creates a table of small pages, and a huge page that is moved there gets split.
  ::madvise(area.base, area.size, MADV_HUGEPAGE);
  ::uffdio_register range{
      {address_of(area.base), area.size}, UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_WP, 0};
  if (!server_->request(UFFDIO_REGISTER, range))
    throw OutOfTierMemory{"userfaultfd cannot register address space for windows", last_system_error()};
}

/// Addresses are reserved unlocked and stay so, because a locked page could not move away. They are opened from the
/// beginning without gaps: ranges that are opened apart and used stay separate mappings even after the gap between them is
/// opened, and the system fills no block that lies in two mappings.
void WindowSpace::open(std::byte* begin, std::size_t size) {
  const MutexLock lock{mutex_};
  Area& area = *area_of(begin);
  const auto at = static_cast<std::size_t>(begin - area.base);
  // Large windows begin at huge pages; opened together with the gaps between them, they take one mapping.
  const auto first = std::min(at / unit * unit, area.opened);
  const auto last = std::min(round_up(at + size, size < huge_page ? unit : huge_page), area.size);
  if (area.open.contain(first, last)) return;
  const bool few = area.open.count() < OpenRanges::most;
  const auto open = [&](std::size_t from, std::size_t to) TIER_NO_THREAD_SAFETY_ANALYSIS {
    if (!open_reserved(area.base + from, to - from)) return false;
    area.open.add(from, to);
    area.opened = std::max(area.opened, to);
    return true;
  };
  if ((few && open(first, last)) || open(0, area.size)) return;
  throw OutOfTierMemory{
      std::string{"the system makes the addresses of a window not accessible"} + if_mappings_are_used_up(),
      last_system_error()};
}

bool WindowSpace::is_passed_by(const WindowFault& fault) noexcept try {
  if (!is_locking_memory(fault.thread)) return false;
  auto* const page = fault.address - address_of(fault.address) % page_size();
  const MutexLock lock{mutex_};
  Area& area = *area_of(page);
  const auto begin = static_cast<std::size_t>(page - area.base), end = round_up(begin + 1, unit);
  area.open.remove(begin / unit * unit, end);
  ::mprotect(page, end - begin, PROT_NONE);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

WindowSpace::Area* WindowSpace::area_of(const std::byte* address) const noexcept {
  for (const auto& area : areas_)
    if (address >= area->base && address < area->base + area->size) return area.get();
  return nullptr;
}

std::optional<AddressWindow> WindowSpace::carve(std::size_t size, std::size_t alignment) noexcept {
  for (auto& area : areas_) {
    const auto slot = area->heap.allocate(Bytes{size}, std::max(alignment, unit), area.get());
    if (slot != RegionHeap::none) return AddressWindow{area->base + area->heap.offset(slot), size, slot};
  }
  return std::nullopt;
}

AddressWindow WindowSpace::reserve(std::size_t size, std::size_t alignment) {
  TIER_ASSERT(size % unit == 0 && size > 0, "windows are whole units");
  do {
    const MutexLock lock{mutex_};
    if (const auto window = carve(size, alignment)) return *window;
    free_resting();
    if (const auto window = carve(size, alignment)) return *window;
  } while (settle());
  auto area = make_area(size, alignment);
  const MutexLock lock{mutex_};
  areas_.push_back(std::move(area));
  if (const auto window = carve(size, alignment)) return *window;
  throw OutOfTierMemory{"no memory to describe a window"};
}

void WindowSpace::release(const AddressWindow& window) noexcept {
  if (detail::checked && mode() == WindowMode::Restricted)
    ::mprotect(window.address, window.size, PROT_NONE);  // detects any later use
  if (worker_ !=
      nullptr) {  // not reused if the task cannot be queued: the caller may hold locks, so no file calls here
    std::ignore = worker_->add({.window = window});
    return;
  }
  if (mode() == WindowMode::Restricted) drop(window.address, window.size);
  const MutexLock lock{mutex_};
  release_now(window);
}

void WindowSpace::carry_out(const FileTask& task) noexcept {
  if (task.window.address == nullptr) return tell(task);
  give_space_back(task.window.address, task.window.size);
  const MutexLock lock{mutex_};
  release_now(task.window);
}

bool WindowSpace::settle() noexcept { return worker_ != nullptr && worker_->settle(); }

void WindowSpace::release_now(const AddressWindow& window) noexcept {
  if constexpr (detail::checked) {
    free(std::exchange(resting_[released_++ % most_resting], window));
  } else {
    free(window);
  }
}

void WindowSpace::free_resting() noexcept {
  for (auto& window : resting_) free(std::exchange(window, {}));
}

void WindowSpace::free(const AddressWindow& window) noexcept {
  if (window.address == nullptr) return;
  if (detail::checked && mode() == WindowMode::Restricted &&
      ::mprotect(window.address, window.size, PROT_READ | PROT_WRITE) != 0)
    return;  // no mapping is left to split it off from those still resting: never reused
  area_of(window.address)->heap.free(window.slot);
}

Bytes WindowSpace::metadata() {
  const MutexLock lock{mutex_};
  Bytes sum;
  for (const auto& area : areas_)
    sum += Bytes{sizeof(Area) + area->opened / unit * sizeof(*area->tags)} + area->heap.metadata();
  return sum;
}

void WindowSpace::tag(std::byte* begin, std::size_t size, void* tag) noexcept {
  auto* const first = tag_of(begin);
  for (std::size_t i = 0; i * unit < size; ++i) first[i].store(tag, std::memory_order_release);
}

void* WindowSpace::find(const void* address) noexcept {
  const auto* const tag = tag_of(address);
  return tag == nullptr ? nullptr : tag->load(std::memory_order_acquire);
}

/// Returns the area of an address. Areas stay until the end, so the caller needs no lock to use one.
WindowSpace::Area& WindowSpace::area_at(const std::byte* address) noexcept {
  const MutexLock lock{mutex_};
  return *area_of(address);
}

std::error_code WindowSpace::take_space(std::byte* begin, std::size_t size) noexcept {
  const Area& area = area_at(begin);
  if (area.file == nullptr) {  // in memory; full windows use that of tiers, which check it themselves
    const bool lacks = mode() == WindowMode::Restricted && growing_.lacks(Bytes{size});
    return lacks ? std::make_error_code(std::errc::not_enough_memory) : std::error_code{};
  }
  const auto offset = static_cast<std::uint64_t>(begin - area.base);
  auto error = area.file->allocate(offset, size);
  if (error && settle()) error = area.file->allocate(offset, size);  // released space may suffice
  return error;
}

void WindowSpace::give_space_back(std::byte* begin, std::size_t size) noexcept {
  drop(begin, size);
  const Area& area = area_at(begin);
  if (area.file != nullptr) area.file->punch(static_cast<std::uint64_t>(begin - area.base), size);
}

void WindowSpace::want(std::byte* begin, std::size_t size, bool in_memory) noexcept {
  if (worker_ != nullptr) worker_->add({.begin = begin, .size = size, .in_memory = in_memory});
}

/// Begins to write out pages that are to go, so that the system has clean pages to give up.
void WindowSpace::tell(const FileTask& task) noexcept {
  const Area& area = area_at(task.begin);
  if (!task.in_memory)
    ::sync_file_range(area.file->descriptor(), task.begin - area.base, static_cast<::off64_t>(task.size),
                      SYNC_FILE_RANGE_WRITE);
  ::madvise(task.begin, task.size, task.in_memory ? MADV_WILLNEED : MADV_COLD);
}

bool WindowSpace::fill(std::byte* to, const std::byte* from, std::size_t size, bool protect,
                       const PagePolicy* policy) noexcept {
  const ThreadPolicy whence{policy};  // windows have no policy of their own: the thread's counts
  for (std::size_t done = 0, step = size; done < size;) {
    const auto part = std::min(step, size - done);
    ::uffdio_copy copy{address_of(to + done), address_of(from + done), part,
                       UFFDIO_COPY_MODE_DONTWAKE | (protect ? UFFDIO_COPY_MODE_WP : 0), 0};
    if (server_->request(UFFDIO_COPY, copy))
      done += part;
    else if (copy.copy > 0)
      done += static_cast<std::size_t>(copy.copy);
    else if (errno == ENOENT && part > page_size())  // the part lies in two mappings
      step = std::max(page_size(), part / 2 / page_size() * page_size());
    else if (errno != EAGAIN && errno != EINTR)
      return false;
  }
  return true;
}

const std::byte* WindowSpace::zeros() noexcept {
  alignas(4096) static std::array<std::byte, huge_page> bytes;
  return bytes.data();
}

/// `mincore` reports a swapped-out page as absent; filling it fails with EEXIST, as if another thread had been first.
std::error_code WindowSpace::fill_holes(std::byte* begin, std::size_t size,
                                        const PagePolicy* policy) const noexcept {
  const ThreadPolicy whence{policy};
  const auto page = page_size();
  std::array<unsigned char, 512> is_there{};
  for (std::size_t at = 0; at < size; at += is_there.size() * page) {
    const auto pages = std::min(is_there.size(), (size - at + page - 1) / page);
    if (::mincore(begin + at, pages * page, is_there.data()) != 0) {
      if (!detail::is_refusal(errno)) return last_system_error();
      is_there.fill(0);  // refused: tries all pages, since present ones cannot be filled again
    }
    for (std::size_t i = 0; i < pages; ++i) {
      if ((is_there[i] & 1U) != 0) continue;
      ::uffdio_copy copy{address_of(begin + at + i * page), address_of(zeros()), page,
                         UFFDIO_COPY_MODE_DONTWAKE | UFFDIO_COPY_MODE_WP, 0};
      while (!server_->request(UFFDIO_COPY, copy) && errno != EEXIST)
        if (errno != EAGAIN && errno != EINTR) return last_system_error();
    }
  }
  return {};
}

std::size_t WindowSpace::move(std::byte* to, std::byte* from, std::size_t size) noexcept {
  if (!server_->can_move()) return 0;
  for (std::size_t done = 0;;) {
    ::uffdio_move move{address_of(to + done), address_of(from + done), size - done,
                       UFFDIO_MOVE_MODE_DONTWAKE | UFFDIO_MOVE_MODE_ALLOW_SRC_HOLES, 0};
    if (server_->request(UFFDIO_MOVE, move)) return size;
    if (move.move > 0) {
      done += static_cast<std::size_t>(move.move);
    } else if (errno == EEXIST) {
      // Linux 6.18 says so of pages that it has just moved, if it had to split a huge page because a thread waits for one.
      const auto moved = absent_bytes(server_->pagemap, from + done, size - done);
      if (moved == 0) return done;
      done += moved;
    } else if (errno != EAGAIN && errno != EINTR) {
      return done;
    }
    if (done == size) return size;
  }
}

void WindowSpace::drop(std::byte* begin, std::size_t size) noexcept {
  if (::madvise(begin, size, MADV_DONTNEED) == 0) return;
  constexpr int locked_too =
      24;  // MADV_DONTNEED_LOCKED, from Linux 5.18 on: the program has locked all its memory
  if (::madvise(begin, size, locked_too) == 0) return;
  // The system refuses advice: moves the pages to other addresses, and unmaps those.
  constexpr int leaves_the_range = 4;  // MREMAP_DONTUNMAP, from Linux 5.7 on
  void* const away = ::mremap(begin, size, size, MREMAP_MAYMOVE | leaves_the_range, nullptr);
  if (away != MAP_FAILED) ::munmap(away, size);
}

void WindowSpace::forbid(std::byte* begin, std::size_t size) noexcept {
  if (!directory_.empty()) return;  // the child has no windows
  if (is_forbidden_ || ::mprotect(begin, size, PROT_NONE) == 0) return;
  is_forbidden_ = true;  // no mapping is left to split: closes whole areas, lest windows read as zeros
  for (const auto& area : areas_)
    TIER_VERIFY(::mprotect(area->base, area->size, PROT_NONE) == 0 || ::munmap(area->base, area->size) == 0,
                "windows can be closed to the child of a fork");
}

bool WindowSpace::protect(std::byte* begin, std::size_t size) noexcept {
  ::uffdio_writeprotect range{{address_of(begin), size}, UFFDIO_WRITEPROTECT_MODE_WP};
  while (!server_->request(UFFDIO_WRITEPROTECT, range))
    if (errno != EAGAIN && errno != EINTR) return false;
  return true;
}

void WindowSpace::unprotect(std::byte* begin, std::size_t size) noexcept {
  ::uffdio_writeprotect range{{address_of(begin), size}, UFFDIO_WRITEPROTECT_MODE_DONTWAKE};
  while (!server_->request(UFFDIO_WRITEPROTECT, range) && (errno == EAGAIN || errno == EINTR)) {
  }
}

void WindowSpace::wake(std::byte* begin, std::size_t size) noexcept {
  ::uffdio_range range{address_of(begin), size};
  server_->request(UFFDIO_WAKE, range);
}

bool WindowSpace::poison(std::byte* begin, std::size_t size) noexcept {
  if ((server_->features & UFFD_FEATURE_POISON) == 0) return false;
  ::uffdio_poison range{{address_of(begin), size}, 0, 0};
  return server_->request(UFFDIO_POISON, range);
}

bool WindowSpace::accept(std::byte* begin, std::size_t size) noexcept {
  if (!server_->can_move()) return false;  // `move` moves nothing
  ::uffdio_register range{{address_of(begin), size}, UFFDIO_REGISTER_MODE_WP, 0};
  return server_->request(UFFDIO_REGISTER, range);
}

}  // namespace tier
