#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where the library does not run, configuration stops with a sentence that says so.

check_platforms.py CMAKE GENERATOR COMPILER
"""
import subprocess
import sys
import tempfile

import sources

CMAKE, GENERATOR, COMPILER = sys.argv[1:]
PARTS = [f"-DTIER_BUILD_{part}=OFF" for part in ("TESTS", "BENCH", "SAMPLES", "TOOLS")]
REFUSED = {
    ("FreeBSD", "x86_64"): "libtier needs Linux 5.10 or later; this is FreeBSD.",
    ("Darwin", "arm64"): "libtier needs Linux 5.10 or later; this is Darwin.",
    ("Linux", "riscv64"): "libtier supports x86-64 and aarch64; this is riscv64.",
    ("Linux", "i686"): "libtier supports x86-64 and aarch64; this is i686.",
}
ACCEPTED = [("Linux", "x86_64"), ("Linux", "aarch64")]


def configure(system, processor):
    """Configures for another machine, which compiles nothing: its name is all that is foreign."""
    with tempfile.TemporaryDirectory() as folder:
        foreign = [f"-DCMAKE_SYSTEM_NAME={system}", f"-DCMAKE_SYSTEM_PROCESSOR={processor}"]
        compiler = [f"-DCMAKE_CXX_COMPILER={COMPILER}", "-DCMAKE_CXX_COMPILER_WORKS=ON"]
        return subprocess.run(
            [CMAKE, "-S", str(sources.ROOT), "-B", folder, "-G", GENERATOR, *foreign, *compiler, *PARTS],
            capture_output=True,
            text=True,
        )


def problems():
    for platform, sentence in REFUSED.items():
        ended = configure(*platform)
        if ended.returncode == 0:
            yield f"{platform}: was configured"
        elif sentence not in " ".join(ended.stderr.split()):
            yield f"{platform}: stops without the sentence \"{sentence}\":\n{ended.stderr}"
    for platform in ACCEPTED:
        ended = configure(*platform)
        if ended.returncode != 0:
            yield f"{platform}: was not configured:\n{ended.stderr}"


sources.report(list(problems()), f"configuration for {len(REFUSED)} foreign and {len(ACCEPTED)} supported platforms")
