# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What vm-test says of wrong options, and where packages cannot be had; no machine is booted: check_options.py VM_TEST"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import packages
import run as vm

VM_TEST = sys.argv[1]
TARGETS = """\
Release: {release}
Component: {component}
Identifier: {identifier}
Repo-URI: {uri}
"""


def target(release, uri="http://mirror/debian/", component="main", identifier="Packages"):
    return TARGETS.format(**locals())


def check_sources():
    found = packages.sources_of("\n".join([
        target("bookworm"),
        target("bookworm", component="contrib"),
        target("bookworm", identifier="Contents-deb"),
        target("bookworm-updates"),
        target("bookworm-security", uri="http://mirror/security/"),
        target("nodistro", uri="http://elsewhere/"),
        target("trixie"),
    ]))
    assert found == [
        "deb http://mirror/debian/ bookworm main",
        "deb http://mirror/debian/ bookworm-backports main",
        "deb http://mirror/debian/ bookworm-updates main",
        "deb http://mirror/security/ bookworm-security main",
    ], found
    assert packages.sources_of(target("trixie")) == []


def ended(command, **environment):
    inherited = {name: value for name, value in os.environ.items() if name != vm.REQUIRED}
    return subprocess.run(command, capture_output=True, text=True, env=inherited | environment, timeout=120)


def check_options():
    wrong = {
        ("D",): "there is no machine D: there are A, B, C",
        ("--shell",): "--shell is for one machine",
        ("--shell", "A", "B"): "--shell is for one machine",
        ("--timeout", "soon"): "--timeout: invalid int value: 'soon'",
        ("--jobs", "0"): "--jobs is 1 or more",
        ("--preset", "asan"): "vm-test: --preset is debug or release",
        ("--fast",): "unrecognized arguments: --fast",
    }
    for options, message in wrong.items():
        done = ended([VM_TEST, *options])
        assert done.returncode == 2 and message in done.stderr, (options, done)
    told = ended([VM_TEST, "--help"])
    assert told.returncode == 0 and "scripts/vm-test [OPTION...] [A|B|C...]" in told.stdout, told
    for option in ("--self-check", "--shell", "--refresh", "--cache", "--timeout", "--jobs", "--preset"):
        assert option in told.stdout, option
    targets = ended([sys.executable, vm.__file__, "--build", ".", "--targets"])
    assert targets.stdout.split() == list(vm.PROGRAMS.values()), targets


def check_without(sources, message):
    """Where apt has these sources alone, a machine is skipped, and why is said."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        (base / "sources.list").write_text(sources)
        (base / "apt.conf").write_text(f'Dir::Etc::sourcelist "{base}/sources.list";\nDir::Etc::sourceparts "/dev/null";\n'
                                       'Acquire::Retries "0";\n')
        for program in vm.PROGRAMS:
            (base / "build" / program).parent.mkdir(parents=True, exist_ok=True)
            (base / "build" / program).touch()
        (base / "cache/tools").mkdir(parents=True)
        command = [sys.executable, vm.__file__, "--build", base / "build", "--cache", base / "cache", "--refresh"]
        done = ended([*command, "A"], APT_CONFIG=str(base / "apt.conf"))
        assert done.returncode == vm.SKIPPED and ": skipped: " in done.stdout and message in done.stdout, done
        assert not list((base / "build").glob("vm-*")), "the machine's folder is left"
        assert {path.name for path in (base / "cache").iterdir()} == {"apt", "lock"}, "more than nothing has come, or was left"

        required = ended([*command, "A"], APT_CONFIG=str(base / "apt.conf"), **{vm.REQUIRED: "1"})
        assert required.returncode == 1 and required.stdout.endswith(f"failed: {vm.REQUIRED} is set\n"), required

        missing = ended([*command[:3], base / "cache"])
        assert missing.returncode == 1 and "not built in" in missing.stdout and "tools/tier" in missing.stdout, missing


check_sources()
check_options()
check_without("", "apt has no source of Debian 12 (bookworm main) here")
check_without("deb [trusted=yes] http://127.0.0.1:9/debian bookworm main\n", "apt cannot read its sources (is there a network?)")
check_without("deb [trusted=yes] file:/nowhere bookworm main\n", "apt cannot read its sources (is there a network?)")
