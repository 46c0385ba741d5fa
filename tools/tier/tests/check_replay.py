# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tier replay`, `plan` and `probe` say what they were asked, or what is wrong: check_replay.py TOOL"""
import itertools
import json
import re
import tempfile
from pathlib import Path

from plan_checks import check_plan, check_plot
from step_files import MACHINE, TIERS, write_gathers, write_step
from tool import MIB, check_refused, check_whole, on_terminal, run, works


def check_replay(folder):
    step, out = folder / "step.trace", folder / "out.json"
    peak = write_step(step)
    text = works("replay", step, "--tiers", TIERS, "--policy", "hint_aware", "--policy", "belady", "--json", out)
    assert "on machine cachedarrays, per iteration" in text and "belady" in text, text
    runs = json.loads(out.read_text())["runs"]
    assert [r["policy"] for r in runs] == ["hint_aware", "belady"], runs
    for r in runs:
        assert r["seconds"] >= r["lower_bound_s"] > 0 and r["waiting_s"] >= 0, r
        assert peak <= r["peak_bytes"] <= peak + 2 * MIB, (peak, r)
        assert set(r["bytes"]) == {"dram", "optane"} and r["evictions"] > 0, r
        assert r["copied"]["dram>optane"] > 0 and 0 <= r["inputs_fast_share"] <= 1, r
        assert r["bytes"]["optane"]["written"] >= r["copied"]["dram>optane"], r

    def only(*options):
        works("replay", step, "--json", out, *options)
        (r,) = json.loads(out.read_text())["runs"]
        return r

    belady = runs[1]["seconds"]
    assert [r["belady_s"] for r in runs] == [belady] * 2, runs
    head, first = (line.split() for line in text.splitlines()[2:4])
    shown = dict(zip(head, first[:1] + [""] + first[1:]))  # no mode
    assert shown["moving"] == f"{runs[0]['moving_s']:.4g}" and runs[0]["moving_s"] > 0, (shown, runs[0])
    assert shown["belady"] == f"{runs[0]['seconds'] / belady:.2f}x" != shown["bound"], (shown, belady)

    # All of the options change what they say.
    modes = {m: only("--tiers", TIERS, "--mode", m) for m in ("0", "L", "LM", "LMP")}
    assert all(r["mode"] == m for m, r in modes.items()), modes
    assert len({r["seconds"] for r in modes.values()}) == 4, modes
    assert modes["LM"]["bytes"]["optane"]["written"] < modes["0"]["bytes"]["optane"]["written"], modes
    assert {r["belady_s"] for r in modes.values()} == {belady}, modes  # replayed though nobody asked for its row
    works("replay", step, "--tiers", TIERS, "--mode", "LM", "--policy", "lru", "--policy", "hint_aware", "--json", out)
    lru, with_mode = json.loads(out.read_text())["runs"]
    assert lru == only("--tiers", TIERS, "--policy", "lru") and lru["mode"] == "" and with_mode == modes["LM"], lru
    own = only("--tiers", TIERS, "--policy", "hint_aware:mode=LM")
    assert own["seconds"] == with_mode["seconds"] and own["mode"] == "", own
    check_refused("policy hint_aware:mode=L has a mode of its own; leave it or --mode LM out",
                  "replay", step, "--tiers", TIERS, "--mode", "LM", "--policy", "hint_aware:mode=L")  # fmt: skip
    ended = run("replay", step, "--tiers", TIERS, "--mode", "LM", "--policy", "lru", "--json", out)
    assert ended.returncode == 0 and ended.stderr == "tier: --mode LM has no effect: modes are of hint_aware, and no --policy is hint_aware\n", ended
    assert json.loads(out.read_text())["runs"] == [lru]
    sync, background = only("--tiers", TIERS), only("--tiers", TIERS, "--async")
    assert background["moving_s"] > 0 and background["seconds"] != sync["seconds"], (sync, background)
    assert only("--tiers", TIERS, "--mode", "0", "--iterations", "1") != modes["0"]  # what nobody has evicted yet is there
    check_refused("--iterations", "replay", step, "--tiers", TIERS, "--iterations", "0")
    assert only("--tiers", TIERS, "--machine", "autotm")["seconds"] > sync["seconds"]
    assert only("--tiers", "simulated:dram:64MiB;optane:4GiB") == sync
    fits = only("--tiers", "dram:4GiB;optane:4GiB")
    assert fits["waiting_s"] == 0 and fits["copied"] == {} and fits["inputs_fast_share"] == 1, fits
    assert "--compact" in works("replay", "--help") and only("--tiers", TIERS, "--compact")["seconds"] > 0

    check_refused("unknown device", "replay", step, "--tiers", "rom:1GiB")
    check_refused("h200", "replay", step, "--tiers", "rom:1GiB")  # one of those that there are
    check_any_devices(step, out)
    check_refused("unknown machine", "replay", step, "--tiers", TIERS, "--machine", "abacus")
    check_refused("has no such device", "replay", step, "--tiers", "cxl:1GiB", "--machine", "autotm")
    check_refused("machine redl has no such device", "plan", step, "--tiers", "dram;optane", "--machine", "redl")
    check_refused("a tier is a device and a size", "replay", step, "--tiers", "dram")
    check_refused("not a size", "replay", step, "--tiers", "dram:many")
    check_refused("size above zero", "replay", step, "--tiers", "dram:0B;optane:1GiB")
    check_refused("unknown policy", "replay", step, "--tiers", TIERS, "--policy", "clairvoyant")
    check_refused("--mode", "replay", step, "--tiers", TIERS, "--mode", "Q")
    check_refused("no room for", "replay", step, "--tiers", "dram:2MiB")
    check_refused("tier optane of 256TiB is too large behind a hardware cache of 64KiB",
                  "replay", step, "--mode", "2LM_0", "--tiers", "dram:64KiB;optane:256TiB")  # fmt: skip
    check_refused("No such file", "replay", folder / "none", "--tiers", TIERS)
    check_whole(out, "replay", step, "--tiers", TIERS, "--json")
    assert json.loads(works("replay", step, "--tiers", TIERS, "--json", "-"))["runs"], "no table before it"


def check_any_devices(step, out):
    """Whatever is known stands beside whatever else is; what kernels cost is of the machine of the fastest."""
    told = json.loads(works("info", "--json"))
    known = [d for machine in told["machines"] for d in machine["devices"]] + told["models"]
    reachable = {d["name"]: d["addressable"] for d in known}
    assert {"dram", "cxl", "optane", "redl", "nvme"} <= set(reachable), reachable
    for one, other in itertools.combinations(reachable, 2):
        if reachable[one] or reachable[other]:
            works("replay", step, "--tiers", f"{one}:4GiB;{other}:4GiB", "--policy", "first_touch", "--iterations", 1)

    def on(tiers, *options):
        text = works("replay", step, "--tiers", tiers, "--json", out, *options)
        (r,) = json.loads(out.read_text())["runs"]
        return re.search(r" on machine (.*), per iteration\n", text)[1], r

    name, together = on("dram:64MiB;cxl:4GiB")
    assert name == "cachedarrays with cxl of server" and set(together["bytes"]) == {"dram", "cxl"}, (name, together)
    assert on("cxl:4GiB;dram:64MiB") == (name, together)
    assert on("dram:64MiB;cxl:1GiB;nvme:4GiB")[0] == "cachedarrays with cxl of server, nvme"
    assert on("h200:64MiB;optane:4GiB")[0] == "h200_pcie5 with optane of cachedarrays"
    assert on("ddr5:64MiB;cxl:4GiB")[0] == "server"
    # Kernels of the one, with the other's device: what was measured of that counts.
    mine = next(m for m in told["machines"] if m["name"] == "h200_pcie5")
    theirs = next(m for m in told["machines"] if m["name"] == "cachedarrays")
    mine["devices"] += [d for d in theirs["devices"] if d["name"] == "optane"]
    mine["slow_downs"] = theirs["slow_downs"]
    file = step.parent / "together.json"
    file.write_text(json.dumps(mine))
    tiers = "h200:64MiB;optane:4GiB"
    assert on(tiers)[1] == on(tiers, "--machine", file)[1]


def check_rows(folder):
    trace, out = folder / "rows.trace", folder / "rows.json"
    write_gathers(trace)
    tiers = ("--tiers", "dram:16MiB;optane:1GiB")

    def only(*options):
        text = works("replay", trace, *tiers, "--json", out, *options)
        (r,) = json.loads(out.read_text())["runs"]
        return text, r

    text, some = only("--tables", "1MiB", "--policy", "lru")
    assert "rows of tables" in text and some["rows"]["gathered"] == 40 * 512, (text, some)
    assert 0 < some["rows"]["hits"] < some["rows"]["gathered"] and some["rows"]["written"] > 0, some
    assert some["copied"]["optane>dram"] == 128 * some["rows"]["read"] and some["rows"]["waiting_s"] > 0, some
    assert only("--policy", "lru")[1]["rows"]["read"] == 0  # all that is left of 16 MiB
    named = only("--tables", "1MiB", "--policy", "first_touch", "--row-policy", "lru")[1]
    assert named["rows"] == some["rows"], (named, some)
    check_refused("4294967295 iterations of a trace that asks table items for 10240 rows, in 40 gathers, are too many: allowed are up to "
                  "419430", "replay", trace, *tiers, "--tables", "1MiB", "--iterations", 2**32 - 1)  # fmt: skip
    best = only("--tables", "1MiB", "--policy", "belady")[1]["rows"]
    assert best["read"] < some["rows"]["read"], (best, some)
    ahead, hints = only("--tables", "1MiB", "--lookahead", "2")[1]["rows"], only("--tables", "1MiB")[1]["rows"]
    assert ahead["waiting_s"] < hints["waiting_s"], (ahead, hints)
    plan = works("plan", trace, "--tiers", "dram;optane", "--policy", "lru", "--lookahead", "0", "--points", "4")
    assert "lru" in plan, plan
    check_usual_memory(trace)
    check_refused("--row-policy", "replay", trace, *tiers, "--row-policy", "clairvoyant")
    check_refused("expected a size", "replay", trace, *tiers, "--tables", "much")
    check_refused("--lookahead", "replay", trace, *tiers, "--lookahead", "256")
    check_refused("is too small; their smallest caches take", "replay", trace, *tiers, "--tables", "1KiB")
    write_gathers(trace, listed=False)
    ended = run("replay", trace, *tiers, "--json", out)
    assert ended.returncode == 0 and "TIER_TRACE_ROWS=1" in ended.stderr, ended
    assert "rows" not in json.loads(out.read_text())["runs"][0]


def check_usual_memory(trace):
    """Tables have the share of fast memory that they had in the recording, or half, where other objects would leave less."""
    lines = trace.read_text().splitlines()
    large = [f"T {i} 1048576 p w" for i in range(10, 30)]  # more than there is, though never at once in a kernel
    kernels = [f"K fc_f f 1e6 R {i} W - U -" for i in range(10, 30)]

    def hits(*more):
        trace.write_text("\n".join([lines[0], *more, *large, *lines[1:-1], *kernels, "I"]) + "\n")
        text = works("replay", trace, "--tiers", "dram:8MiB;optane:1GiB", "--policy", "lru", "--json", "-")
        return json.loads(text)["runs"][0]["rows"]["hits"]

    half = hits()
    slots = ("T 4 524288 p items.slots", "T 5 524288 p users.slots")
    assert half > hits("c tiers=dram:16MiB;emulated:cxl:1GiB", *slots) > 0, half
    assert "does not fit" not in works("plan", trace, "--tiers", "dram;optane", "--at", "8MiB")


def check_slow_recording(folder):
    trace, out = folder / "recorded.trace", folder / "recorded.json"
    kernel = "K op f 1e9 R 1 W - U -\n"

    def seconds(places, *command):
        lines = "".join(kernel + f"k 1 {i}000 1000 1 {place}\n" for i, place in enumerate(places))
        trace.write_text(f"H tmtrace=1 recorded=1\nc tiers=dram:1GiB;emulated:cxl:8GiB\nT 1 1048576 p x\n{lines}I\n")
        ended = run("replay", trace, "--tiers", TIERS, "--json", out)
        assert ended.returncode == 0, ended
        planned = run("plan", trace, "--tiers", "dram;optane", "--points", 2).stderr
        assert ("with operands that were not in the fastest tier" in planned) == ("emulated:cxl" in places), planned
        return ended.stderr, json.loads(out.read_text())["runs"][0]["seconds"]

    quiet, recorded = seconds(["dram", "dram"])
    assert quiet == "" and abs(recorded - 2e-6) < 1e-8, (quiet, recorded)
    warned, computed = seconds(["dram", "emulated:cxl"])
    assert "1 of 2 kernels" in warned and computed > 1e-4, (warned, computed)
    trace.write_text(trace.read_text().replace("recorded=1", "recorded=1 lost=17 unfinished=1"))
    for ended in (run("replay", trace, "--tiers", TIERS), run("plan", trace, "--tiers", "dram;optane", "--points", 2)):
        assert ended.returncode == 0 and "lacks 17 events" in ended.stderr and "has no end" in ended.stderr, ended


def check_machine_files(folder):
    step, file = folder / "step.trace", folder / "machine.json"
    write_step(step)
    file.write_text(json.dumps(MACHINE))
    assert "on machine mine" in works("replay", step, "--tiers", "near:64MiB;far:4GiB", "--machine", file)

    def seconds(**changes):
        slow_movers = [{**device, "mover_read": 1e8, "mover_write": 1e8} for device in MACHINE["devices"]]
        file.write_text(json.dumps({**MACHINE, "devices": slow_movers, **changes}))
        out = folder / "step.json"
        works("replay", step, "--tiers", "near:64MiB;far:4GiB", "--machine", file, "--policy", "lru", "--json", out)
        return json.loads(out.read_text())["runs"][0]["seconds"]

    assert seconds() == seconds(copy_start_ns=0) < seconds(copy_start_ns=1000), seconds(copy_start_ns=1000)

    def refused(message, change):
        wrong = json.loads(json.dumps(MACHINE))
        change(wrong)
        file.write_text(json.dumps(wrong))
        check_refused(message, "replay", step, "--tiers", "near:64MiB;far:4GiB", "--machine", file)
        check_refused(str(file), "replay", step, "--tiers", "near:64MiB;far:4GiB", "--machine", file)

    refused("machine lacks operations", lambda m: m.pop("operations"))
    refused("operations a second must be above zero", lambda m: m.update(operations=0))
    refused("unknown member colour", lambda m: m.update(colour="red"))
    refused("machine.devices[1] has an unknown member speed", lambda m: m["devices"][1].update(speed=1))
    refused("machine.devices[0] lacks latency_ns", lambda m: m["devices"][0].pop("latency_ns"))
    refused("machine.devices[0] read is not a number", lambda m: m["devices"][0].update(read="fast"))
    refused("every rate must be above zero", lambda m: m["devices"][0].update(copy_write=-1))
    refused("the latency is negative or too long; allowed: 0 to 10^15 ns", lambda m: m["devices"][0].update(latency_ns=-1))
    refused("the latency is negative or too long; allowed: 0 to 10^15 ns", lambda m: m["devices"][0].update(latency_ns=1e300))
    refused("the time that a row takes is negative", lambda m: m["devices"][0].update(row_read_ns=-1))
    refused("the name of a device of machine mine has control characters", lambda m: m["devices"][1].update(name="far\nset print 'x'"))
    refused("row_write_ns is not a number", lambda m: m["devices"][0].update(row_write_ns="none"))
    refused("the time that a row of a cache takes is negative", lambda m: m.update(row_announce_ns=-1))
    refused("there are two of that name", lambda m: m["devices"][1].update(name="near"))
    refused("has no devices", lambda m: m.update(devices=[]))
    refused("devices is not a list", lambda m: m.update(devices={}))
    refused("cores is not a whole number from 0 to 4294967295", lambda m: m.update(cores=1.5))
    refused("has no cores", lambda m: m.update(cores=0))
    refused("the share lost to a mover", lambda m: m.update(lost_to_mover=1))
    refused("the time that a copy takes to begin is negative", lambda m: m.update(copy_start_ns=-1))
    refused("efficiency must be above 0", lambda m: m["ops"][0].update(efficiency=2))
    refused("a slow-down must be at least 1", lambda m: m["slow_downs"][0].update(inputs=0.5))
    refused("has no device moon", lambda m: m["slow_downs"][0].update(device="moon"))
    refused("addressable is neither true nor false", lambda m: m["devices"][0].update(addressable=1))
    refused("name is not a text", lambda m: m.update(name=1))
    # Copies so slow that no clock can tell their time.
    for options in ([], ["--async"]):
        file.write_text(json.dumps({**MACHINE, "devices": [{**d, "copy_write": 1e-4, "mover_write": 1e-4} for d in MACHINE["devices"]]}))
        check_refused("takes longer than 146 years, the longest time of a replay",
                      "replay", step, "--tiers", "near:64MiB;far:4GiB", "--machine", file, *options)  # fmt: skip
    file.write_text("{")
    check_refused("is not JSON", "replay", step, "--tiers", "near:64MiB", "--machine", file)
    check_refused("No such file", "replay", step, "--tiers", "near:64MiB", "--machine", folder / "none.json")


def check_limits(folder):
    """As of `tier trace`."""
    step = folder / "step.trace"
    write_step(step)
    for command in (["replay", step, "--tiers", TIERS], ["plan", step, "--tiers", "dram;optane"]):
        for option, what in (("line", "a line"), ("text", "a text"), ("memory", "a trace that takes")):
            check_refused(f": {what}", *command, f"--max-{option}", "10")


def check_same_bytes(folder):
    """Twice the same replay: what it prints and writes is the same, byte by byte, with copies in the background, too."""
    step, gathers = folder / "step.trace", folder / "rows.trace"
    write_step(step)
    write_gathers(gathers)
    for options in ([], ["--async"], ["--mode", "LMP", "--async"], ["--mode", "2LM_0"], ["--mode", "2LM_M"]):
        for trace in (step, gathers):
            command = ["replay", trace, "--tiers", TIERS, *options]
            if not any(o.startswith("2LM") for o in options):
                command += ["--policy", "hint_aware", "--policy", "lru", "--policy", "page_migration"]
            texts, files = set(), set()
            for n in range(3):
                texts.add(works(*command, "--json", folder / f"{n}.json"))
                files.add((folder / f"{n}.json").read_bytes())
            assert len(texts) == len(files) == 1, (command, texts, files)


def check_progress(folder):
    """A bar where somebody looks, and nothing of it in the output."""
    step, out = folder / "step.trace", folder / "out.trace"
    write_step(step)
    replay = ["replay", step, "--tiers", TIERS]
    commands = {
        "hint_aware": [*replay, "--iterations", 10000],
        "2LM_M": [*replay, "--mode", "2LM_M"],
        "lru": ["plan", step, "--tiers", "dram;optane", "--policy", "lru", "--points", 8],
        "reading": ["trace", "convert", step, out],
    }
    for what, command in commands.items():
        shown = on_terminal(*command)
        bars = re.findall(rb"\r(\w+) +\[=* *\] +\d+ %\x1b\[K", shown)
        assert bars[0] == b"reading" and {*bars} <= {b"reading", what.encode(), b"belady"}, (command, shown)
        assert shown.rfind(b"\r\x1b[K") > shown.rfind(b" %\x1b[K"), (command, shown)
        if what == "hint_aware":  # which takes longer than until the next is due
            assert what.encode() in bars, shown
    assert "\x1b" not in works(*replay)
    stages = re.findall(rb"\r([\w:]+) +\[=* *\] +\d+ %\x1b\[K", on_terminal("probe", "--tiers", "dram:32MiB"))
    assert stages and {*stages} <= {b"filling", b"dram", b"cores", b"rows"}, stages


def check_probe(folder):
    step, file = folder / "step.trace", folder / "this.json"
    write_step(step)
    spec = f"dram:32MiB;emulated:cxl:32MiB;file:{folder}:32MiB"
    text = works("probe", "--tiers", spec, "-o", file, "--name", "here")
    machine = json.loads(file.read_text())
    assert machine["name"] == "here" and "GFLOP/s" in text, (machine, text)
    names = [d["name"] for d in machine["devices"]]
    assert names == ["dram", "emulated:cxl", "file"], names
    for device in machine["devices"]:
        rates = [v for k, v in device.items() if k.startswith(("read", "store", "copy", "mover"))]
        assert len(rates) == 6 and all(1e6 < r < 1e13 for r in rates), device
    assert [d["addressable"] for d in machine["devices"]] == [True, True, False], machine
    assert "a row of a table" in text and 0 <= machine["row_lookup_ns"] < 1e6, (machine, text)
    assert 0 <= machine["copy_start_ns"] < 1e9, (machine, text)
    assert all(0 <= d["row_read_ns"] < 1e8 and 0 <= d["row_write_ns"] < 1e8 for d in machine["devices"]), machine
    tiers = "dram:64MiB;emulated:cxl:4GiB;file:8GiB"
    assert "on machine here" in works("replay", step, "--tiers", tiers, "--machine", file)
    assert re.match(r"measuring takes about \d+ s\n", text), text
    cached = f"dram:32MiB;mapped:{folder}:32MiB"
    unnamed = json.loads(works("probe", "--tiers", cached, "-o", "-"))
    measured = unnamed["devices"][1]
    assert unnamed["name"] == "this", unnamed
    if "by direct I/O" in measured["source"]:
        direct = machine["devices"][2]
        assert measured["store"] < 4 * direct["copy_write"], (measured, direct)  # the cache is far above any disk
    else:
        print("SKIPPED: the rates of a disk below the page cache: no direct I/O here")
    check_refused("too small to measure", "probe", "--tiers", "dram:1MiB")
    check_refused("that the CPU can reach", "probe", "--tiers", f"file:{folder}:64MiB")
    check_refused('tier: write of "/dev/full": No space left on device\n', "probe", "--tiers", "dram:32MiB", "-o", "/dev/full")
    # Before anything is measured; the tier is too small for that.
    check_refused("No such file or directory", "probe", "--tiers", "dram:1MiB", "-o", folder / "none" / "this.json")


for check in (check_replay, check_rows, check_same_bytes, check_slow_recording, check_machine_files, check_limits, check_plan,
              check_plot, check_progress, check_probe):  # fmt: skip
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        check(Path(name))
