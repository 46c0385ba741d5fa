# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tier trace` says what a trace has or what is wrong with it, and converts it: check_trace.py TOOL HAS-ZSTD docs/traces.md"""
import gzip
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

TOOL, HAS_ZSTD, PAGE = sys.argv[1], sys.argv[2] == "1", Path(sys.argv[3]).read_text()
(EXAMPLE,) = re.findall(r"```text\n(H tmtrace.*?)```", PAGE, re.DOTALL)
COUNTS = """  tensors     4
  kernels     4
  iterations  1
  events      8
  peak        12746752 bytes alive at once (12.16 MiB)
"""
LARGE = "H tmtrace=1\n" + "".join(f"T {i} {i * i} p name{i * 7919 % 10007}\n" for i in range(20_000))


def run(*arguments, **options):
    return subprocess.run([TOOL, "trace", *map(str, arguments)], capture_output=True, text=True, **options)


def check_refused(message, *arguments, **options):
    ended = run(*arguments, **options)
    assert ended.returncode == 1 and ended.stdout == "" and ended.stderr == f"tier: {message}\n", ended


def limit_file_size():
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))


def has_files_without_names(folder):
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
        return True
    except OSError as error:
        print(f"a signal in the middle of an output is left out: {error}")
        return False


def check_check(folder):
    trace = folder / "example"
    trace.write_text(EXAMPLE)
    ended = run("check", trace)
    assert ended.returncode == 0 and ended.stdout == f"{trace}: a trace that keeps every rule\n{COUNTS}", ended
    assert ended.stderr == "", ended

    trace.write_text(EXAMPLE.replace("X 3", "X 4"))
    check_refused(f'{trace}:12: tensor 4 is not declared: no line T before this line declares it, in "X 4"', "check", trace)
    trace.write_text(EXAMPLE.replace("sgd", "SGD"))
    line = EXAMPLE.count("\n")
    check_refused(
        f'{trace}:{line}: the CRC-32 of the bytes before E is wrong: the bytes were changed, in "{EXAMPLE.splitlines()[-1]}"',
        "check", trace,
    )  # fmt: skip
    trace.write_bytes(gzip.compress(EXAMPLE.encode())[:-20])
    ended = run("check", trace)
    assert ended.returncode == 1 and "the file is cut off: its gzip stream has no end" in ended.stderr, ended
    check_refused(f'open of "{folder}/none": No such file or directory', "check", folder / "none")
    check_refused(f'read of "{folder}": Is a directory', "check", folder)
    trace.write_text(EXAMPLE)
    for option, what in (("line", "a line"), ("text", "a text"), ("memory", "a trace that takes")):
        ended = run("check", trace, f"--max-{option}", "40")
        assert ended.returncode == 1 and f": {what}" in ended.stderr and "more than 40" in ended.stderr, ended


def check_convert(folder):
    text, packed, back = folder / "text", folder / "packed.gz", folder / "back"
    # Neither canonical, nor with an end.
    body = "".join(line + "\n" for line in EXAMPLE.splitlines()[:-1])
    text.write_text(body.replace(" R - ", "  R\t- ").replace("U 0\n", "U 0 O -\nnote that is dropped\n"))
    for out in (packed, back):
        ended = run("convert", text, out)
        assert ended.returncode == 0 and ended.stdout + ended.stderr == "", ended
    assert back.read_text() == EXAMPLE, back.read_text()
    assert gzip.decompress(packed.read_bytes()).decode() == EXAMPLE
    if HAS_ZSTD:
        ended = run("convert", packed, folder / "packed.zst")
        assert ended.returncode == 0, ended
        assert (folder / "packed.zst").read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
        packed = folder / "packed.zst"
    else:
        ended = run("convert", packed, folder / "packed.zst")
        assert ended.returncode == 1 and "libzstd-dev" in ended.stderr, ended
        assert not (folder / "packed.zst").exists()
    ended = run("convert", packed, "-", cwd=folder)  # to the standard output, even into the middle of a file
    assert ended.returncode == 0 and ended.stdout == EXAMPLE and not (folder / "-").exists(), ended
    with (folder / "log").open("w+") as log:
        log.write("before\n")
        log.flush()
        subprocess.run([TOOL, "trace", "convert", str(packed), "-"], stdout=log, check=True)
        log.seek(0)
        assert log.read() == "before\n" + EXAMPLE, log
    ended = run("convert", packed, packed)  # onto itself, and back
    assert ended.returncode == 0, ended
    assert run("convert", packed, back).returncode == 0
    assert back.read_text() == EXAMPLE


def check_forms(folder):
    """Text and binary, by the name or by --to, both ways."""
    text, binary, back = folder / "text", folder / "step.tt", folder / "back"
    text.write_text(EXAMPLE)
    for arguments in ((text, binary), (binary, back)):
        ended = run("convert", *arguments)
        assert ended.returncode == 0 and ended.stdout + ended.stderr == "", ended
    assert binary.read_bytes()[:8] == b"\x89TIERTR\n" and back.read_text() == EXAMPLE
    assert run("check", binary).stdout == f"{binary}: a trace that keeps every rule\n{COUNTS}"
    other = folder / "other"
    assert run("convert", "--to", "binary", back, other).returncode == 0
    assert other.read_bytes() == binary.read_bytes()
    assert run("convert", "--to", "text", binary, folder / "text.tt").returncode == 0
    assert (folder / "text.tt").read_text() == EXAMPLE
    packed = folder / "step.tt.gz"
    assert run("convert", text, packed).returncode == 0
    assert gzip.decompress(packed.read_bytes()) == binary.read_bytes()
    assert run("convert", packed, back).returncode == 0 and back.read_text() == EXAMPLE
    ended = run("convert", "--to", "other", text, back)
    assert ended.returncode != 0 and "--to" in ended.stderr and "text" in ended.stderr, ended
    binary.write_bytes(binary.read_bytes()[:-1])
    check_refused(f"{binary}: at byte 16: the file is cut off within a block", "check", binary)
    # A recording of nothing, cut off.
    recording = folder / "recording.tt"
    recording.write_bytes(b"\x89TIERTR\n" + bytes([1, 0, 0, 0, 1, 0, 0, 0]))
    ended = run("check", recording)
    assert ended.returncode == 0 and "  a recording without an end: read up to its last whole block\n" in ended.stdout, ended
    recording.write_bytes(recording.read_bytes() + block(b"\x84\0\0\x02\x07\0"))
    ended = run("check", recording)
    assert "  a recording that lacks 7 events, for which there was no room or memory\n" in ended.stdout, ended
    assert run("convert", recording, back).returncode == 0
    assert back.read_text().startswith("H tmtrace=1 recorded=1 unfinished=1 lost=7\n"), back.read_text()


def block(payload):
    return len(payload).to_bytes(4, "little") + zlib.crc32(payload).to_bytes(4, "little") + payload


def check_nothing_is_left(folder):
    """Of an output that fails: neither a part of it nor less of what was there."""
    source, out = folder / "large", folder / "out"
    source.write_text(LARGE)
    out.write_text("as it was")
    names = sorted(os.listdir(folder))
    check_refused(f'write of "{out}": File too large', "convert", source, out, restore_signals=False, preexec_fn=limit_file_size)
    if has_files_without_names(folder):
        assert run("convert", source, out, preexec_fn=limit_file_size).returncode == -signal.SIGXFSZ
    check_refused(f'open of "{folder}/none/out": No such file or directory', "convert", source, folder / "none" / "out")
    check_refused('write of "/dev/full": No space left on device', "convert", source, "/dev/full")
    source.write_text(LARGE + "cut off")
    ended = run("convert", source, out)
    assert ended.returncode == 1 and "its last line has no line break" in ended.stderr, ended
    assert sorted(os.listdir(folder)) == names and out.read_text() == "as it was"


def check_help():
    for command in ((), ("check",), ("convert",)):
        ended = run(*command, "--help")
        assert ended.returncode == 0 and re.search(r"Examples?:\n  tier trace ", ended.stdout), ended
    for arguments in ((), ("check",), ("convert", "a"), ("check", "a", "b"), ("check", "a", "--nonsense")):
        ended = run(*arguments)
        assert ended.returncode != 0 and ended.stdout == "" and ended.stderr != "", ended


for check in (check_check, check_convert, check_forms, check_nothing_is_left):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        check(Path(name))
check_help()
