# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Debian packages unpacked into a cache. Nothing is installed: apt works with a configuration, lists and a state of its own,
in which no package is there yet, so that what is unpacked has its libraries with it, whatever the machine has."""
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

RELEASE = "bookworm"
BACKPORTS = f"{RELEASE}-backports"


class Unavailable(Exception):
    """Packages cannot be had here: no apt, no network, no source that has them."""


@dataclass(frozen=True)
class Bundle:
    """Packages of one release with what they depend on, or a kernel alone, in a folder of the cache."""

    name: str
    packages: tuple
    release: str = RELEASE
    kernel: bool = False  # `packages` is then the name that depends on the newest


QEMU_10 = Bundle("qemu-10", ("qemu-system-x86",), BACKPORTS)
QEMU_7 = Bundle("qemu-7", ("qemu-system-x86",))
LINUX_6_12 = Bundle("linux-6.12", ("linux-image-cloud-amd64",), BACKPORTS, kernel=True)
LINUX_6_1 = Bundle("linux-6.1", ("linux-image-cloud-amd64",), kernel=True)
TOOLS = Bundle("tools", ("busybox-static", "ndctl", "daxctl", "e2fsprogs"))
ALL = (QEMU_10, QEMU_7, LINUX_6_12, LINUX_6_1, TOOLS)


def sources_of(index_targets):
    """Lines for sources.list: the machine's own sources of the release, and the backports beside each that has main.
    `index_targets` is what `apt-get indextargets --no-release-info` prints."""
    lines = {}
    for paragraph in index_targets.split("\n\n"):
        target = dict(line.split(": ", 1) for line in paragraph.splitlines() if ": " in line)
        release, uri, component = (target.get(key, "") for key in ("Release", "Repo-URI", "Component"))
        if target.get("Identifier") != "Packages" or component != "main":
            continue
        if release not in (RELEASE, BACKPORTS, f"{RELEASE}-updates", f"{RELEASE}-security"):
            continue
        for wanted in [release, BACKPORTS] if release == RELEASE else [release]:
            lines[f"deb {uri} {wanted} main"] = None
    return list(lines)


class Apt:
    """apt with files of its own under `folder`."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("lists/partial", "archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").write_text("")
        self.environment = {**os.environ, "LC_ALL": "C"}
        # The machine's proxies and certificates, but not what it runs after an update.
        dump = self.run(["apt-config", "dump"]).stdout.splitlines()
        lines = [line for line in dump if not re.match(r"(APT::Update|DPkg)::(Pre|Post)-", line)]
        own = {
            "Dir::Etc::main": "/dev/null",
            "Dir::Etc::parts": "/dev/null",
            "Dir::Etc::sourcelist": folder / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "Dir::State": folder,
            "Dir::State::lists": folder / "lists",
            "Dir::State::status": folder / "status",
            "Dir::Cache": folder,
            "Dir::Cache::archives": folder / "archives",
            "APT::Sandbox::User": "root",
            "APT::Architecture": "amd64",
            "APT::Get::Assume-Yes": "true",
            "APT::Install-Recommends": "false",
            "APT::Default-Release": "",
            "Acquire::Retries": "3",
            "Acquire::http::Timeout": "20",
            "Acquire::https::Timeout": "20",
        }
        sources = sources_of(self.run(["apt-get", "indextargets", "--no-release-info"]).stdout)
        if not sources:
            raise Unavailable(f"apt has no source of Debian 12 ({RELEASE} main) here, from which backports could be derived")
        (folder / "sources.list").write_text("\n".join(sources) + "\n")
        (folder / "apt.conf").write_text("\n".join([*lines, *(f'{key} "{value}";' for key, value in own.items())]) + "\n")
        self.environment["APT_CONFIG"] = str(folder / "apt.conf")

    def run(self, command, **options):
        try:
            return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True, **options)
        except FileNotFoundError:
            raise Unavailable(f"this is no Debian system: there is no {command[0]}") from None
        except subprocess.CalledProcessError as e:
            errors = [line for line in e.stderr.splitlines() if line.startswith("E:")] or e.stderr.splitlines()[-3:]
            raise Unavailable(f"{' '.join(command[:2])}: {' '.join(errors)}") from None

    def update(self):
        try:
            self.run(["apt-get", "update", "--error-on=any"])
        except Unavailable as e:
            raise Unavailable(f"apt cannot read its sources (is there a network?): {e}") from None

    def fetch(self, bundle):
        """The paths of the bundle's archives."""
        for archive in (self.folder / "archives").glob("*.deb"):  # of a run that was interrupted
            archive.unlink()
        if bundle.kernel:
            record = self.run(["apt-cache", "-t", bundle.release, "--no-all-versions", "show", *bundle.packages]).stdout
            names = re.findall(r"^Depends: (linux-image-\S+) \(= (\S+)\)", record, re.MULTILINE)
            if not names:
                raise Unavailable(f"{bundle.release} has no {bundle.packages[0]} that depends on a kernel")
            self.run(["apt-get", "download", f"{names[0][0]}={names[0][1]}"], cwd=self.folder / "archives")
        else:
            self.run(["apt-get", "install", "--download-only", "-t", bundle.release, *bundle.packages])
        return sorted((self.folder / "archives").glob("*.deb"))


class Cache:
    """Unpacked bundles in `folder`, fetched as they are asked for."""

    def __init__(self, folder, say):
        self.folder = folder
        self.say = say
        self.apt = None

    def get(self, bundle):
        """The folder where the bundle's files are."""
        place = self.folder / bundle.name
        if not place.exists():
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="new-", dir=self.folder) as scratch:
                self.unpack(bundle, Path(scratch) / "root")
                os.rename(Path(scratch) / "root", place)
        return place

    def unpack(self, bundle, root):
        if self.apt is None:
            self.say("asking for packages")
            self.apt = Apt(self.folder / "apt")
            self.apt.update()
        self.say(f"fetching {', '.join(bundle.packages)} from {bundle.release}")
        archives = self.apt.fetch(bundle)
        for archive in archives:
            subprocess.run(["dpkg-deb", "-x", archive, root], check=True)
        (root / "archives").write_text("\n".join(archive.name for archive in archives) + "\n")
        for archive in archives:
            archive.unlink()

    def clear(self):
        for name in ("apt", *(bundle.name for bundle in ALL)):
            shutil.rmtree(self.folder / name, ignore_errors=True)
