# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Runs ports/libtier/portfile.cmake without vcpkg, with what its functions do on Linux for a triplet of release builds:
#
#   cmake -D PORTFILE=PATH -D BUILD=DIR -D PACKAGE=DIR -D LINKAGE=static|dynamic -D FEATURES=LIST -P vcpkg_port.cmake
#
# An argument that a function is not known to take is an error here.
cmake_minimum_required(VERSION 3.25)
set(PORT libtier)
set(VCPKG_BUILD_TYPE release)
set(CURRENT_PACKAGES_DIR ${PACKAGE})
file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# take(PREFIX OPTIONS ONE-VALUE MULTI-VALUE ARG...): cmake_parse_arguments that refuses anything else.
macro(take options one multi)
  cmake_parse_arguments(arg "${options}" "${one}" "${multi}" ${ARGN})
  if(DEFINED arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "not taken here: ${arg_UNPARSED_ARGUMENTS}")
  endif()
endmacro()

function(vcpkg_check_features)
  take("" OUT_FEATURE_OPTIONS FEATURES ${ARGN})
  set(result "")
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    if(feature IN_LIST FEATURES)
      list(APPEND result -D${option}=ON)
    else()
      list(APPEND result -D${option}=OFF)
    endif()
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${result} PARENT_SCOPE)
endfunction()

function(vcpkg_find_acquire_program name)
  find_program(program NAMES pkg-config REQUIRED)
  set(${name} ${program} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  take("" SOURCE_PATH OPTIONS ${ARGN})
  set(shared OFF)
  if(LINKAGE STREQUAL "dynamic")
    set(shared ON)
  endif()
  run(${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${BUILD} -G Ninja ${arg_OPTIONS}
      -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} -DBUILD_SHARED_LIBS=${shared}
      -DCMAKE_INSTALL_LIBDIR:STRING=lib -DCMAKE_INSTALL_BINDIR:STRING=bin -DCMAKE_ERROR_ON_ABSOLUTE_INSTALL_DESTINATION=ON
      -DCMAKE_EXPORT_NO_PACKAGE_REGISTRY=ON -DCMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON
      -DCMAKE_FIND_PACKAGE_NO_SYSTEM_PACKAGE_REGISTRY=ON)
  # As vcpkg does: a variable that nobody asked for has no type in the cache.
  file(STRINGS ${BUILD}/CMakeCache.txt unknown REGEX "^(TIER|PKG)_[A-Z_]+:UNINITIALIZED")
  if(unknown)
    message(FATAL_ERROR "the project does not know ${unknown}")
  endif()
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${BUILD} --target install)
endfunction()

# Moves the package to share/, where its files are two folders below the prefix, and programs to tools/.
function(vcpkg_cmake_config_fixup)
  take("" "PACKAGE_NAME;CONFIG_PATH" "" ${ARGN})
  set(to ${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME})
  file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR}/share)
  file(RENAME ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH} ${to})
  cmake_path(GET arg_CONFIG_PATH PARENT_PATH parent)
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/${parent})
  set(up "get_filename_component\\(_IMPORT_PREFIX \"\\\${[A-Z_]+}\" PATH\\)\n")
  set(two_up [[get_filename_component(_IMPORT_PREFIX "${CMAKE_CURRENT_LIST_FILE}" PATH)
get_filename_component(_IMPORT_PREFIX "${_IMPORT_PREFIX}" PATH)
get_filename_component(_IMPORT_PREFIX "${_IMPORT_PREFIX}" PATH)
]])
  file(GLOB files ${to}/*.cmake)
  foreach(file ${files})
    file(READ ${file} text)
    string(REGEX REPLACE "(${up})+" "${two_up}" text "${text}")
    string(REGEX REPLACE "(PACKAGE_PREFIX_DIR \"\\\${CMAKE_CURRENT_LIST_DIR})/[./]+\"" "\\1/../../\"" text "${text}")
    string(REGEX REPLACE "(\\\${_IMPORT_PREFIX})/bin/" "\\1/tools/${PORT}/" text "${text}")
    file(WRITE ${file} "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  take("" "" "" ${ARGN})
  file(GLOB files ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc)
  run(pkg-config --validate ${files})
endfunction()

function(vcpkg_copy_tools)
  take(AUTO_CLEAN "" TOOL_NAMES ${ARGN})
  foreach(name ${arg_TOOL_NAMES})
    file(COPY ${CURRENT_PACKAGES_DIR}/bin/${name} DESTINATION ${CURRENT_PACKAGES_DIR}/tools/${PORT})
  endforeach()
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/bin)
endfunction()

function(vcpkg_install_copyright)
  take("" "" FILE_LIST ${ARGN})
  file(COPY_FILE ${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright)
endfunction()

include(${PORTFILE})
