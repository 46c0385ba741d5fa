#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`conan create .` makes a package, static and shared, with which programs run: check_conan.py FOLDER

Conan comes from PyPI, into a folder of its own. Dependencies are the system's: once by test_package/system.profile, once
by packages that stand in for Conan Center's, with their names, targets and nothing in them.
"""
import json
import sys
import venv

import package
from package import README_PROGRAM, VERSION, WORKS, Path, consumer

CONAN = "conan==2.34.0"
STAND_IN = """from conan import ConanFile
class StandIn(ConanFile):
    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "{file}")
        self.cpp_info.set_property("pkg_config_name", "{package}")
        part = self.cpp_info{component}
        part.set_property("pkg_config_name", "{module}")
        part.set_property("cmake_target_name", "{target}")
        part.includedirs, part.libdirs, part.bindirs, part.system_libs = [], [], [], {libraries}
"""
MODULES = {"libnuma": "numa", "zstd": "libzstd"}  # of components, as pkg-config knows them
# As the recipes of Conan Center name them: package, version, component, CMake's file and target, libraries.
CONAN_CENTER = [
    ("boost", "1.86.0", "headers", "Boost", "Boost::headers", []),
    ("libnuma", "2.0.19", None, "libnuma", "libnuma::libnuma", ["numa"]),
    ("liburing", "2.8", None, "liburing", "liburing::liburing", ["uring"]),
    ("nlohmann_json", "3.11.3", None, "nlohmann_json", "nlohmann_json::nlohmann_json", []),
    ("onetbb", "2021.12.0", "libtbb", "TBB", "TBB::tbb", ["tbb"]),
    ("zlib", "1.3.1", None, "ZLIB", "ZLIB::ZLIB", ["z"]),
    ("zstd", "1.5.7", "zstdlib", "zstd", "zstd::libzstd_static", ["zstd"]),
]
REFUSED = {
    ("-s", "os=Windows"): "needs Linux 5.10 or later; this is Windows",
    ("-s", "arch=riscv64"): "supports x86_64 and armv8; this is riscv64",
    ("-s", "compiler.version=11"): "needs gcc 12 or later; this is 11",
    ("-s", "compiler.cppstd=17"): "Current cppstd (17) is lower than the required C++ standard (20)",
}


class Conan:
    def __init__(self, work):
        self.work = work
        self.folder = work.folder / "conan"
        binaries = self.folder / "venv" / "bin"
        self.variables = {"CONAN_HOME": str(self.folder / "home"), "PATH": f"{binaries}:{work.environment()['PATH']}"}
        if not (binaries / "conan").exists():
            venv.create(self.folder / "venv", with_pip=True, clear=True)
            pip = [binaries / "pip", "--disable-pip-version-check", "--retries", "1", "--timeout", "20"]
            status, printed = work.attempt(*pip, "install", "--quiet", CONAN)
            if status and ("from versions: none" in printed or "Connection" in printed):
                print(printed, "skipped: PyPI cannot be reached, so there is no Conan to test with", sep="\n")
                sys.exit(package.SKIPPED)
            if status:
                sys.exit(printed)

    def __call__(self, *arguments, cwd=None):
        return self.work.run("conan", *arguments, cwd=cwd or self.work.source, **self.variables)

    def attempt(self, *arguments):
        return self.work.attempt("conan", *arguments, cwd=self.work.source, **self.variables)


def follow_readme(work, conan):
    """README's commands under "Conan", as they are written there."""
    create, use = package.readme("Conan", "sh")
    (requirements,) = package.readme("Conan", "ini")
    program, printed = README_PROGRAM
    work.run("bash", "-euc", create, cwd=work.source, **conan.variables)
    with consumer(program=program) as folder:
        (folder / "conanfile.txt").write_text(requirements)
        work.expect(printed, "bash", "-euc", use, cwd=folder, **conan.variables)


def exports_what_is_tracked(conan):
    exported = conan("cache", "path", f"libtier/{VERSION}", "--folder=export_source").strip()
    names = {str(path) for path in package.sources.files()}
    found = Path(exported)
    for path in found.rglob("*"):
        if path.is_file() and str(path.relative_to(found)) not in names:
            yield f"conanfile.py exports {path.relative_to(found)}, which git does not track"


def unheard_options(conan):
    """Without compiling the library for each."""
    generated = conan.folder / "options"
    conan("install", ".", "-pr:a=system.profile", "-o=&:checked=True", "-o=&:with_io_uring=False", "-o=&:with_numa=False", f"--output-folder={generated}")
    (presets,) = generated.rglob("CMakePresets.json")
    variables = json.loads(presets.read_text())["configurePresets"][0]["cacheVariables"]
    for name, value in (("TIER_BUILD_CHECKED", "ON"), ("TIER_WITH_IO_URING", "OFF"), ("TIER_WITH_NUMA", "OFF"), ("TIER_BUILD_TESTS", "OFF")):
        if variables.get(name) != value:
            yield f"{name} is {variables.get(name)} instead of {value}"


def refusals(conan):
    for setting, reason in REFUSED.items():
        status, printed = conan.attempt("install", ".", "-pr:a=system.profile", *setting)
        if status == 0 or reason not in printed:
            yield f"not refused with '{reason}': {' '.join(setting)}\n{printed}"


def create_as_from_conan_center(work, conan):
    recipe = conan.folder / "stand_in" / "conanfile.py"
    recipe.parent.mkdir(exist_ok=True)
    for name, version, component, file, target, libraries in CONAN_CENTER:
        part = f".components['{component}']" if component else ""
        module = MODULES.get(name, f"{name}-{component}" if component else name)
        text = STAND_IN.format(file=file, package=name, component=part, module=module, target=target, libraries=libraries)
        recipe.write_text(text)
        conan("create", recipe, f"--name={name}", f"--version={version}")
    tools = "[platform_tool_requires]\ncmake/3.25.1\npkgconf/1.8.1\n"
    profile = conan.folder / "stand_in" / "profile"
    profile.write_text(f"include(default)\n{tools}[conf]\ntools.cmake.cmaketoolchain:generator=Ninja\n")
    work.expect(WORKS, "conan", "create", ".", "-nr", f"-pr:a={profile}", "-s", "compiler.cppstd=20", cwd=work.source, **conan.variables)


work = package.Work(sys.argv[1])
conan = Conan(work)
follow_readme(work, conan)
# The tools are then compiled by the same commands as those of the other tests, which ccache knows.
options = ["-o=&:shared=True", "-o=&:tools=True", "-s", "compiler.cppstd=gnu20"]
work.expect(WORKS, "conan", "create", ".", "-pr:a=system.profile", *options, cwd=work.source, **conan.variables)
create_as_from_conan_center(work, conan)
problems = [*exports_what_is_tracked(conan), *unheard_options(conan), *refusals(conan)]
package.report(problems, "Conan's packages")
