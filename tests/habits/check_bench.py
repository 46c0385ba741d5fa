# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/bench_rows.py measures again what one run does not tell, and says what even several runs do not."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import sources

PROGRAM = """#!{python}
import json, sys
from pathlib import Path
ratios = {ratios}
file, ids = sys.argv[2], sys.argv[3:]
count = Path(__file__ + ".count")
runs = json.loads(count.read_text()) if count.exists() else {{}}
rows = []
for id, values in ratios.items():
    if ids and id not in ids:
        continue
    ratio = values[runs.get(id, 0) % len(values)]
    runs[id] = runs.get(id, 0) + 1
    rows.append(dict(id=id, what="a test", value=ratio, unit="s", baseline="another", baseline_value=1.0, ratio=ratio,
                     reach="<= 1.10" if id != "a.fact" else id, reached=ratio <= 1.1, spread=0.03))
count.write_text(json.dumps(runs))
Path(file).write_text(json.dumps(rows))
"""
RATIOS = {  # by run, again from the first after the last
    "far.below": [0.9, 9.0],
    "far.above": [1.2, 0.1],
    "near.below": [1.09, 1.08, 1.0],
    "near.above": [1.11, 1.12, 1.08, 1.12],
    "noisy": [1.09, 1.2],
    "a.fact": [1.09],
}
EXPECTED = {  # runs, reached, the median
    "far.below": (1, True, 0.9),
    "far.above": (1, False, 1.2),
    "near.below": (3, True, 1.08),
    "near.above": (4, False, 1.11),
    "noisy": (9, "not told", 1.09),
    "a.fact": (1, True, 1.09),
}

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    (folder / "bench").mkdir()
    (folder / "CMakeCache.txt").write_text("CMAKE_CXX_COMPILER:FILEPATH=c++\n")
    program = folder / "bench" / "tier_bench_fake"
    program.write_text(PROGRAM.format(python=sys.executable, ratios=RATIOS))
    program.chmod(0o755)
    command = [sys.executable, sources.ROOT / "scripts" / "bench_rows.py", folder, "--json", folder / "rows", *RATIOS]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "3 of 6 marks reached, 1 not told" in ended.stdout, ended.stdout
    found = {row["id"]: (row["runs"], row["reached"], row["ratio"]) for row in json.loads((folder / "rows").read_text())}
    assert found == EXPECTED, found
    (again,) = {line for line in ended.stdout.splitlines() if line.endswith("tell: near.above, near.below, noisy")}

    unknown = subprocess.run([*command, "none.such"], capture_output=True, text=True)
    assert unknown.returncode == 1 and "no program measures none.such" in unknown.stderr, unknown.stderr
sources.report([], "rows that are measured again")
