# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the benchmark programs of a build folder and prints their rows: bench_rows.py FOLDER [--json FILE] [ID...]"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from whole_file import write_whole

COLUMNS = ["id", "what", "value", "unit", "baseline", "baseline_value", "ratio", "reach", "reached"]


def output(*command):
    """The first line a command prints, or 'unknown'."""
    try:
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        return run.stdout.splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return "unknown"


def field(path, pattern):
    match = re.search(pattern, Path(path).read_text(), re.MULTILINE)
    return match[1].strip() if match else "unknown"


def machine(folder):
    root = Path(__file__).resolve().parent.parent
    git = ["git", "-c", f"safe.directory={root}", "-C", str(root)]
    cpu = field("/proc/cpuinfo", r"^model name\s*:(.*)$")  # absent on aarch64
    changed = output(*git, "status", "--porcelain", "--untracked-files=no") not in ("", "unknown")
    return {
        "CPU": f"{cpu if cpu != 'unknown' else os.uname().machine}, {len(os.sched_getaffinity(0))} cores to use",
        "last-level cache": output("getconf", "LEVEL3_CACHE_SIZE") + " B",
        "memory": field("/proc/meminfo", r"^MemTotal:(.*)$"),
        "huge pages": field("/sys/kernel/mm/transparent_hugepage/enabled", r"\[(.*)\]")
        if Path("/sys/kernel/mm/transparent_hugepage/enabled").exists()
        else "none",
        "kernel": os.uname().release,
        "compiler": output(field(folder / "CMakeCache.txt", r"^CMAKE_CXX_COMPILER:\w+=(.*)$"), "--version"),
        "commit": output(*git, "rev-parse", "HEAD") + (" and changes" if changed else ""),
    }


def measure(program, ids):
    """The rows of one program. Ends everything if it fails: a table with a silent gap is worse than none."""
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder, "rows.json")
        # As tier-dlrm has it: OpenMP's threads spin between kernels, but not for long.
        brief = {"OMP_WAIT_POLICY": "active", "GOMP_SPINCOUNT": "10000"}
        run = subprocess.run([str(program), "--rows", str(rows), *ids], env={**brief, **os.environ})
        if run.returncode:
            sys.exit(f"{program.name} ended with {run.returncode}")
        found = json.loads(rows.read_text())
    for row in found:
        if list(row) != COLUMNS:
            sys.exit(f"{program.name}: a row has {', '.join(row)} instead of {', '.join(COLUMNS)}")
    return found


def cell(value):
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def print_table(rows):
    lines = [COLUMNS] + [[cell(row[column]) for column in COLUMNS] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    lines.insert(1, ["-" * width for width in widths])
    for line in lines:
        print("| " + " | ".join(text.ljust(width) for text, width in zip(line, widths)) + " |")


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench")
    parser.add_argument("folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there as well")
    parser.add_argument("ids", nargs="*", metavar="ID", help="rows to measure; none means all")
    options = parser.parse_intermixed_args()  # options may stand before ids

    programs = sorted(path for path in (options.folder / "bench").rglob("tier_bench_*") if os.access(path, os.X_OK))
    programs = [path for path in programs if path.is_file()]
    if not programs:
        sys.exit(f"no benchmark programs in {options.folder / 'bench'}")
    rows = [row for program in programs for row in measure(program, options.ids)]
    missing = set(options.ids) - {row["id"] for row in rows}
    if missing:
        sys.exit(f"no program measures {', '.join(sorted(missing))}")

    print()
    for fact, value in machine(options.folder).items():
        print(f"{fact}: {value}")
    print()
    print_table(rows)
    print(f"\n{sum(row['reached'] for row in rows)} of {len(rows)} marks reached")
    if options.json:
        write_whole(options.json, json.dumps(rows, indent=2) + "\n")


main()
