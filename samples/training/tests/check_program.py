# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tier-train trains on plain memory and in tiers to the same bits, and says what is wrong with its options."""
import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAM = sys.argv[1]
FIELDS = {
    "name": str,
    "seconds_per_iteration": float,
    "low_seconds": float,
    "high_seconds": float,
    "slowdown": float,
    "fast_share": float,
    "on_time_share": float,
    "on_time_share_by_object": float,
    "bytes_moved": dict,
    "locality": list,
    "stalled_s": float,
    "compute_s": float,
    "io_s": float,
    "bound": str,
    "tiers": list,
    "peak_bytes": int,
    "overhead_bytes": int,
    "loss": float,
    "accuracy": float,
    "checksum": str,
}
ALL_RUNS = ["plain", "all_fast", "async", "sync", "mode_0", "mode_L", "mode_LM", "mode_LMP", "first_touch"]
ALL_RUNS += ["page_migration", "all_slow", "os_paging"]
PAGING = ["os_paging_default", "os_paging_random", "os_paging_willneed"]
LEFT_OUT = "tier-train: os_paging is left out: "  # and why: the system lets us limit no memory
SMALL = {
    "resnet32": ["--batch", "8", "--iterations", "3"],
    "lstm": ["--batch", "4", "--steps", "8", "--width", "64", "--iterations", "3"],
    "transformer": ["--batch", "4", "--steps", "16", "--width", "64", "--iterations", "6"],
}


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=600)


def check_full_output():
    with open("/dev/full", "w") as full:
        for arguments in (["--help"], ["resnet32", *SMALL["resnet32"], "--run", "plain", "--json", "-"]):
            ended = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=600)
            assert ended.returncode == 1 and "No space left on device" in ended.stderr, ended
        assert subprocess.run([PROGRAM, "resnet33"], stderr=full).returncode == 2


def check_comparison(network):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.json"
        done = run(network, *SMALL[network], "--json", str(file))
        assert done.returncode == 0, done.stderr
        plain, tiered = json.loads(file.read_text())["runs"]
    assert [plain["name"], tiered["name"]] == ["plain", "async"]
    for each in (plain, tiered):
        for field, kind in FIELDS.items():
            assert isinstance(each[field], (kind, int)), (field, each)
        assert each["checksum"] in done.stdout, done.stdout
        for field in ("peak_bytes", "overhead_bytes"):
            assert sum(tier[field] for tier in each["tiers"]) == each[field], each
    assert [tier["name"] for tier in plain["tiers"]] == ["dram"] and plain["overhead_bytes"] == 0, plain
    assert [tier["name"] for tier in tiered["tiers"]] == ["dram", "emulated:cxl"], tiered
    assert all(tier["peak_bytes"] > tier["overhead_bytes"] for tier in tiered["tiers"]), tiered
    tensors = tiered["tiers"][0]["peak_bytes"] - tiered["tiers"][0]["overhead_bytes"]  # buffers are larger than this network
    assert tensors < plain["peak_bytes"] and tiered["overhead_bytes"] > 0, tiered
    assert plain["checksum"] == tiered["checksum"] and plain["loss"] == tiered["loss"]
    assert plain["slowdown"] == 1 and plain["bytes_moved"] == {} and plain["bound"] == "compute", plain
    assert sum(tiered["bytes_moved"].values()) > plain["peak_bytes"], tiered


def can_limit_memory():
    """Whether a group with a limit of memory can be made below ours: then no run may be left out."""
    ours = dict(line.split(":", 2)[1:] for line in Path("/proc/self/cgroup").read_text().splitlines())
    trees = {"memory": ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), "": ("/sys/fs/cgroup", "memory.max")}
    for controllers, (tree, limit) in trees.items():
        group = Path(tree + ours.get(controllers, "/none"), f"tier-train-check-{os.getpid()}")
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(64 << 20))
            return True
        except OSError:  # limits are not passed on to it
            pass
        finally:
            group.rmdir()
    return False


def check_names(runs, done):
    """Those of a comparison.   Returns whether os_paging is left out."""
    left_out = LEFT_OUT in done.stderr
    assert [each["name"] for each in runs] == (ALL_RUNS[:-1] if left_out else ALL_RUNS), done
    assert not left_out or not can_limit_memory(), done.stderr
    return left_out


def check_all_runs():
    """Of a network that needs little beside its activations, on a file."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        file = Path(folder) / "runs.json"
        slow = ["--slow", f"file:{folder}:256MiB", "--fast", "50%"]
        done = run("resnet32", "--batch", "16", "--iterations", "2", *slow, "--compare", "--json", str(file))
        assert done.returncode == 0, done.stderr
        runs = json.loads(file.read_text())["runs"]
    left_out = check_names(runs, done)
    plain = runs[0]
    for each in runs:
        assert each["checksum"] == plain["checksum"] and each["loss"] == plain["loss"], each
        assert [step for step, _, _ in each["locality"]] == [0, 1], each
        assert each["compute_s"] > 0 and each["slowdown"] > 0, each
        baseline = plain["seconds_per_iteration"] if each["name"] == "os_paging" else each["plain_seconds_per_iteration"]
        assert each["slowdown"] == each["seconds_per_iteration"] / baseline, each
        assert each["bound"] in ("compute", "io", "neither") or each["name"] == "os_paging", each
    by_name = {each["name"]: each for each in runs}
    assert by_name["all_fast"]["fast_share"] == 1 and by_name["all_fast"]["bytes_moved"] == {}
    for name in ("async", "sync", "mode_0", "mode_L", "mode_LM", "mode_LMP"):
        moved = sum(bytes for way, bytes in by_name[name]["bytes_moved"].items() if way.split(">")[0] != way.split(">")[1])
        assert moved == by_name[name]["bytes_in"] + by_name[name]["bytes_out"] > 0 and by_name[name]["io_s"] > 0, by_name[name]
        assert 0 < by_name[name]["fast_share"] < 1, by_name[name]
        assert by_name[name]["on_time_share"] >= by_name[name]["fast_share"], by_name[name]
    assert by_name["mode_0"]["on_time_share"] < by_name["async"]["on_time_share"]
    assert "on time: objects, bytes  iteration 1     iteration 2" in done.stdout, done.stdout
    if left_out:
        return
    paging = by_name["os_paging"]
    assert [each["name"] for each in paging["variants"]] == PAGING, paging
    assert paging["seconds_per_iteration"] == min(each["seconds_per_iteration"] for each in paging["variants"])


def check_raised():
    """A comparison has every row, also where a kernel uses more at once than --fast, and says what was raised."""
    lstm = ["lstm", "--batch", "32", "--steps", "64", "--width", "128", "--iterations", "2", "--compare", "--json"]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        file = Path(folder) / "runs.json"
        slow = ["--slow", f"file:{folder}:256MiB", "--fast", "20%"]
        done = run(*lstm, str(file), *slow)
        assert done.returncode == 0, done
        check_names(json.loads(file.read_text())["runs"], done)
        (share,) = re.findall("^--fast was raised to ([0-9]+) %: kernel lstm.* --steps-at-once ", done.stdout, re.M)
        assert 20 < int(share) < 100, done.stdout
        done = run(*lstm, str(file), *slow, "--steps-at-once", "4")
        assert done.returncode == 0 and "raised" not in done.stdout, done


def check_failing_runs():
    """A run that fails takes none of the others with it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        file = Path(folder) / "runs.json"
        done = run("resnet32", *SMALL["resnet32"], "--compare", "--fast", "50%", "--slow", f"file:{folder}:1MiB", "--json", str(file))
        names = [each["name"] for each in json.loads(file.read_text())["runs"]]
    assert done.returncode == 1 and names[:2] == ["plain", "all_fast"] and "async" not in names, done
    for name in ("async", "mode_LMP", "all_slow"):
        (reason,) = re.findall(f"^tier-train: {name} with [^ ]+ fast memory has failed: (.*)$", done.stderr, re.M)
        assert "no room for " in reason and "file" in reason, done.stderr
    assert "os_paging" in names or LEFT_OUT in done.stderr, done


def check_full_disk():
    """With a disk that fills in the middle training goes on in what memory it has, or ends and says why."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "none", folder], capture_output=True).returncode != 0:
            print("SKIPPED: this system does not let a test mount a tmpfs")
            return
        try:
            slow = ["resnet32", "--batch", "16", "--iterations", "2", "--slow", f"file:{folder}:256MiB", "--json", "-"]
            plain, tiered = json.loads(run(*slow, "--fast", "100%", "--prefetch-budget", "50%").stdout)["runs"]
            assert plain["checksum"] == tiered["checksum"], (plain, tiered)
            assert 3 << 20 < tiered["tiers"][1]["peak_bytes"] <= 4 << 20, tiered  # of 17 MiB where there is room
            done = run(*slow, "--fast", "40%", "--run", "async")
            assert done.returncode == 1 and done.stdout == "", done
            assert done.stderr.startswith("tier-train: ") and "no room for " in done.stderr, done.stderr
            assert "No space left on device" in done.stderr, done.stderr
            assert os.listdir(folder) == [], os.listdir(folder)
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)


def check_layers():
    done = run("resnet32", *SMALL["resnet32"], "--run", "async", "--layers", "--check-values", "--json", "-")
    (found,) = json.loads(done.stdout)["runs"]
    names = [layer["layer"] for layer in found["layers"]]
    assert names[:3] == ["input1", "conv1", "bn1"] and names[-1] == "loss1" and len(set(names)) == len(names), names
    assert all(layer["seconds"] > 0 for layer in found["layers"]), found
    assert sum(layer["bytes_out"] for layer in found["layers"]) > 0, found
    small = run("resnet32", *SMALL["resnet32"], "--run", "plain", "--rate", "1e-38", "--check-values", "--json", "-")
    assert json.loads(small.stdout)["runs"][0]["subnormals"] > found["subnormals"] + 100, (small, found)
    printed = run("resnet32", *SMALL["resnet32"], "--run", "async", "--layers", "--check-values").stdout
    assert "subnormal values written" in printed and "\nconv33 " in printed, printed


def check_values_are_numbers():
    """Weights that grow beyond all bounds end the run, which says where."""
    done = run("resnet32", *SMALL["resnet32"], "--run", "plain", "--rate", "1e30", "--check-values")
    assert done.returncode == 1 and "kernel " in done.stderr and " has written " in done.stderr, done


def check_learned_nothing():
    """The results are there, and the status tells: of a run, and of a comparison, where the others need not have failed."""
    told = "tier-train: {} has learned nothing: its loss is no finite number; a smaller --rate may help\n"
    diverging = ["resnet32", "--batch", "8", "--iterations", "6", "--rate", "1e30"]
    done = run(*diverging, "--run", "plain", "--json", "-")
    assert done.returncode == 3 and told.format("plain") in done.stderr, done
    assert [each["loss"] for each in json.loads(done.stdout)["runs"]] == [None], done
    assert "3 if a run has learned nothing" in run("--help").stdout
    done = run(*diverging)
    assert done.returncode == 3 and "\nplain " in done.stdout and "\nasync " in done.stdout, done
    assert told.format("plain") in done.stderr and told.format("async") in done.stderr, done


def check_no_test():
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "text.txt")
        text.write_text("".join(chr(97 + i * i % 23) for i in range(3000)))
        lstm = ["lstm", "--data", str(text), "--steps", "40", "--width", "16", "--iterations", "2", "--run", "plain", "--batch"]
        done = run(*lstm, "8")
        assert done.returncode == 0, done
        assert done.stderr == "tier-train: runs are not tested: the data that is held out has less than one batch of 8\n", done
        assert run(*lstm, "4").stderr == ""


def has_file_in(folder, process):
    for each in Path(f"/proc/{process}/fd").iterdir():
        try:
            if folder in os.readlink(each):
                return True
        except FileNotFoundError:  # closed meanwhile
            pass
    return False


def check_ended(how, status):
    """Whatever ends a run, its slow tier leaves nothing on the disk."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        options = ["--batch", "16", "--iterations", "1000000", "--fast", "50%", "--slow", f"file:{folder}:256MiB"]
        program = subprocess.Popen(
            [PROGRAM, "resnet32", *options, "--run", "async"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        while not has_file_in(folder, program.pid):
            assert program.poll() is None, program.communicate()
        time.sleep(1)  # it learns by now, or begins to
        program.send_signal(how)
        out, errors = program.communicate(timeout=120)
        assert program.returncode == status, (program.returncode, out, errors)
        assert os.listdir(folder) == [], os.listdir(folder)
    if how == signal.SIGINT:
        assert "async (interrupted)" in out, out


def check_json_alone():
    done = run("resnet32", *SMALL["resnet32"], "--run", "plain", "--json", "-")
    assert [each["name"] for each in json.loads(done.stdout)["runs"]] == ["plain"], done.stdout


def check_seed():
    sums = []
    for seed in ("1", "1", "2"):
        done = run("resnet32", *SMALL["resnet32"], "--run", "plain", "--json", "-", "--seed", seed)
        sums.append(json.loads(done.stdout)["runs"][0]["checksum"])
    assert sums[0] == sums[1] != sums[2], sums


def check_sweep():
    """At all sizes the same is learned; a kernel gets what it needs at once; gnuplot may be missing."""
    sizes = ["100%", "80%", "60%", "50%", "40%", "20%", "11%", "10%", "5%"]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        plot = Path(folder) / "it's"
        small = [*SMALL["lstm"][:-1], "2", "--slow", f"file:{folder}:256MiB"]
        arguments = ["lstm", *small, "--sweep", "--plot", str(plot), "--json", f"{folder}/runs.json"]
        done = run(*arguments)
        assert done.returncode == 0, done
        runs = json.loads(Path(folder, "runs.json").read_text())["runs"]
        drawn = [plot.with_name(plot.name + suffix) for suffix in (".svg", ".png")]
        if shutil.which("gnuplot"):
            assert drawn[0].read_bytes().startswith(b"<?xml") and drawn[1].read_bytes().startswith(b"\x89PNG"), done
    assert len({each["checksum"] for each in runs}) == 1, runs
    names = [(name, size) for size in sizes for name in ("async", "sync", "first_touch")]
    assert [(each["name"], each["fast"]) for each in runs[2:]] == names, runs
    fast = [each["fast_bytes"] for each in runs[2:] if each["name"] == "async"]
    assert fast == sorted(fast, reverse=True) and fast[-1] == fast[-2] > fast[0] / 20, fast  # the least were raised
    lines = [line.split()[:2] for line in done.stdout.splitlines()]
    assert all([name, size] in lines for name, size in names), done.stdout
    (slow,) = [each for each in runs if each["name"] == "all_slow"]
    assert slow["fast_bytes"] == fast[-1] and ["all_slow", slow["fast"].split()[0]] in lines, (slow, done.stdout)
    assert "smaller sizes were raised to " in done.stdout and "async is " in done.stdout, done.stdout


def check_prefetch_budget():
    """It changes what moves, never what is learned; with a byte of it nothing stays, or comes more than a kernel ahead."""
    found = [run_synchronously("--recompute", "off", *more) for more in ([], ["--prefetch-budget", "1"])]
    assert found[0]["checksum"] == found[1]["checksum"], found
    assert found[0]["fast_share"] > found[1]["fast_share"], found


def check_recompute():
    """What is made again need not move."""
    off, on = (run_synchronously("--prefetch-budget", "1", "--recompute", value) for value in ("off", "on"))
    assert off["checksum"] == on["checksum"], (off, on)
    moved = [sum(each["bytes_moved"].values()) for each in (off, on)]
    assert moved[1] < 0.8 * moved[0], moved


def run_synchronously(*more):
    """So that what moves does not depend on whether a core is free."""
    small = ["resnet32", "--batch", "16", "--iterations", "2", "--run", "sync", "--fast", "50%", "--json", "-"]
    return json.loads(run(*small, *more).stdout)["runs"][0]


def check_short():
    """One iteration unless told otherwise, and no test."""
    for more, iterations in ([], 1), (["--iterations", "2"], 2):
        done = run("resnet32", "--batch", "8", "--run", "plain", "--short", *more, "--json", "-")
        (found,) = json.loads(done.stdout)["runs"]
        assert found["iterations"] == iterations and not found["test_loss"], found


def check_record_only():
    """Of a network of half a terabyte, and where the file cannot be written."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vgg416.trace.gz"
        done = run("vgg416", "--batch", "256", "--record-only", str(file))
        assert done.returncode == 0, done
        lines = gzip.decompress(file.read_bytes()).decode().splitlines()
        assert lines[0] == "H tmtrace=1 net=vgg416_b256 batch=256 dtype=f32", lines[0]
        kernels = sum(line.startswith("K ") for line in lines)
        assert lines[-2] == "I" and re.fullmatch(rf"E \d+ {kernels} [0-9a-f]{{8}}", lines[-1]), lines[-2:]
        assert done.stdout.startswith(f"vgg416: {kernels} kernels, "), done.stdout
        assert sum(line.startswith("K conv3_f f ") for line in lines) == 413
        done = run("lstm", "--steps", "8", "--record-only", f"{folder}/none/trace")
        assert done.returncode == 1 and done.stderr.startswith(f'tier-train: open of "{folder}/none/trace": '), done
        assert os.listdir(folder) == [file.name], os.listdir(folder)
        # A network's name alone: the file is named after it.
        done = subprocess.run([PROGRAM, "--record-only", "vgg416", "--batch", "256"], cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.endswith("written to vgg416_b256.trace\n"), done
        assert Path(folder, "vgg416_b256.trace").read_text().splitlines() == lines
        done = run("vgg416", "--batch", "256", "--record-only", f"{folder}/vgg416")
        assert done.returncode == 0 and Path(folder, "vgg416").exists(), done
    check_refused("network is required", "--record-only", "step.trace")


def check_refused(message, *arguments):
    done = run(*arguments)
    assert done.returncode == 2 and done.stdout == "", (arguments, done)
    assert done.stderr.startswith("tier-train: ") and message in done.stderr, done.stderr


for name in SMALL:
    check_comparison(name)
check_all_runs()
check_raised()
check_failing_runs()
check_full_disk()
check_layers()
check_values_are_numbers()
check_learned_nothing()
check_no_test()
check_ended(signal.SIGINT, 128 + signal.SIGINT)
check_ended(signal.SIGKILL, -signal.SIGKILL)
check_json_alone()
check_sweep()
check_prefetch_budget()
check_recompute()
check_short()
check_full_output()
check_record_only()
check_seed()
assert "vgg416" in run("--help").stdout
check_refused("resnet200", "resnet51")  # the names that there are
check_refused("network", "--batch", "8")
check_refused("--image is for images", "lstm", "--image", "8")
check_refused("--steps is for text", "resnet32", "--steps", "8")
check_refused("--steps-at-once is for an LSTM, not for transformer", "transformer", "--steps-at-once", "8")
check_refused("--steps-at-once must not be negative", "lstm", "--steps-at-once", "-1")
check_refused("no multiple of 4, the number of attention heads", "transformer", "--width", "30")
check_refused("not both", "resnet32", "--epochs", "1", "--iterations", "1")
check_refused("--batch", "resnet32", "--batch", "0")
check_refused("no such data", "resnet32", "--data", "/nonexistent")
check_refused("too small", "inception_v3", "--batch", "2")
check_refused("--batch 576460752303423488 is too large: allowed are 1 to 2147483647", "vgg16", "--batch", str(2**59), "--record-only", "q")
check_refused("less than one batch", "resnet32", "--batch", "100000")
check_refused("--record-only runs nothing", "resnet32", "--record-only", "trace", "--compare")
check_refused("bad size or share of fast memory", "resnet32", "--prefetch-budget", "101%")
check_refused("not both", "resnet32", "--sweep", "--compare")
check_refused("leave out --fast", "resnet32", "--sweep", "--fast", "20%")
check_refused("nope", "resnet32", "--policy", "nope")
