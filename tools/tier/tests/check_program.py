# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What all commands of the program have: help, completion, a manual, errors, colours: check_program.py TOOL"""
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from tool import TOOL, check_refused, check_whole, on_terminal, run, works

MODES = ["0", "L", "LM", "LMP", "2LM_0", "2LM_M"]


def commands_of(text):
    listed = text.split("\nSubcommands:\n")[1:]
    return re.findall(r"^  (\w+)\s", listed[0].split("\n\n")[0], re.MULTILINE) if listed else []


def helps(*command):
    """By the words of a command its help, of all that there are."""
    text = works(*command, "--help")
    found = {command: text}
    for name in commands_of(text):
        found.update(helps(*command, name))
    return found


def options_of(text):
    """As the help has them: `  -o,--output FILE`."""
    names = re.findall(r"^\s+(-[\w-]+(?:,--[\w-]+)?)\b", text.split("Examples")[0], re.MULTILINE)
    return [one for name in names for one in name.split(",")]


HELPS = helps()


def check_help():
    assert len(HELPS) == 12 and {("info",), ("trace", "convert"), ("man",)} < set(HELPS), HELPS.keys()
    for command, text in HELPS.items():
        assert "--help" in options_of(text), text
        assert text.startswith("The papers' tables, replayed: not in this build") or re.search(r"Examples?:\n  \w", text), command
    assert len(set(options_of(HELPS[("plan",)]))) == 19, HELPS[("plan",)]


def completed(*words):
    """What bash has for the last word, and whether it goes on with files."""
    script = """source <(%s completion bash) && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    compopt() { [[ "$*" == "+o default" ]] && echo "no files"; }
    _tier && printf '%%s\\n' "${COMPREPLY[@]}" """
    ended = subprocess.run(["bash", "-c", script % TOOL, "bash", "tier", *words], capture_output=True, text=True)
    assert ended.returncode == 0 and ended.stderr == "", ended
    lines = [line for line in ended.stdout.splitlines() if line]
    return [line for line in lines if line != "no files"], "no files" not in lines


def check_completion(folder):
    """Every command and option of every help, and their values."""
    for command, text in HELPS.items():
        options, files = completed(*command, "-")
        assert set(options) == set(options_of(text)) and not files, (command, options)
        if commands_of(text):
            assert completed(*command, "") == (commands_of(text), False), command
    assert completed("re") == (["replay", "report"], False)
    assert completed("replay", "") == ([], True) and completed("trace", "check", "st") == ([], True)
    assert completed("info", "") == ([], False) and completed("plan", "--s") == (["--sync", "--svg"], False)
    assert completed("replay", "--mode", "") == (MODES, False)
    assert completed("replay", "step.trace", "--mode", "2") == (MODES[4:], False)
    assert completed("replay", "--mode", "=") == (MODES, False) and completed("replay", "--mode", "=", "LM") == (MODES[2:4], False)
    assert completed("trace", "convert", "--to", "") == (["text", "binary"], False)
    assert completed("probe", "-o", "") == ([], True) and completed("probe", "--name", "") == ([], False)
    assert completed("probe", "--name", "replay", "--") == completed("probe", "--")  # a value is no command
    assert completed("completion", "") == (["bash", "zsh"], False)
    for shell in ("bash", "zsh"):
        check_whole(folder / shell, "completion", shell, "-o")
        assert (folder / shell).read_text() == works("completion", shell)
    check_refused("SHELL", "completion", "tcsh")
    check_refused("SHELL", "completion")


# Prints what there is for each of the lines.
ZSHRC = """
cd $FOLDER && autoload -Uz compinit && eval "$SETUP"
exec 3>found
compadd() {
  local -a words
  [[ ${@[1,(i)(-|--)]} == *-[OAD]\\ * ]] || builtin compadd -O words "$@"
  (($#words)) && print -lu3 -- "word "$^words
  builtin compadd "$@"
}
zle-line-init() {
  local line
  for line in "${(@f)$(<lines)}"; do
    BUFFER=$line CURSOR=$#line
    print -u3 -- "line $line"
    zle list-choices
  done
  exit
}
zle -N zle-line-init
"""


def completed_in_zsh(folder, setup, lines):
    """By line the words that zsh has for its end."""
    (folder / ".zshrc").write_text(ZSHRC)
    (folder / "lines").write_text("\n".join(lines))
    shown = on_terminal("-d", "-i", program="zsh", ZDOTDIR=str(folder), FOLDER=str(folder), TOOL=TOOL, SETUP=setup)
    found = {}
    for kind, rest in (line.split(" ", 1) for line in (folder / "found").read_text().splitlines()):
        if kind == "line":
            words = found[rest] = set()
        else:
            words.add(rest)
    assert list(found) == lines, (lines, found, shown)
    return found


def check_completion_in_zsh(folder):
    """Likewise, by a file of a folder where zsh looks, and sourced."""
    if shutil.which("zsh") is None:
        print("SKIPPED: completion in zsh: zsh is missing")
        return
    works("completion", "zsh", "-o", folder / "_tier")
    files = {"_tier", "found", "lines"}
    expected = {
        "tier re": {"replay", "report"},
        "tier replay ": files,
        "tier trace check li": {"lines"},
        "tier info ": set(options_of(HELPS[("info",)])),
        "tier plan --s": {"--sync", "--svg"},
        "tier replay --mode ": set(MODES),
        "tier replay step.trace --mode 2": set(MODES[4:]),
        "tier replay --mode=LM": set(MODES[2:4]),
        "tier trace convert --to ": {"text", "binary"},
        "tier report -o ": files,
        "tier probe --name ": set(),
        "tier completion ": {"bash", "zsh"},
        "tier replay --policy lru --pol": {"--policy"},  # again
        "tier replay --json a --js": set(),
    }
    for command, text in HELPS.items():
        line = " ".join(["tier", *command, ""])
        expected[line + "-"] = set(options_of(text))
        if commands_of(text):
            expected[line] = set(commands_of(text))
    for setup in ("fpath=($FOLDER $fpath) && compinit -u -D", 'compinit -u -D && source <("$TOOL" completion zsh)'):
        found = completed_in_zsh(folder, setup, list(expected))
        wrong = {line: (got, expected[line]) for line, got in found.items() if got != expected[line]}
        assert not wrong, (setup, wrong)


def plain(page):
    """As a terminal shows it, without bold, on lines that are long."""
    ended = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-P-cbou", "-rLL=1000n"], input=page, capture_output=True, text=True)
    assert ended.returncode == 0 and ended.stderr == "", (ended.stderr, page)
    return ended.stdout


def check_manual(folder):
    """A page for each command, with all that is in its help."""
    works("man", "--into", folder)
    pages = {"-".join(["tier", *command]): command for command in HELPS if len(command) < 2}
    assert {p.name for p in folder.iterdir()} == {f"{name}.1" for name in pages}, os.listdir(folder)
    has_groff = shutil.which("groff") is not None
    if not has_groff:
        print("SKIPPED: how pages look: groff is missing")
    for name, command in pages.items():
        page = (folder / f"{name}.1").read_text()
        assert page == works("man", *command) and page.isascii(), name
        assert page.startswith(f".TH {name} 1 ".replace("-", "\\-")), page
        words = " ".join((plain(page) if has_groff else page.replace("\\fB", "").replace("\\fR", "").replace("\\", "")).split())
        for path, text in HELPS.items():
            if path[: len(command)] != command or (not command and path):
                continue
            for option in options_of(text):
                assert option in words, (name, option)
            usage = re.search(r"^Usage: (.*)$", text, re.MULTILINE)[1]
            assert usage in words and text.splitlines()[0] in words, (name, usage)
        if has_groff:
            for heading in ("NAME", "SYNOPSIS", "OPTIONS", "SEE ALSO"):
                assert f" {heading} " in words, (name, heading)
            for line in re.split(r"Examples?:\n", HELPS[command])[1:]:
                assert " ".join(line.split()) in words, (name, line)
        others = [other.replace("-", "\\-") for other in pages if other != name]
        assert all(f".BR {other} (1)" in page for other in others), (name, page)
    check_refused('no such command at position 0 of "sing"; allowed: info, trace,', "man", "sing")
    check_refused("--into is for all pages: leave out info", "man", "info", "--into", folder)
    check_refused(f'open of "{folder}/none/tier.1": No such file or directory', "man", "--into", folder / "none")


def check_errors(folder):
    check_refused('tier: tier has no command "inf" (did you mean "info"?); there are info, trace, ', "inf")
    check_refused('tier: tier trace has no command "checks" (did you mean "check"?); there are check, convert\n', "trace", "checks")
    check_refused('tier: tier has no option "--bogus" (tier --help lists them)\n', "--bogus=1", "info")
    assert run("inf").returncode > 1 and run("inf").stdout == ""
    """By what a shell asks: nothing, 1 for what could not be done, more for what was not understood."""
    assert run("--version").returncode == 0 and run("info", "--help").returncode == 0
    refused = run("info", "--tiers", "tape:1MiB")
    assert refused.returncode == 1 and refused.stderr.startswith("tier: ") and refused.stdout == "", refused
    unknown = run("replay", "--nonsense")
    assert unknown.returncode > 1 and unknown.stderr.startswith("tier: ") and "--help" in unknown.stderr, unknown
    assert run().returncode > 1 and run("sing").returncode > 1
    with open("/dev/full", "w") as full:
        trace = folder / "lost.trace"  # of which a text is said that is longer than a buffer
        trace.write_text(f"H tmtrace=1 recorded=1 lost={'9' * 100_000}\n")
        assert "9" * 100_000 in works("trace", "check", trace)
        ended = subprocess.run([TOOL, "trace", "check", trace], stdout=full, stderr=subprocess.PIPE, text=True)
        assert ended.returncode == 1 and ended.stderr.startswith("tier: writing to standard output: "), ended
        for arguments in (("info",), ("--help",), ("completion", "bash")):
            ended = subprocess.run([TOOL, *arguments], stdout=full, stderr=subprocess.PIPE, text=True)
            assert ended.returncode == 1, ended
            assert re.fullmatch(r"tier: .*: No space left on device\n", ended.stderr), ended
        assert subprocess.run([TOOL, "info", "--tiers", "tape:1MiB"], stderr=full).returncode == 1


def check_colours():
    red = b"\x1b[1m\x1b[31mtier:\x1b[0m"
    wrong = ("info", "--tiers", "tape:1MiB")
    assert on_terminal(*wrong).startswith(red), on_terminal(*wrong)
    assert on_terminal("replay", "--nonsense").startswith(red)
    assert on_terminal(*wrong, NO_COLOR="").startswith(red)  # empty is as if it were not set
    for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        shown = on_terminal(*wrong, **environment)
        assert b"\x1b" not in shown and shown.startswith(b"tier: "), (environment, shown)
    assert "\x1b" not in run(*wrong).stderr


check_help()
check_colours()
for check in (check_errors, check_completion, check_completion_in_zsh, check_manual):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        check(Path(name))
