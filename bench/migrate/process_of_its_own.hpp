// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A way that moves a whole process, in a child process that has nothing else to move.
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "way.hpp"

namespace migrate {

/// Returns the resident memory of this process that is not shared with a file.
[[nodiscard]] tier::Bytes resident_memory();

/// Forks a child, and runs a way there.
class ProcessOfItsOwn final : public Way {
 public:
  /// \param make  called in the child   \throws  its error as `std::runtime_error`, or `tier::TierError` naming the call
  ProcessOfItsOwn(std::string name, Nodes nodes, const std::function<std::unique_ptr<Way>()>& make);
  [[nodiscard]] Moved move(Leg leg) override;
  [[nodiscard]] tier::Bytes huge() const override { return huge_; }
  [[nodiscard]] tier::Bytes besides() const override { return besides_; }

 private:
  struct Answer;
  /// A child process, which ends with this object.
  class Child {
   public:
    /// \param serve  called in the child with its end of a socket, whose other end is here
    explicit Child(const std::function<void(int socket)>& serve);
    ~Child();
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    [[nodiscard]] int socket() const noexcept { return socket_; }

   private:
    int socket_ = -1;
    ::pid_t id_ = -1;
  };
  Answer receive();
  // Never called: all of this happens in the child.
  void carry(Leg) override {}
  [[nodiscard]] std::span<std::byte> before(Leg) const noexcept override { return {}; }
  [[nodiscard]] std::span<std::byte> after(Leg) const noexcept override { return {}; }

  Child child_;
  tier::Bytes huge_, besides_;
};

}  // namespace migrate
