# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Traces and a machine that tests of several commands write."""
import random

from tool import MIB

TIERS = "dram:64MiB;optane:4GiB"
MACHINE = {
    "name": "mine",
    "operations": 1e12,
    "devices": [
        {"name": "near", "read": 1e10, "latency_ns": 100},
        {"name": "far", "read": 2e9, "store": 1e9, "latency_ns": 300, "link": "bus"},
    ],
    "ops": [{"op": "conv", "efficiency": 0.25, "reads": 2}],
    "slow_downs": [{"device": "far", "op": "relu_f", "inputs": 3, "outputs": 4, "both": 5}],
}


def write_step(path, layers=24):
    """A chain of layers forward and back: each activation is read again in the backward pass."""
    rng = random.Random(7)
    sizes = [rng.randrange(2, 12) * MIB for _ in range(layers)]
    lines = ["H tmtrace=1 net=chain"]
    lines += [f"T {i} {MIB} p w{i}" for i in range(layers)]
    lines += [f"T {100 + i} {size} a a{i}" for i, size in enumerate(sizes)]
    lines += [f"T {200 + i} {MIB} g g{i}" for i in range(layers)]
    for i in range(layers):
        lines.append(f"K conv3_f f 4e9 R {i}" + (f",{99 + i}" if i else "") + f" W {100 + i} U -")
        if i:
            lines.append(f"Z {99 + i}")
    for i in reversed(range(layers)):
        lines.append(f"K conv3_w b 4e9 R {100 + i} W {200 + i} U -")
        lines.append(f"K sgd u 0 R {200 + i} W - U {i}")
        lines.append(f"X {100 + i},{200 + i}")
    path.write_text("\n".join(lines) + "\nI\n")
    return sum(sizes) + layers * MIB


def write_gathers(path, listed=True):
    """Two tables, of which one is asked for few of its rows."""
    rng = random.Random(7)
    lines = ["H tmtrace=1"]
    if listed:
        lines += ["c rows.1=20000,128,items", "c rows.2=20000,128,users"]
    lines += ["T 1 4096 p w", "T 2 2560000 p items", "T 3 2560000 p users"]
    for _ in range(40):
        lines.append("K fc_f f 1e6 R 1 W - U -")
        for table, rows in (("items", 20000), ("users", 200)):
            ids = ",".join(str(rng.randrange(rows)) for _ in range(256))
            lines.append(f"g 1 {table} 256 1" + (f" {ids}" if listed else ""))
            lines.append(f"u 1 {table} 256 1" + (f" {ids}" if listed else ""))
    path.write_text("\n".join(lines) + "\nI\n")
