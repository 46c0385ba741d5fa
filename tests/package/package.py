# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the checks of the package share: a folder to work in, commands that end the check if they fail, a consumer."""
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "habits"))
import sources  # noqa: E402
from sources import ROOT, SKIPPED, report  # noqa: E402, F401

LINKAGES = {"static": "-DBUILD_SHARED_LIBS=OFF", "shared": "-DBUILD_SHARED_LIBS=ON"}
PROJECT = re.search(r'project\(tier VERSION (\S+).*DESCRIPTION "(.*)"\)', (ROOT / "CMakeLists.txt").read_text())
VERSION, DESCRIPTION = PROJECT.groups()
SONAME = "libtier.so." + ".".join(VERSION.split(".")[:2])
WORKS = re.compile(rf"^libtier {re.escape(VERSION)} works$", re.MULTILINE)  # what test_package prints
README_PROGRAM = ("samples/readme/readme.cpp", re.compile("64 of 64 survived"))


class Work:
    """A folder with a fresh copy of the tracked files, in which the library is built in each way.

    Every build lies two folders below the copy, so that ccache sees the same command for the same file each time, and
    the library is compiled once.
    """

    def __init__(self, folder):
        self.folder = Path(folder, "work").resolve()
        self.source = self.folder / "source"
        self._copy_tree()

    def build(self, name):
        return self.source / "build" / name

    def prefix(self, linkage):
        """Where an installed library was moved to."""
        return self.folder / "moved" / linkage

    def environment(self):
        """Flags that do not change an object would make ccache miss: Conan's -m64, and the name of the copy.

        So would another HOME, in which its cache lies.
        """
        variables = {
            "CMAKE_BUILD_PARALLEL_LEVEL": os.environ.get("TIER_JOBS", str(os.cpu_count())),
            **os.environ,
            "CMAKE_GENERATOR": "Ninja",
            "CCACHE_BASEDIR": str(self.folder),
            "CCACHE_NOHASHDIR": "1",
            "CCACHE_IGNOREOPTIONS": "-m64 -fmacro-prefix-map=*",
        }
        if self.cache:
            variables["CMAKE_CXX_COMPILER_LAUNCHER"] = "ccache"
            variables["CCACHE_DIR"] = self.cache
        return variables

    @functools.cached_property
    def cache(self):
        """ccache's folder, or none."""
        ccache = shutil.which("ccache")
        if not ccache:
            return ""
        asked = subprocess.run([ccache, "--get-config", "cache_dir"], capture_output=True, text=True, check=True)
        return asked.stdout.strip()

    def attempt(self, *command, cwd=None, **variables):
        """Its exit status, and what it printed. Says what it ran, and how long that took."""
        began = time.monotonic()
        ended = subprocess.run(
            [str(word) for word in command], cwd=cwd, env={**self.environment(), **variables},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        print(f"{time.monotonic() - began:6.1f} s", *command, flush=True)
        return ended.returncode, ended.stdout

    def run(self, *command, **options):
        """What it printed. A command that fails ends the check, with that and the command."""
        status, printed = self.attempt(*command, **options)
        if status:
            sys.exit(f"{printed}\nended with {status}: {' '.join(map(str, command))}")
        return printed

    def cmake(self, source, build, *options):
        self.run("cmake", "-S", source, "-B", build, *options)
        self.run("cmake", "--build", build)

    def expect(self, pattern, *command, **options):
        printed = self.run(*command, **options)
        if not pattern.search(printed):
            sys.exit(f"{printed}\nhas no '{pattern.pattern}': {' '.join(map(str, command))}")

    def _copy_tree(self):
        """What did not change keeps its time, so that builds go on from where they were."""
        names = sources.files()
        for name in names:
            there = self.source / name
            if not there.is_file() or there.read_bytes() != (ROOT / name).read_bytes():
                there.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, there)
        kept = {self.source / name for name in names}
        for path in self.source.glob("*/**/*"):
            if path.is_file() and path not in kept and path.relative_to(self.source).parts[0] != "build":
                path.unlink()


@contextmanager
def consumer(lists=None, program="test_package/main.cpp"):
    """A project outside the tree: the CMakeLists.txt that README shows, or another, and a program as its main.cpp."""
    with tempfile.TemporaryDirectory(prefix="tier-package-") as name:
        folder = Path(name)
        (folder / "CMakeLists.txt").write_text(lists or (ROOT / "test_package" / "CMakeLists.txt").read_text())
        shutil.copy(ROOT / program, folder / "main.cpp")
        yield folder


def readme(heading, language):
    """The blocks of one language under a heading of README.md."""
    section = re.search(rf"^#+ {heading}\n(.*?)(?=^#+ )", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    if not section:
        sys.exit(f"README.md has no heading '{heading}'")
    return re.findall(rf"^```{language}\n(.*?)^```", section[1], re.MULTILINE | re.DOTALL)
