#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Gets libtier in one of the ways that README and docs/install.md name, and runs a program with it.

check_package.py FOLDER WAY [ARGUMENT...]; `install` comes before the others.
"""
import re
import shutil
import sys
from pathlib import Path

import package
from package import LINKAGES, README_PROGRAM, ROOT, SONAME, VERSION, WORKS, consumer


def install(work):
    """Builds and installs both libraries, and moves what was installed: nothing may depend on where it was."""
    for linkage, option in LINKAGES.items():
        staged = work.folder / "staged" / linkage
        shutil.rmtree(staged, ignore_errors=True)
        work.run("cmake", "--preset", "package", "-B", work.build(linkage), "--install-prefix", staged, option, cwd=work.source)
        work.run("cmake", "--build", work.build(linkage))
        work.run("cmake", "--install", work.build(linkage))
        shutil.rmtree(work.prefix(linkage), ignore_errors=True)
        work.prefix(linkage).parent.mkdir(exist_ok=True)
        staged.rename(work.prefix(linkage))


def find_package(work):
    for linkage in LINKAGES:
        with consumer() as folder:
            work.cmake(folder, folder / "build", f"-DCMAKE_PREFIX_PATH={work.prefix(linkage)}")
            work.expect(WORKS, folder / "build" / "example")
            needed = f"[{SONAME}]" in work.run("readelf", "-dW", folder / "build" / "example")
            if needed != (linkage == "shared"):
                sys.exit(f"linked with the {linkage} library, a program needs {SONAME}, or a shared one does not")


def components(work):
    """The program comes as the component tools; a version or a component that there is not is refused with a reason."""
    lists = "cmake_minimum_required(VERSION 3.16)\nproject(example LANGUAGES CXX)\nfind_package(tier {} CONFIG REQUIRED {})\n"
    version = "add_custom_target(version ALL tier::tool --version VERBATIM)\n"
    refused = {("0.2", ""): '"0.2"', ("1.0", ""): '"1.0"', ("0.1", "COMPONENTS nonsense"): "no component nonsense"}
    for linkage in LINKAGES:
        prefix = f"-DCMAKE_PREFIX_PATH={work.prefix(linkage)}"
        with consumer(lists.format("0.1", "COMPONENTS tools") + version) as folder:
            work.run("cmake", "-S", folder, "-B", folder / "build", prefix)
            work.expect(re.compile(rf"^{re.escape(VERSION)}$", re.MULTILINE), "cmake", "--build", folder / "build")
        for request, reason in refused.items():
            with consumer(lists.format(*request)) as folder:
                status, printed = work.attempt("cmake", "-S", folder, "-B", folder / "build", prefix)
                if status == 0 or reason not in printed:
                    sys.exit(f"{printed}\nnot refused with {reason}: find_package(tier {' '.join(request)})")


def files_of(prefix):
    return {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}


def parts(work):
    """Packagers' two parts: together they are everything, nothing is in both, and each has what docs/install.md says."""
    library = {"static": set(), "shared": {f"lib/{SONAME}", f"lib/libtier.so.{VERSION}"}}
    commands = ["info", "trace", "replay", "paper", "plan", "probe", "report", "completion", "man"]
    manual = {"share/man/man1/tier.1"} | {f"share/man/man1/tier-{command}.1" for command in commands}
    completions = {"share/bash-completion/completions/tier", "share/zsh/site-functions/_tier"}
    program = {"bin/tier"} | completions | manual
    for linkage in LINKAGES:
        found = {}
        for part in ("Runtime", "Development"):
            prefix = work.folder / "parts" / linkage / part
            shutil.rmtree(prefix, ignore_errors=True)
            work.run("cmake", "--install", work.build(linkage), "--component", part, "--prefix", prefix)
            found[part] = files_of(prefix)
        expected = {"share/doc/tier/LICENSE"} | program | library[linkage]
        if found["Runtime"] != expected:
            sys.exit(f"the part Runtime has {sorted(found['Runtime'])} instead of {sorted(expected)}")
        everything = files_of(work.prefix(linkage))
        if found["Development"] != everything - expected:
            sys.exit(f"the part Development differs in {sorted(found['Development'] ^ (everything - expected))}")
        runtime = work.folder / "parts" / linkage / "Runtime"
        work.expect(re.compile(re.escape(VERSION)), runtime / "bin" / "tier", "--version")


def soname(work):
    """The library has the name of its minor version, which a later patch may take over."""
    libraries = work.prefix("shared") / "lib"
    links = {path.name: path.readlink().name for path in libraries.glob("libtier.so*") if path.is_symlink()}
    if links != {"libtier.so": SONAME, SONAME: f"libtier.so.{VERSION}"}:
        sys.exit(f"{libraries} has the links {links}")
    work.expect(re.compile(rf"SONAME.*\[{re.escape(SONAME)}\]"), "readelf", "-dW", libraries / "libtier.so")


def late(work):
    """A plugin brings the shared library into a program that runs already, beside others with variables of threads.

    What libtier has of these must lie where the C library has put some bytes aside for what comes late. Where they are
    gone, the plugin is not opened, and the setting that docs/install.md names gives more.
    """
    libraries = work.prefix("shared") / "lib"
    with consumer() as folder:
        compiled = ["g++", "-std=c++20", f"-I{work.prefix('shared') / 'include'}"]
        program, plugin = folder / "opens_late", folder / "plugin.so"
        work.run(*compiled, ROOT / "tests/package/opens_late.cpp", "-o", program)
        work.run(*compiled, "-shared", "-fPIC", folder / "main.cpp", "-o", plugin, f"-L{libraries}", "-ltier", f"-Wl,-rpath,{libraries}")
        others = thread_variables(work, folder)
        work.expect(WORKS, program, plugin)
        work.expect(WORKS, program, *others[:5], plugin)
        status, printed = work.attempt(program, *others, plugin)
        if status == 0 or "static TLS" not in printed:
            sys.exit(f"{printed}\n{len(others)} libraries have left room for libtier's variables of threads")
        (setting,) = re.findall(r"GLIBC_TUNABLES=(\S+?)`", (ROOT / "docs/install.md").read_text())
        work.expect(WORKS, program, *others, plugin, GLIBC_TUNABLES=setting)


def thread_variables(work, folder):
    """Libraries that each take 64 bytes as libtier takes its own, together more than there are; one has 64 KiB elsewhere."""
    source, elsewhere, first = folder / "variables.cpp", folder / "elsewhere.so", folder / "first.so"
    source.write_text('extern "C" { thread_local char used[BYTES]; char* use() { return used; } }\n')
    work.run("g++", "-shared", "-fPIC", "-DBYTES=65536", source, "-o", elsewhere)
    work.run("g++", "-shared", "-fPIC", "-DBYTES=64", "-ftls-model=initial-exec", source, "-o", first)
    copies = [shutil.copy(first, folder / f"copy{number}.so") for number in range(60)]
    return [elsewhere, first, *copies]


def readme(work):
    """README's commands under "Installed", as they are written there."""
    build_it, use_it = package.readme("Installed", "sh")
    program, printed = README_PROGRAM
    with consumer(program=program) as folder:
        work.run("bash", "-euc", build_it, cwd=work.source, HOME=str(folder))
        work.expect(printed, "bash", "-euc", use_it, cwd=folder, HOME=str(folder))


def pkg_config(work):
    """A compiler and pkg-config alone. What a shared library needs itself is nobody's business."""
    for linkage in LINKAGES:
        libraries = work.prefix(linkage) / "lib"
        query = f"pkg-config --cflags --libs {'--static' if linkage == 'static' else ''} libtier"
        with consumer() as folder:
            variables = {"PKG_CONFIG_PATH": str(libraries / "pkgconfig"), "LD_LIBRARY_PATH": str(libraries)}
            flags = work.run("bash", "-euc", query, **variables).split()
            if linkage == "shared" and {"-ltbb", "-luring", "-lnuma"} & set(flags):
                sys.exit(f"{query} names what the shared library needs itself: {flags}")
            work.run("g++", "-std=c++20", "main.cpp", "-o", "example", *flags, cwd=folder)
            work.expect(WORKS, folder / "example", **variables)


def source_tree(work):
    """By FetchContent, as README has it, and by add_subdirectory. Neither leaves tests, files to install or options behind.

    Both in the same folders, so that the library is compiled once, and without optimisation, which is faster.
    """
    build = work.build("part")
    (fetch,) = package.readme("As a part of your build", "cmake")
    fetch, there = re.subn(r"SOURCE_DIR \S+\)", f"SOURCE_DIR {work.source})", fetch)
    subdirectory = f"add_subdirectory({work.source} _deps/tier-build)\n"
    for way in (fetch, subdirectory):
        lists = (package.ROOT / "test_package" / "CMakeLists.txt").read_text()
        lists, replaced = re.subn(r"find_package\(tier .*\)\n", way, lists)
        if (there, replaced) != (1, 1):
            sys.exit("the CMakeLists.txt of README.md are not those that this test knows to change")
        for option in LINKAGES.values():
            with consumer(lists) as folder:
                shutil.rmtree(build / "CMakeFiles" / "example.dir", ignore_errors=True)
                (build / "CMakeCache.txt").unlink(missing_ok=True)
                work.cmake(folder, build, option, f"-DCMAKE_INSTALL_PREFIX={folder / 'prefix'}")
                work.expect(WORKS, build / "example")
                work.run("cmake", "--install", build)
                if (folder / "prefix").exists():
                    sys.exit("as a part of another project, libtier installs files")
                work.expect(re.compile("Total Tests: 0"), "ctest", "--test-dir", build, "-N")
                if leaked := re.findall(r"^BUILD_TESTING.*", (build / "CMakeCache.txt").read_text(), re.MULTILINE):
                    sys.exit(f"libtier sets what is its parent's: {leaked}")


def checked(work, build, is_checked):
    """Whether preconditions are checked is the library's property, whatever a program defines."""
    work.run("cmake", "--install", build, "--prefix", work.folder / "checked")
    for prefix, expected in ((work.folder / "checked", is_checked), (work.prefix("static"), "0")):
        for defined in ([], ["-DTIER_CHECKED"]):
            with consumer() as folder:
                (folder / "asks.cpp").write_text(
                    f"#include <tier/scope/scope.hpp>\nstatic_assert(tier::detail::checked == {expected});\n"
                )
                work.run("g++", "-std=c++20", "-fsyntax-only", *defined, f"-I{prefix}/include", folder / "asks.cpp")
    with consumer() as folder:
        work.cmake(folder, folder / "build", f"-DCMAKE_PREFIX_PATH={work.folder / 'checked'}")
        work.expect(WORKS, folder / "build" / "example")


def headers(work):
    """Those of the tree, which compile alone (habits.headers), and the generated one; all can be had at once."""
    for linkage in LINKAGES:
        installed = work.prefix(linkage) / "include"
        texts = {path.relative_to(installed): path.read_bytes() for path in installed.rglob("*") if path.is_file()}
        texts.pop(Path("tier/core/config.hpp"))
        tree = package.ROOT / "include"
        if texts != {path.relative_to(tree): path.read_bytes() for path in tree.rglob("*.hpp")}:
            sys.exit(f"the headers under {installed} are not those under {tree}")
    with consumer() as folder:
        names = sorted(path.relative_to(installed) for path in installed.rglob("*.hpp"))
        (folder / "all.cpp").write_text("".join(f"#include <{name}>\n" for name in names))
        warnings = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wundef", "-Werror"]
        work.run("g++", "-std=c++20", "-fsyntax-only", *warnings, f"-I{installed}", folder / "all.cpp")


def paths(work, library):
    """No installed file names a folder of the machine that built it; nor does the library, but for debugging."""
    problems = []
    for linkage in LINKAGES:
        for path in work.prefix(linkage).rglob("*"):
            if path.is_file() and str(work.folder).encode() in path.read_bytes():
                problems.append(f"{path} names {work.folder}")
    stripped = work.folder / "stripped.a"
    work.run("strip", "-g", library, "-o", stripped)
    if str(package.ROOT).encode() in stripped.read_bytes():
        problems.append(f"{library} names {package.ROOT}")
    package.report(problems, "files of the installed libraries")


WAYS = {way.__name__: way for way in (install, find_package, components, parts, soname, late, readme, pkg_config, source_tree, checked, headers, paths)}
WAYS[sys.argv[2]](package.Work(sys.argv[1]), *sys.argv[3:])
