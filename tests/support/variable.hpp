// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
/// \file  Sets an environment variable for as long as a test needs it.
#include <cstdlib>
#include <string>

namespace tier::test {

/// No other thread may read the environment while this exists.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_{name}, was_set_{std::getenv(name) != nullptr} {
    if (was_set_) before_ = std::getenv(name);
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { was_set_ ? ::setenv(name_, before_.c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  bool was_set_;
  std::string before_;
};

}  // namespace tier::test
