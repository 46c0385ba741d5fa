# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the benchmark programs of a build folder and prints their rows: bench_rows.py FOLDER [--json FILE] [ID...]

A row that is nearer to its mark than it can tell is measured again. Then it has reached its mark, or has not, if three quarters
of its runs say so, and is not told otherwise.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from whole_file import write_whole

COLUMNS = ["id", "what", "value", "unit", "baseline", "baseline_value", "ratio", "reach", "reached", "spread"]
NOT_TOLD = "not told"
NEAR = 0.02  # of a mark: no nearer than this is one run believed, however small the spread of its samples
FEWEST, MOST = 3, 9  # runs of a row that is measured again


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


def run_once(program, ids):
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


def marked(row):
    """(the number that a row's mark is about, the mark): the value where the mark has the unit, else the ratio. A fact has no mark."""
    match = re.match(r"[<>]=? ([\d.]+)(.*)", row["reach"])
    if not match:
        return row["ratio"], None
    has_unit = row["unit"] != "" and match[2].strip().startswith(row["unit"])
    return row["value" if has_unit else "ratio"], float(match[1])


def is_told(runs):
    """True if the runs of a row say whether it has reached its mark."""
    number, mark = marked(runs[0])
    if mark is None:
        return True
    if len(runs) < FEWEST:
        agrees = (number <= mark if runs[0]["reach"][0] == "<" else number >= mark) == runs[0]["reached"]
        return len(runs) == 1 and agrees and abs(number - mark) > max(NEAR, runs[0]["spread"]) * mark
    reached = sum(row["reached"] for row in runs)
    return max(reached, len(runs) - reached) >= 0.75 * len(runs)


def combined(runs):
    """The run with the median number, and what most runs say of the mark."""
    row = dict(sorted(runs, key=lambda run: marked(run)[0])[(len(runs) - 1) // 2])
    numbers = [marked(run)[0] for run in runs]
    row["reached"] = statistics.mode(run["reached"] for run in runs) if is_told(runs) else NOT_TOLD
    if len(runs) > 1:
        low, _, high = statistics.quantiles(numbers, n=4)
        row["spread"] = (high - low) / 2 / statistics.median(numbers)
    return row | {"runs": len(runs)}


def measure(program, ids):
    """The rows of one program, each measured as often as it takes."""
    runs_of = {}  # (id, number among the rows of that id): its runs
    again = ids
    for run in range(MOST):
        numbers = Counter()
        for row in run_once(program, again):
            runs_of.setdefault((row["id"], numbers[row["id"]]), []).append(row)
            numbers[row["id"]] += 1
        again = sorted({key[0] for key, runs in runs_of.items() if not is_told(runs)})
        if not again:
            break
        if run + 1 < MOST:
            print(f"measured again, because one run does not tell: {', '.join(again)}", flush=True)
    return [combined(runs) for runs in runs_of.values()]


def cell(value):
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def print_table(rows):
    columns = [*COLUMNS, "runs"]
    lines = [columns] + [[cell(row[column]) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(columns))]
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
    not_told = sum(row["reached"] == NOT_TOLD for row in rows)
    print(f"\n{sum(row['reached'] is True for row in rows)} of {len(rows)} marks reached" + (f", {not_told} not told" if not_told else ""))
    if options.json:
        write_whole(options.json, json.dumps(rows, indent=2) + "\n")


main()
