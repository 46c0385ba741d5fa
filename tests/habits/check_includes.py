#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Includes point one way: a file includes its own layer and those below it, within a layer its own floor and those below it, a
policy only policy/, core/ and itself, and programs only the folders before their own.

--self-test plants breaches in a temporary tree and fails unless each is found.
"""
import re
import sys
from pathlib import Path

import sources

# From the lowest to the highest; the layers of one row do not include each other, but for SIDEWAYS.
ROWS = [
    ["core"],
    ["memory"],
    ["copy"],
    ["policy"],
    ["manager"],
    ["trace"],
    ["scope"],
    ["tensor", "table", "pmr"],
    ["replay"],
    ["runtime"],
]
HEIGHT = {layer: height for height, row in enumerate(ROWS) for layer in row}
SIDEWAYS = {("table", "tensor"), ("pmr", "tensor")}
# Floors within a layer: the folders of src/<layer>/, from the lowest to the highest. Files beside these folders are above all
# of them. A public header is on the floor of the source of its name; without one on a floor it is as high as what it includes:
# interfaces are implemented beside the floors.
FLOORS = {
    "manager": ["state", "store", "movement", "admission"],
    "table": ["rows", "cache"],
    "memory": ["values", "heap", "system", "io", "windows", "tiers", "machine"],
}
POLICY_MAY = {"policy", "core"}
# Programs and what only they use: nothing in the library includes from these.
OUTSIDE = {"tests", "support", "harness", "bench", "samples", "tools"}
# Folders of programs and of what they share, from the lowest to the highest; those of one row do not include each other.
PROGRAM_ROWS = [
    ["support/terminal", "support/plot", "support/machine", "support/harness"],
    ["samples/common"],
    ["samples/networks", "samples/click_logs", "samples/text_index", "samples/index_console"],
    ["samples/steps", "samples/dlrm_model"],
    ["samples/trainer", "samples/dlrm_console"],
    ["samples/training_console"],
    ["samples/custom_policy", "samples/dlrm", "samples/pmr_index", "samples/readme", "samples/relocate", "samples/training"],
    ["bench"],
    ["tools/report"],
    ["tools/tier"],
]
PROGRAM_HEIGHT = {folder: height for height, row in enumerate(PROGRAM_ROWS) for folder in row}
PROGRAM_ROOTS = ["support", "samples", "bench", "tools", "tools/tier"]  # of include paths
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<tier/([^>]+)>|"([^"]+)")')


def owner(path):
    """The layer, or ('policies', name), that a library file belongs to; None for a file outside the library."""
    parts = path.parts
    if parts[:2] == ("include", "tier") and len(parts) > 3:
        return parts[2]
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    if parts[0] == "policies" and len(parts) > 2 and not re.search(r"_(test|bench)\.cpp$", path.name):
        return ("policies", parts[1])
    return None


def find(root, path, included, quoted):
    """The library's file that an include line of `path` names, relative to `root`; None if there is none."""
    choices = [path.parent / included, Path("src") / included, Path("policies") / included] if quoted else []
    for choice in [*choices, Path("include/tier") / included.removeprefix("tier/")]:
        if (root / choice).is_file():
            return (root / choice).resolve().relative_to(root.resolve())
    return None


def target(root, path, included, quoted):
    """The owner of an included file, or None where it belongs to no one we know (a system header)."""
    if not quoted:
        return included.split("/")[0]
    beside = root / path.parent / included
    if beside.is_file():
        return owner(beside.resolve().relative_to(root.resolve()))
    first = included.removeprefix("tier/").split("/")[0]
    if (root / "policies" / first).is_dir():
        return ("policies", first)
    return first


def includes_of(root, path):
    """The number, the text and the kind (quoted or not) of each include line of a file."""
    for number, line in enumerate((root / path).read_text().splitlines(), start=1):
        if match := INCLUDE.match(line):
            yield number, match[1] or match[2], match[2] is not None


def floor(root, path, seen=()):
    """The height of a file within its layer; None if its folder is no floor.   seen: headers that include this one"""
    layer, floors = owner(path), FLOORS[owner(path)]
    if path.parts[0] == "src":
        if len(path.parts) == 3:
            return len(floors)
        return floors.index(path.parts[2]) if path.parts[2] in floors else None
    sources = [source.relative_to(root) for source in (root / "src" / layer).rglob(f"{path.stem}.cpp")]
    heights = [floor(root, source) for source in sources if len(source.parts) > 3]
    if not heights:
        below = [find(root, path, included, quoted) for _, included, quoted in includes_of(root, path)]
        below = [file for file in below if file and owner(file) == layer and file not in (*seen, path)]
        heights = [floor(root, file, (*seen, path)) for file in below]
    return max((height for height in heights if height is not None), default=0)


def floor_breach(root, path, there):
    """Why a file must not include `there`, a file of the same layer, or None."""
    here_height, there_height = floor(root, path), floor(root, there)
    if here_height is None or there_height is None or there_height <= here_height:
        return None
    names = [f"{name}/" for name in FLOORS[owner(path)]] + ["the files beside the floors"]
    return f"{names[there_height]} is not below {names[here_height]}"


def breach(here, there):
    """Why `here` must not include `there`, or None."""
    if here == there or there is None:
        return None
    if there in OUTSIDE:
        return f"the library includes nothing from {there}/"
    if isinstance(here, tuple):
        return None if there in POLICY_MAY else "a policy includes policy/, core/ and itself alone"
    if isinstance(there, tuple):
        return None if here == "runtime" else "only runtime/ includes policies"
    if there not in HEIGHT:
        return f"{there} is not a layer of check_includes.py"
    if HEIGHT[there] > HEIGHT[here] or (HEIGHT[there] == HEIGHT[here] and (here, there) not in SIDEWAYS):
        return f"{there}/ is not below {here}/"
    return None


def problems_in(root, names):
    found = []
    for path in names:
        here = owner(path)
        if here is None:
            continue
        if not isinstance(here, tuple) and here not in HEIGHT:
            found.append(f"{path}:1: {here} is not a layer of check_includes.py")
            continue
        if path.parts[0] == "src" and len(path.parts) > 3 and path.parts[2] not in FLOORS.get(here, []):
            found.append(f"{path}:1: {path.parts[2]} is not a floor of {here} in check_includes.py")
        for number, included, quoted in includes_of(root, path):
            there = target(root, path, included, quoted)
            why = breach(here, there)
            file = find(root, path, included, quoted) if here == there and here in FLOORS else None
            why = why or (file and floor_breach(root, path, file))
            if why:
                found.append(f"{path}:{number}: includes {included}: {why}")
    return found


def program_folder(path):
    """The folder of PROGRAM_ROWS that a file lies in; the path's beginning where none is, and None outside of programs."""
    if path.parts[0] not in ("support", "samples", "bench", "tools"):
        return None
    return path.parts[0] if path.parts[0] in PROGRAM_HEIGHT else "/".join(path.parts[:2])


def program_problems_in(root, names):
    """What programs include of each other, against their order. Includes of all else are anyone's."""
    known = set(names)
    for path in names:
        here = program_folder(path)
        if here is None:
            continue
        if here not in PROGRAM_HEIGHT:
            yield f"{path}:1: {here} is not a folder of check_includes.py"
            continue
        for number, line in enumerate((root / path).read_text().splitlines(), start=1):
            included = re.match(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
            places = [path.parent, *map(Path, PROGRAM_ROOTS)] if included else []
            there = next((program_folder(place / included[1]) for place in places if place / included[1] in known), None)
            if there in (None, here):
                continue
            if PROGRAM_HEIGHT.get(there, len(PROGRAM_ROWS)) >= PROGRAM_HEIGHT[here]:
                yield f"{path}:{number}: includes {included[1]}: {there}/ is not before {here}/"


def blind_to_config(root, names):
    """Without the header that CMake makes, no build is a checked one, and nothing says so."""
    for path in names:
        text = (root / path).read_text()
        if re.search(r"^#\s*if.*\bTIER_CHECKED\b", text, re.MULTILINE) and "#include <tier/core/config.hpp>" not in text:
            yield f"{path}:1: asks for TIER_CHECKED and does not include tier/core/config.hpp"


def problems(root, names):
    return [*problems_in(root, names), *program_problems_in(root, names), *blind_to_config(root, names)]


PLANTED = {
    "include/tier/core/a.hpp": "#include <tier/memory/tier.hpp>",
    "include/tier/memory/b.hpp": "#  include <tier/runtime/runtime.hpp>",
    "src/manager/c.cpp": '#include "scope/d.hpp"',
    "include/tier/pmr/e.hpp": "#include <tier/table/row_table.hpp>",
    "include/tier/tensor/e.hpp": "#include <tier/table/row_table.hpp>",
    "src/manager/f.cpp": '#include "lru/lru.hpp"',
    "policies/lru/g.cpp": "#include <tier/manager/manager.hpp>",
    "policies/planned/h.hpp": '#include "lru/lru.hpp"',
    "src/copy/i.cpp": '#include "support/fake_tier.hpp"',
    "src/newlayer/j.cpp": "#include <tier/core/bytes.hpp>",
    "include/tier/scope/k.hpp": "#include <tier/tier.hpp>",
    "src/core/l.cpp": '#include "../memory/m.hpp"',
    "tests/core/o_test.cpp": "#if defined(TIER_CHECKED)",
    "src/memory/values/fa.cpp": '#include "memory/system/fb.hpp"',
    "src/memory/heap/fc.hpp": '#include "memory/m.hpp"',
    "src/memory/io/fd.cpp": '#include "../tiers/fe.hpp"',
    "src/memory/io/ff.cpp": "#include <tier/memory/disk.hpp>",
    "src/memory/windows/fg.cpp": "#include <tier/memory/umbrella.hpp>",
    "include/tier/memory/low.hpp": "#include <tier/memory/disk.hpp>",
    "src/memory/attic/fh.cpp": "#include <tier/core/bytes.hpp>",
    "src/core/cellar/fi.cpp": "#include <tier/core/bytes.hpp>",
    "support/plot/q.cpp": '#include "common/checksum.hpp"',
    "samples/common/r.cpp": '#include "training/runs.hpp"',
    "samples/training/s.cpp": '#include "dlrm/runs.hpp"',
    "bench/table/t.cpp": '#include "report/page.hpp"',
    "tools/report/u.cpp": '#include "shared/colours.hpp"',
    "samples/newlibrary/v.cpp": "#include <vector>",
}
SOUND = {
    "policies/lru/lru.hpp": '#include <tier/policy/policy.hpp>\n#include <tier/core/bytes.hpp>',
    "policies/lru/lru.cpp": '#include "lru.hpp"\n#include "lru/lru.hpp"',
    "policies/lru/lru_test.cpp": '#include "support/events.hpp"\n#include <tier/manager/manager.hpp>',
    "src/memory/m.hpp": '#include <vector>\n#include "m2.hpp"\n#include <tier/core/bytes.hpp>',
    "src/memory/m2.hpp": "// #include <tier/runtime/runtime.hpp>",
    "src/runtime/factory.cpp": '#include "lru/lru.hpp"\n#include <tier/tensor/tensor.hpp>',
    "include/tier/table/row_table.hpp": "#include <tier/tensor/tensor.hpp>\n#include <tier/scope/scope.hpp>",
    "tests/core/n_test.cpp": "#include <tier/runtime/runtime.hpp>",
    "src/core/p.cpp": "#include <tier/core/config.hpp>\n#if defined(TIER_CHECKED)",
    "src/memory/system/fb.hpp": '#include "memory/values/low.hpp"\n#include <tier/memory/plain.hpp>',
    "src/memory/values/low.hpp": "#include <tier/memory/plain.hpp>",
    "src/memory/values/low.cpp": '#include "memory/values/low.hpp"\n#include <tier/memory/low.hpp>',
    "src/memory/tiers/fe.hpp": "#include <tier/memory/disk.hpp>\n#include <tier/memory/umbrella.hpp>",
    "src/memory/tiers/disk.cpp": '#include "memory/tiers/fe.hpp"\n#include "memory/windows/fj.hpp"',
    "src/memory/windows/fj.hpp": '#include "memory/system/fb.hpp"',
    "include/tier/memory/disk.hpp": "#include <tier/memory/plain.hpp>",
    "include/tier/memory/plain.hpp": "#include <tier/core/bytes.hpp>",
    "include/tier/memory/umbrella.hpp": "#include <tier/memory/disk.hpp>\n#include <tier/memory/umbrella.hpp>",
    "src/memory/factory.cpp": '#include "memory/tiers/fe.hpp"\n#include "memory/m.hpp"',
    "samples/common/checksum.hpp": "#include <tier/core/bytes.hpp>",
    "samples/training/runs.hpp": '#include "common/checksum.hpp"',
    "samples/dlrm/runs.hpp": '#include "memory/m.hpp"',
    "bench/training/w.hpp": '#include "training/runs.hpp"',
    "tools/report/page.hpp": '#include "training/runs.hpp"',
    "tools/tier/shared/colours.hpp": '#include "report/page.hpp"',
    "tools/tier/x.cpp": '#include "shared/colours.hpp"',
}


if __name__ == "__main__":
    if "--self-test" in sys.argv[1:]:
        sources.report_planted(PLANTED, SOUND, problems)
    names = sources.cpp_files()
    sources.report(problems(sources.ROOT, names), f"includes of {sum((owner(name) or program_folder(name)) is not None for name in names)} files")
