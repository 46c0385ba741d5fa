# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what scripts/times has measured: times.py FOLDER PRESET..."""
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

PHASES = ["cold", "warm", "tests"]
SLOWEST = 15


def seconds(path):
    """(wall, CPU) of a phase."""
    wall, user, system = map(float, path.read_text().split()[-3:])
    return wall, user + system


def main():
    folder, presets = Path(sys.argv[1]), sys.argv[2:]
    print(f"{'preset':14}{'build, cold':>22}{'build, warm':>22}{'tests':>22}   (minutes, CPU seconds)")
    total = {phase: [0.0, 0.0] for phase in PHASES}
    for preset in presets:
        row = f"{preset:14}"
        for phase in PHASES:
            wall, cpu = seconds(folder / f"{preset}.{phase}.time")
            total[phase][0] += wall
            total[phase][1] += cpu
            row += f"{wall / 60:12.1f}{cpu:10.0f}"
        print(row)
    print(f"{'all':14}" + "".join(f"{total[p][0] / 60:12.1f}{total[p][1]:10.0f}" for p in PHASES))
    for name in ("cold", "warm"):
        print(f"a run with a {name} cache: {(total[name][0] + total['tests'][0]) / 60:.1f} minutes")
    tests = []
    for preset in presets:
        report = folder / f"{preset}.xml"
        if report.exists():
            for case in xml.parse(report).iter("testcase"):
                tests.append((float(case.get("time") or 0), preset, case.get("name")))
                if case.find("failure") is not None:
                    print(f"failed: {preset}: {case.get('name')}")
    print(f"\n{'seconds':>8}  test")
    for time, preset, name in sorted(tests, reverse=True)[:SLOWEST]:
        print(f"{time:8.1f}  {preset}: {name}")


main()
