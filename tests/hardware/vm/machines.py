# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The emulated machines: what each is given, as arguments of QEMU, as variables for its first process, and as JSON for the
tests, which compare it with what they find."""
import json
import shlex
from dataclasses import asdict, dataclass, field, replace

import packages

MIB = 1 << 20


@dataclass(frozen=True)
class Node:
    """A NUMA node. Its speed is what HMAT says; None: HMAT has no entry."""

    id: int
    mib: int
    cpus: str = ""
    latency_ns: int = None
    bandwidth_mib: int = None  # MiB/s, as the kernel tells it
    device: str = ""  # whose memory becomes the node's after boot: pmem, cxl

    @property
    def at_boot(self):
        return not self.device

    def numa(self, has_memory):
        arguments = [f"node,nodeid={self.id}"]
        if has_memory:
            arguments[0] += f",memdev=node{self.id}"
        if self.cpus:
            arguments[0] += f",cpus={self.cpus}"
        elif self.latency_ns is not None:
            arguments[0] += ",initiator=0"
        if self.latency_ns is not None:
            of = f"hmat-lb,initiator=0,target={self.id},hierarchy=memory,data-type=access-"
            arguments += [f"{of}latency,latency={self.latency_ns}", f"{of}bandwidth,bandwidth={self.bandwidth_mib}M"]
        return arguments


@dataclass(frozen=True)
class Machine:
    name: str
    title: str
    qemu: packages.Bundle
    linux: packages.Bundle
    nodes: tuple
    pmem_mib: tuple = ()  # NVDIMMs: one for a file system, one for a device, one to become node 3
    disk_mib: int = 0
    disk_mib_per_second: int = 0
    cxl_mib: int = 0
    huge_pages: int = 8  # of 2 MiB, on each node with memory at boot
    memory_tiers: str = ""  # lists of nodes, as the kernel groups them, fastest first
    only: str = "*"  # the names of test cases that are run, as doctest's option takes them
    samples: tuple = ()  # commands whose results in JSON are compared
    left_out: frozenset = field(default_factory=frozenset)  # on purpose, although the tests are told of it

    def with_policies(self, policies):
        commands = []
        for sample in self.samples:
            commands += [sample.replace(EVERY_POLICY, policy) for policy in policies] if EVERY_POLICY in sample else [sample]
        return replace(self, samples=tuple(commands))

    def qemu_arguments(self, folder):
        """\\param folder  where the files behind its persistent memory and its disk are"""
        hmat = "on" if "hmat" not in self.left_out else "off"
        nodes = [node for node in self.nodes if node.device != "cxl"]  # for that one Linux makes a node itself
        boot = [node for node in nodes if node.at_boot and f"node{node.id}" not in self.left_out]
        arguments = ["-smp", "2", "-m", f"{sum(node.mib for node in boot)}M,slots=8,maxmem=16G"]
        for node in boot:
            arguments += ["-object", f"memory-backend-ram,id=node{node.id},size={node.mib}M"]
        for node in nodes:
            for numa in node.numa(node in boot):
                if hmat == "on" or not numa.startswith("hmat"):
                    arguments += ["-numa", numa.replace(",initiator=0", "") if hmat == "off" else numa]
        for one in nodes:
            for other in nodes:
                distance = 10 if one == other else 10 + 7 * max(one.id, other.id)
                arguments += ["-numa", f"dist,src={one.id},dst={other.id},val={distance}"]
        if self.cxl_mib:
            # A hypervisor's CPU would leave out the flush of caches by which CXL regions are made.
            arguments += ["-M", f"q35,hmat={hmat},cxl=on", "-cpu", "max,hypervisor=off"]
            arguments += ["-M", "cxl-fmw.0.targets.0=cxl.0,cxl-fmw.0.size=4G"]
            arguments += ["-object", f"memory-backend-ram,id=cxl-memory,share=on,size={self.cxl_mib}M"]
            arguments += ["-device", "pxb-cxl,id=cxl.0,bus=pcie.0,bus_nr=12"]
            arguments += ["-device", "cxl-rp,id=cxl-port,bus=cxl.0,port=0,chassis=0,slot=2"]
            arguments += ["-device", "cxl-type3,id=cxl-device,bus=cxl-port,volatile-memdev=cxl-memory"]
        else:
            arguments += ["-M", f"q35,nvdimm=on,hmat={hmat}", "-cpu", "max"]
        for i, path in enumerate(self.pmem_files(folder)):
            arguments += ["-object", f"memory-backend-file,id=pmem{i},share=on,mem-path={path},size={self.pmem_mib[i]}M"]
            arguments += ["-device", f"nvdimm,id=nvdimm{i},memdev=pmem{i},node=3"]
        if self.disk_mib:
            # Through the host's page cache, which a killed machine leaves as it is; the limit is QEMU's own.
            limit = f",throttling.bps-total={self.disk_mib_per_second * MIB}" if "throttle" not in self.left_out else ""
            arguments += ["-drive", f"file={folder / 'disk'},format=raw,if=none,id=disk{limit}"]
            arguments += ["-device", "nvme,drive=disk,serial=tier"]
        return arguments

    def pmem_files(self, folder):
        return [folder / f"pmem{i}" for i in range(len(self.pmem_mib))]

    def make_files(self, folder):
        """Empty ones, which take room as they are written."""
        sizes = dict(zip(self.pmem_files(folder), self.pmem_mib))
        if self.disk_mib:
            sizes[folder / "disk"] = self.disk_mib
        for path, mib in sizes.items():
            with open(path, "wb") as file:
                file.truncate(mib * MIB)

    def variables(self):
        """For the shell that is the machine's first process."""
        values = {
            "pmem": "1" if self.pmem_mib else "",
            "disk": "1" if self.disk_mib else "",
            "cxl_bytes": str(self.cxl_mib * MIB) if self.cxl_mib and "cxl" not in self.left_out else "",
            "kmem": "1" if "kmem" not in self.left_out else "",
            "dax": "always" if "dax" not in self.left_out else "never",
            "huge_pages": str(self.huge_pages if "huge_pages" not in self.left_out else 0),
            "leftover": "1" if "leftover" in self.left_out else "",
            "only": self.only,
            "samples": "\n".join(self.samples),
        }
        return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())

    def expectation(self):
        """What the tests find if nothing has gone wrong."""
        return json.dumps(
            {
                "name": self.name,
                "kernel": self.linux.name.removeprefix("linux-"),
                "nodes": [asdict(node) | {"at_boot": node.at_boot} for node in self.nodes],
                "huge_pages": self.huge_pages * sum(node.at_boot for node in self.nodes),
                "memory_tiers": self.memory_tiers,
                "fsdax": "/mnt/fsdax" if self.pmem_mib else "",
                "devdax": "/dev/dax" if self.pmem_mib else "",
                "disk": "/mnt/disk" if self.disk_mib else "",
                "disk_mib_per_second": self.disk_mib_per_second,
            },
            indent=1,
        )


EVERY_POLICY = "{policy}"  # a sample with it is run once with each that the library has


def in_three_tiers():
    """On plain memory, and under every policy on HBM, DRAM and an expander: the DLRM, and a CNN on images so small that an
    emulated CPU has an iteration in seconds."""
    tiers = f"--slow node:1 --policy {EVERY_POLICY}"
    dlrm = "tier-dlrm --tables 3 --rows 60000 --dim 16 --batch 64 --samples 300 --deterministic --json -"
    yield f"{dlrm} --run plain"
    yield f"{dlrm} --run tiered --fast 10% --more hbm:2MiB {tiers}"
    yield f"{dlrm} --run tiered --fast 10% --more hbm:2MiB --slow node:1 --row-policy lfu"
    train = "tier-train resnet32 --image 8 --batch 1 --short --json -"
    yield f"{train} --run plain"
    yield f"{train} --run async --fast 20% --more hbm:1MiB {tiers}"


# Latency and bandwidth of DRAM, a CXL expander, HBM (from 200 GB/s up memkind takes a node for one), persistent memory.
FOUR_NODES = (
    Node(0, 1024, cpus="0-1", latency_ns=90, bandwidth_mib=100_000),
    Node(1, 256, latency_ns=300, bandwidth_mib=25_000),
    Node(2, 256, latency_ns=120, bandwidth_mib=400_000),
    # Of 512 MiB whole blocks of 128 MiB, beside what describes the name space.
    Node(3, 384, latency_ns=500, bandwidth_mib=10_000, device="pmem"),
)
IN_A = {"nodes": FOUR_NODES, "pmem_mib": (256, 256, 512), "disk_mib": 512, "disk_mib_per_second": 100}

A = Machine("A", "HMAT, HBM, persistent memory, NVMe", packages.QEMU_10, packages.LINUX_6_12, memory_tiers="2 0 1 3",
            samples=(
                "tier-index --documents 300 --queries 5 --fast 2MiB --runs std,scopes --slow file:/mnt/disk --json -",
                "tier-train lstm --batch 4 --steps 8 --width 64 --iterations 3 --fast 50% --slow file:/mnt/disk --json -",
                *in_three_tiers(),
            ), **IN_A)
B = Machine(
    "B",
    "a CXL type 3 device",
    packages.QEMU_10,
    packages.LINUX_6_12,
    nodes=(Node(0, 1024, cpus="0-1", latency_ns=90, bandwidth_mib=100_000), Node(1, 256, device="cxl")),
    cxl_mib=256,
    memory_tiers="0 1",
    samples=tuple(f"tier-dlrm --run {run} --tables 1 --rows 1000 --dim 8 --batch 16 --samples 64 --deterministic --fast 30% --slow cxl --json -"
                  for run in ("plain", "tiered")),  # its memory is a hundred times slower than the memory beside it
)
C = Machine("C", "A with an older kernel and QEMU", packages.QEMU_7, packages.LINUX_6_1, memory_tiers="0-2 3",
            samples=tuple(f"tier-dlrm --run {run} --tables 3 --rows 4000 --dim 16 --batch 64 --samples 500 --deterministic "
                          "--slow pmem:/mnt/fsdax --json -" for run in ("plain", "tiered")), **IN_A)
ALL = {machine.name: machine for machine in (A, B, C)}
