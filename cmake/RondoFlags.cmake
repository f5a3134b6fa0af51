# SPDX-License-Identifier: BSD-3-Clause
# How everything of this project is compiled: language levels, warnings, sanitizers. Targets take it
# by linking rondo_build, which is never installed.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(rondo_build INTERFACE)
target_compile_definitions(rondo_build INTERFACE _GNU_SOURCE)
target_compile_options(rondo_build INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
if(RONDO_WERROR)
  target_compile_options(rondo_build INTERFACE -Werror)
endif()

if(RONDO_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
elseif(RONDO_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread -fno-omit-frame-pointer)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # A fence is only ever an addition to the acquire and release operations that ThreadSanitizer
    # sees (src/base/atomic.h), so gcc's warning that it does not see fences says nothing here.
    list(APPEND sanitize -Wno-tsan)
  endif()
elseif(RONDO_SANITIZE STREQUAL "fuzzer")
  if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "RONDO_SANITIZE is fuzzer: libFuzzer is clang's")
  endif()
  set(sanitize -fsanitize=fuzzer-no-link)
elseif(RONDO_SANITIZE)
  message(FATAL_ERROR "RONDO_SANITIZE is '${RONDO_SANITIZE}': address, thread, fuzzer or empty")
endif()
if(RONDO_SANITIZE)
  target_compile_options(rondo_build INTERFACE ${sanitize})
  target_link_options(rondo_build INTERFACE ${sanitize})
endif()

# Debug assertions and the plan's own check.
if(CMAKE_BUILD_TYPE STREQUAL "Debug" OR RONDO_SANITIZE)
  target_compile_definitions(rondo_build INTERFACE RD_DEBUG)
endif()
