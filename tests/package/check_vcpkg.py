#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The overlay port builds, static and shared, what a program can be built with: check_vcpkg.py FOLDER

vcpkg itself is not there: vcpkg_port.cmake runs the port's own portfile.cmake with what vcpkg's functions do, and the
manifest is compared with the rules of its schema, with the portfile, with the project and with what of Boost it includes.
"""
import json
import re
import sys

import package
from package import DESCRIPTION, ROOT, VERSION, WORKS, consumer

PORT = ROOT / "ports" / "libtier"
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
BOOST = re.compile(r"^\s*#\s*include\s*[<\"]boost/([\w/]+)", re.MULTILINE)
HOMES = {"functional/hash": "container_hash"}  # headers whose folder, or name, is not that of their library
FIELDS = ["name", "version-semver", "description", "license", "supports", "dependencies", "default-features", "features"]


def dependency_problems(where, dependencies):
    names = [entry if isinstance(entry, str) else entry["name"] for entry in dependencies]
    if names != sorted(names):
        yield f"{where}: dependencies are not in alphabetical order"
    for entry in dependencies:
        if not isinstance(entry, str) and entry != {"name": entry["name"], "host": True}:
            yield f"{where}: {entry} is neither a name nor a host's dependency"
    yield from (f"{where}: {name} is no name of a port" for name in names if not NAME.fullmatch(name))


def manifest_problems(manifest):
    features = manifest["features"]
    if list(manifest) != FIELDS:
        yield f"vcpkg.json has {', '.join(manifest)} instead of {', '.join(FIELDS)}"
    if (manifest["version-semver"], manifest["description"]) != (VERSION, DESCRIPTION):
        yield f"vcpkg.json has another version or description than CMakeLists.txt: {VERSION}, {DESCRIPTION}"
    yield from dependency_problems("vcpkg.json", manifest["dependencies"])
    for name, feature in features.items():
        if not NAME.fullmatch(name) or set(feature) - {"description", "dependencies"} or not feature.get("description"):
            yield f"vcpkg.json: the feature {name} has no proper name or description, or has more"
        yield from dependency_problems(f"vcpkg.json, {name}", feature.get("dependencies", []))
    yield from (f"vcpkg.json: no feature {name}" for name in manifest["default-features"] if name not in features)
    switches = re.search(r"FEATURES\n((?: +\S+ +\w+\n)+)", (PORT / "portfile.cmake").read_text())[1]
    if re.findall(r"^ +(\S+)", switches, re.MULTILINE) != list(features):
        yield "portfile.cmake switches other features than vcpkg.json has"


def boost_ports(*folders):
    """Of the libraries whose headers are included there; Boost has a port for each."""
    texts = ((ROOT / name).read_text() for name in package.sources.cpp_files() if name.parts[0] in folders)
    headers = {header for text in texts for header in BOOST.findall(text)}
    return {"boost-" + HOMES.get(header, header.split("/")[0]).replace("_", "-") for header in headers}


def boost_problems(manifest):
    needed = boost_ports("include", "src", "policies")
    for where, entries, includes in (
        ("vcpkg.json", manifest["dependencies"], needed),
        ("vcpkg.json, tools", manifest["features"]["tools"]["dependencies"], boost_ports("support", "tools") - needed),
    ):
        listed = {entry for entry in entries if isinstance(entry, str) and entry.startswith("boost-")}
        yield from (f"{where}: {name}, whose headers are included, is not a dependency" for name in sorted(includes - listed))
        yield from (f"{where}: nothing includes a header of {name}" for name in sorted(listed - includes))


def package_problems(prefix):
    """What vcpkg's own checks after a build would say."""
    for missing in ("share/libtier/copyright", "share/libtier/usage", "share/tier/tierConfig.cmake", "lib/pkgconfig/libtier.pc"):
        if not (prefix / missing).is_file():
            yield f"{missing} is missing"
    for unwanted in ("bin", "debug", "lib/cmake", "share/doc"):
        if (prefix / unwanted).exists():
            yield f"{unwanted} should not be there"
    for path in prefix.rglob("*"):
        if path.is_dir() and not any(path.iterdir()):
            yield f"{path.relative_to(prefix)} is empty"
        if path.is_file() and str(work.folder).encode() in path.read_bytes():
            yield f"{path.relative_to(prefix)} names {work.folder}"


def problems_of(linkage, features):
    name = f"vcpkg-{linkage}-{len(features)}"
    prefix = work.folder / name
    settings = {
        "PORTFILE": work.source / "ports" / "libtier" / "portfile.cmake",
        "BUILD": work.build(name),
        "PACKAGE": prefix,
        "LINKAGE": linkage,
        "FEATURES": ";".join(features),
    }
    work.run("cmake", *(f"-D{key}={value}" for key, value in settings.items()), "-P", ROOT / "tests/package/vcpkg_port.cmake")
    with consumer() as folder:
        work.cmake(folder, folder / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
        work.expect(WORKS, folder / "build" / "example")
    if (prefix / "tools" / "libtier" / "tier").exists() != ("tools" in features):
        yield "the program tier and the feature tools do not go together"
    yield from package_problems(prefix)


work = package.Work(sys.argv[1])
manifest = json.loads((PORT / "vcpkg.json").read_text())
problems = [*manifest_problems(manifest), *boost_problems(manifest)]
problems += problems_of("static", manifest["features"])
problems += problems_of("dynamic", manifest["default-features"])
package.report(problems, "the overlay port of vcpkg")
