// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// \file  Ends an emulated machine that has QEMU's isa-debug-exit at port 0xf4. QEMU's status is then 2 x (ours + 1) + 1,
///        because a QEMU that fails by itself ends with 1.
#include <sys/io.h>
#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: exit_machine STATUS, of 0 to 60\n");
    return 2;
  }
  ::tcdrain(STDOUT_FILENO);
  if (::ioperm(0xf4, 1, 1) != 0) {
    std::perror("exit_machine: ioperm");
    return 1;
  }
  ::outb(static_cast<unsigned char>(std::atoi(argv[1]) + 1), 0xf4);
  return 1;  // there is no such device, so the machine runs on
}
