# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`tier plan` says what it was asked, or what is wrong: a part of check_replay.py"""
import csv
import json
import os
import re
import shutil

from step_files import MACHINE, write_step
from tool import check_elsewhere, check_refused, check_whole, run, works


def gb(shown):
    number, unit = re.fullmatch(r"([\d.]+)([kMGT]?B)", shown).groups()
    return float(number) * {"B": 1e-9, "kB": 1e-6, "MB": 1e-3, "GB": 1, "TB": 1e3}[unit]


def check_one_number(step):
    """What is told of a size is the same in the first table, in the curve, and where it is asked for."""
    plan = ("plan", step, "--tiers", "dram;optane", "--policy", "first_touch", "--policy", "lru", "--iterations", 3)
    for budget in ("0%", "5%", "30%"):
        first, curve = works(*plan, "--points", 6, "--budget", budget).split("\n\n")[1:]
        numbers = {words[0]: words[1:] for words in map(str.split, curve.splitlines()[1:])}
        assert len(numbers) >= 6 and "all" in numbers, curve
        for i, (policy, needed, _, slow_down) in enumerate(map(str.split, first.splitlines()[1:])):
            assert policy == ("first_touch", "lru")[i] and numbers[needed][i] == slow_down, (first, curve)
        sizes = [size for size in numbers if size != "all"]
        table = works(*plan, *(f"--at={size}" for size in sizes)).split("\n\n")[1]
        again = {words[0]: words[1:] for words in map(str.split, table.splitlines()[1:])}
        assert again == numbers, (numbers, again)


def check_without_kernels(folder):
    """Where nothing takes time with all in fast memory, seconds take the place of ratios."""
    trace = folder / "hints.trace"
    tensors = "".join(f"T {i} 1048576 a x\n" for i in range(1, 9))
    places = "".join(f"a {i} {i} dram 64 {i}\n" for i in range(1, 9))
    head = "H tmtrace=1 recorded=1\nc tiers=dram:1GiB;emulated:cxl:4GiB\n"
    trace.write_text(f"{head}{tensors}{places}h 9 will_read 1,2 9\nI\n")
    planned = run("plan", trace, "--tiers", "dram;optane", "--points", 4)
    assert planned.returncode == 0 and "the recording has no kernels" in planned.stderr, planned
    assert "seconds of an iteration; with all in dram an iteration takes no time" in planned.stdout and " 0 s" in planned.stdout, planned
    rows = list(csv.DictReader(run("plan", trace, "--tiers", "dram;optane", "--points", 4, "--csv", "-").stdout.splitlines()))
    assert rows and all(row["slow_down"] == "" and float(row["seconds"]) == 0 for row in rows), rows


def check_cheapest(step):
    """By price, all in fast memory among the rest; without a price of each there is none."""

    def cheapest(*prices):
        text = works("plan", step, "--tiers", "dram;optane", "--budget", "20%", "--points", 8, "--policy", "first_touch",
                     "--policy", "lru", *(option for p in prices for option in ("--price", p)))  # fmt: skip
        found = re.search(r"^cheapest: (.*), for (.*)$", text, re.MULTILINE)
        needed = {line.split()[0]: line.split()[1] for line in text.splitlines() if re.match(r"(first_touch|lru) +\d", line)}
        return found and found[1], found and float(found[2]), needed, gb(re.search(r": (\S+) alive", text)[1])

    what, price, needed, peak = cheapest("dram=16.61", "optane=7.85")
    best = min(needed, key=lambda policy: gb(needed[policy]))
    assert what == f"{needed[best]} of dram and the rest in optane, by {best}", (what, needed)
    least = gb(needed[best])
    assert abs(price - (least * 16.61 + (peak - least) * 7.85)) < 0.01, (price, needed, peak)
    what, price, _, _ = cheapest("dram=1", "optane=5")
    assert what == "all in dram" and abs(price - peak) < 0.01, (what, price, peak)
    assert cheapest("dram=2", "optane=2")[0] == "all in dram"  # which is faster
    assert cheapest("dram=2")[0] is None


def check_default_devices(folder, step):
    def told(*options, trace=step):
        return works("plan", trace, "--points", 2, *options).splitlines()[:2]

    why = "since the trace names no two that are known: name others by --tiers"
    assert told()[0] == f"for dram;optane, {why}" and "on machine cachedarrays, dram needed for at most 10 % more time" in told()[1], told()
    assert "on machine" in told("--tiers", "dram;optane")[0]
    assert told("--machine", "xeon_max")[0].startswith("for hbm;ddr5, which machine xeon_max has"), told("--machine", "xeon_max")
    lines = step.read_text().splitlines()
    recorded = folder / "recorded.trace"
    for tiers, expected in {
        "dram:1GiB;emulated:cxl:4GiB;file:/var/tmp:8GiB": "dram;cxl, which the recording has",
        "dram:1GiB;numa:0.2:8GiB": f"dram;optane, {why.split(':')[0]}",
        "dram:1GiB;file:/var/tmp:8GiB\nc model.file=3e9,1e9,80000,64": "dram;file, which the recording has",
        "dram:1GiB;dram:8GiB\nc model.dram=1e9,1e9,80,16\nc model.dram#2=1e8,1e8,80,16": "dram;dram#2, which the recording has",
        "dram:1GiB": f"dram;optane, {why.split(':')[0]}",
        "fast": f"dram;optane, {why.split(':')[0]}",
    }.items():
        recorded.write_text("\n".join([lines[0], f"c tiers={tiers}", *lines[1:]]) + "\n")
        assert told(trace=recorded)[0] == f"for {expected}: name others by --tiers", (tiers, told(trace=recorded))
    # A model that no tier can have; one whose tier is known needs none.
    for model in ("0,1e9,80000,64", "1e9,1e9,9223372036854775807,16", "1e9,1e9,-1,16", "1e9,1e9,80", "fast"):
        for tiers in ("dram:1GiB;file:/var/tmp:8GiB\nc model.file", "numa:0:1GiB;numa:1:4GiB\nc model.numa:0"):
            recorded.write_text("\n".join([lines[0], f"c tiers={tiers}={model}", *lines[1:]]) + "\n")
            check_refused(f'the recording has no valid model of tier {tiers.rpartition("model.")[2]} at position 0 of "{model}"; '
                          "allowed: READ,WRITE,LATENCY,PARALLELISM: bytes a second above 0, "
                          "0 to 10^15 ns, and at least 1 request at once; or other devices, by --tiers", "plan", recorded)  # fmt: skip
            assert "on machine" in works("plan", recorded, "--points", 2, "--tiers", "dram;optane")
    recorded.write_text("\n".join([lines[0], "c tiers=dram:1GiB;emulated:cxl:4GiB\nc model.dram=nothing", *lines[1:]]) + "\n")
    assert told(trace=recorded)[0] == "for dram;cxl, which the recording has: name others by --tiers"
    probed = folder / "probed.json"
    devices = [{**device, "name": name} for device, name in zip(MACHINE["devices"], ("dram", "emulated:cxl"))]
    probed.write_text(json.dumps({**MACHINE, "devices": devices, "slow_downs": []}))
    recorded.write_text("\n".join([lines[0], "c tiers=dram:1GiB;emulated:cxl:4GiB", *lines[1:]]) + "\n")
    assert told("--machine", probed, trace=recorded)[0].startswith("for dram;emulated:cxl, which the recording has")


def check_plan(folder):
    step, table, out = folder / "step.trace", folder / "curve.csv", folder / "out.json"
    write_step(step)
    prices = ("--price", "dram=16.61", "--price", "optane=7.85")
    text = works("plan", step, "--tiers", "dram;optane", "--budget", "20%", "--policy", "hint_aware", "--policy", "lru",
                 "--csv", table, "--points", 8, *prices)  # fmt: skip
    assert "at most 20 % more time" in text and "cheapest:" in text, text
    rows = list(csv.DictReader(table.open()))
    assert {r["policy"] for r in rows} == {"hint_aware", "lru"}, rows
    needed = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) == 6 and words[0] in ("hint_aware", "lru"):
            needed[words[0]] = (gb(words[1]), float(words[3]))
    for policy, (least, slow_down) in needed.items():
        assert slow_down <= 1.2, needed
        curve = [(float(r["fast_bytes"]), float(r["slow_down"])) for r in rows if r["policy"] == policy]
        assert len(curve) >= 4 and curve == sorted(curve, reverse=True), curve
        assert any(s > 1.2 and b < least * 1e9 for b, s in curve), (needed, curve)
    assert len(needed) == 2, text

    # A replay keeps what a plan promises.
    def seconds(size):
        works("replay", step, "--tiers", f"dram:{int(size * 1e9)}B;optane:4GiB", "--async", "--policy", "lru", "--json", out)
        return json.loads(out.read_text())["runs"][0]["seconds"]

    assert seconds(needed["lru"][0] + 0.001) / seconds(2) < 1.25, needed

    assert float(rows[0]["price"]) > 0
    check_cheapest(step)
    check_one_number(step)
    check_without_kernels(folder)
    check_default_devices(folder, step)
    several = "hint_aware:mode=LM,prefetch=off"
    works("plan", step, "--tiers", "dram;optane", "--points", 2, "--policy", several, "--csv", table)
    assert {r["policy"] for r in csv.DictReader(table.open())} == {several}, table.read_text()
    none = works("plan", step, "--tiers", "dram;optane", "--points", 4, "--sync", "--machine", "autotm")
    assert "on machine autotm" in none and "price" not in none, none
    check_refused("a plan is for two tiers", "plan", step, "--tiers", "dram")
    check_refused("a device is missing", "plan", step, "--tiers", "dram;")
    check_refused("not a budget", "plan", step, "--tiers", "dram;optane", "--budget", "cheap")
    check_refused("not a price", "plan", step, "--tiers", "dram;optane", "--price", "dram=free")
    check_refused("has no such device", "plan", step, "--tiers", "dram;optane", "--price", "gold=1")
    unprobed = "without --machine FILE, which `tier probe` writes of this machine, only devices that libtier knows have rates"
    check_refused(unprobed, "plan", step, "--tiers", "dram;optane", "--price", "file=0.1")
    check_refused("others are those of a machine that `tier probe` has measured: --machine FILE", "plan", step, "--tiers", "dram;file")
    check_refused("device dram is given for two tiers", "replay", step, "--tiers", "dram:1GiB;dram:1GiB")
    huge = folder / "huge.trace"
    huge.write_text(f"H tmtrace=1\nT 1 {2**63 - 1} p w\nK op f 0 R 1 W - U -\n")
    check_refused("alive at once is too large to replay", "plan", huge, "--tiers", "dram;optane")
    check_whole(table, "plan", step, "--tiers", "dram;optane", "--points", 2, "--csv")
    works("plan", step, "--tiers", "dram;optane", "--points", 2, "--csv", table)
    assert works("plan", step, "--tiers", "dram;optane", "--points", 2, "--csv", "-") == table.read_text()
    check_at(folder, step)
    both = ("plan", step, "--tiers", "dram;optane", "--points", 2, "--csv")
    check_refused("cannot both be the standard output", *both, "-", "--svg", "-")
    for other in (table, folder / "." / table.name, f"{folder}/none/../{table.name}"):
        check_refused(f'--csv and --svg cannot both be "{other}"; give one of them another file', *both, table, "--svg", other)


def check_at(folder, step):
    """At sizes that are asked for, there is what a replay with so much takes."""
    def seconds(size):
        tiers = ("--tiers", f"dram:{size};optane:1GiB", "--policy", "lru", "--async", "--iterations", 3, "--json", "-")
        return json.loads(works("replay", step, *tiers))["runs"][0]["seconds"]

    plan = ("plan", step, "--tiers", "dram;optane", "--policy", "lru", "--iterations", 3, "--at", "60%", "--at", "40MiB")
    all_fast, *points = csv.DictReader(works(*plan, "--csv", "-").splitlines())
    assert float(all_fast["slow_down"]) == 1 and len(points) == 2, points
    assert abs(float(points[0]["share_of_peak"]) - 0.6) < 1e-3 and int(points[1]["fast_bytes"]) == 40 << 20, points
    for point in points:
        assert abs(float(point["slow_down"]) - seconds(point["fast_bytes"] + "B") / seconds("1GiB")) < 1e-4, point
    table = works("plan", step, "--tiers", "ddr5;nvme4", "--at", "100%", "--at", "4KiB")
    assert "needed" not in table and "does not fit" in table.splitlines()[-1], table
    check_refused("4 pounds", *plan, "--at", "4 pounds")
    large = folder / "large.trace"
    large.write_text(f"H tmtrace=1\nT 1 {4 << 50} p w\nK op f 0 R 1 W - U -\n")
    check_refused('this share of the peak, which is 4096TiB, is too large at position 0 of "999999%"; allowed: less than 8 EiB',
                  "plan", large, "--tiers", "dram;optane", "--at", "999999%")  # fmt: skip


def check_plot(folder):
    step, plot = folder / "step.trace", folder / "it's.svg"
    write_step(step)
    plan = ("plan", step, "--tiers", "dram;optane", "--points", 4, "--policy", "hint_aware:mode=LM", "--policy", "lru",
            "--budget", "15%", "--svg")  # fmt: skip
    without = run(*plan, plot, env={**os.environ, "PATH": str(folder)})
    missing = f'tier: gnuplot is missing (Debian: gnuplot-nox), so "{plot}" cannot be drawn: No such file or directory\n'
    assert without.returncode == 1 and without.stderr == missing and without.stdout == "", without
    broken = folder / "gnuplot"
    broken.write_text("#!/bin/sh\nread -r line || exit 0\necho all ink is gone >&2\nexit 3\n")
    broken.chmod(0o755)
    check_refused("gnuplot failed: all ink is gone\n", *plan, plot, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
    assert not plot.exists() and set(os.listdir(folder)) == {"step.trace", "gnuplot"}, os.listdir(folder)
    if not shutil.which("gnuplot"):
        print("SKIPPED: plots of plans: gnuplot is missing")
        return
    assert "at most 15 % more time" in works(*plan, plot)
    svg = plot.read_text()
    assert svg.startswith("<?xml") and svg.rstrip().endswith("</svg>"), svg
    assert works(*plan, "-") == svg, "no table before it"
    for text in ("hint_aware:mode=LM", ">lru<", ">budget, 15 %<", ">fast memory: dram, MB<", "that with all in dram<"):
        assert text in svg, text
    # A mark for each point of each policy, all fast and the peak being one, and one in the legend.
    works(*plan[:-1], "--csv", folder / "curve.csv")
    points = list(csv.DictReader((folder / "curve.csv").open()))
    for i, policy in enumerate(("hint_aware:mode=LM", "lru")):
        mine = [p for p in points if p["policy"] == policy]
        assert [round(float(p["share_of_peak"]), 1) for p in mine[:2]] == [2, 1], mine
        assert svg.count(f"xlink:href='#gpPt{i}'") == len(mine), (policy, svg)
    check_elsewhere(plot, *plan)
