# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the program share: it is the first argument of each."""
import os
import pty
import resource
import signal
import subprocess
import sys

TOOL = sys.argv[1]
MIB = 1 << 20
LIMIT = 100  # bytes of a file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # inherited where signals are not restored: writing fails instead


def run(*arguments, **options):
    return subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, **options)


def works(*arguments, **options):
    ended = run(*arguments, **options)
    assert ended.returncode == 0 and ended.stderr == "", ended
    return ended.stdout


def check_refused(message, *arguments, **options):
    """On stderr alone: what was asked for is on stdout."""
    ended = run(*arguments, **options)
    assert ended.returncode != 0 and message in ended.stderr, (message, ended)


def check_whole(path, *arguments):
    """What cannot be written to `path`, the last argument, is told by name and reason, and leaves nothing."""
    path.write_text("as it was")
    names = sorted(os.listdir(path.parent))
    limited = dict(restore_signals=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT)))
    ended = run(*arguments, path, **limited)
    assert ended.returncode == 1 and ended.stderr == f'tier: write of "{path}": File too large\n', ended
    assert path.read_text() == "as it was" and sorted(os.listdir(path.parent)) == names, names
    works(*arguments, path)
    assert len(path.read_text()) > LIMIT and sorted(os.listdir(path.parent)) == names, names
    check_elsewhere(path, *arguments)


def check_elsewhere(path, *arguments):
    """Likewise where no file can be, or none has room."""
    names = sorted(os.listdir(path.parent))
    none = path.parent / "none" / "file"
    check_refused(f'tier: open of "{none}": No such file or directory\n', *arguments, none)
    check_refused(f'tier: open of "{path.parent}": Is a directory\n', *arguments, path.parent)
    check_refused('tier: write of "/dev/full": No space left on device\n', *arguments, "/dev/full")
    assert sorted(os.listdir(path.parent)) == names, names


def on_terminal(*arguments, program=TOOL, **environment):
    """What a terminal gets, which is also its input."""
    ours, theirs = pty.openpty()
    env = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    running = subprocess.Popen([program, *map(str, arguments)], stdin=theirs, stdout=theirs, stderr=theirs,
                               env={**env, "TERM": "xterm", **environment}, start_new_session=True)
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # how Linux tells that nobody writes any more
        pass
    os.close(ours)
    running.wait()
    return shown
