# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tier-dlrm compares its runs, is interrupted in the middle of one, and says what is wrong with its options."""
import gzip
import json
import math
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = sys.argv[1]
IN_PROCESS = ["plain", "all_fast", "tiered", "lru", "first_touch"]
VARIANTS = ["os_paging_default", "os_paging_random", "os_paging_willneed"]
LEFT_OUT = "tier-dlrm: os_paging is left out: "  # and why: the system lets us limit no memory
FIELDS = {
    "name": str,
    "samples_per_s": float,
    "auc": float,
    "log_loss": float,
    "fast_share": float,
    "on_time_share": float,
    "bytes_moved": dict,
    "memory": dict,
    "read_amplification": float,
    "bytes_per_written_row": float,
    "stalled_s": float,
    "stalled_share": float,
    "peak_bytes": int,
    "overhead_bytes": int,
}
UNKNOWN_OF_PAGING = ("read_amplification", "bytes_per_written_row", "stalled_s", "stalled_share")
SMALL_LOG = ["--tables", "3", "--rows", "4000", "--dim", "16", "--batch", "64", "--deterministic"]
END_OF_BAR = b"\r\x1b[K"  # the progress bar is wiped: the run no longer learns


def run(*arguments, path=os.environ.get("PATH", "")):
    environment = {**os.environ, "PATH": path}
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120, env=environment)


def runs_in(file):
    return json.loads(file.read_text())["runs"]


def check_fields(each, unknown=()):
    for field, kind in FIELDS.items():
        assert type(each[field]) in ((type(None),) if field in unknown else (kind, int)), (field, each)


def check_paging(paging):
    """It is the fastest of its variants, each under a limit that its tables do not fit."""
    assert paging["name"] == "os_paging" and [each["name"] for each in paging["variants"]] == VARIANTS, paging
    assert paging["samples_per_s"] == max(each["samples_per_s"] for each in paging["variants"]), paging
    for each in paging["variants"]:
        assert all(each["bytes_moved"].values()), each
        check_fields(each, unknown=UNKNOWN_OF_PAGING)


def compares_all_runs(folder):
    file = folder / "all.json"
    ended = run("--compare", "--samples", "2000", "--json", str(file), *SMALL_LOG)
    assert ended.returncode == 0, ended
    left_out = ended.stderr.startswith(LEFT_OUT)
    assert ended.stderr == "" or left_out and ended.stderr.count("\n") == 1, ended.stderr  # no terminal, so no bar
    header, *lines = ended.stdout.splitlines()
    assert header.split()[:2] == ["run", "samples/s"], header
    printed = [*IN_PROCESS] if left_out else [*IN_PROCESS, "os_paging", *VARIANTS]
    printed += ["tiered,", "lru,", "first_touch,"]  # and what their tables got
    printed += [] if left_out else ["os_paging"]  # and what it may use
    assert [line.split()[0] for line in lines] == printed, ended.stdout
    assert "lru, 10% fast by need: T0 " in ended.stdout, ended.stdout

    found = runs_in(file)
    assert [each["name"] for each in found] == (IN_PROCESS if left_out else [*IN_PROCESS, "os_paging"])
    for each in found + found[-1].get("variants", []):
        assert each["complete"] and each["samples"] == 1800, each
        for same in ("auc", "log_loss", "train_loss", "checksum"):
            assert each[same] == found[0][same], (same, each)
    if not left_out:
        check_paging(found.pop())
    for each in found:
        check_fields(each)
    assert 0 < found[0]["log_loss"] < math.log(2) and 0.5 < found[0]["auc"] < 1, found[0]
    assert all(0 <= each["stalled_share"] <= 1 for each in found)
    assert found[0]["stalled_share"] == 0 and found[2]["stalled_share"] > 0, found
    moved = [sum(each["bytes_moved"].values()) for each in found]
    assert moved[:2] == [0, 0] and all(moved[2:]), moved
    for each in found[2:]:
        assert [share["table"] for share in each["shares"]] == ["T0", "T1", "T2"], each
        assert 0 < sum(share["bytes"] for share in each["shares"]) <= 3 * 4000 * 17 * 4 // 10, each
    assert set(found[2]["bytes_moved"]) == {"dram>emulated:cxl", "emulated:cxl>dram"}, found[2]

    alone = folder / "one.json"
    assert run("--samples", "2000", "--share", "size", "--json", str(alone), *SMALL_LOG).returncode == 0
    (again,) = runs_in(alone)
    assert again["share"] == "size" and len({share["slots"] for share in again["shares"]}) == 1, again
    assert again["name"] == "tiered" and again["checksum"] == found[2]["checksum"], again


def limits_what_runs_apart(folder):
    ended = run("--run", "os_paging_random", "--paging-seconds", "0.001", "--json", "-", *SMALL_LOG)
    (part,) = json.loads(ended.stdout)["runs"]
    assert part["out_of_time"] and not part["complete"] and part["auc"] is None, part
    assert part["samples"] == 64 and part["checksum"] == "n/a", part  # the batch it began
    assert "(in part)" in run("--run", "os_paging_random", "--paging-seconds", "0.001", *SMALL_LOG).stdout

    slow = ["--slow", f"file:{folder}:256MiB", "--reserve", "6MiB"]  # under a sanitizer what was freed stays
    large = ["--table-bytes", "64MB", "--fast", "25%", "--samples", "1000", *SMALL_LOG[:2], *SMALL_LOG[4:]]
    file = folder / "limited.json"
    ended = run("--compare", "--limited", "--json", str(file), *slow, *large)
    if "no memory control group can be made" in ended.stderr:
        return print("SKIPPED: " + ended.stderr)
    assert ended.returncode == 0 and "the runs in two tiers may use" in ended.stdout, ended
    found = runs_in(file)
    assert len({each["checksum"] for each in found + found[-1]["variants"]}) == 1, found
    limit = float(re.search(r"may use ([0-9.]+) MiB", ended.stdout)[1]) + 0.01  # as rounded
    for each in found[2:] + found[-1]["variants"]:
        assert 0 < each["peak_bytes"] <= limit * 2**20, (limit, each)  # of all the process


def sweeps(folder):
    plot = folder / "it's\nset print 'of a second line'"
    arguments = ["--sweep", "--plot", str(plot), "--json", str(folder / "sweep.json"), "--samples", "300"]
    arguments += ["--table-bytes", "16MB", "--dim", "32", *SMALL_LOG[:2], *SMALL_LOG[6:]]
    ended = run(*arguments)
    assert ended.returncode == 0, ended
    found = runs_in(folder / "sweep.json")
    assert len({each["checksum"] for each in found}) == 1, found
    names = ["tiered", "lru", "first_touch"] + ([] if LEFT_OUT in ended.stderr else ["os_paging"])
    sizes = ["5%", "10%", "20%", "50%", "100%"]
    assert [(each["fast"], each["name"]) for each in found[1:]] == [(size, name) for size in sizes for name in names]
    table = [line.split() for line in ended.stdout.splitlines()]
    assert [line[0] for line in table if line and line[0] in sizes] == sizes, ended.stdout
    drawn = [plot.with_name(plot.name + suffix) for suffix in (".svg", ".png")]
    if shutil.which("gnuplot"):
        assert drawn[0].read_bytes().startswith(b"<?xml") and drawn[1].read_bytes().startswith(b"\x89PNG"), ended
    without = run(*arguments, path="/nowhere")
    assert without.returncode == 0 and "gnuplot is missing" in without.stderr, without
    script = plot.with_name(plot.name + ".gnuplot").read_text()
    assert "it''s set print ''of a second line''.svg'\n" in script and "\nset print" not in script, script


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


def ends_with_3_where_nothing_was_learned(folder):
    """After all results; a run in a process of its own that has learned nothing has not failed."""
    diverging = ["--samples", "300", "--rate", "1e30", *SMALL_LOG]
    told = "tier-dlrm: {} has learned nothing: its loss is no finite number; a smaller --rate may help\n"
    alone = run("--run", "plain", "--json", "-", *diverging)
    assert alone.returncode == 3 and alone.stderr == told.format("plain"), alone
    assert [each["train_loss"] for each in json.loads(alone.stdout)["runs"]] == [None], alone
    file = folder / "diverged.json"
    ended = run("--compare", "--json", str(file), *diverging)
    names = [*IN_PROCESS] if LEFT_OUT in ended.stderr else [*IN_PROCESS, "os_paging"]
    assert ended.returncode == 3 and [each["name"] for each in runs_in(file)] == names, ended
    assert all(told.format(name) in ended.stderr and f"\n{name} " in ended.stdout for name in names), ended


CRITEO = "1" + "\t5" * 13 + "\t0000abcd" * 26 + "\n" + "0" + "\t" * 39 + "\n"


def reads_what_comes_once(folder):
    """From a pipe, packed, with a line that is skipped; a run that is a process of its own is left out or refused."""
    log = gzip.compress(("bad\n" + CRITEO * 50).encode())
    options = ["--data", "-", "--format", "criteo", "--rows", "100", "--dim", "8", "--batch", "16"]
    ended = subprocess.run([PROGRAM, *options, "--run", "plain", "--json", "-"], input=log, capture_output=True, timeout=120)
    (run_of_it,) = json.loads(ended.stdout)["runs"]
    assert ended.returncode == 0 and run_of_it["complete"] and run_of_it["samples"] == 90, (ended, run_of_it)
    assert ended.stderr == (b'tier-dlrm: log "-": line 1, field 2 (I1): missing, the line has 1 of 40 fields\n'
                            b"tier-dlrm: 1 bad lines were skipped\n"), ended.stderr  # fmt: skip
    file = folder / "log.gz"
    file.write_bytes(log)
    kept = run(*options[:1], str(file), *options[2:], "--run", "plain", "--json", "-")
    assert json.loads(kept.stdout)["runs"][0]["checksum"] == run_of_it["checksum"], (kept, run_of_it)
    bags = "".join(f"{user} {user} {user + 1}\n" for user in range(40)) + "41\n42 7\n"
    options = ["--data", "-", "--format", "bags", "--rows", "100", "--dim", "8", "--batch", "16", "--run", "plain"]
    ended = subprocess.run([PROGRAM, *options], input=bags, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0 and ended.stderr == (
        'tier-dlrm: 2 lines hold no record and were skipped, the first: log "-": line 41: fewer than two items in the bag\n'
    ), ended  # fmt: skip


def reads_a_folder_of_days(folder):
    days = folder / "days"
    days.mkdir()
    options = ["--format", "criteo", "--rows", "100", "--dim", "8", "--batch", "16", "--run", "plain", "--json", "-"]
    texts = [CRITEO * 20, CRITEO.replace("\t5", "\t77") * 20, CRITEO * 10]
    for number, text in zip((1, 2, 10), texts):
        (days / f"day_{number}").write_text(text)
    (folder / "all").write_text("".join(texts))
    found = [json.loads(run("--data", str(folder / name), *options).stdout)["runs"][0] for name in ("days", "all")]
    assert found[0]["checksum"] == found[1]["checksum"] and found[0]["samples"] == 90, found


def refuses_what_can_be_read_only_once():
    log = (CRITEO * 50).encode()
    options = ["--data", "-", "--format", "criteo", "--rows", "100", "--dim", "8", "--batch", "16"]
    once = 'the log "-" can be read only once, but this run would read it again in a process of its own'
    limited = [*options, "--limited", "--slow", "file:/var/tmp:64MiB"]
    ended = subprocess.run([PROGRAM, *limited], input=log, capture_output=True, timeout=120)
    assert ended.returncode == 2 and f"--limited: {once}" in ended.stderr.decode(), ended


def names_what_is_wrong(folder):
    malformed = folder / "malformed.tsv"
    malformed.write_text("no click log\n" * 100)
    for arguments, part in [
        (["--tabels", "3"], "--tabels"),
        (["--batch", "many"], "--batch"),
        (["--policy", "psychic"], 'unknown policy "psychic"'),
        (["--policy", "lru:colour=red"], "colour"),
        (["--row-policy", "psychic"], "first_touch, hint_aware, lfu, lru"),
        (["--slow", "tape:/x:1GiB"], "tape"),
        (["--fast", "64Mib"], '"Mib"'),
        (["--run", "walk"], "os_paging_willneed"),
        (["--limited"], "--limited is for a slow tier that is a file"),
        (["--run", "tiered", "--limited", "--slow", "file:/var/tmp:1GiB", "--reserve", "9GB"], "leaves nothing"),
        (["--paging-seconds", "-1"], "--paging-seconds"),
        (["--data", str(malformed), "--format", "criteo"], "line 1"),
    ]:
        ended = run(*arguments, *([] if "--data" in arguments or "--run" in arguments else ["--compare"]))
        assert ended.returncode == 2, (arguments, ended)
        assert ended.stderr.startswith("tier-dlrm: ") and part in ended.stderr, (part, ended.stderr)
        assert ended.stdout == "", ended.stdout

    ended = run("--samples", "100", "--json", str(folder / "missing" / "x.json"), *SMALL_LOG)
    assert ended.returncode == 1 and "x.json" in ended.stderr, ended
    assert ended.stdout == "", ended.stdout  # before anything is measured
    help_text = run("--help")
    assert help_text.returncode == 0 and "3 if a run has learned nothing" in help_text.stdout, help_text


with tempfile.TemporaryDirectory() as name:
    compares_all_runs(Path(name))
    limits_what_runs_apart(Path(name))
    sweeps(Path(name))
    if has_terminals():
        ends_with_the_table_so_far(Path(name))
        ends_at_once_at_the_second_interrupt()
    keeps_what_ran_before_a_run_fails(Path(name))
    ends_with_3_where_nothing_was_learned(Path(name))
    reads_what_comes_once(Path(name))
    reads_a_folder_of_days(Path(name))
    refuses_what_can_be_read_only_once()
    names_what_is_wrong(Path(name))
