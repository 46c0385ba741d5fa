// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <tier/core/error.hpp>
#include <tier/trace/recorder.hpp>

#include "trace/recording.hpp"

namespace tier::trace {

Recorder::Recorder(const std::shared_ptr<Manager>& manager, const std::string& path,
                   const RecorderOptions& options) {
  if (manager->thread_observer() != nullptr) throw ConfigError{"the runtime is recorded already"};
  recording_ = std::make_shared<Recording>(manager, path, options);
  recording_->begin(*manager);
}

Recorder::~Recorder() {
  if (recording_ != nullptr) recording_->finish();
}

void Recorder::flush() { recording_->flush(); }
void Recorder::finish() noexcept { recording_->finish(); }
std::uint64_t Recorder::lost() const noexcept { return recording_->lost(); }
bool Recorder::failed() const noexcept { return recording_->failed(); }

}  // namespace tier::trace
