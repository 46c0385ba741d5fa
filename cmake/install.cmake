# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What `cmake --install` puts where, in two components: Runtime (shared library, program, licence) and Development.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(tier_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tier)

install(TARGETS tier EXPORT tierTargets
  LIBRARY COMPONENT Runtime NAMELINK_COMPONENT Development
  ARCHIVE COMPONENT Development
  FILE_SET HEADERS COMPONENT Development
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})  # for users' CMake before 3.23, which knows no file sets
install(EXPORT tierTargets NAMESPACE tier:: DESTINATION ${tier_package_dir} COMPONENT Development)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT Runtime)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT Development)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT Development)

# Whoever links a static library links what it uses itself, too.
get_target_property(type tier TYPE)
if(type STREQUAL "STATIC_LIBRARY")
  set(tier_static ON)
  set(tier_requires_private "tbb, zlib")
  if(TIER_WITH_IO_URING)
    string(APPEND tier_requires_private ", liburing")
  endif()
  if(TIER_WITH_NUMA)
    string(APPEND tier_requires_private ", numa")
  endif()
  if(TIER_WITH_MEMKIND)
    string(APPEND tier_requires_private ", memkind")
  endif()
  if(TIER_WITH_PMEM)
    string(APPEND tier_requires_private ", libpmem")
  endif()
  if(TIER_WITH_ZSTD)
    string(APPEND tier_requires_private ", libzstd")
  endif()
else()
  set(tier_static OFF)
endif()

configure_package_config_file(cmake/tierConfig.cmake.in tierConfig.cmake INSTALL_DESTINATION ${tier_package_dir}
                              NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(tierConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tierConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/tierConfigVersion.cmake
        DESTINATION ${tier_package_dir} COMPONENT Development)

# The prefix is where the file is found; a folder that was given as an absolute path stays where it is.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_PREFIX BASE_DIRECTORY ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig
           OUTPUT_VARIABLE tier_pc_to_prefix)
cmake_path(APPEND tier_pc_libdir "\${prefix}" ${CMAKE_INSTALL_LIBDIR})
cmake_path(APPEND tier_pc_includedir "\${prefix}" ${CMAKE_INSTALL_INCLUDEDIR})
configure_file(cmake/libtier.pc.in libtier.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/libtier.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT Development)
