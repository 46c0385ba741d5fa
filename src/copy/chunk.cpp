// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "copy/chunk.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <utility>

#include "copy/copy_kernels.hpp"
#include "core/thread_sanitizer.hpp"

namespace tier::detail {
namespace {

// Sizes of a request and of a chunk; a chunk takes about 1.5 ms of a device's time at 2.7 GB/s.
constexpr std::size_t device_piece = 512 << 10;
constexpr std::size_t device_chunk = 4 << 20;
// One thread prepares a batch while the other's is in flight. A guess.
constexpr std::size_t device_threads = 2;

// Of what has no bytes: so much of a copy that a waiter overtakes, or that ends with the program's next kernel.
constexpr std::size_t simulated_piece = 4 << 20;

constexpr std::align_val_t staging_alignment{64 << 10};  // no device needs more

std::size_t piece_limit(Path path) noexcept {
  switch (path) {
    case Path::Memory:
      return memory_chunk;
    case Path::Load:
    case Path::Store:
      return device_piece;
    case Path::Staged:
      return Staging::buffer_size;
    case Path::Nothing:
      break;
  }
  return simulated_piece;
}

Tier* device_of(Path path, const CopyTask& task) noexcept {
  if (path == Path::Load) return task.from.tier;
  return path == Path::Store ? task.to.tier : nullptr;
}

std::byte* address(const TierRange& range, std::uint64_t offset) noexcept {
  return (range.memory != nullptr ? range.memory : range.tier->base() + range.offset) + offset;
}

/// True if the CPU copies this side. Bytes in a window are memory whatever the tier.
bool is_memory(const TierRange& range) noexcept {
  return range.tier->base() != nullptr && (range.memory != nullptr || !range.tier->copies_itself());
}

// True if the device has a queue. A tier that copies itself uses the CPU, which needs no queue and does not work on alone.
bool is_queued(const Tier* device) noexcept { return device != nullptr && device->base() == nullptr; }

// Returns how many threads saturate the slower side. More slow it down (CachedArrays, writes to Optane) and take cores from
// other threads. One thread moves 13 to 22 GB/s, measured; each further thread must be able to add half of its rate.
std::size_t threads_that_saturate(const CopyTask& task) noexcept {
  constexpr double one_thread = 15e9;
  const double read = task.from.tier->model().read_bytes_per_second;
  const double write = task.to.tier->model().write_bytes_per_second;
  if (read <= 0 || write <= 0) return ~std::size_t{0};  // not declared
  return std::max<std::size_t>(1, std::lround(std::min(read, write) / one_thread));
}

bool waits_for_a_device(Path path, const CopyTask& task) noexcept {
  return path == Path::Staged || is_queued(device_of(path, task));
}

std::size_t most_threads(Path path, const CopyTask& task) noexcept {
  return waits_for_a_device(path, task) ? device_threads : threads_that_saturate(task);
}

/// Returns the side of the piece's task that is read, or written.
const TierRange& side(Direction direction, const Piece& piece) noexcept {
  const CopyTask& task = *piece.task->task;
  return direction == Direction::Read ? task.from : task.to;
}

void note_error(Piece& piece, Direction direction, std::error_code error) noexcept {
  piece.error = error;
  piece.failed = direction;
}

void ask_for_error(Direction direction, Piece& piece) noexcept {
  const TierRange& range = side(direction, piece);
  note_error(piece, direction, range.tier->access_error(direction, range.offset + piece.offset, piece.size));
}

// Charges one request for the whole piece: a copy streams, so only the latency of the first access shows.
void charge(Direction direction, const Piece& piece, std::chrono::steady_clock::time_point start) noexcept {
  side(direction, piece).tier->charge(direction, piece.size, 1, start);
}

}  // namespace

Path path_of(const CopyTask& task) noexcept {
  if (!task.from.tier->has_bytes() || !task.to.tier->has_bytes()) return Path::Nothing;
  const bool from_memory = is_memory(task.from), to_memory = is_memory(task.to);
  if (from_memory) return to_memory ? Path::Memory : Path::Store;
  return to_memory ? Path::Load : Path::Staged;
}

bool is_in_memory(const CopyTask& task) noexcept {
  return task.from.tier->has_private_pages() && task.to.tier->has_private_pages() &&
         path_of(task) == Path::Memory;
}

Staging::Staging(std::size_t buffers) {
  buffers_.reserve(buffers);  // growing could fail between a buffer and its owner
  for (std::size_t i = 0; i < buffers; ++i)
    buffers_.emplace_back(static_cast<std::byte*>(::operator new(buffer_size, staging_alignment)));
  const MutexLock lock{mutex_};
  for (const auto& buffer : buffers_) free_.push_back(buffer.get());
}

void Staging::Delete::operator()(std::byte* p) const noexcept { ::operator delete(p, staging_alignment); }

std::byte* Staging::take() noexcept {
  const MutexLock lock{mutex_};
  while (free_.empty()) freed_.wait(mutex_);
  std::byte* buffer = free_.back();
  free_.pop_back();
  return buffer;
}

void Staging::give_back(std::byte* buffer) noexcept {
  const MutexLock lock{mutex_};
  free_.push_back(buffer);
  freed_.notify_one();
}

bool Chunk::accepts(Path path, const Tier* device, std::size_t size) const noexcept {
  if (count_ == 0) return true;
  return path == path_ && is_queued(device) && device == device_ && count_ < max_pieces &&
         bytes_ + size <= device_chunk;
}

bool Chunk::add(TaskState& task) noexcept {
  const Path path = task.cancelled ? Path::Nothing : path_of(*task.task);
  const std::uint64_t rest = task.cancelled ? 0 : task.task->size - task.next;
  const std::size_t size = std::min<std::uint64_t>(rest, piece_limit(path));
  Tier* device = device_of(path, *task.task);
  if (!accepts(path, device, size)) return false;
  path_ = path;
  device_ = device;
  bytes_ += size;
  pieces_[count_++] = {&task, task.next, size};
  task.next += size;
  ++task.in_flight;
  ++task.touching;
  return true;
}

void Chunk::carry_out(Staging& staging, FunctionRef<void()> let_go) noexcept {
  switch (path_) {
    case Path::Nothing:
      return;
    case Path::Memory:
      return copy_in_memory(let_go);
    case Path::Load:
      return transfer(Direction::Read, let_go);
    case Path::Store:
      return transfer(Direction::Write, let_go);
    case Path::Staged:
      break;
  }
  let_go();
  std::byte* buffer = staging.take();
  transfer_staged(buffer);
  staging.give_back(buffer);
}

void Chunk::prepare(Piece& piece) noexcept {
  note_error(piece, Direction::Write, piece.task->task->prepare(piece.offset, piece.size));
}

void Chunk::copy_in_memory(FunctionRef<void()> let_go) noexcept {
  Piece& piece = pieces_.front();
  const CopyTask& task = *piece.task->task;
  prepare(piece);
  if (piece.error) return;
  const auto start = std::chrono::steady_clock::now();
  ask_for_error(Direction::Read, piece);
  if (!piece.error) ask_for_error(Direction::Write, piece);
  if (piece.error) return;
  copy_bytes(address(task.to, piece.offset), address(task.from, piece.offset), piece.size,
             stores_for(task.size, task.warm), task.unannounced);
  if (!task.from.tier->charges() && !task.to.tier->charges()) return;
  let_go();
  charge(Direction::Read, piece, start);
  charge(Direction::Write, piece, start);
}

// Announces memory to ThreadSanitizer before the device starts: after `let_go` the program may write what is being stored.
void Chunk::transfer(Direction direction, FunctionRef<void()> let_go) noexcept {
  const Direction in_memory = direction == Direction::Read ? Direction::Write : Direction::Read;
  const auto start = std::chrono::steady_clock::now();
  std::array<IoRequest, max_pieces> requests;
  std::size_t count = 0;
  for (Piece& piece : pieces()) {
    ask_for_error(in_memory, piece);
    if (piece.error) continue;
    std::byte* memory = address(side(in_memory, piece), piece.offset);
    if (!piece.task->task->unannounced)
      in_memory == Direction::Write ? announce_write(memory, piece.size) : announce_read(memory, piece.size);
  }
  if (is_queued(device_)) let_go();
  for (Piece& piece : pieces()) {
    if (!piece.error) prepare(piece);
    if (piece.error) continue;
    std::byte* memory = address(side(in_memory, piece), piece.offset);
    requests[count++] = {side(direction, piece).offset + piece.offset, memory, piece.size};
  }
  device_->transfer(direction, std::span{requests}.first(count));
  for (const IoRequest* request = requests.data(); Piece & piece : pieces()) {
    if (piece.error) continue;
    note_error(piece, direction, (request++)->error);
    charge(in_memory, piece, start);
  }
}

void Chunk::transfer_staged(std::byte* buffer) noexcept {
  Piece& piece = pieces_.front();
  const CopyTask& task = *piece.task->task;
  prepare(piece);
  if (piece.error) return;
  IoRequest load{task.from.offset + piece.offset, buffer, piece.size};
  task.from.tier->transfer(Direction::Read, {&load, 1});
  note_error(piece, Direction::Read, load.error);
  if (load.error) return;
  IoRequest store{task.to.offset + piece.offset, buffer, piece.size};
  task.to.tier->transfer(Direction::Write, {&store, 1});
  note_error(piece, Direction::Write, store.error);
}

std::size_t useful_threads(const CopyTask& task, std::uint64_t rest) noexcept {
  const Path path = path_of(task);
  if (path == Path::Nothing) return 0;
  const bool waits = waits_for_a_device(path, task);
  return std::min<std::uint64_t>(waits ? (rest + device_chunk - 1) / device_chunk : useful_threads(rest),
                                 most_threads(path, task));
}

void UsefulThreads::add(const CopyTask& task, std::uint64_t rest) noexcept {
  if (last_ != nullptr && (last_->from.tier != task.from.tier || last_->to.tier != task.to.tier))
    on_other_ways_ += std::exchange(on_way_, 0);
  last_ = &task;
  on_way_ = std::min(on_way_ + useful_threads(task, rest), most_threads(path_of(task), task));
}

}  // namespace tier::detail
