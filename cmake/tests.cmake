# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# What tests of programs share.
find_package(doctest REQUIRED)
find_package(Python3 3.9 REQUIRED COMPONENTS Interpreter)

# For test programs that are not made of tests/support.
set(TIER_TEST_MAIN ${PROJECT_SOURCE_DIR}/tests/support/main.cpp ${PROJECT_SOURCE_DIR}/tests/support/watchdog.cpp)

# tier_script_test(NAME SCRIPT ARGUMENT...): a test that is a script of the folder.
function(tier_script_test name script)
  add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARGN})
endfunction()

# tier_fuzz_options(NAME TARGET ARGUMENT...): odd values for the options of a program.
function(tier_fuzz_options name target)
  add_test(NAME options.${name} COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/programs/fuzz_options.py
                                        "${TIER_BUILD_SANITIZER}" $<TARGET_FILE:${target}> ${ARGN})
  set_tests_properties(options.${name} PROPERTIES LABELS fuzz)
endfunction()
