# SPDX-License-Identifier: BSD-3-Clause
# librondo, static and shared, from one set of objects.

file(GLOB_RECURSE rondo_sources CONFIGURE_DEPENDS
  src/*.c subgraph/*.c interp/*.c compile/*.c)
if(NOT (RONDO_OPENCL AND OPENCL_INCLUDE))
  list(FILTER rondo_sources EXCLUDE REGEX "/src/device/opencl[^/]*$")
endif()

# The loop over ops is a dozen instructions: where they fall in a fetch window is a quarter of its time.
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    set_source_files_properties(${PROJECT_SOURCE_DIR}/compile/run/lane.c PROPERTIES COMPILE_OPTIONS
        "-falign-functions=64;-falign-loops=64;-falign-jumps=64")
endif()
add_library(rondo_objects OBJECT ${rondo_sources})
set_target_properties(rondo_objects PROPERTIES POSITION_INDEPENDENT_CODE ON)
# Calls among the library's own functions are direct, as in a static library.
target_compile_options(rondo_objects PRIVATE -fno-semantic-interposition)
target_include_directories(rondo_objects PUBLIC include PRIVATE .)
if(RONDO_OPENCL AND OPENCL_INCLUDE)
  target_compile_definitions(rondo_objects PRIVATE RD_WITH_OPENCL)
  target_include_directories(rondo_objects SYSTEM PRIVATE ${OPENCL_INCLUDE})
endif()
target_link_libraries(rondo_objects PRIVATE rondo_build PkgConfig::URCU PkgConfig::HWLOC PkgConfig::JANSSON Threads::Threads)

add_library(rondo STATIC $<TARGET_OBJECTS:rondo_objects>)
target_include_directories(rondo PUBLIC
  $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
target_link_libraries(rondo PRIVATE PkgConfig::URCU PkgConfig::HWLOC PkgConfig::JANSSON Threads::Threads
  ${CMAKE_DL_LIBS} m)

# A sanitized shared library would need its program to be sanitized alike: tests use the static one.
if(NOT RONDO_SANITIZE)
  add_library(rondo_shared SHARED $<TARGET_OBJECTS:rondo_objects>)
  set_target_properties(rondo_shared PROPERTIES OUTPUT_NAME rondo
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/rondo.map)
  target_include_directories(rondo_shared PUBLIC
    $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_options(rondo_shared PRIVATE
    LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/src/rondo.map LINKER:-z,defs)
  target_link_libraries(rondo_shared PRIVATE PkgConfig::URCU PkgConfig::HWLOC PkgConfig::JANSSON Threads::Threads
    ${CMAKE_DL_LIBS} m)
endif()
