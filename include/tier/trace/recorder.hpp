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

/// Options of a `Recorder`.
struct RecorderOptions {
  std::string policy{};      ///< the runtime's policy, for `c policy=`
  bool asynchronous = true;  ///< true if the runtime has movers, for `c overlap=`
  /// True: the recording lists which rows of tables are gathered and updated, not only how many. A replay needs them to
  /// tell how tables do with less fast memory. They take some 3 bytes a row in the file.
  bool rows = false;
  std::chrono::milliseconds flush_every{250};  ///< from 1 ms to a day
  /// Bytes that unwritten records may take, at least 64 KiB. If they are full, the end of a scope and a table's gather
  /// wait for the writer. Events under the manager's lock never wait: they may take a quarter more, then are lost and
  /// counted.
  Bytes buffers = 64_MiB;
};

/// Records what a program does, for reports and replays: a manager's objects, scopes, hints and migrations from now on,
/// in the binary form of `docs/traces.md`. `read_file` makes a trace of the file, also while it grows. `Runtime::record`
/// makes one for a runtime.
/// \code{.cpp}
/// #include <tier/trace/files.hpp>
/// tier::trace::Recorder recorder{runtime.manager(), "run.tt"};
/// tier::Tensor<float> x{runtime, {1024}};
/// tier::WriteScope{tier::overwrites(x)}[x](0) = 1.0F;
/// recorder.finish();
/// assert(tier::trace::read_file("run.tt").kernels().size() == 1);
/// \endcode
///
/// A separate thread writes; a crash loses the events since the last flush. A write that fails ends the recording, with
/// one message on stderr, and the program goes on. In a forked child nothing is recorded.
/// \threadsafety  Internally synchronised, except destruction.
class TIER_EXPORT Recorder {
 public:
  /// \param path  the file, which is made, or emptied
  /// \throws      `TierError` naming the call that failed and the path, also if another recorder has the file;
  ///              `ConfigError` if the manager is recorded already
  Recorder(const std::shared_ptr<Manager>& manager, const std::string& path,
           const RecorderOptions& options = {});
  Recorder(Recorder&&) noexcept = default;
  Recorder& operator=(Recorder&&) = delete;
  /// Calls `finish`.
  ~Recorder();

  /// Returns once all earlier events are in the file.
  void flush();
  /// Ends the recording: later events are not in it. This happens at the end of the process at the latest.
  void finish() noexcept;

  /// Returns how many events were not recorded for want of room or memory. The file tells it, too.
  [[nodiscard]] std::uint64_t lost() const noexcept;
  /// True if a write has failed.
  [[nodiscard]] bool failed() const noexcept;

 private:
  std::shared_ptr<Recording> recording_;
};

}  // namespace tier::trace
