#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether `tier plan` foretells from an all-fast recording what programs take in less fast memory: plan_check.py [--help]

Records tier-dlrm and tier-train with all they have in fast memory, measures this machine by `tier probe`, and has `tier
plan` replay each recording with less; then runs the programs themselves with as much, and prints medians of both
slow-downs beside each other. Every run is recorded, so that what recording costs is in both sides of a ratio. Nothing else should run meanwhile.
"""
import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from whole_file import write_whole

SMALL = {
    "dlrm": ["--table-bytes", "4MB", "--samples", "2000", "--batch", "64"],
    "cnn": ["resnet32", "--batch", "2", "--short", "--iterations", "2"],
    "probe": "64MiB",
}
USUAL = {
    "dlrm": ["--table-bytes", "1GB", "--samples", "200000"],
    "cnn": ["resnet50", "--image", "64", "--batch", "16", "--short", "--iterations", "10"],
    "probe": "1GiB",
}


LOOKAHEAD = 2  # batches whose rows are prefetched


def run(*command, **environment):
    command = [str(word) for word in command]
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})
    if ended.returncode != 0:
        sys.exit(f"plan_check: {' '.join(command)} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


class Programs:
    """How each is run, and what it took: seconds for a unit of its work, with all that stands between its kernels in the
    recording, such as making its input."""

    def __init__(self, build, folder, sizes, slow):
        self.tier = build / "tools" / "tier"
        self.folder, self.slow = folder, slow
        dlrm, train = build / "samples" / "dlrm" / "tier-dlrm", build / "samples" / "training" / "tier-train"
        self.commands = {
            "dlrm": (dlrm, *sizes["dlrm"], "--lookahead", LOOKAHEAD, {"all": "all_fast", "part": "tiered"}, lambda r: (r["learning_s"] + r["input_s"]) / r["samples"]),
            "cnn": (train, *sizes["cnn"], {"all": "all_fast", "part": "async"}, lambda r: r["seconds_per_iteration"]),
        }

    def measure(self, program, share):
        """Seconds of a run with this share of fast memory, or of one with all, and the file of its recording."""
        *command, names, seconds = self.commands[program]
        name = names["part" if share else "all"]
        recording, results = self.folder / f"{program}-{share or 'all'}.tt", self.folder / "results.json"
        where = ["--slow", self.slow] + (["--fast", f"{share}%"] if share else [])
        run(*command, "--run", name, *where, "--json", results, TIER_TRACE=str(recording), TIER_TRACE_ROWS="1")
        (one,) = [r for r in json.loads(results.read_text())["runs"] if r["name"] == name]
        return seconds(one), recording

    def text(self, recording):
        text = self.folder / "recording.trace"
        run(self.tier, "trace", "convert", recording, text)
        return text.read_text()


def setting(text, key):
    return re.search(rf"^c {key}=(.*)$", text, re.MULTILINE)[1]


def simulated(tiers):
    """Of `dram:1MiB;file:/var/tmp:1GiB` what replays call the devices, `dram;file`, and the size of the first."""
    parts = [tier.split(":") for tier in tiers.split(";")]
    return ";".join(":".join(part[:2] if part[0] == "emulated" else part[:1]) for part in parts), parts[0][-1]


def probe(programs, size):
    machine = programs.folder / "machine.json"
    run(programs.tier, "probe", "--tiers", f"dram:{size};{programs.slow}:{size}", "-o", machine)
    return machine


def of_tables(text, share):
    """What a plan is told of tables, whose share is theirs alone. A run of them begins with nothing in the caches."""
    tables = [value.split(",") for value in re.findall(r"^c rows\.\d+=(.*)$", text, re.MULTILINE)]
    if not tables:
        return []
    size = sum(int(rows) * int(row) for rows, row, _ in tables) * share // 100
    return ["--tables", f"{size}B", "--lookahead", LOOKAHEAD, "--row-policy", "hint_aware", "--iterations", 1]


def predicted(programs, recording, settings, machine, more):
    """The slow-down against all fast, on the tiers and under the policy of the recording that these settings are of."""
    points = programs.folder / "plan.csv"
    devices, fast = simulated(setting(settings, "tiers"))
    more = more + ([] if setting(settings, "overlap") == "async" else ["--sync"])
    run(programs.tier, "plan", recording, "--tiers", devices, "--machine", machine, "--policy", setting(settings, "policy"),
        "--at", fast, *more, "--csv", points)  # fmt: skip
    with points.open() as file:
        (_, point) = csv.DictReader(file)  # the first with all fast
    return float(point["slow_down"])


def check(programs, program, shares, turns, machine):
    """Rows of share, predicted and measured slow-down."""
    foretold, measured = {share: [] for share in shares}, {share: [] for share in shares}
    for _ in range(turns):
        for share in shares:  # each beside its baseline: machines are fast and slow in spells
            baseline, all_fast = programs.measure(program, None)
            seconds, recording = programs.measure(program, share)
            measured[share].append(seconds / baseline)
            settings, more = programs.text(recording), of_tables(programs.text(all_fast), share)
            foretold[share].append(predicted(programs, all_fast, settings, machine, more))
    for share in shares:
        yield share, median(foretold[share]), median(measured[share])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=Path("build/release"), help="the build folder [%(default)s]")
    parser.add_argument("--slow", default="emulated:cxl", help="the slow tier, without its size [%(default)s]")
    parser.add_argument("--shares", type=int, nargs="+", default=[50, 20, 10], help="of fast memory, in percent [50 20 10]")
    parser.add_argument("--turns", type=int, default=5, help="pairs of runs, of which the median counts [%(default)s]")
    parser.add_argument("--small", action="store_true", help="in seconds: to see that it works; the numbers mean nothing")
    parser.add_argument("--json", type=Path, help="the rows as JSON, too")
    arguments = parser.parse_args()
    sizes, turns = (SMALL, 1) if arguments.small else (USUAL, arguments.turns)
    rows = []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        programs = Programs(arguments.build.resolve(), Path(folder), sizes, arguments.slow)
        machine = probe(programs, sizes["probe"])
        print(f"{'program':8}  {'fast':>5}  {'predicted':>9}  {'measured':>8}  {'ratio':>6}")
        for program in ("dlrm", "cnn"):
            for share, foretold, measured in check(programs, program, arguments.shares, turns, machine):
                rows.append({"program": program, "fast_percent": share, "predicted": foretold, "measured": measured,
                             "ratio": foretold / measured})  # fmt: skip
                print(f"{program:8}  {share:3} %  {foretold:9.3f}  {measured:8.3f}  {foretold / measured:6.3f}", flush=True)
    if arguments.json:
        write_whole(arguments.json, json.dumps({"slow": arguments.slow, "turns": turns, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
