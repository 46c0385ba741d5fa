#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Odd values for the options of a program: it ends with 0, or with a message and another status, and never by a signal.

usage: fuzz_options.py SANITIZER PROGRAM [ARGUMENT...], where SANITIZER may be empty, TRACE among the arguments is a small trace,
and an option is left out where it is given an odd value. Goes on for TIER_FUZZ_SECONDS; TIER_SEED replays a run.
"""
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SANITIZER, PROGRAM, *ALWAYS = sys.argv[1:]
MEMORY = 4 << 30  # bytes of a run
PATIENCE = 10  # seconds: a run that then still goes on does what it was asked for
NUMBERS = [str(2**bits + step) for bits in (8, 16, 24, 29, 31, 32, 33, 53, 59, 61, 62, 63, 64) for step in (-1, 0, 1)]
NUMBERS += ["0", "1", "2", "3", "-1", "-9223372036854775809", "0.1", "1e9", "1e308", "1e-320", "nan", "inf", "-inf", "0x10"]
SIZES = [f"{number}{unit}" for number in ("0", "1", "3", "4096", "8388607", "7.99", "1e3", "-1", "nan")
         for unit in ("B", "kB", "MiB", "GiB", "TiB", "EiB", "%")]
WORDS = ["", " ", "-", ",", ";", ":", "=", "1,2", "file", "lru", "hint_aware:mode=LM", "belady", "x" * 5000, "ö", "a\nb",
         "/dev/null/x", "/proc/self/mem"]
TRACE = ("H tmtrace=1 net=fuzz\nT 1 1048576 p w\nT 2 4096 a x\nT 3 0 t y\nK conv_f f 1000 R 1 W 2,3 U -\nK conv_b b 1000 R 2 W - U 1\n"
         "I\nK conv_f f 1000 R 1 W 2,3 U -\nI\n")


NEEDED = {"replay": ["--tiers=dram:1MiB;optane:1GiB"], "probe": ["--tiers=dram:32MiB"]}  # by command


def value_for(option):
    number, size = random.choice(NUMBERS), random.choice(SIZES)
    if option in ("--tiers", "--slow", "--more"):
        kinds = ("dram", "emulated:cxl", "simulated:nvme", "ddr5", "cxl", "optane", "numa:" + number, "file:.", "mapped:.", number)
        return random.choice(("", ";")).join(f"{random.choice(kinds)}:{random.choice((size, number))};"
                                             for _ in range(random.randint(1, 2))).rstrip(";")
    if option == "--price":
        return f"{random.choice(('dram', 'optane', 'file', ''))}={number}"
    return random.choice((number, number, size, random.choice(WORDS)))


def options_of(words):
    """Those of the help, of commands and their groups."""
    shown = subprocess.run([PROGRAM, *words, "--help"], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^ +(?:-\w,)?(--[a-z][a-z-]*)", shown, re.MULTILINE)
    return sorted(set(found) - {"--help", "--version", "--compare", "--sweep"})


def limited():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))
    if not SANITIZER:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def seconds():
    if "TIER_FUZZ_SECONDS" in os.environ:
        return float(os.environ["TIER_FUZZ_SECONDS"])
    return 180 if os.environ.get("TIER_LONG", "0") not in ("", "0") else 30 if SANITIZER else 3


def check(command, folder, environment):
    try:
        ended = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, timeout=PATIENCE, preexec_fn=limited)
    except subprocess.TimeoutExpired:
        return
    errors = ended.stderr.decode(errors="replace")
    if "hard rss limit exhausted" in errors or "AddressSanitizer: requested allocation size" in errors:
        return  # where the library itself gets an error
    if "pthread_create has failed" in errors:
        return  # TBB ends a program that has no address space left for a thread, which our limit alone brings about
    for sign in ("AddressSanitizer", "runtime error:", "LeakSanitizer", "terminate called", "Assertion"):
        assert sign not in errors, (command, errors[-3000:])
    assert ended.returncode >= 0, (command, ended.returncode, errors[-1000:])
    assert ended.returncode == 0 or errors.strip(), (command, ended.returncode, "says nothing")


def main():
    seed = int(os.environ.get("TIER_SEED", random.SystemRandom().getrandbits(32)))
    random.seed(seed)
    end, lines = time.monotonic() + seconds(), 0
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive", "ASAN_OPTIONS": "hard_rss_limit_mb=3000"}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "step.trace").write_text(TRACE)
        always = [str(folder / "step.trace") if word == "TRACE" else word for word in ALWAYS]
        always += NEEDED.get(ALWAYS[0], [])
        words = [word for word in ALWAYS if re.fullmatch("[a-z]+", word)]
        options = options_of(words if Path(PROGRAM).name == "tier" else [])
        print(f"seed {seed}, options {' '.join(options)}", flush=True)
        while lines == 0 or time.monotonic() < end:
            drawn = random.sample(options, min(len(options), random.choice((1, 1, 2, 3))))
            command = [PROGRAM, *(word for word in always if word.partition("=")[0] not in drawn)]
            for option in drawn:
                command += [option] if random.random() < 0.05 else [f"{option}={value_for(option)}"]
            check(command, folder, environment)
            lines += 1
            (folder / "step.trace").write_text(TRACE)  # an option may have named it for output
    print(f"{lines} command lines")


main()
