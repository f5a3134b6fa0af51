# SPDX-License-Identifier: BSD-3-Clause
# tests/fuzz/NAME.c is a fuzz target. With RONDO_SANITIZE=fuzzer (clang) it becomes libFuzzer's
# fuzz_NAME, beside nothing else of tests/; else a program that makes its own random bytes, and a
# CTest entry.

file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*.c)
foreach(source IN LISTS fuzz_sources)
  cmake_path(GET source STEM name)
  add_executable(fuzz_${name} ${source})
  set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(fuzz_${name} PRIVATE rondo_build rondo Threads::Threads m)
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
