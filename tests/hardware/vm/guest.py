# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a machine starts with: its kernel, and a file system in memory with tools, modules and the programs under test."""
import lzma
import re
import shutil
import subprocess
from pathlib import Path

MODULES = """nfit nd_pmem nd_btt dax_pmem device_dax nvme ext4 cxl_acpi cxl_pci cxl_port cxl_mem cxl_pmem dax_cxl dax_hmem
kmem""".split()
TOOLS = {"ndctl": "usr/bin/ndctl", "daxctl": "usr/bin/daxctl", "mkfs.ext4": "sbin/mke2fs"}


class GuestError(Exception):
    """A program under test cannot be taken along."""


def kernel_of(root):
    return next((root / "boot").glob("vmlinuz-*"))


def loader_of(root):
    return next(root.glob("lib*/x86_64-linux-gnu/ld-linux-x86-64.so.2"))


def run_unpacked(root, program):
    """The command that runs a program of unpacked packages with their libraries."""
    folders = [root / "lib/x86_64-linux-gnu", root / "usr/lib/x86_64-linux-gnu"]
    return [loader_of(root), "--library-path", ":".join(map(str, folders)), root / program]


def libraries(command):
    """{name: path} of what a program loads, as its loader tells."""
    listed = subprocess.run(command, capture_output=True, text=True)
    if "not found" in listed.stdout or listed.returncode and "not a dynamic executable" not in listed.stderr:
        raise GuestError(f"{command[-1]}: {listed.stdout}{listed.stderr}")
    paths = re.findall(r"(/\S+) \(0x", listed.stdout)
    return {Path(path).name: Path(path) for path in paths}


def copy_modules(linux, tree):
    """The modules named above with what they need; what is built into the kernel has no file."""
    source = next((linux / "lib/modules").iterdir())
    files = {path.name.split(".")[0].replace("-", "_"): path for path in source.rglob("*.ko*")}
    wanted = [name for name in MODULES if name in files]
    done = set()
    while wanted:
        name = wanted.pop()
        if name in done:
            continue
        done.add(name)
        path = files[name]
        data = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        target = tree / "lib/modules" / source.name / f"{name}.ko"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        needs = re.search(rb"\0depends=([^\0]*)\0", data)
        wanted += [need for need in needs[1].decode().replace("-", "_").split(",") if need] if needs else []
    return source.name


def build(image, *, linux, tools, programs, files):
    """\\param programs  the paths of programs, which will be in /bin with their libraries
    \\param files     {path there: text}"""
    tree = image.with_suffix(".tree")
    shutil.rmtree(tree, ignore_errors=True)
    libs = tree / "lib/x86_64-linux-gnu"
    for folder in ("bin", "proc", "sys", "dev", "tmp", "mnt", "var/tmp", "lib64", libs):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(next(tools.glob("*bin/busybox")), tree / "bin/busybox")

    needed = {}
    for name, path in TOOLS.items():
        shutil.copy(tools / path, tree / "bin" / name)
        needed |= libraries([loader_of(tools), "--list", *run_unpacked(tools, path)[1:]])
    for program in programs:
        subprocess.run(["strip", "-o", tree / "bin" / program.name, program], check=True)
        needed |= libraries(["ldd", program])  # where both have one, the machine's own: it is as new or newer
    for name, path in needed.items():
        shutil.copy(path, libs / name)
    loader = "ld-linux-x86-64.so.2"
    shutil.copy(needed.get(loader, loader_of(tools)), tree / "lib64" / loader)

    version = copy_modules(linux, tree)
    busybox = tree / "bin/busybox"
    subprocess.run([busybox, "depmod", "-b", tree, version], check=True)
    for path, text in files.items():
        (tree / path).write_text(text)
    (tree / "init").chmod(0o755)
    names = "\n".join(str(path.relative_to(tree)) for path in sorted(tree.rglob("*")))
    with open(image, "wb") as file:
        subprocess.run([busybox, "cpio", "-o", "-H", "newc", "-R", "0:0"], cwd=tree, input=names.encode(), stdout=file,
                       stderr=subprocess.DEVNULL, check=True)
    shutil.rmtree(tree)
