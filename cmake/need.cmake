# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Looks for other packages, and says what to install where one is missing.

# tier_need(WHAT DEBIAN-PACKAGE NAME [VERSION]): find_package that says what to install.
macro(tier_need what debian_package name)
  find_package(${name} ${ARGN} QUIET)
  if(NOT ${name}_FOUND)
    message(FATAL_ERROR "libtier needs ${what} (on Debian the package ${debian_package}).")
  endif()
endmacro()

# tier_need_module(LIBRARY DEBIAN-PACKAGE OPTION): the same by pkg-config, for a library that an option asks for.
macro(tier_need_module library debian_package option)
  tier_need("pkg-config, which finds ${library}" pkg-config PkgConfig)
  pkg_check_modules(${library} QUIET IMPORTED_TARGET ${library})
  if(NOT ${library}_FOUND)
    message(FATAL_ERROR "libtier needs ${library} (on Debian the package ${debian_package}), or ${option}=OFF.")
  endif()
endmacro()
