// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  A program without libtier: opens the libraries that it is told, if it can, one after the other, and calls
///        main() of the last.
#include <dlfcn.h>
#include <cstdio>

int main(int argc, char** argv) {
  void* library = nullptr;
  for (int i = 1; i < argc; ++i) library = ::dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 2;
  }
  auto* const main_of = reinterpret_cast<int (*)()>(::dlsym(library, "main"));
  return main_of();
}
