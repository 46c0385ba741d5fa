# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tier-dlrm compares its five runs, is interrupted in the middle of one, and says what is wrong with its options."""
import json
import math
import os
import pty
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = sys.argv[1]
RUNS = ["plain", "all_fast", "tiered", "lru", "first_touch"]
FIELDS = {
    "name": str,
    "samples_per_s": float,
    "auc": float,
    "log_loss": float,
    "fast_share": float,
    "on_time_share": float,
    "bytes_moved": dict,
    "stalled_s": float,
    "stalled_share": float,
    "peak_bytes": int,
    "overhead_bytes": int,
}
SMALL_LOG = ["--tables", "3", "--rows", "4000", "--dim", "16", "--batch", "64", "--deterministic"]
END_OF_BAR = b"\r\x1b[K"  # the progress bar is wiped: the run no longer learns


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)


def runs_in(file):
    return json.loads(file.read_text())["runs"]


def compares_five_runs(folder):
    file = folder / "five.json"
    ended = run("--compare", "--samples", "2000", "--json", str(file), *SMALL_LOG)
    assert ended.returncode == 0, ended
    assert ended.stderr == "", ended.stderr  # no terminal, so no bar
    header, *lines = ended.stdout.splitlines()
    assert header.split()[:2] == ["run", "samples/s"], header
    assert [line.split()[0] for line in lines] == RUNS, ended.stdout

    found = runs_in(file)
    assert [each["name"] for each in found] == RUNS
    for each in found:
        for field, kind in FIELDS.items():
            assert type(each[field]) in (kind, int), (field, each)
        assert each["complete"] and each["samples"] == 1800, each
        for same in ("auc", "log_loss", "train_loss", "checksum"):
            assert each[same] == found[0][same], (same, each)
    assert 0 < found[0]["log_loss"] < math.log(2) and 0.5 < found[0]["auc"] < 1, found[0]
    assert all(0 <= each["stalled_share"] <= 1 for each in found)
    assert found[0]["stalled_share"] == 0 and found[2]["stalled_share"] > 0, found
    moved = [sum(each["bytes_moved"].values()) for each in found]
    assert moved[:2] == [0, 0] and all(moved[2:]), moved
    assert set(found[2]["bytes_moved"]) == {"dram>emulated:cxl", "emulated:cxl>dram"}, found[2]

    alone = folder / "one.json"
    assert run("--samples", "2000", "--json", str(alone), *SMALL_LOG).returncode == 0
    (again,) = runs_in(alone)
    assert again["name"] == "tiered" and again["checksum"] == found[2]["checksum"], again


def has_terminals():
    try:
        screen, terminal = pty.openpty()
    except OSError as error:
        print(f"skipped: Ctrl-C, which needs a pseudo-terminal: {error}")
        return False
    os.close(terminal)
    os.close(screen)
    return True


class OnTerminal:
    """The program with a terminal for stderr, on which it draws its progress."""

    def __init__(self, *arguments):
        self.screen, terminal = pty.openpty()
        self.process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=terminal, text=True)
        os.close(terminal)
        self.seen = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.screen)

    def wait_for(self, text):
        while text not in self.seen:
            self.seen += self.read()
        self.seen = self.seen[self.seen.index(text) + len(text) :]

    def read(self):
        try:
            return os.read(self.screen, 4096)
        except OSError as error:  # the program has ended, and with it the terminal
            raise AssertionError(f"ended early; on its screen: {self.seen}") from error

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)

    def end(self):
        text, _ = self.process.communicate(timeout=120)
        return self.process.returncode, text


def ends_with_the_table_so_far(folder):
    file = folder / "interrupted.json"
    with OnTerminal("--compare", "--samples", "80000", "--json", str(file), *SMALL_LOG) as program:
        program.wait_for(b"all_fast ")
        program.interrupt()
        status, table = program.end()
    assert status == 128 + signal.SIGINT, status
    lines = table.splitlines()
    assert len(lines) == 3, table
    assert lines[1].startswith("plain ") and lines[2].startswith("all_fast (interrupted) "), table
    whole, part = runs_in(file)
    assert whole["complete"] and whole["samples"] == 72_000, whole
    assert not part["complete"] and 0 < part["samples"] < 72_000, part
    assert 0.5 < part["auc"] < 1, part


def ends_at_once_at_the_second_interrupt():
    with OnTerminal("--samples", "1000000", *SMALL_LOG) as program:
        program.wait_for(b"tiered ")
        program.interrupt()
        program.wait_for(END_OF_BAR)
        program.interrupt()
        status, table = program.end()
    assert status == -signal.SIGINT and table == "", (status, table)


def keeps_what_ran_before_a_run_fails(folder):
    file = folder / "failed.json"
    ended = run("--compare", "--samples", "2000", "--slow", "emulated:cxl:4KiB", "--json", str(file), *SMALL_LOG)
    assert ended.returncode == 1 and "no room for" in ended.stderr, ended
    assert [line.split()[0] for line in ended.stdout.splitlines()[1:]] == ["plain", "all_fast"], ended.stdout
    assert [each["name"] for each in runs_in(file)] == ["plain", "all_fast"]


def names_what_is_wrong(folder):
    malformed = folder / "malformed.tsv"
    malformed.write_text("no click log\n" * 100)
    for arguments, part in [
        (["--tabels", "3"], "--tabels"),
        (["--batch", "many"], "--batch"),
        (["--policy", "psychic"], 'unknown policy "psychic"'),
        (["--policy", "lru:colour=red"], "colour"),
        (["--slow", "tape:/x:1GiB"], "tape"),
        (["--fast", "64Mib"], '"Mib"'),
        (["--data", str(malformed), "--format", "criteo"], "line 1"),
    ]:
        ended = run(*arguments, *([] if "--data" in arguments else ["--compare"]))
        assert ended.returncode == 2, (arguments, ended)
        assert ended.stderr.startswith("tier-dlrm: ") and part in ended.stderr, (part, ended.stderr)
        assert ended.stdout == "", ended.stdout

    ended = run("--samples", "100", "--json", str(folder / "missing" / "x.json"), *SMALL_LOG)
    assert ended.returncode == 1 and "x.json" in ended.stderr, ended
    assert ended.stdout.splitlines()[1].startswith("tiered "), ended.stdout
    assert run("--help").returncode == 0


with tempfile.TemporaryDirectory() as name:
    compares_five_runs(Path(name))
    if has_terminals():
        ends_with_the_table_so_far(Path(name))
        ends_at_once_at_the_second_interrupt()
    keeps_what_ran_before_a_run_fails(Path(name))
    names_what_is_wrong(Path(name))
