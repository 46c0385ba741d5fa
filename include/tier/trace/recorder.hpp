// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Records what a program does with its objects into a file, while it runs.
#include <tier/core/bytes.hpp>
#include <tier/core/export.hpp>
#include <tier/manager/manager.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

namespace tier::trace {

class Recording;

struct RecorderOptions {
  std::string policy{};      ///< what the runtime was made with, for `c policy=`
  bool asynchronous = true;  ///< it has movers, for `c overlap=`
  /// Which rows of tables are gathered and updated, and not only how many: what a replay needs to tell how tables do with less
  /// fast memory. Some 3 bytes a row of the file.
  bool rows = false;
  std::chrono::milliseconds flush_every{250};  ///< from 1 ms to a day
  /// What is noted and not written yet may take. Then a scope's end and a table's gather wait for the writer; what happens
  /// under the manager's lock never waits, but takes a quarter more, and is lost and counted beyond. 64 KiB at least.
  Bytes buffers = 64_MiB;
};

/// Records a manager's objects, scopes, hints and migrations from now on, in the binary form of `docs/traces.md`, which
/// `read_file` makes a trace of, while it grows as well. A thread of its own writes; a crash loses what has happened since the
/// last flush. A write that fails ends the recording, with one message on stderr, and the program goes on. In the child of
/// a fork nothing is recorded.
/// \threadsafety  Internally synchronised, but for its end.
class TIER_EXPORT Recorder {
 public:
  /// \param path  of a file that is made, or emptied
  /// \throws      `TierError` naming the call that failed and the path: also where another recorder has the file;
  ///              `ConfigError` if the manager is recorded already
  Recorder(const std::shared_ptr<Manager>& manager, const std::string& path,
           const RecorderOptions& options = {});
  Recorder(Recorder&&) noexcept = default;
  Recorder& operator=(Recorder&&) = delete;
  /// `finish`
  ~Recorder();

  /// When it returns, what has happened before is in the file.
  void flush();
  /// Ends the recording: what happens later is not in it. At the end of the process that is done at the latest.
  void finish() noexcept;

  /// Of what has happened, not recorded for want of room or memory. The file tells it, too.
  [[nodiscard]] std::uint64_t lost() const noexcept;
  /// Whether a write has failed.
  [[nodiscard]] bool failed() const noexcept;

 private:
  std::shared_ptr<Recording> recording_;
};

}  // namespace tier::trace
