# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tier-index finds the same in every run, small and large runs alike, and says what is wrong with its options;
tier-relocate keeps pointers good.

    check_program.py TIER_INDEX TIER_RELOCATE TIER
    check_program.py TIER_INDEX  # of real text, that of the data sets which TIER_DATA names
"""
import gzip
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

INDEX, *OTHERS = sys.argv[1:]
SKIPPED = 77
DOCUMENTS, QUERIES = 6000, 200
SMALL = ["--documents", str(DOCUMENTS), "--queries", str(QUERIES)]
SMALLER = ["--fast", "40%", "--documents", "500", "--queries", "100"]  # where a fault takes long
ALONE = ["--fast", "4MiB", *SMALL]  # what a run alone has to be told
RUNS = ["std", "scopes", "no_scopes", "os_paging"]
LEFT_OUT = "os_paging is left out: "  # and why no control group can be made, as the program found when it tried
PAGING_SECONDS = "60"  # of which each variant takes a few
FIELDS = {
    "name": str,
    "build_s": float,
    "queries_per_s": float,
    "checksum": str,
    "words": int,
    "documents": int,
    "queries": int,
    "memory": dict,
    "bytes_moved": dict,
    "container_bytes": int,
    "peak_bytes": int,
    "mappings": int,
}
MAX_MAP_COUNT = 1000  # of a system that allows few mappings; its usual setting is 65,530


# A build with AddressSanitizer keeps what is freed, which must not fill what runs under a limit may use.
ENVIRONMENT = os.environ | {"ASAN_OPTIONS": "quarantine_size_mb=1:thread_local_quarantine_size_kb=64"}


def skip(why):
    print("skipped: " + why)
    sys.exit(SKIPPED)


def run(*arguments, program=INDEX):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=250, env=ENVIRONMENT)


def runs_in(file):
    return json.loads(file.read_text())["runs"]


def check_fields(each):
    for field, kind in FIELDS.items():
        assert type(each[field]) is kind, (field, each)
    for phase in ("build_faults", "query_faults"):
        assert set(each[phase]) == {"minor", "major", "window"}, each
    assert re.fullmatch("[0-9a-f]{16}", each["checksum"]), each
    assert each["build_s"] > 0 and each["queries_per_s"] > 0 and each["words"] > 0, each
    assert each["documents"] == DOCUMENTS and each["queries"] == QUERIES, each


def compare(folder, *more):
    """All runs, which find the same. os_paging may be missing only where the system lets us limit no memory."""
    file = folder / "all.json"
    ended = run("--json", str(file), "--paging-folder", "/var/tmp", "--paging-seconds", PAGING_SECONDS, *SMALL, *more)
    assert ended.returncode == 0, ended
    left_out = LEFT_OUT in ended.stderr
    found = runs_in(file)
    names = [each["name"] for each in found]
    assert names == (RUNS[:3] if left_out else RUNS), (names, ended.stderr)
    if left_out:
        print("SKIPPED: os_paging: " + ended.stderr)
    for each in found:
        check_fields(each)
        assert each["checksum"] == found[0]["checksum"], (each, found[0])
    return ended.stdout, found


def compares_all_runs(folder):
    printed, found = compare(folder)
    std, scopes, without = found[:3]
    assert std["container_bytes"] > 3_000_000, std
    for each in (scopes, without):
        assert each["memory"]["dram"] <= std["container_bytes"] / 10, (each, std)
        assert each["memory"]["emulated:cxl"] > each["memory"]["dram"], each
        assert each["bytes_moved"]["emulated:cxl>dram"] > 2 * each["memory"]["dram"], each
        assert each["build_faults"]["window"] > 0, each
        assert each["mappings"] < MAX_MAP_COUNT, each
    assert scopes["query_faults"]["window"] < without["query_faults"]["window"], (scopes, without)
    header, *lines = printed.splitlines()
    assert header.split()[:3] == ["run", "build", "queries/s"], header
    assert [line.split()[0] for line in lines if line[0] not in " *"] == [each["name"] for each in found], printed
    return std["checksum"]


def repeats_runs(folder):
    file = folder / "repeated.json"
    ended = run("--runs", "scopes", "--repeat", "2", "--json", str(file), *SMALLER)
    assert ended.returncode == 0, ended
    found = runs_in(file)
    assert [len(each["repeats"]) for each in found] == [2, 2], found
    assert len({each["checksum"] for whole in found for each in (whole, *whole["repeats"])}) == 1, found


def runs_on_files(folder):
    for kind in ("mapped", "file"):
        file = folder / f"{kind}.json"
        slow = f"{kind}:{folder}:256MiB"
        ended = run("--runs", "scopes,no_scopes", "--slow", slow, "--json", str(file), *SMALLER)
        assert ended.returncode == 0, ended
        found = runs_in(file)
        assert [each["name"] for each in found] == RUNS[:3], found
        assert len({each["checksum"] for each in found}) == 1, found
        assert all(each["memory"][kind] > each["memory"]["dram"] for each in found[1:]), found


def runs_where_the_system_pages(folder):
    """Each alone: under a limit the system pages what AddressSanitizer needs, too, for ever."""
    (std,) = json.loads(run("--run", "std", "--json", "-", *SMALL).stdout)["runs"]
    for name in ("scopes", "no_scopes"):
        for slow in ("emulated:cxl:256MiB", f"file:{folder}:256MiB"):
            alone = run("--windows", "restricted", "--run", name, "--slow", slow, "--json", "-", *ALONE)
            assert alone.returncode == 0, alone
            (each,) = json.loads(alone.stdout)["runs"]
            check_fields(each)
            assert each["checksum"] == std["checksum"], (each, std)
            assert each["build_faults"]["window"] + each["query_faults"]["window"] == 0, each
            assert each["mappings"] < MAX_MAP_COUNT, each


def answers_do_not_depend_on_speed(checksum):
    for more in (["--batch", "1"], ["--prefetch"], ["--policy", "lru"]):
        alone = run("--run", "scopes", "--json", "-", *more, *ALONE)
        (each,) = json.loads(alone.stdout)["runs"]
        assert each["checksum"] == checksum, (more, each)
    (other,) = json.loads(run("--run", "std", "--seed", "2", "--json", "-", *SMALL).stdout)["runs"]
    assert other["checksum"] != checksum, other


def indexes_text(folder):
    texts = folder / "texts"
    texts.mkdir()
    words = [f"w{i}" for i in range(4000)]
    (texts / "a.txt").write_text(". ".join(" ".join(words[i : i + 9]) for i in range(0, 4000, 3)))
    (texts / "b.txt").write_text("Some MORE words, here! " * 5)
    (texts / "c.dat").write_text("unread")
    small = ["--run", "std", "--json", "-", "--documents", "100", "--queries", "50"]
    (whole,) = json.loads(run("--text", str(texts), *small).stdout)["runs"]
    (part,) = json.loads(run("--text", str(texts / "a.txt"), *small).stdout)["runs"]
    assert whole["words"] > 0 and whole["checksum"] != part["checksum"], (whole, part)
    indexes_text_of_any_form(texts, small, whole, part)


def zstd(data):
    """A frame of one block as it is, of which the standard library has no writer."""
    assert len(data) < 1 << 17
    return struct.pack("<IBI", 0xFD2FB528, 0xA0, len(data)) + (len(data) << 3 | 1).to_bytes(3, "little") + data


def indexes_text_of_any_form(texts, small, whole, part):
    """Packed, with a byte order mark and lines of Windows, or from the standard input: what is indexed is the same."""
    plain = (texts / "a.txt").read_bytes()
    forms = {"a.gz": gzip.compress(plain), "a.zst": zstd(plain), "bom": b"\xef\xbb\xbf" + plain.replace(b". ", b".\r\n")}
    for name, data in forms.items():
        (texts / name).write_bytes(data)
        for source, given in ((str(texts / name), None), ("-", data)):
            ended = subprocess.run([INDEX, "--text", source, *small], input=given, capture_output=True, timeout=250, env=ENVIRONMENT)
            if name == "a.zst" and b"libzstd" in ended.stderr:
                print("SKIPPED: text packed by zstd: " + ended.stderr.decode())
                continue
            (each,) = json.loads(ended.stdout)["runs"]
            assert ended.returncode == 0 and each["checksum"] == part["checksum"], (name, source, ended)
    # A file that is there packed, too, is indexed once.
    for name in ("a.txt.gz", "b.txt.zst"):
        (texts / name).write_bytes(b"this is not looked at")
    (again,) = json.loads(run("--text", str(texts), *small).stdout)["runs"]
    assert again["checksum"] == whole["checksum"] and again["words"] == whole["words"], (again, whole)
    (texts / "a.txt").unlink()
    (texts / "a.txt.gz").write_bytes(forms["a.gz"])
    (again,) = json.loads(run("--text", str(texts), *small).stdout)["runs"]
    assert again["checksum"] == whole["checksum"], (again, whole)


def indexes_real_text(folder, text):
    _, (std, *_) = compare(folder, "--text", text)
    assert 200 * (std["documents"] - 1) <= std["words"] <= 264 * std["documents"], std  # up to the end of a sentence
    (generated,) = json.loads(run("--run", "std", "--json", "-", *SMALL).stdout)["runs"]
    assert std["checksum"] != generated["checksum"], (std, generated)


def names_what_is_wrong(folder):
    empty = folder / "empty.txt"
    empty.write_text("... \n")
    (folder / "none").mkdir()
    for arguments, part in [
        (["--txet", "x"], "--txet"),
        (["--text", "/nonexistent/file"], "--text /nonexistent/file: there is no such file or folder"),
        (["--text", str(empty), "--run", "std"], "there are no words in it"),
        (["--text", str(folder / "none"), "--run", "std"], "no files *.txt"),
        (["--documents", "5"], "--documents must be from 100"),
        (["--queries", "0"], "--queries must be at least 1"),
        (["--queries", str(2**64 - 1)], "--queries 18446744073709551615 is too large: allowed are 1 to 100000000"),
        (["--text", "-"], "--text - can be read only once, and each run is a process that reads it"),
        (["--repeat", "0"], "--repeat must be at least 1"),
        (["--batch", "0"], "--batch must be at least 1"),
        (["--skew", "steep"], "unknown skew"),
        (["--fast", "0%"], 'bad size or share of fast memory at position 0 of "0%"'),
        (["--fast", "64Mib"], '"Mib"'),
        (["--slow", "tape:/x:1GiB"], "tape"),
        (["--slow", "dram:1GiB;dram:1GiB"], "--slow takes one tier"),
        (["--windows", "open"], "open not in {full,restricted}"),
        (["--policy", "psychic"], 'unknown policy "psychic"'),
        (["--runs", "walk"], "walk"),
        (["--run", "scopes", "--fast", "10%"], "--fast 10% is a share of what the run std takes; give a size"),
    ]:
        ended = run(*arguments)
        assert ended.returncode == 2, (arguments, ended)
        assert ended.stderr.startswith("tier-index: ") and part in ended.stderr, (part, ended.stderr)
        assert ended.stdout == "", ended.stdout
    assert run("--help").returncode == 0


def keeps_what_ran_before_a_run_fails():
    ended = run("--runs", "scopes", "--slow", "emulated:cxl:1MiB", *SMALL)  # too small for the index
    assert ended.returncode == 1 and "the run scopes ended with status 1" in ended.stderr, ended
    assert ended.stdout.splitlines()[1].startswith("std "), ended.stdout


def relocates(folder, relocate):
    for slow in ([], ["--slow", f"file:{folder}:256MiB"]):
        ended = run("--size", "24MiB", *slow, program=relocate)
        assert ended.returncode == 0, ended
        lines = ended.stdout.splitlines()
        assert "pointers held meanwhile are valid" in lines[-1], ended.stdout
        moved, of = re.match(r"([0-9.]+ MiB) of ([0-9.]+ MiB) moved each way", lines[-1]).groups()
        assert moved == of, ended.stdout
        rows = [line.split()[0] for line in lines]
        assert "tier::migrate" in rows, ended.stdout
        assert ("move_pages(2)" in rows) != ("skipped: move_pages(2)" in ended.stdout), ended.stdout
        assert ("rebuilding" in rows) == (not slow), ended.stdout
        assert ("skipped: rebuilding" in ended.stdout) == bool(slow), ended.stdout
    ended = run("--size", "much", program=relocate)
    assert ended.returncode == 2 and ended.stderr.startswith("tier-relocate: "), ended
    for size in ("0", "8388607TiB"):  # of no element; of more than can be, twice over
        ended = run("--size", size, program=relocate)
        assert ended.returncode == 2 and "allowed are 4KiB to 1024TiB" in ended.stderr, ended


def why_no_windows(tier):
    userfaultfd = json.loads(run("info", "--json", program=tier).stdout)["machine"]["userfaultfd"]
    return "" if userfaultfd["usable"] else userfaultfd["reason"]


def check_real_text(folder):
    data = os.environ.get("TIER_DATA")
    if not data:
        skip("TIER_DATA names no folder with the data sets")
    indexes_real_text(folder, str(Path(data, "text")))


def check_programs(folder, relocate, tier):
    indexes_text(folder)
    names_what_is_wrong(folder)
    runs_where_the_system_pages(folder)
    if why_not := why_no_windows(tier):
        skip("what full windows do: " + why_not)
    checksum = compares_all_runs(folder)
    repeats_runs(folder)
    runs_on_files(folder)
    answers_do_not_depend_on_speed(checksum)
    keeps_what_ran_before_a_run_fails()
    relocates(folder, relocate)


with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
    if OTHERS:
        check_programs(Path(name), *OTHERS)
    else:
        check_real_text(Path(name))
