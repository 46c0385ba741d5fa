// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Which kernel this process copies with, and how that was decided.
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "copy/copy_kernels.hpp"

namespace tier::detail {

class KernelMeasurement;

enum class KernelOrigin : std::uint8_t {
  Guess,        ///< by the CPU's vendor and instruction sets
  Measured,     ///< by this process
  Remembered,   ///< measured earlier on this machine, and read from a file
  Environment,  ///< `TIER_COPY_KERNEL`
  Option        ///< the program
};
[[nodiscard]] std::string_view describe(KernelOrigin origin) noexcept;

/// Returns the file in which measurements are remembered: `libtier/copy.json` in `XDG_CACHE_HOME` or `HOME/.cache`.
/// \return  empty if neither is set
[[nodiscard]] std::string kernel_file();
/// Returns what a measurement is valid for: CPU, microcode, kernel and topology, as one line of text.
[[nodiscard]] std::string machine_key();

/// Reads which kernel was found for a machine.   \return  nothing for a file that is missing, damaged, or of others
[[nodiscard]] std::optional<std::string> remembered_kernel(const std::string& path,
                                                           std::string_view key) noexcept;
/// Adds a finding to the file, and keeps those of other machines, the last 16. Never fails: what cannot be written is
/// measured again next time.
void remember_kernel(const std::string& path, std::string_view key, std::string_view kernel) noexcept;

/// Decides once for a process which kernel copies use: what the program or `TIER_COPY_KERNEL` says; else what the file says;
/// else what is measured in the background. Until then the guess holds.
/// \threadsafety  Internally synchronised.
class KernelChoice {
 public:
  [[nodiscard]] static KernelChoice& of_process() noexcept;

  /// Takes the environment and the file into account; the first call does it.
  void begin() noexcept;
  /// True if a thread that has nothing else to do should call `measure_step`.
  [[nodiscard]] bool is_open() const noexcept;
  /// Makes one copy for the measurement, unless all is decided or another thread measures.
  void measure_step() noexcept;
  /// Sets the kernel for the process.
  /// \param name  `guess`, or one of `kernel_names()`   \throws  `ConfigError` naming what is allowed
  void set(std::string_view name, KernelOrigin origin = KernelOrigin::Option);
  [[nodiscard]] KernelOrigin origin() const noexcept;

 private:
  enum class Phase : std::uint8_t {
    New,
    Beginning,  ///< a thread reads the environment and the file
    Open,       ///< a thread may measure
    Measuring,  ///< a thread measures; in the child of a fork, this stays so, and the guess holds
    Deciding,   ///< a thread puts to use what it has found
    Decided
  };
  friend struct ImmortalChoice;

  KernelChoice() noexcept = default;
  ~KernelChoice();

  /// Takes a phase for the calling thread.   \return  false if another thread, or the program, was faster
  [[nodiscard]] bool take(Phase from, Phase to) noexcept { return phase_.compare_exchange_strong(from, to); }
  /// Puts to use what was found, unless the program has set a kernel meanwhile, or does so now.
  void decide(Phase from, const StreamKernel& kernel, KernelOrigin by) noexcept;

  std::atomic<Phase> phase_{Phase::New};
  std::atomic<KernelOrigin> origin_{KernelOrigin::Guess};
  std::atomic<const StreamKernel*> set_{nullptr};  // by the program or the environment
  std::atomic<KernelOrigin> set_by_{KernelOrigin::Option};
  std::unique_ptr<KernelMeasurement> measurement_{};  // of the thread that measures
  std::string file_{}, key_{};
};

/// Returns `guess` and the names of the kernels that this CPU can run, between commas.
[[nodiscard]] std::string kernel_names();

}  // namespace tier::detail
