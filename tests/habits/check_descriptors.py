#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""No descriptor of the library's is 0, 1 or 2: check_descriptors.py

In a program that was started with one of these closed, the next file opened takes its place, and what is printed there is
written into that file. So the library opens files by core/descriptor.hpp alone, or beside it within a few lines where a
system call or a library opens them; and each program calls `hold_standard_streams` before it opens any.
The check first looks at planted breaches and fails unless it finds each of them.
"""
import re

import sources

OPENS = re.compile(
    r"(?<!\w)::(?:open|openat|openat2|creat|memfd_create|memfd_secret|eventfd|signalfd|timerfd_create|epoll_create1?|inotify_init1?"
    r"|fanotify_init|pipe2?|socket|socketpair|accept4?|dup[23]?|fopen|fdopen|freopen|popen|shm_open|opendir)\s*\("
    r"|\b(?:mkostemps?|mkstemps?|tmpfile|io_uring_queue_init\w*|memkind_create_pmem\w*|pmem_map_file)\s*\("
    r"|\bSYS_(?:open\w*|userfaultfd|memfd_\w+|pidfd_\w+|eventfd2?|io_uring_setup|perf_event_open)\b|\bF_DUPFD\w*"
    r"|\b(?:basic_)?[io]?fstream\b|\b(?:recursive_)?directory_iterator\b|\b_IO\(0xAA"
)
ABOVE = re.compile(r"\bopen_descriptor\(|\bStandardPlaces\b|STDERR_FILENO \+ 1")
NEAR = 4  # lines, as the formatter breaks them
HELPER = "src/core/descriptor.cpp"
SHOWN = [("samples", "readme"), ("samples", "custom_policy")]  # programs to be read, which open nothing themselves
PLANTED = [
    "  const int file = ::open(path, O_RDONLY | O_CLOEXEC);", "  std::ifstream file{path};", "#include <fstream>",
    "  error = -::io_uring_queue_init(depth, &ring_, 0);", "  ::syscall(SYS_userfaultfd, flags)",
    "  ::mkostemp(path.data(), O_CLOEXEC)", "  ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);", "  ::eventfd(0, 0)",
]


def breaches(lines):
    """Numbers of the lines that open something without care."""
    for number, line in enumerate(lines, start=1):
        near = lines[max(0, number - 1 - NEAR):number + NEAR]
        if OPENS.search(line.split("//")[0]) and not any(ABOVE.search(other) for other in near):
            yield number


problems = []
for planted in PLANTED:
    if list(breaches([planted])) != [1]:
        problems.append(f"the planted line was not found: {planted}")
for name in sources.cpp_files():
    lines = (sources.ROOT / name).read_text().splitlines()
    if name.parts[0] in ("include", "src", "policies") and not re.search(r"_(test|bench)\.cpp$", name.name):
        if str(name) != HELPER:
            problems += [f"{name}:{number}: opens a descriptor that may be 0, 1 or 2" for number in breaches(lines)]
    if name.parts[0] in ("tools", "samples", "bench") and name.parts[:2] not in SHOWN and "hold_standard_streams();" not in "\n".join(lines):
        problems += [f"{name}: its main does not call hold_standard_streams first" for line in lines if line.startswith("int main(")]
sources.report(problems, "descriptors that are opened")
