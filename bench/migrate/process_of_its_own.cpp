// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process_of_its_own.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <tier/core/error.hpp>

#include <array>
#include <cstdio>
#include <stdexcept>

#include "memory/system/system_files.hpp"

namespace migrate {

/// The message from the child to its parent.
struct ProcessOfItsOwn::Answer {
  Moved moved;
  tier::Bytes huge, besides;
  std::array<char, 256> error{};  // empty: no error
};

tier::Bytes resident_memory() { return tier::read_kib("/proc/self/status", "RssAnon:"); }

namespace {

/// \return  false if the other end is closed
template <class T>
bool receive_from(int socket, T& value) {
  return ::recv(socket, &value, sizeof value, MSG_WAITALL) == static_cast<::ssize_t>(sizeof value);
}
template <class T>
bool send_to(int socket, const T& value) {
  return ::send(socket, &value, sizeof value, MSG_NOSIGNAL) == static_cast<::ssize_t>(sizeof value);
}

/// Answers once when ready, and then for each leg. Ends with the parent.
template <class Answer>
void serve(int socket, const std::function<std::unique_ptr<Way>()>& make) {
  Answer answer;
  try {
    const auto way = make();
    answer.besides = way->besides();
    for (Leg leg{}; send_to(socket, answer) && receive_from(socket, leg);) {
      answer.moved = way->move(leg);
      answer.huge = way->huge();
      answer.besides = way->besides();
    }
  } catch (const std::exception& error) {
    std::snprintf(answer.error.data(), answer.error.size(), "%s", error.what());
    send_to(socket, answer);
  }
}

}  // namespace

ProcessOfItsOwn::Child::Child(const std::function<void(int socket)>& serve) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw tier::TierError{tier::last_system_error(), "socketpair"};
  id_ = ::fork();
  if (id_ == 0) {
    ::close(ends[0]);
    serve(ends[1]);
    ::_exit(0);
  }
  const auto error = tier::last_system_error();
  ::close(ends[1]);
  socket_ = ends[0];
  if (id_ > 0) return;
  ::close(socket_);
  throw tier::TierError{error, "fork"};
}

ProcessOfItsOwn::Child::~Child() {
  ::close(socket_);
  ::waitpid(id_, nullptr, 0);
}

ProcessOfItsOwn::ProcessOfItsOwn(std::string name, Nodes nodes,
                                 const std::function<std::unique_ptr<Way>()>& make)
    : Way{std::move(name), nodes}, child_{[&](int socket) { serve<Answer>(socket, make); }} {
  besides_ = receive().besides;
}

ProcessOfItsOwn::Answer ProcessOfItsOwn::receive() {
  Answer answer;
  if (!receive_from(child_.socket(), answer))
    throw std::runtime_error{"the process of " + name() + " has ended without an answer"};
  if (answer.error.front() != '\0') throw std::runtime_error{answer.error.data()};
  return answer;
}

Moved ProcessOfItsOwn::move(Leg leg) {
  send_to(child_.socket(), leg);
  const auto answer = receive();
  huge_ = answer.huge;
  besides_ = answer.besides;
  return answer.moved;
}

}  // namespace migrate
