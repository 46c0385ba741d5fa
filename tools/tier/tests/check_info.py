# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tier info` tells the tiers of a spec, of the environment, or found; what windows over them are; and what is wrong."""
import json
import os
import re
import resource
import tempfile
from pathlib import Path

import tool


def run(*arguments, **environment):
    env = {name: value for name, value in os.environ.items() if name not in ("TIER_TIERS", "TIER_WINDOWS", "TIER_MEASURED")}
    return tool.run("info", *arguments, env={**env, **environment})


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


def check_demotions(directory):
    """Each tier names the one to which a runtime's blocks go, passing by what costs more or what is on the same disk."""
    dram, cxl, file, mapped = "dram:8MiB", "emulated:cxl:8MiB", f"file:{directory}:8MiB", f"mapped:{directory}:8MiB"

    def targets(*tiers):
        told = info("--tiers", ";".join(tiers))["tiers"]
        return {tier["spec"]: tier["demotes_to"] for tier in told if "error" not in tier}

    assert targets(dram) == {dram: None}
    assert targets(file, cxl, dram) == {dram: cxl, cxl: file, file: None}
    assert targets(dram, mapped, file) == {dram: file, mapped: file, file: None}
    assert targets(dram, mapped) == {dram: mapped, mapped: None}
    assert targets(dram, "file:/no/such/directory:8MiB") == {dram: None}
    assert set(targets(*[dram] * 9).values()) == {None}  # of which no runtime can be made
    text = run("--tiers", f"{dram};{cxl}").stdout
    assert text.count("\n  demotes to              ") == 1 and f"  demotes to              {cxl}\n" in text, text


def check_moves(directory):
    """Where there are several tiers, a table of them as a runtime has them, and of what moves between all of them take."""
    dram, cxl, file, none = "dram:8MiB", "emulated:cxl:8MiB", f"file:{directory}:8MiB", "file:/no/such/directory:8MiB"
    title = "\nmoves of 1 MiB in us, from row to column, by the models; policies fetch to tier 1\n"

    def table(*tiers):
        text = run("--tiers", ";".join(tiers)).stdout
        return text.split(title)[1].split("\n\n")[0].splitlines() if title in text else None

    head, *rows = [line.split() for line in table(file, none, cxl, dram)]
    assert head == ["1", "2", "3", "demotes", "to"], head
    tiers = info("--tiers", f"{file};{none};{cxl};{dram}")["tiers"]
    order = [3, 2, 0]  # by speed
    assert [tier.get("place") for tier in tiers] == [3, None, 2, 1], tiers
    assert [row[:2] for row in rows] == [["1", dram], ["2", cxl], ["3", file]], rows
    assert [row[5:] for row in rows] == [["2"], ["3"], []], rows
    for i, row in zip(order, rows):
        costs = tiers[i]["seconds_to_copy_1_mib_to"]
        assert len(costs) == 4 and costs[1] is None, costs
        assert row[2:5] == ["-" if to == i else f"{costs[to] * 1e6:.1f}" for to in order], (row, costs)
        for to in order:
            rate = min(tiers[i]["read_bytes_per_second"], tiers[to]["write_bytes_per_second"])
            seconds = (1 << 20) / rate + (tiers[i]["latency_ns"] + tiers[to]["latency_ns"]) * 1e-9
            assert abs(costs[to] - seconds) < 1e-12, (costs[to], seconds)
    optane = "emulated:optane:8MiB"  # is written more slowly than it is read
    down, up = table(dram, optane)[1:]
    assert float(down.split()[3]) > 2 * float(up.split()[2]), (down, up)
    assert table(dram) is None and table(dram, none) is None and table(*[dram] * 9) is None


def check_models():
    """What can be emulated, with the numbers of docs/specs.md, each with its source, in JSON and in text."""
    told, text = info(), run().stdout
    models = {m["name"]: m for m in told["models"]}
    page = (Path(__file__).parents[3] / "docs" / "specs.md").read_text()
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+), ([\d.]+) GB/s \| (\d+) (ns|µs) \| (yes|no) \|$", page, re.MULTILINE)
    assert {row[0] for row in rows} == set(models) and len(rows) == 4, (rows, models)
    for name, read, written, latency, unit, addressable in rows:
        m = models[name]
        assert (m["read_bytes_per_second"], m["write_bytes_per_second"]) == (float(read) * 1e9, float(written) * 1e9), m
        assert m["latency_ns"] == int(latency) * (1 if unit == "ns" else 1000) and m["addressable"] == (addressable == "yes"), m
        assert m["source"] and m["source"] in text, m
        assert f"{read} GB/s read, {written} GB/s written, {m['latency_ns']} ns" in text, (m, text)
    like = info("--tiers", "dram:1MiB;emulated:cxl:1MiB")["tiers"][1]
    same = [key for key in models["cxl"] if key in like]
    assert len(same) == 7 and all(like[key] == models["cxl"][key] for key in same), like


def check_machines(folder):
    """Those of docs/replay.md, with their sources; each is a file for --machine, too."""
    told, text = info(), run().stdout
    page = (Path(__file__).parents[3] / "docs" / "replay.md").read_text()
    table = page.split("| machine | devices |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| ((?:`\w+`(?:, )?)+) \| ((?:`\w+`(?:, )?)+) \|", table, re.MULTILINE)
    documented = {name: re.findall(r"\w+", devices) for names, devices in rows for name in re.findall(r"\w+", names)}
    assert {m["name"]: [d["name"] for d in m["devices"]] for m in told["machines"]} == documented, documented
    step = folder / "step.trace"
    step.write_text("H tmtrace=1\nT 1 4096 p w\nT 2 4096 a x\nK conv3_f f 4e9 R 1 W 2 U -\nX 2\nI\n")
    for machine in told["machines"]:
        assert f"  {machine['name']} " in text and machine["source"] in text, machine
        for d in machine["devices"]:
            assert d["source"] and d["source"] in text, d
            rates = f"kernels {d['read'] / 1e9:.4g} GB/s and {d['store'] / 1e9:.4g} GB/s, {d['latency_ns']:.0f} ns"
            assert rates in text and f"copies {d['copy_read'] / 1e9:.4g} GB/s and {d['copy_write'] / 1e9:.4g} GB/s" in text, d
        file = folder / f"{machine['name']}.json"
        file.write_text(json.dumps(machine))
        replay = ("replay", step, "--tiers", ";".join(f"{d['name']}:1GiB" for d in machine["devices"]), "--machine")
        assert tool.works(*replay, file) == tool.works(*replay, machine["name"])


def check_measured(folder):
    """Rates of nodes from a file as `tier probe` writes it: of a node of this machine, and else refused."""
    told = info()
    device = told["machines"][0]["devices"][0]
    members = ("name", "source", "cores", "operations")
    measured = {**{name: value for name, value in told["machines"][0].items() if name in members}, "devices": [device]}
    ids = [node["id"] for node in told["machine"]["nodes"]]
    file = folder / "measured.json"

    def written(name):
        device["name"] = name
        file.write_text(json.dumps(measured))
        return file

    for node in info("--measured", written(f"numa:{ids[0]}"))["machine"]["nodes"]:
        speed = node["measured"]
        assert speed["read_bytes_per_second"] == (device["read"] if node["id"] == ids[0] else 0), speed
        assert speed["write_bytes_per_second"] == (device["store"] if node["id"] == ids[0] else 0), speed
    groups = info("--measured", file)["machine"]["node_groups"]
    of_node = [group for group in groups if ids[0] in group["nodes"]]
    declared = told["machine"]["nodes"][0]["speed"]["read_bytes_per_second"] > 0
    assert [group["speed_is"] for group in of_node] == ["declared" if declared else "measured"], groups
    if not declared:
        assert of_node[0]["read_bytes_per_second"] == device["read"], groups
        (tier,) = info("--measured", file, "--tiers", f"numa:{ids[0]}:1MiB")["tiers"]
        assert "error" in tier or tier["latency_ns"] == round(device["latency_ns"]), tier
        if len(ids) == 1:
            (tier,) = info("--tiers", "dram:1MiB", TIER_MEASURED=str(file))["tiers"]
            assert tier["read_bytes_per_second"] == device["read"], tier
    tool.check_refused(f"tier: {file}: none of its devices is a node of this machine, such as numa:{ids[0]}\n",
                       "info", "--measured", written("numa:1023"))
    tool.check_refused("none", "info", "--measured", folder / "none")


def check_memkind(kinds, text):
    """Each of its kinds, with its node or why there is none; nothing in a build without it."""
    names = ["HBW", "DAX_KMEM", "HIGHEST_CAPACITY", "HIGHEST_CAPACITY_LOCAL", "LOWEST_LATENCY_LOCAL", "HIGHEST_BANDWIDTH_LOCAL"]
    assert [kind["kind"] for kind in kinds] in ([], names), kinds
    assert ("\nmemkind\n" in text) == bool(kinds), text
    for kind in kinds:
        told = kind["description"] if kind["usable"] else kind["reason"]
        assert told.startswith("memory by memkind" if kind["usable"] else "memkind_check_available for tier memkind:"), kind
        assert f"{kind['kind']} " in text and told in text, kind


def check_limits():
    """Those of the system and of the process, and what it may do: as the kernel has them in files, and as they are lowered."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    fewer = min(soft, 321)
    ended = tool.run("info", "--json", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (fewer, hard)))
    told, text = json.loads(ended.stdout)["machine"], run().stdout
    assert told["open_files_limit"] == fewer, told
    mappings = int(Path("/proc/sys/vm/max_map_count").read_text())
    assert told["mappings_limit"] == mappings and f"  mappings, limit         {mappings}\n" in text, (told, text)
    effective = int(re.search(r"^CapEff:\s*(\w+)$", Path("/proc/self/status").read_text(), re.MULTILINE)[1], 16)
    numbers = {"CAP_IPC_LOCK": 14, "CAP_SYS_PTRACE": 19, "CAP_SYS_ADMIN": 21, "CAP_SYS_NICE": 23, "CAP_SYS_RESOURCE": 24}
    assert told["capabilities"] == [name for name, number in numbers.items() if effective >> number & 1], (told, effective)
    assert f"  capabilities            {', '.join(told['capabilities']) or 'none'}\n" in text, text


def check_warnings(directory):
    """Of tiers that can be made, and that do what nobody wants: in memory, larger than the disk, more than there is."""
    assert info("--tiers", f"dram:8MiB;file:{directory}:8MiB")["warnings"] == []
    huge = f"file:{directory}:1000TiB"
    (warning,) = info("--tiers", f"dram:8MiB;{huge}")["warnings"]
    assert re.fullmatch(rf"{re.escape(huge)}: the disk behind {directory} has [\d.]+ \w+ free of [\d.]+ \w+: allocations fail "
                        "when it is full; ask for less, or name another disk", warning), warning
    half = info()["machine"]["memory_total"] // 4096 * 3072
    both = f"dram:{half // 4096 * 4}KiB;emulated:cxl:{half // 4096 * 4}KiB"
    (warning,) = info("--tiers", both)["warnings"]
    assert warning.startswith("a runtime of these tiers is refused: memory of ") and "; ask for less" in warning, warning
    assert f"warnings\n  {warning.split(' (')[0]}" in run("--tiers", both).stdout, warning
    if any(line.split()[1:3] == ["/dev/shm", "tmpfs"] for line in Path("/proc/mounts").read_text().splitlines()):
        (warning,) = info("--tiers", "dram:8MiB;mapped:/dev/shm:8MiB")["warnings"]
        assert warning == ("mapped:/dev/shm:8MiB: /dev/shm lies in memory (tmpfs): the tier takes the memory that it should "
                           "spare; name a directory on a disk"), warning


check_models()
check_limits()
with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
    check_machines(Path(name))
    check_measured(Path(name))
    check_warnings(name)

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
    nodes, groups = told["machine"]["nodes"], told["machine"]["node_groups"]
    assert all(node["kind"] in ("dram", "hbm", "cxl", "pmem") for node in nodes), nodes
    assert {id for group in groups for id in group["nodes"]} == {node["id"] for node in nodes if node["allowed"]}
    assert all(len(group["seconds_to_copy_1_mib_to"]) == len(groups) for group in groups)

    text = run("--tiers", spec).stdout
    for part in ("machine", "io_uring", f"file:{directory}:1GiB", "direct I/O", "policies", "missing"):
        assert part in text, part

    check_demotions(directory)
    check_moves(directory)
    check_memkind(told["memkind"], run("--tiers", spec).stdout)
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
