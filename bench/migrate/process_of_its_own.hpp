// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  A way that moves all of a process, in a process that has nothing else to move.
#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>

#include "way.hpp"

namespace migrate {

/// What this process has in memory and shares with no file.
[[nodiscard]] tier::Bytes resident_memory();

/// Forks, and has a way there.
class ProcessOfItsOwn final : public Way {
 public:
  /// \param make  called in the child   \throws  what it throws, as a `std::runtime_error`, or `tier::TierError` naming the call
  ProcessOfItsOwn(std::string name, Nodes nodes, const std::function<std::unique_ptr<Way>()>& make);
  [[nodiscard]] Moved move(Leg leg) override;
  [[nodiscard]] tier::Bytes huge() const override { return huge_; }
  [[nodiscard]] tier::Bytes besides() const override { return besides_; }

 private:
  struct Answer;
  /// Ends when this does.
  class Child {
   public:
    /// \param serve  called there with its end of a socket, whose other end is here
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
  // Not called: all of it happens in the child.
  void carry(Leg) override {}
  [[nodiscard]] std::span<std::byte> before(Leg) const noexcept override { return {}; }
  [[nodiscard]] std::span<std::byte> after(Leg) const noexcept override { return {}; }

  Child child_;
  tier::Bytes huge_, besides_;
};

}  // namespace migrate
