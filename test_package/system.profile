# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A Conan profile that takes every dependency from the system, so that no remote is needed. The versions, those of
# Debian 12, need only be in the ranges of conanfile.py.
include(default)

[settings]
compiler.cppstd=20

[platform_requires]
boost/1.74.0
cli11/2.1.2
fmt/9.1.0
libnuma/2.0.16
liburing/2.3
nlohmann_json/3.11.2
onetbb/2021.8.0
zlib/1.2.13
zstd/1.5.4

[platform_tool_requires]
cmake/3.25.1
pkgconf/1.8.1

[conf]
tools.cmake.cmaketoolchain:generator=Ninja
