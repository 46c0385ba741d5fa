# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/plan_check.py in its smallest form: check_plan_check.py SCRIPT BUILD-FOLDER"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

SCRIPT, BUILD = sys.argv[1:3]


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, "--build", BUILD, *map(str, arguments)], capture_output=True, text=True)


with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
    rows = Path(folder, "rows.json")
    ended = run("--small", "--shares", 50, "--json", rows)
    assert ended.returncode == 0 and ended.stderr == "", ended
    found = json.loads(rows.read_text())["rows"]
    assert [(row["program"], row["fast_percent"]) for row in found] == [("dlrm", 50), ("cnn", 50)], found
    for row in found:
        assert row["predicted"] > 0.9 and row["measured"] > 0, row
        assert abs(row["ratio"] - row["predicted"] / row["measured"]) < 1e-9, row
    assert len(ended.stdout.splitlines()) == 3, ended.stdout

# What goes wrong in a program is told in its own words.
ended = run("--small", "--slow", "emulated:tape")
assert ended.returncode == 1 and ended.stderr.startswith("plan_check: ") and "tape" in ended.stderr, ended
ended = run("--shares", "half")
assert ended.returncode == 2 and "--shares" in ended.stderr, ended
