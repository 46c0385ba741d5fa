# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tier-migrate as a user calls it: its options, and what it says where there is one node. check_program.py PROGRAM"""
import json
import subprocess
import sys


def run(*arguments):
    return subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True)


def refused(message, *arguments, status=None):
    ended = run(*arguments)
    assert ended.returncode == (status or ended.returncode) != 0, ended
    assert message in ended.stderr and ended.stdout == "", (message, ended)


help_text = run("--help")
assert help_text.returncode == 0
for option in ("--from", "--to", "--sizes", "--pages", "--repeats", "--json"):
    assert option in help_text.stdout, option

refused("--repeats: Value 2 not in range", "--repeats", "2")
refused("--pages: large not in {small,huge}", "--pages", "small,large")
refused("tier-migrate: --sizes: 5kB is no number of whole pages of 4 KiB", "--sizes", "4KiB,5kB", status=1)
refused("expected a size", "--sizes", "", status=1)
refused("tier-migrate: --sizes: 3689348814741913600 is too large: at most 1048576TiB are allowed", "--sizes", "3689348814741913600", status=1)
refused('of "many"', "--sizes", "many", status=1)
refused("tier-migrate: no object is left: huge pages are for --sizes from 2MiB up", "--sizes", "4KiB", "--pages", "huge", status=1)

ended = run("--sizes", "4KiB,2MiB", "--repeats", "3", "--json")
if ended.returncode == 77:
    assert ended.stdout == "" and "this process may have memory of one node only (1 of " in ended.stderr, ended
    sys.exit(0)
assert ended.returncode == 0, ended
told = json.loads(ended.stdout)
nodes = [node["id"] for node in told["machine"]["nodes"] if node["allowed"]]
assert told["from"] in nodes and told["to"] in nodes and told["from"] != told["to"], told
assert [(o["size"], o["pages"]) for o in told["objects"]] == [(4096, "small"), (2 << 20, "small"), (2 << 20, "huge")], told
refused(f"--from and --to are both node {nodes[0]}", "--from", str(nodes[0]), "--to", str(nodes[0]), status=1)
refused("--to 1023: this process may have memory of the nodes ", "--to", "1023", status=1)
there = run("--sizes", "4KiB", "--from", str(nodes[1]), "--to", str(nodes[0]))
assert there.returncode == 0 and f"from node {nodes[1]} to node {nodes[0]} and back, 9 times" in there.stdout, there
