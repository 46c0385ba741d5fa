# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# An overlay port: it builds the tree that it lies in. vcpkg does not watch that tree: after a change there, remove the
# package, or install with --no-binarycaching.
set(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../..")

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
    FEATURES
        io-uring TIER_WITH_IO_URING
        numa     TIER_WITH_NUMA
        tools    TIER_BUILD_TOOLS
        zstd     TIER_WITH_ZSTD
)
if("io-uring" IN_LIST FEATURES OR "numa" IN_LIST FEATURES OR "zstd" IN_LIST FEATURES)
    vcpkg_find_acquire_program(PKGCONFIG)
    list(APPEND FEATURE_OPTIONS "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}")
endif()

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${FEATURE_OPTIONS}
        -DTIER_BUILD_BENCH=OFF
        -DTIER_BUILD_SAMPLES=OFF
        -DTIER_BUILD_TESTS=OFF
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME tier CONFIG_PATH lib/cmake/tier)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES tier AUTO_CLEAN)
endif()

file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/debug/include"
    "${CURRENT_PACKAGES_DIR}/debug/share"
    "${CURRENT_PACKAGES_DIR}/share/doc"
)
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
