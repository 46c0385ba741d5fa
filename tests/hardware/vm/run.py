#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Boots emulated machines and runs the hardware tests inside. docs/vm-test.md has more."""
import argparse
import fcntl
import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import guest
import machines
import packages

SKIPPED = 77  # SKIP_RETURN_CODE in tests/CMakeLists.txt
REQUIRED = "TIER_REQUIRE_VM"  # is set where a machine that is skipped has failed
HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs/machines.md"
QEMU = "usr/bin/qemu-system-x86_64"
QEMU_MODULES = "usr/lib/x86_64-linux-gnu/qemu"
QEMU_DATA = ("usr/share/qemu", "usr/share/seabios", "usr/lib/ipxe/qemu")
PLAIN = ("plain", "std")  # runs of samples without the library
SAMPLE_BEGINS, SAMPLE_ENDS = "sample: begins ", "sample: has ended"  # around what init has one print
PROGRAMS = {  # where each is built, and the target that builds it
    "tests/tier_test_hardware": "tier_test_hardware",
    "tests/tier_test_memory": "tier_test_memory",
    "tests/tier_test_manager": "tier_test_manager",
    "tests/exit_machine": "exit_machine",
    "tools/tier": "tier_tool",
    "samples/pmr_index/tier-index": "tier_index",
    "samples/dlrm/tier-dlrm": "tier_dlrm",
    "samples/training/tier-train": "tier_train",
    "bench/migrate/tier-migrate": "tier_migrate",
}
HELD = "reboot: held"  # printed by the test that waits to be killed


class Failed(Exception):
    """A machine has booted, or should have, and what was asked of it is not so."""


def skipped():
    """The status of a run that could not boot a machine."""
    if REQUIRED not in os.environ:
        return SKIPPED
    say(f"failed: {REQUIRED} is set")
    return 1


def say(text):
    print(f"== {text}", flush=True)


def default_cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "libtier-vm"


@contextmanager
def locked(folder):
    """Others that fill the same cache wait."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def policies_of(build):
    """All that the library has, by `tier info`."""
    told = subprocess.run([build / "tools/tier", "info", "--json"], capture_output=True, text=True, check=True)
    return json.loads(told.stdout)["policies"]


class Emulator:
    """A machine with the files that are its disks, booted once or more."""

    def __init__(self, machine, folder, cache, build, limit):
        self.folder = folder
        self.limit = limit
        self.quiet = bool(machine.left_out)  # what it prints are failures that are meant
        with locked(cache.folder):
            self.qemu, self.linux, tools = map(cache.get, (machine.qemu, machine.linux, packages.TOOLS))
        self.machine = machine = machine.with_policies(policies_of(build))
        self.environment = {**os.environ, "QEMU_MODULE_DIR": str(self.qemu / QEMU_MODULES)}
        machine.make_files(folder)
        guest.build(
            folder / "image",
            linux=self.linux,
            tools=tools,
            programs=[build / path for path in PROGRAMS],
            files={
                "init": (HERE / "init").read_text(),
                "machine.sh": machine.variables() + settings(),
                "machine.json": machine.expectation(),
            },
        )

    def command(self, run, again):
        command = [*guest.run_unpacked(self.qemu, QEMU), "-accel", "tcg,thread=multi"]
        for data in QEMU_DATA:
            if (self.qemu / data).exists():
                command += ["-L", self.qemu / data]
        words = ["console=ttyS0", "nokaslr", "no_timer_check", "panic=-1", "oops=panic", f"tier.run={run}"] + ["tier.again"] * again
        command += ["-kernel", guest.kernel_of(self.linux), "-initrd", self.folder / "image", "-append", " ".join(words)]
        command += ["-no-reboot", "-display", "none", "-vga", "none", "-nic", "none", "-monitor", "none"]
        command += ["-serial", f"file:{self.folder / 'console'}", "-serial", "stdio"]
        command += ["-device", "isa-debug-exit,iobase=0xf4,iosize=4", *self.machine.qemu_arguments(self.folder)]
        return [str(word) for word in command]

    def shell(self):
        """A shell in the machine, on this terminal."""
        subprocess.run(self.command("shell", False), env=self.environment, check=False)

    def boot(self, run, again=False, kill_at=None):
        """Boots and shows what the tests print.
        \\param kill_at  the machine loses its power when this has been printed
        \\return  (status, what was printed)"""
        lines = []
        with subprocess.Popen(self.command(run, again), env=self.environment, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace") as qemu:
            late = threading.Event()
            timer = threading.Timer(self.limit, lambda: (late.set(), qemu.kill()))
            timer.start()
            try:
                shown = True
                for line in qemu.stdout:
                    lines.append(line)
                    shown = shown or line.startswith(SAMPLE_ENDS)
                    if shown and line.strip() and not self.quiet:
                        print(f"{self.machine.name}| {line.rstrip()}", flush=True)
                    shown = shown and not line.startswith(SAMPLE_BEGINS)
                    if kill_at and kill_at in line:
                        qemu.kill()
                        return None, "".join(lines)
            except BaseException:
                qemu.kill()
                raise
            finally:
                timer.cancel()
        output = "".join(lines)
        if late.is_set():
            raise Failed(f"did not end within {self.limit} s; the kernel's last words:\n{self.last_words()}")
        # The machine ends QEMU with 2 x (its status + 1) + 1; QEMU itself fails with 1.
        status, odd = divmod(qemu.returncode - 3, 2)
        if status < 0 or odd:
            panic = re.search(r"Kernel panic.*", self.console())
            why = f"the kernel has panicked: {panic[0]}" if panic else f"QEMU has ended with {qemu.returncode}"
            raise Failed(f"{why}\n{self.last_words()}\n{output if self.quiet else ''}")
        return status, output

    def console(self):
        path = self.folder / "console"
        return path.read_text(errors="replace") if path.exists() else ""

    def last_words(self):
        return "\n".join(self.console().splitlines()[-20:])


def settings():
    """This process's variables that tests obey."""
    names = ("TIER_SEED", "TIER_STEPS")
    return "".join(f"export {name}={shlex.quote(os.environ[name])}\n" for name in names if name in os.environ)


def failed_blocks(output):
    """What doctest reports of test cases that have failed."""
    return [block for block in re.split(r"^={20,}$", output, flags=re.MULTILINE) if "ERROR:" in block]


def failed_cases(output):
    """The names of test cases that have failed."""
    names = (re.search(r"^TEST CASE: +(.*)$", block, re.MULTILINE) for block in failed_blocks(output))
    return {name[1] for name in names if name}


def must_pass(outcome, what):
    status, output = outcome
    if status != 0:
        said = failed_blocks(output) or ["\n" + "".join(output.splitlines(keepends=True)[-20:])]
        raise Failed(f"{what} have ended with {status}\n" + "\n".join(f"{'=' * 79}{block.rstrip()}" for block in said))
    if not re.search(r"test cases: +[1-9]", output):
        raise Failed(f"{what} are none")


def most_used(run):
    """{tier: bytes} of a run, as a sample's results tell of it, without what the library needs itself."""
    if "memory" in run:
        return run["memory"]
    return {tier["name"]: tier["peak_bytes"] - tier["overhead_bytes"] for tier in run["tiers"]}


def check_samples(printed):
    """The runs of each sample, or of each of its networks, have the same checksum; those in tiers have used all of these,
    and bytes of a slower one, moved or in place. `printed`: [(command, its results in JSON)]"""
    runs_of = defaultdict(list)
    for command, text in printed:
        runs_of[command.partition(" --")[0]] += [(command, run) for run in json.loads(text)["runs"]]
    for program, runs in runs_of.items():
        sums = [(run["name"], run["checksum"]) for _, run in runs]
        if len(sums) < 2 or len({checksum for _, checksum in sums}) != 1:
            raise Failed(f"{program}: its runs have the checksums {sums}")
        for command, run in runs:
            if run["name"] in PLAIN:
                continue
            used = most_used(run)
            if len(used) < 2 or not all(used.values()):
                raise Failed(f"{command}: of its tiers it has used, in bytes, {used}")
            if not sum(run["bytes_moved"].values()) + run.get("in_place_bytes", 0):
                raise Failed(f"{command}: nothing has moved or was used in a slower tier")


def lines_of_info(text):
    """Without what differs from boot to boot: sizes, counts of pages, the kernel's version, the numbers of devices."""
    varying = r"\d+(\.\d+)? ?[KMG]iB|\d+ pages|\d+ %|(?<=dax)\d|(?<=pmem)\d|^  kernel  .*"
    return Counter(re.sub(varying, "*", text, flags=re.MULTILINE).splitlines())


def check_page(machine, output):
    """docs/machines.md shows what `tier info` says here."""
    shown = re.search(rf"^### Machine {machine.name}:.*?^```text\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    missed = lines_of_info(shown[1]) - lines_of_info(output)
    missed.pop("", None)
    if missed:
        raise Failed(f"{PAGE} shows what tier info does not say: {list(missed)}")


def test(emulator):
    outcome = emulator.boot("test")
    must_pass(outcome, "its tests")
    check_page(emulator.machine, outcome[1])
    samples = re.findall(rf"^{SAMPLE_BEGINS}(.*)\n((?:.*\n)*?){SAMPLE_ENDS}$", outcome[1], re.MULTILINE)
    if [command for command, _ in samples] != list(emulator.machine.samples):
        raise Failed("not all of its samples have run")
    check_samples(samples)


def test_reboot(emulator):
    """A run loses its power; the next boot finds the same disks, and nothing on them."""
    if not emulator.machine.disk_mib:
        return
    status, _ = emulator.boot("hold", kill_at=HELD)
    if status is not None:
        raise Failed(f"the run that should have been killed has ended with {status}")
    must_pass(emulator.boot("after", again=True), "after a killed run the tests")


# What a machine lacks although its tests are told of it, and how the names of test cases begin, up to a comma, that must
# then fail.
FAULTS = [
    (machines.A, ("node1", "kmem"), [
        "the nodes found are those given",
        "the kernel groups the nodes",
        "nodes are found with the kind",
        "memkind's kinds have each page on their node",
        "a runtime of what the machine has uses each kind",
    ]),
    (machines.A, ("hmat", "dax", "huge_pages", "throttle"), [
        "the kernel tells of each node the latency and bandwidth",
        "nodes are found with the kind",
        "groups are the nodes from fast to slow",
        "files on persistent memory are mapped without a page cache",
        "DAX devices and file systems are found",
        "the huge pages found are those reserved",
        "reserved huge pages are on each node",
        "a file tier on the disk goes past the page cache",
    ]),
    (machines.B, ("cxl",), [
        "the nodes found are those given",
        "the kernel groups the nodes",
        "nodes are found with the kind",
        "memkind's kinds have each page on their node",
        "a runtime of what the machine has uses each kind",
    ]),
    (machines.C, ("kmem", "dax"), [
        "the nodes found are those given",
        "the kernel groups the nodes",
        "nodes are found with the kind",
        "files on persistent memory are mapped without a page cache",
        "DAX devices and file systems are found",
    ]),
]


def must_fail(outcome, cases):
    status, output = outcome
    missed = [case for case in cases if not any(name.startswith(case) for name in failed_cases(output))]
    if status == 0 or missed:
        raise Failed(f"its tests have ended with {status}, and these should have failed: {missed}\n{output}")


def test_leftover(emulator):
    emulator.boot("hold", kill_at=HELD)
    must_fail(emulator.boot("after", again=True), ["after a killed run no file is left"])


def test_ends(emulator):
    """A machine that panics or hangs has failed, with the reason."""
    for run, limit, reason in (("panic", emulator.limit, "the kernel has panicked: "), ("test", 3, "did not end within 3 s")):
        emulator.limit = limit
        try:
            outcome = emulator.boot(run)
        except Failed as e:
            if str(e).startswith(reason):
                continue
            outcome = e
        raise Failed(f"instead of \"{reason}\": {outcome}")


def faulty_machines():
    """[(machine, jobs)]: the tests find what is broken on purpose, and so does this program."""
    for machine, left_out, cases in FAULTS:
        machine = replace(machine, name=f"{machine.name}-{left_out[0]}", title="without " + ", ".join(left_out), samples=(),
                          left_out=frozenset(left_out), only=",".join(f"{case}*" for case in cases))
        yield machine, [lambda emulator, cases=cases: must_fail(emulator.boot("test"), cases)]
    yield replace(machines.A, name="A-leftover", title="with a file left over", left_out=frozenset({"leftover"})), [test_leftover]
    yield replace(machines.A, name="A-ends", title="panics, and hangs", left_out=frozenset({"end"})), [test_ends]


def run_machine(machine, arguments, cache, jobs):
    """\return  passed, or skipped or failed with the reason, as is printed"""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"vm-{machine.name}-", dir=arguments.build) as folder:
        try:
            emulator = Emulator(machine, Path(folder), cache, arguments.build, arguments.timeout)
            for job in jobs:
                job(emulator)
            found = "passed"
        except packages.Unavailable as e:
            found = f"skipped: {e}"
        except (Failed, guest.GuestError, OSError, subprocess.CalledProcessError) as e:
            found = f"failed: {e}"
    outcome = f"machine {machine.name} ({machine.title}), {time.monotonic() - begin:.0f} s: {found}"
    say(outcome.splitlines()[0])
    return outcome


def parse(words):
    parser = argparse.ArgumentParser(prog="vm-test", description=__doc__)
    parser.add_argument("machines", nargs="*", metavar="MACHINE", help="of A, B, C; by default all, and with TIER_LONG=1 --self-check")
    parser.add_argument("--build", type=Path, required=True, help="where the programs under test are built")
    parser.add_argument("--short", action="store_true", help="without TIER_LONG=1 not C, which repeats A on older systems")
    parser.add_argument("--self-check", action="store_true", help="boot machines with faults that their tests must find")
    parser.add_argument("--shell", action="store_true", help="a shell in the machine instead of its tests; exit ends it")
    parser.add_argument("--refresh", action="store_true", help="empty the cache first: newer packages")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where packages are kept (%(default)s)")
    parser.add_argument("--timeout", type=int, default=1500, help="seconds for each boot (%(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="machines at once, each of two CPUs (%(default)s)")
    parser.add_argument("--targets", action="store_true", help="print what has to be built, and do no more")
    arguments = parser.parse_intermixed_args(words)
    unknown = [name for name in arguments.machines if name not in machines.ALL]
    if unknown:
        parser.error(f"there is no machine {unknown[0]}: there are {', '.join(machines.ALL)}")
    if arguments.shell and len(arguments.machines) != 1:
        parser.error("--shell is for one machine")
    if arguments.jobs < 1:
        parser.error("--jobs is 1 or more")
    return arguments


def main():
    arguments = parse(sys.argv[1:])
    if arguments.targets:
        print(*PROGRAMS.values())
        return 0
    arguments.build = arguments.build.resolve()
    if platform.machine() != "x86_64":
        say("skipped: the machines are x86-64, and this one, whose programs would run in them, is not")
        return skipped()
    missing = [path for path in PROGRAMS if not (arguments.build / path).exists()]
    if missing:
        say(f"failed: not built in {arguments.build}: {', '.join(missing)}")
        return 1
    cache = packages.Cache(arguments.cache, say)
    if arguments.refresh:
        cache.clear()
    everything = not arguments.machines and not arguments.self_check
    is_long = os.environ.get("TIER_LONG", "0") != "0"
    names = list(machines.ALL) if everything else arguments.machines
    if everything and arguments.short and not is_long:
        names.remove("C")
        say(f"machine C ({machines.C.title}) is left to TIER_LONG=1")
    work = [(machines.ALL[name], [Emulator.shell] if arguments.shell else [test, test_reboot]) for name in names]
    if arguments.self_check or (everything and is_long):
        work += faulty_machines()
    with ThreadPoolExecutor(max_workers=arguments.jobs) as pool:
        try:
            found = list(pool.map(lambda pair: run_machine(pair[0], arguments, cache, pair[1]), work))
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            return 130
    if len(found) > 1:
        print("\n".join(outcome.splitlines()[0] for outcome in found))
    failed = [outcome for outcome in found if ": failed: " in outcome.splitlines()[0]]
    if failed:
        print("", *failed, "=" * 79, sep="\n")  # reasons, where scripts/summary.py finds them
        return 1
    return skipped() if any(": skipped: " in outcome for outcome in found) else 0


if __name__ == "__main__":
    sys.exit(main())
