# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# With TIER_FAST_BUILD a build of everything compiles sources together, and headers ahead. Without it these do nothing.

# tier_compile_together(TARGET): compiles up to twelve sources of a folder at once, so that they read their headers once. So
# no two files of a folder may give one name to different things in their unnamed namespaces; a file of tests has a namespace of
# its own.
function(tier_compile_together target)
  if(NOT TIER_FAST_BUILD)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE group)
    cmake_path(RELATIVE_PATH group BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(REGEX REPLACE "^(src/[^/]+|[^/]+)/.*" "\\1" group "${group}")
    string(MAKE_C_IDENTIFIER "${group}" group)
    math(EXPR ${group}_count "0${${group}_count} + 1")
    math(EXPR number "${${group}_count} / 12")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group}_${number})
  endforeach()
endfunction()

# tier_precompile(TARGET [HEADER...]): compiles the standard library's headers, and these, ahead.
function(tier_precompile target)
  if(NOT TIER_FAST_BUILD)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE <algorithm> <array> <atomic> <chrono> <cmath> <cstdint> <cstdio> <cstring>
    <filesystem> <functional> <map> <memory> <memory_resource> <mutex> <numeric> <optional> <random> <set> <span> <sstream>
    <stdexcept> <string> <string_view> <thread> <tuple> <unordered_map> <utility> <vector> ${ARGN})
  tier_let_ccache_precompile(${target})
endfunction()

# tier_precompile_as(TARGET OTHER): uses what was compiled ahead for another target of the same flags.
function(tier_precompile_as target other)
  if(NOT TIER_FAST_BUILD)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${other})
  tier_let_ccache_precompile(${target})
endfunction()

function(tier_let_ccache_precompile target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  elseif(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()
