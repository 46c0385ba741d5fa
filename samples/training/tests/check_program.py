# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tier-train trains on plain memory and in tiers to the same bits, and says what is wrong with its options."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = sys.argv[1]
FIELDS = {
    "name": str,
    "seconds_per_iteration": float,
    "slowdown": float,
    "fast_share": float,
    "bytes_moved": dict,
    "stalled_s": float,
    "peak_bytes": int,
    "overhead_bytes": int,
    "loss": float,
    "accuracy": float,
    "checksum": str,
}
SMALL = {
    "resnet32": ["--batch", "8", "--iterations", "3"],
    "lstm": ["--batch", "4", "--steps", "8", "--width", "64", "--iterations", "3"],
    "transformer": ["--batch", "4", "--steps", "16", "--width", "64", "--iterations", "6"],
}


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)


def check_comparison(network):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "runs.json"
        done = run(network, *SMALL[network], "--json", str(file))
        assert done.returncode == 0, done.stderr
        plain, tiered = json.loads(file.read_text())["runs"]
    assert [plain["name"], tiered["name"]] == ["plain", "tiered"]
    for each in (plain, tiered):
        for field, kind in FIELDS.items():
            assert isinstance(each[field], (kind, int)), (field, each)
        assert each["checksum"] in done.stdout, done.stdout
    assert plain["checksum"] == tiered["checksum"] and plain["loss"] == tiered["loss"]
    assert plain["slowdown"] == 1 and plain["bytes_moved"] == {}
    assert sum(tiered["bytes_moved"].values()) > plain["peak_bytes"], tiered


def check_json_alone():
    done = run("resnet32", *SMALL["resnet32"], "--run", "plain", "--json", "-")
    assert [each["name"] for each in json.loads(done.stdout)["runs"]] == ["plain"], done.stdout


def check_seed():
    sums = []
    for seed in ("1", "1", "2"):
        done = run("resnet32", *SMALL["resnet32"], "--run", "plain", "--json", "-", "--seed", seed)
        sums.append(json.loads(done.stdout)["runs"][0]["checksum"])
    assert sums[0] == sums[1] != sums[2], sums


def check_refused(message, *arguments):
    done = run(*arguments)
    assert done.returncode == 2 and done.stdout == "", (arguments, done)
    assert done.stderr.startswith("tier-train: ") and message in done.stderr, done.stderr


for name in SMALL:
    check_comparison(name)
check_json_alone()
check_seed()
assert "vgg416" in run("--help").stdout
check_refused("resnet200", "resnet51")  # the names that there are
check_refused("network", "--batch", "8")
check_refused("--image is for images", "lstm", "--image", "8")
check_refused("--steps is for text", "resnet32", "--steps", "8")
check_refused("no multiple of the 4 heads", "transformer", "--width", "30")
check_refused("not both", "resnet32", "--epochs", "1", "--iterations", "1")
check_refused("--batch", "resnet32", "--batch", "0")
check_refused("no such data", "resnet32", "--data", "/nonexistent")
check_refused("too small", "inception_v3", "--batch", "2")
check_refused("less than one batch", "resnet32", "--batch", "100000")
check_refused("nope", "resnet32", "--policy", "nope")
