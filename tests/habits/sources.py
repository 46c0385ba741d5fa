# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the habit checks share: the files of the tree, and how a check ends."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SKIPPED = 77  # SKIP_RETURN_CODE in CMakeLists.txt


def files(root=ROOT):
    """Paths of the tracked files, relative to `root`; of all files where git does not know the tree (a release archive)."""
    # safe.directory: in a container the tree often belongs to another user, and git then refuses to list it.
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={root}", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True
    )
    if listed.returncode == 0:
        names = [Path(name) for name in listed.stdout.split("\0") if name]
    else:
        names = [path.relative_to(root) for path in Path(root).rglob("*") if "build" not in path.relative_to(root).parts]
    return sorted(name for name in names if (Path(root) / name).is_file())


def raw_commands(folder):
    """The compile commands of a build folder."""
    return json.loads(Path(folder, "compile_commands.json").read_text())


def sources_of(entry):
    """The sources that a command compiles: one, or several together."""
    file = Path(entry["file"])
    if "Unity" not in file.parts:
        return [entry["file"]]
    return re.findall(r'^#include "(.*)"', file.read_text(), re.MULTILINE)


def commands(folder):
    """The compile commands of a build folder, one for each source, also where several are compiled together."""
    for entry in raw_commands(folder):
        for source in sources_of(entry):
            yield {**entry, "file": source, "command": entry["command"].replace(entry["file"], source)}


def cpp_files(root=ROOT):
    return [name for name in files(root) if name.suffix in (".hpp", ".cpp")]


def tool(name):
    """The path of a program; where it is missing, ends the check as skipped."""
    path = shutil.which(name)
    if not path:
        print(f"skipped: {name} is not installed")
        sys.exit(SKIPPED)
    return path


def report_planted(planted, sound, find):
    """Ends a self-test: each planted file has a problem, and no sound one. `find(root, names)` gives lines `FILE: ...`."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name, text in {**planted, **sound}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text + "\n")
        found = {line.split(":")[0] for line in find(root, [Path(name) for name in {**planted, **sound}])}
    missed = [f"planted breach not found: {name}" for name in planted if name not in found]
    invented = [f"sound file reported: {name}" for name in sound if name in found]
    report(missed + invented, f"{len(planted)} planted breaches and {len(sound)} sound files")


def report(problems, checked):
    """Ends the check: prints every problem, or what was found to be in order."""
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems in {checked}" if problems else f"{checked}: in order")
    sys.exit(1 if problems else 0)


def is_long():
    return os.environ.get("TIER_LONG", "") not in ("", "0")
