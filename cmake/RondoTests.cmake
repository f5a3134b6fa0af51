# SPDX-License-Identifier: BSD-3-Clause
# Every tests/**/test_NAME.c is a program and a CTest entry test_NAME, labelled with its folder. The
# other C files there, but for tests/runner, are helpers that each of them may use.

file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS tests/test_*.c)
file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS tests/*.c)
list(FILTER support_sources EXCLUDE REGEX "/tests/runner/|/tests/fuzz/|/test_[^/]*$")
list(FILTER test_sources EXCLUDE REGEX "/tests/runner/")
# The parts of programs that have tests of their own.
list(APPEND support_sources bench/patterns.c tools/cli.c tools/cli_completion.c tools/cli_help.c
  tools/cli_man.c tools/cli_parse.c tools/file.c tools/graph.c tools/hints.c tools/job.c
  tools/json_scan.c tools/order.c tools/printable.c tools/recorded.c tools/stg.c tools/stg_write.c
  tools/svg.c tools/timeline_read.c tools/wfformat.c)
if(NOT TARGET rondo_tool)
  list(FILTER test_sources EXCLUDE REGEX "/tests/tools/test_command")
endif()
if(NOT TARGET rondo-bench)
  list(FILTER test_sources EXCLUDE REGEX "/tests/bench/test_bench")
endif()

# One thread, over and over with one more allocation or driver call failing: minutes in which
# ThreadSanitizer has nothing to see.
if(RONDO_SANITIZE STREQUAL "thread")
  list(FILTER test_sources EXCLUDE REGEX
    "/test_(alloc_device|alloc_files|alloc_language|opencl_failures|residency_random)[.]c$")
endif()

# What a test compiles with. Under a sanitizer the tests run by tests/runner instead of Criterion,
# which does not work under ThreadSanitizer and does not fail a test that leaks.
add_library(rondo_test INTERFACE)
target_include_directories(rondo_test INTERFACE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(rondo_test INTERFACE rondo_build rondo Threads::Threads m)
# Test(suite, name) gives its variadic macro no variadic argument.
set(criterion_warnings $<$<C_COMPILER_ID:Clang>:-Wno-gnu-zero-variadic-macro-arguments>)
target_compile_options(rondo_test INTERFACE ${criterion_warnings})
if(RONDO_OPENCL AND OPENCL_INCLUDE)
  target_compile_definitions(rondo_test INTERFACE RD_WITH_OPENCL)
endif()
if(RONDO_SANITIZE)
  add_library(rondo_runner OBJECT tests/runner/runner.c)
  target_include_directories(rondo_runner SYSTEM PUBLIC ${CRITERION_INCLUDE_DIRS})
  target_link_libraries(rondo_runner PRIVATE rondo_build)
  target_include_directories(rondo_test SYSTEM INTERFACE ${CRITERION_INCLUDE_DIRS})
  target_link_libraries(rondo_test INTERFACE rondo_runner)
  target_sources(rondo_test INTERFACE $<TARGET_OBJECTS:rondo_runner>)
else()
  target_link_libraries(rondo_test INTERFACE PkgConfig::CRITERION)
endif()

if(support_sources)
  add_library(rondo_test_support STATIC ${support_sources})
  target_include_directories(rondo_test_support PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(rondo_test_support SYSTEM PRIVATE ${CRITERION_INCLUDE_DIRS})
  target_compile_options(rondo_test_support PRIVATE ${criterion_warnings})
  if(RONDO_OPENCL AND OPENCL_INCLUDE)
    target_compile_definitions(rondo_test_support PRIVATE RD_WITH_OPENCL)
  endif()
  target_link_libraries(rondo_test_support PRIVATE rondo_build PUBLIC rondo PkgConfig::JANSSON)
  target_link_libraries(rondo_test INTERFACE rondo_test_support)
endif()

set(test_timeout 300)
set(test_environment
  "RONDO_SOURCE_DIR=${CMAKE_CURRENT_SOURCE_DIR}" "RONDO_BINARY_DIR=${CMAKE_CURRENT_BINARY_DIR}")
if(RONDO_SANITIZE)
  set(test_timeout 900)
  list(APPEND test_environment
    "ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "TSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/tests/runner/tsan.supp:halt_on_error=0")
endif()

foreach(source IN LISTS test_sources)
  cmake_path(GET source STEM name)
  cmake_path(GET source PARENT_PATH folder)
  cmake_path(GET folder FILENAME label)
  add_executable(${name} ${source})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE rondo_test)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${test_timeout}
    ENVIRONMENT "${test_environment}")
endforeach()

# What compares times has the machine to itself: devices made of the CPUs take all of them.
set_tests_properties(test_host PROPERTIES RUN_SERIAL TRUE)

# ---- the sources themselves
foreach(check include_floors include_floors_test doc_screens_test public_calls)
  add_test(NAME ${check} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/${check})
  set_tests_properties(${check} PROPERTIES LABELS sources TIMEOUT 60)
endforeach()
if(TARGET rondo_shared)
  add_test(NAME exports COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/exports
    $<TARGET_FILE:rondo_shared> ${CMAKE_CURRENT_SOURCE_DIR}/include)
  set_tests_properties(exports PROPERTIES LABELS sources TIMEOUT 60)
  if(RONDO_INSTALL)
    add_test(NAME installed COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/installed
      ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER} ${CMAKE_CXX_COMPILER})
    set_tests_properties(installed PROPERTIES LABELS sources TIMEOUT 300)
    # The pages' programs and screens; the latter use the former.
    separate_arguments(openmp UNIX_COMMAND "${OpenMP_C_FLAGS}")
    add_test(NAME doc_blocks COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/doc_blocks
      ${CMAKE_BINARY_DIR} ${CMAKE_C_COMPILER} ${openmp})
    set_tests_properties(doc_blocks PROPERTIES LABELS sources TIMEOUT 300 FIXTURES_SETUP doc_programs)
    # The screens have OpenMP's rows, and not the warnings of a debug build.
    if(TARGET rondo_tool AND OpenMP_C_FOUND AND CMAKE_BUILD_TYPE STREQUAL "Release")
      add_test(NAME doc_screens COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/doc_screens
        ${CMAKE_BINARY_DIR})
      set_tests_properties(doc_screens PROPERTIES LABELS sources TIMEOUT 300
        FIXTURES_REQUIRED doc_programs)
    endif()
  endif()
endif()

# Each public header stands alone, as C11 and as C++17: it compiles, with all warnings, or the build
# fails.
file(GLOB public_headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/include include/rondo/*.h)
set(header_sources)
foreach(header IN LISTS public_headers)
  string(MAKE_C_IDENTIFIER ${header} stem)
  foreach(suffix c cpp)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${stem}.${suffix})
    file(CONFIGURE OUTPUT ${source} CONTENT "#include <@header@>\n" @ONLY)
    list(APPEND header_sources ${source})
  endforeach()
endforeach()
add_library(rondo_headers OBJECT ${header_sources})
target_include_directories(rondo_headers PRIVATE include)
target_link_libraries(rondo_headers PRIVATE rondo_build)

# ---- the runner itself: tests of known outcome, each judged by its verdict
if(RONDO_SANITIZE)
  add_executable(runner_planted tests/runner/planted.c $<TARGET_OBJECTS:rondo_runner>)
  set_target_properties(runner_planted PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(runner_planted SYSTEM PRIVATE ${CRITERION_INCLUDE_DIRS})
  target_link_libraries(runner_planted PRIVATE rondo_build Threads::Threads)
  target_compile_options(runner_planted PRIVATE ${criterion_warnings})
  set(verdicts
    passes=PASS aborts=FAIL goes_on=FAIL thread=FAIL signal_expected=PASS signal_missing=FAIL
    signal_unexpected=FAIL exit_expected=PASS exit_unexpected=FAIL skips=SKIP disabled=SKIP late=FAIL)
  if(RONDO_SANITIZE STREQUAL "address")
    list(APPEND verdicts leaks=FAIL races=PASS)
  else()
    list(APPEND verdicts leaks=PASS races=FAIL)
  endif()
  foreach(verdict IN LISTS verdicts)
    string(REPLACE "=" ";" verdict ${verdict})
    list(GET verdict 0 name)
    list(GET verdict 1 word)
    add_test(NAME runner_${name} COMMAND runner_planted --filter planted/${name})
    set_tests_properties(runner_${name} PROPERTIES LABELS runner TIMEOUT 60
      ENVIRONMENT "${test_environment}" PASS_REGULAR_EXPRESSION "\\[${word}\\] planted/${name}")
  endforeach()
endif()

# ---- the examples check their own results
foreach(example loop cholesky heat wrap rebuild rates cg trisolve md)
  if(TARGET example_${example})
    set(arguments)
    if(example STREQUAL "heat")
      set(arguments --size 96x64 --steps 40 --tiles 3x5 --repeat 2 --output heat-test.png)
    elseif(example STREQUAL "cholesky")
      set(arguments --tiles 6 --tile-size 24 --repeat 2)
    elseif(example STREQUAL "cg")
      set(arguments --size 24 --blocks 5 --repeat 2)
    elseif(example STREQUAL "trisolve")
      set(arguments --size 24 --grain 60 --solves 20 --repeat 2)
    elseif(example STREQUAL "md")
      set(arguments --atoms 800 --blocks 1x1x3 --steps 20 --repeat 1)
    endif()
    add_test(NAME example_${example} COMMAND example_${example} ${arguments})
    set_tests_properties(example_${example} PROPERTIES LABELS examples TIMEOUT ${test_timeout}
      ENVIRONMENT "${test_environment}")
  endif()
endforeach()
if(TARGET example_loop AND NOT RONDO_SANITIZE)
  add_test(NAME without_opencl COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/without_opencl
    ${CMAKE_BINARY_DIR})
  set_tests_properties(without_opencl PROPERTIES LABELS examples TIMEOUT ${test_timeout}
    ENVIRONMENT "${test_environment}")
endif()
# Where OpenCL has a device; 3 says that it has none.
if(TARGET example_heat)
  add_test(NAME example_heat_device COMMAND example_heat --device opencl
    --size 96x64 --steps 40 --tiles 3x5 --repeat 2 --output heat-device-test.png)
  add_test(NAME example_md_device COMMAND example_md --device opencl
    --atoms 800 --blocks 1x1x3 --steps 20 --repeat 1)
  set_tests_properties(example_heat_device example_md_device PROPERTIES LABELS examples
    SKIP_RETURN_CODE 3 TIMEOUT ${test_timeout} ENVIRONMENT "${test_environment}")
endif()
if(TARGET example_cholesky)
  add_test(NAME cholesky_inputs COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/cholesky_inputs
    $<TARGET_FILE:example_cholesky>)
  set_tests_properties(cholesky_inputs PROPERTIES LABELS examples TIMEOUT ${test_timeout}
    ENVIRONMENT "${test_environment}")
endif()
foreach(example cg trisolve)
  if(TARGET example_${example})
    add_test(NAME example_${example}_inputs COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/sparse_inputs
      $<TARGET_FILE:example_${example}> ${CMAKE_CURRENT_SOURCE_DIR}/examples/cg/laplace20.mtx)
    set_tests_properties(example_${example}_inputs PROPERTIES LABELS examples
      TIMEOUT ${test_timeout} ENVIRONMENT "${test_environment}")
  endif()
endforeach()
