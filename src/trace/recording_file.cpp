// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/recording_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <tier/core/error.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <system_error>
#include <tuple>
#include <utility>

#include "core/descriptor.hpp"
#include "trace/binary_form.hpp"

namespace tier::trace {
namespace {

/// While it lives, a write beyond a limit, or to a pipe without a reader, fails with its error alone. The signal, which
/// is sent to the thread, would end the program.
class ErrorsOnly {
 public:
  ErrorsOnly() noexcept {
    ::sigset_t pending;
    ::sigemptyset(&signals_);
    ::sigpending(&pending);
    for (const int signal : {SIGXFSZ, SIGPIPE})
      if (::sigismember(&pending, signal) == 0) ::sigaddset(&signals_, signal);  // else it is the program's
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~ErrorsOnly() {
    constexpr ::timespec at_once{};
    while (::sigtimedwait(&signals_, nullptr, &at_once) > 0) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  ErrorsOnly(const ErrorsOnly&) = delete;
  ErrorsOnly& operator=(const ErrorsOnly&) = delete;

 private:
  ::sigset_t signals_{}, before_{};
};

}  // namespace

RecordingFile::RecordingFile(const std::string& path) : path_{path} {
  const auto fail = [&](const char* call) {
    const auto error = last_system_error();
    close();
    throw TierError{error, std::string{call} + " of \"" + path_ + "\"" +
                               tier::detail::if_descriptors_are_used_up(error.value())};
  };
  descriptor_ = tier::detail::open_file(path, O_WRONLY | O_CREAT, 0666).release();
  if (descriptor_ < 0) fail("open");
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) fail("flock");
  struct ::stat status {};
  if (::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && ::ftruncate(descriptor_, 0) != 0)
    fail("ftruncate");
}

void RecordingFile::write(std::string_view bytes) noexcept {
  const ErrorsOnly errors_only;
  const auto size = bytes.size();
  while (!bytes.empty() && !failed_) {
    const auto n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      std::ignore = ::ftruncate(descriptor_, static_cast<off_t>(written_));
      return fail(("write: " + std::generic_category().message(error)).c_str());
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
    if (bytes.empty()) written_ += size;
  }
}

void RecordingFile::fail(const char* why) noexcept {
  if (std::exchange(failed_, true)) return;
  std::fprintf(stderr, "libtier: the recording \"%s\" ends here, but the program goes on: %s\n",
               path_.c_str(), why);
}

RecordingFile::~RecordingFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void RecordingFile::close() noexcept {
  if (descriptor_ < 0) return;
  ::flock(descriptor_, LOCK_UN);  // explicit, because a child forked since has the file, too
  ::close(std::exchange(descriptor_, -1));
}

void BlockOfRecords::add_text(RecordKind kind, std::string_view text) {
  texts_ += static_cast<char>(kind);
  append_text(texts_, text);
}

void BlockOfRecords::add_setting(std::string_view key, std::string_view value) {
  add_text(RecordKind::Setting, key);
  append_text(texts_, value);
}

/// The first byte tells which fields follow. Writes by address, because most of a recording's cost is here.
void BlockOfRecords::add(const Record& record, std::span<const std::uint64_t> words, const Ticks& ticks) {
  constexpr std::size_t longest = 80, longest_number = 10;
  const auto needed = used_ + longest + longest_number * words.size();
  if (needed > records_.size()) records_.resize(2 * needed);  // if this throws, nothing has changed
  const bool in_ticks = record.kind == RecordKind::Scope || record.kind == RecordKind::Rows;
  const auto start = in_ticks ? ticks.to_ns(record.start) : record.start;
  const auto duration =
      record.kind == RecordKind::Scope ? ticks.to_ns(record.duration) - start : record.duration;
  const bool has_name = record.name != 0 || record.thread != 0;
  const bool has_details = (record.x | record.y | record.z) != 0;
  unsigned first = static_cast<unsigned>(record.kind);
  if (duration != 0) first |= has_duration_bit;
  if (has_name) first |= has_name_bit;
  if (has_details) first |= has_details_bit;
  if (!words.empty()) first |= has_words_bit;
  char* to = records_.data() + used_;
  *to++ = static_cast<char>(first);
  to = put_number(to, as_unsigned(record.sequence - sequence_));
  to = put_number(to, as_unsigned(start - start_));
  sequence_ = record.sequence;
  start_ = start;
  if (duration != 0) to = put_number(to, duration);
  if (has_name) to = put_number(put_number(to, record.name), record.thread);
  if (has_details)
    for (const auto detail : {record.x, record.y, record.z}) *to++ = static_cast<char>(detail);
  if (!words.empty()) {
    to = put_number(to, words.size());
    for (const auto word : words) to = put_number(to, word);
  }
  used_ = static_cast<std::size_t>(to - records_.data());
}

std::string BlockOfRecords::take() {
  auto payload = std::exchange(texts_, {});
  payload.append(records_.data(), used_);
  used_ = 0;
  sequence_ = start_ = 0;
  return payload;
}

}  // namespace tier::trace
