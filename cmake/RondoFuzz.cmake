# SPDX-License-Identifier: BSD-3-Clause
# tests/fuzz/NAME.c is a fuzz target. With RONDO_SANITIZE=fuzzer (clang) it becomes libFuzzer's
# fuzz_NAME, beside nothing else of tests/; else a program that makes its own random bytes, and a
# CTest entry.

# What targets need of the programs, which need not be built.
set(fuzz_tools_read_stg tools/stg.c)
set(fuzz_tools_read_wfformat
  tools/json_scan.c tools/order.c tools/printable.c tools/wfformat.c)

file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*.c)
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM name)
  add_executable(fuzz_${name} ${source} ${fuzz_tools_${name}})
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(fuzz_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(fuzz_${name} PRIVATE rondo_build rondo PkgConfig::JANSSON Threads::Threads m)
  if(RONDO_SANITIZE STREQUAL "fuzzer")
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    continue()
  endif()
  target_compile_definitions(fuzz_${name} PRIVATE FUZZ_ALONE)
  set(executions 20000)
  if(RONDO_SANITIZE)
    set(executions 1500)
  endif()
  add_test(NAME fuzz_${name} COMMAND fuzz_${name} ${executions})
  set_tests_properties(fuzz_${name} PROPERTIES LABELS fuzz TIMEOUT ${test_timeout}
    ENVIRONMENT "${test_environment}")
endforeach()
