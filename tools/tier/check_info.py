# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tier info` tells the tiers of a spec, of the environment, or found; what windows over them are; and what is wrong."""
import json
import os
import subprocess
import sys
import tempfile

TOOL = sys.argv[1]


def run(*arguments, **environment):
    env = {name: value for name, value in os.environ.items() if name not in ("TIER_TIERS", "TIER_WINDOWS")}
    return subprocess.run([TOOL, "info", *arguments], capture_output=True, text=True, env={**env, **environment})


def info(*arguments, **environment):
    ended = run("--json", *arguments, **environment)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def windows(*tiers, mode):
    return info("--tiers", ";".join(tiers), TIER_WINDOWS=mode)["windows"]


def check_windows(directory, by_default, userfaultfd):
    """What windows would be, and where restricted ones would lie: the slowest tier that has a file counts."""
    dram, cxl, file, mapped = "dram:8MiB", "emulated:cxl:8MiB", f"file:{directory}:8MiB", "mapped:/var/tmp:8MiB"
    assert by_default["mode"] == ("full" if userfaultfd["usable"] else "restricted"), by_default
    asked = {"mode": "restricted", "reason": "TIER_WINDOWS asks for it"}
    assert windows(file, dram, mode="restricted") == {**asked, "mapped_file_in": directory}
    assert windows(file, mapped, dram, mode="restricted") == {**asked, "mapped_file_in": directory}
    assert windows(dram, mapped, mode="restricted") == {**asked, "mapped_file_in": "/var/tmp"}
    assert windows(cxl, dram, mode="restricted") == {**asked, "mapped_file_in": None}
    no_memory = windows(mapped, file, mode="full")
    assert no_memory["mode"] is None and "has no pages that windows could take" in no_memory["reason"], no_memory
    full = windows(dram, file, mode="full")
    assert full == {"mode": "full"} if userfaultfd["usable"] else userfaultfd["reason"] in full["reason"], full

    text = run("--tiers", f"{dram};{file}", TIER_WINDOWS="restricted").stdout
    assert f"a mapped file in {directory}, beside that of {file}" in text, text
    ended = run(TIER_WINDOWS="half")
    assert ended.returncode == 1 and 'TIER_WINDOWS: "half" is neither full nor restricted' in ended.stderr, ended


with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
    spec = f"dram:64MiB;file:{directory}:1GiB;mapped:{directory}:1GiB;emulated:cxl:8MiB;simulated:optane:8TiB"
    told = info("--tiers", spec)
    assert told["source"] == "--tiers"
    assert ";".join(tier["spec"] for tier in told["tiers"]) == spec
    assert [tier["addressable"] for tier in told["tiers"]][:4] == [True, False, True, True]
    assert told["tiers"][0]["capacity"] == 64 << 20
    assert told["tiers"][1]["direct_io"]["usable"] in (True, False)
    assert told["tiers"][3]["emulated"] and not told["tiers"][0]["emulated"]
    assert told["tiers"][3]["latency_ns"] > 0
    assert {"first_touch", "hint_aware", "lru"} <= set(told["policies"])
    assert told["machine"]["cpus"] >= 1 and told["machine"]["memory_total"] > 0
    assert not any("CPU can reach" in missing["what"] for missing in told["missing"])

    text = run("--tiers", spec).stdout
    for part in ("machine", "io_uring", f"file:{directory}:1GiB", "direct I/O", "policies", "missing"):
        assert part in text, part

    check_windows(directory, told["windows"], told["machine"]["userfaultfd"])

    told = info(TIER_TIERS=f"file:{directory}:1MiB")
    assert told["source"] == "TIER_TIERS" and len(told["tiers"]) == 1
    assert any("CPU can reach" in missing["what"] for missing in told["missing"])

for pages, words in {"small": "in small pages", "huge": "% in huge pages"}.items():
    (tier,) = info("--tiers", f"dram:8MiB:pages={pages}")["tiers"]
    assert words in tier["description"], tier
(tier,) = info("--tiers", "dram:1TiB:pages=hugetlb")["tiers"]
assert "are missing: sysctl vm.nr_hugepages=" in tier["error"] or "has no reserved" in tier["error"], tier
node, nowhere = info("--tiers", "numa:0:8MiB;numa:1023:8MiB")["tiers"]
assert node["spec"] == "numa:0:8MiB" and nowhere["error"], nowhere
if "error" in node:  # no libnuma, or no nodes
    assert "numa:0" in node["error"], node
else:
    assert "memory of node 0" in node["description"] and "all are there" in node["description"], node
    assert "node 1023 for tier numa:1023" in nowhere["error"], nowhere

told = info("--tiers", "dram:1MiB;file:/no/such/directory:1MiB")
assert "/no/such/directory" in told["tiers"][1]["error"] and "error" not in told["tiers"][0]

told = info()
assert told["source"] == "found" and told["tiers"][0]["spec"].startswith("dram:")

ended = run("--tiers", "tape:1MiB")
assert ended.returncode == 1 and "tape" in ended.stderr, ended
ended = run("--tapes")
assert ended.returncode != 0 and "--tapes" in ended.stderr, ended
