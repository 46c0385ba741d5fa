# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""libtier for Conan 2; README.md has the commands."""
import re
from pathlib import Path

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rmdir
from conan.tools.gnu import PkgConfigDeps
from conan.tools.scm import Version

required_conan_version = ">=2.4"


class Libtier(ConanFile):
    name = "libtier"
    description = "Tiered memory for C++ programs whose data outgrows fast memory"
    license = "Apache-2.0 WITH LLVM-exception"
    topics = ("memory", "allocator", "tiered-memory", "nvme", "numa", "pmr")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {  # neither libpmem nor memkind: Conan Center has no recipe for them
        "shared": [True, False],
        "fPIC": [True, False],
        "with_io_uring": [True, False],
        "with_numa": [True, False],
        "with_zstd": [True, False],
        "checked": [True, False],
        "tools": [True, False],
    }
    default_options = {
        "shared": False, "fPIC": True, "with_io_uring": True, "with_numa": True, "with_zstd": True, "checked": False,
        "tools": False,
    }  # fmt: skip
    implements = ["auto_shared_fpic"]
    exports_sources = (
        "CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "cmake/*.cmake", "cmake/*.in", "docs/*.md", "docs/*.svg",
        "include/*.hpp", "include/*.in", "src/*.hpp", "src/*.cpp", "policies/*.hpp", "policies/*.cpp",
        "support/*CMakeLists.txt", "support/*.hpp", "support/*.cpp",
        "tools/*CMakeLists.txt", "tools/*.hpp", "tools/*.cpp", "tools/*.in", "tools/*.css", "tools/*.js",
    )  # fmt: skip

    def set_version(self):
        text = load(self, Path(self.recipe_folder, "CMakeLists.txt"))
        self.version = re.search(r"project\(tier VERSION (\S+)", text)[1]

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        # No library of Boost's is linked: a boost with header_only=True will do.
        self.requires("boost/[>=1.74 <2]", transitive_headers=True, libs=False)
        self.requires("onetbb/[>=2021.3 <2023]")
        self.requires("nlohmann_json/[>=3.9 <4]", visible=False)
        self.requires("zlib/[>=1.2.11 <2]")
        if self.options.with_io_uring:
            self.requires("liburing/[>=2.3 <3]")
        if self.options.with_numa:
            self.requires("libnuma/[>=2.0.14 <3]")
        if self.options.with_zstd:
            self.requires("zstd/[>=1.5 <2]")
        if self.options.tools:
            self.requires("cli11/[>=2.1 <3]", visible=False)
            self.requires("fmt/[>=9 <12]", visible=False)

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")
        if self.options.with_io_uring or self.options.with_numa or self.options.with_zstd:
            self.tool_requires("pkgconf/[>=1.8 <3]")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"libtier needs Linux 5.10 or later; this is {self.settings.os}")
        if self.settings.arch not in ("x86_64", "armv8"):
            raise ConanInvalidConfiguration(f"libtier supports x86_64 and armv8; this is {self.settings.arch}")
        check_min_cppstd(self, 20)
        compiler, version = str(self.settings.compiler), Version(self.settings.compiler.version)
        least = {"gcc": "12", "clang": "14"}.get(compiler)
        if least and version < least:
            raise ConanInvalidConfiguration(f"libtier needs {compiler} {least} or later; this is {version}")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False
        toolchain.cache_variables.update(
            {
                "TIER_BUILD_TESTS": False,
                "TIER_BUILD_BENCH": False,
                "TIER_BUILD_SAMPLES": False,
                "TIER_BUILD_TOOLS": bool(self.options.tools),
                "TIER_BUILD_CHECKED": bool(self.options.checked),
                "TIER_WITH_IO_URING": bool(self.options.with_io_uring),
                "TIER_WITH_NUMA": bool(self.options.with_numa),
                "TIER_WITH_ZSTD": bool(self.options.with_zstd),
            }
        )
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, Path(self.package_folder, "licenses"))
        for folder in ("lib/cmake", "lib/pkgconfig", "share"):  # Conan's generators make their own from package_info
            rmdir(self, Path(self.package_folder, folder))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "tier")
        self.cpp_info.set_property("cmake_target_name", "tier::tier")
        self.cpp_info.set_property("cmake_config_version_compat", "SameMinorVersion")
        self.cpp_info.set_property("pkg_config_name", "libtier")
        self.cpp_info.libs = ["tier"]
        self.cpp_info.system_libs = ["pthread"]
        self._needs("boost", "headers")
        self._needs("onetbb", "libtbb", library="tbb")
        self._needs("zlib", "zlib", library="z")
        if self.options.with_io_uring:
            self._needs("liburing", "liburing", library="uring")
        if self.options.with_numa:
            self._needs("libnuma", "libnuma", library="numa")
        if self.options.with_zstd:
            self._needs("zstd", "zstdlib", library="zstd")

    def _needs(self, package, component, library=None):
        """Of a package that a profile leaves to the system ([platform_requires]), nothing but its library is known."""
        if package in self.dependencies:
            self.cpp_info.requires.append(f"{package}::{component}")
        elif library and not self.options.shared:
            self.cpp_info.system_libs.append(library)
