# SPDX-License-Identifier: BSD-3-Clause
# The programs: rondo (tools/), rondo-bench (bench/), one per folder of examples/, and the target
# `demo` that shows them. All are users of the public headers and link the static library.

# Says in one line what a package that is not there costs.
function(rondo_without what debian cost)
  message(STATUS "Without ${what} (Debian package ${debian}): ${cost}")
endfunction()

# Runtimes that are not instrumented drown ThreadSanitizer in reports about themselves.
if(RONDO_SANITIZE STREQUAL "thread")
  message(STATUS "ThreadSanitizer: examples and benchmarks are built without OpenMP, TBB and MPI")
else()
  find_package(OpenMP COMPONENTS C)
  find_package(TBB QUIET)
  find_package(MPI COMPONENTS C)
  if(NOT OpenMP_C_FOUND)
    rondo_without("OpenMP" "gcc, or libomp-dev for clang"
      "rondo-bench and the heat example do not compare with it")
  endif()
  if(NOT TBB_FOUND)
    rondo_without("oneTBB" "libtbb-dev" "rondo-bench does not compare with its flow graph")
  endif()
  if(NOT MPI_C_FOUND)
    rondo_without("Open MPI" "libopenmpi-dev" "rondo-bench does not compare with MPI")
  endif()
endif()
pkg_check_modules(PNG IMPORTED_TARGET libpng)

# ---- rondo
file(GLOB tool_sources CONFIGURE_DEPENDS tools/*.c)
if(tool_sources)
  add_executable(rondo_tool ${tool_sources})
  set_target_properties(rondo_tool PROPERTIES OUTPUT_NAME rondo)
  target_compile_definitions(rondo_tool PRIVATE RONDO_VERSION="${PROJECT_VERSION}")
  target_include_directories(rondo_tool PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(rondo_tool PRIVATE
    rondo_build rondo PkgConfig::JANSSON PkgConfig::HWLOC Threads::Threads m)
  # The command writes its own manual pages and completion. Where it cannot run, there are none.
  if(NOT RONDO_SANITIZE AND (NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR))
    set(rondo_pages ${CMAKE_CURRENT_BINARY_DIR}/share)
    add_custom_command(OUTPUT ${rondo_pages}/stamp
      COMMAND ${CMAKE_COMMAND} -E rm -rf ${rondo_pages}
      COMMAND ${CMAKE_COMMAND} -E make_directory
        ${rondo_pages}/man/man1 ${rondo_pages}/bash-completion/completions
      COMMAND rondo_tool --generate man ${rondo_pages}/man/man1
      COMMAND rondo_tool --generate completion ${rondo_pages}/bash-completion/completions/rondo
      COMMAND ${CMAKE_COMMAND} -E touch ${rondo_pages}/stamp
      DEPENDS rondo_tool VERBATIM)
    add_custom_target(rondo_pages ALL DEPENDS ${rondo_pages}/stamp)
  endif()
endif()

# ---- LLVM's OpenMP beside GCC's: a module that clang compiles, where it is installed with libomp
if(OpenMP_C_FOUND AND CMAKE_C_COMPILER_ID STREQUAL "GNU")
  find_program(RONDO_CLANG NAMES clang clang-19 clang-18 clang-17 clang-16 clang-15 clang-14)
  mark_as_advanced(RONDO_CLANG)
  if(RONDO_CLANG AND NOT DEFINED RONDO_CLANG_OPENMP)
    file(WRITE ${CMAKE_BINARY_DIR}/CMakeFiles/llvm_openmp.c
      "int main(void)\n{\n    int n = 0;\n#pragma omp parallel\n#pragma omp atomic\n    n++;\n    return n < 1;\n}\n")
    execute_process(
      COMMAND ${RONDO_CLANG} -fopenmp=libomp -o ${CMAKE_BINARY_DIR}/CMakeFiles/llvm_openmp
        ${CMAKE_BINARY_DIR}/CMakeFiles/llvm_openmp.c
      RESULT_VARIABLE clang_openmp_failed OUTPUT_QUIET ERROR_QUIET)
    if(clang_openmp_failed)
      set(RONDO_CLANG_OPENMP OFF CACHE INTERNAL "clang links LLVM's OpenMP")
    else()
      set(RONDO_CLANG_OPENMP ON CACHE INTERNAL "clang links LLVM's OpenMP")
    endif()
  endif()
  if(RONDO_CLANG_OPENMP)
    set(module ${CMAKE_BINARY_DIR}/rondo-bench-llvm-openmp.so)
    set(module_source ${CMAKE_CURRENT_SOURCE_DIR}/bench/peers/openmp.c)
    file(GLOB module_headers CONFIGURE_DEPENDS bench/*.h bench/peers/*.h)
    add_custom_command(OUTPUT ${module}
      COMMAND ${RONDO_CLANG} -O2 -std=c11 -D_GNU_SOURCE -DRONDO_OPENMP_MODULE -fPIC -shared
        -fvisibility=hidden -fopenmp=libomp -I${CMAKE_CURRENT_SOURCE_DIR}
        -I${CMAKE_CURRENT_SOURCE_DIR}/include -o ${module} ${module_source}
      DEPENDS ${module_source} ${module_headers} VERBATIM)
    add_custom_target(rondo_bench_llvm_openmp DEPENDS ${module})
  else()
    rondo_without("clang with LLVM's OpenMP" "clang libomp-dev"
      "rondo-bench does not compare with it")
  endif()
endif()

# ---- rondo-bench: this library beside its peers, each where its package is installed
file(GLOB bench_sources CONFIGURE_DEPENDS bench/*.c)
file(GLOB peer_sources CONFIGURE_DEPENDS bench/peers/*.c bench/peers/*.cpp)
if(bench_sources)
  add_executable(rondo-bench ${bench_sources})
  target_include_directories(rondo-bench PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(rondo-bench PRIVATE rondo_build rondo Threads::Threads m)
  # The module of LLVM's OpenMP runtime uses functions of the program.
  set_target_properties(rondo-bench PROPERTIES
    ENABLE_EXPORTS ON C_VISIBILITY_PRESET default CXX_VISIBILITY_PRESET default)
  foreach(source IN LISTS peer_sources)
    cmake_path(GET source STEM peer)
    if(peer STREQUAL "openmp")
      if(OpenMP_C_FOUND)
        set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${OpenMP_C_FLAGS}")
        target_link_libraries(rondo-bench PRIVATE ${OpenMP_C_LIBRARIES})
        target_compile_definitions(rondo-bench PRIVATE RONDO_PEER_OPENMP)
      else()
        continue()
      endif()
    elseif(peer STREQUAL "llvm_openmp")
      if(TARGET rondo_bench_llvm_openmp)
        add_dependencies(rondo-bench rondo_bench_llvm_openmp)
        target_link_libraries(rondo-bench PRIVATE ${CMAKE_DL_LIBS})
        target_compile_definitions(rondo-bench PRIVATE
          RONDO_PEER_LLVM_OPENMP="rondo-bench-llvm-openmp.so")
      else()
        continue()
      endif()
    elseif(peer STREQUAL "tbb")
      if(TBB_FOUND)
        target_link_libraries(rondo-bench PRIVATE TBB::tbb)
        target_compile_definitions(rondo-bench PRIVATE RONDO_PEER_TBB)
      else()
        continue()
      endif()
    elseif(peer STREQUAL "opencl")
      if(RONDO_OPENCL AND OPENCL_INCLUDE)
        target_include_directories(rondo-bench SYSTEM PRIVATE ${OPENCL_INCLUDE})
        target_link_libraries(rondo-bench PRIVATE ${CMAKE_DL_LIBS})
        target_compile_definitions(rondo-bench PRIVATE RONDO_PEER_OPENCL)
      else()
        continue()
      endif()
    elseif(peer MATCHES "^mpi")
      if(MPI_C_FOUND)
        target_link_libraries(rondo-bench PRIVATE MPI::MPI_C)
        target_compile_definitions(rondo-bench PRIVATE RONDO_PEER_MPI)
      else()
        continue()
      endif()
    endif()
    target_sources(rondo-bench PRIVATE ${source})
  endforeach()
endif()

# ---- examples. Each is a program of a folder's files; common/ is what they measure with.
pkg_check_modules(BLAS IMPORTED_TARGET openblas lapacke)
find_library(CHOLMOD_LIBRARY cholmod)
find_path(CHOLMOD_INCLUDE cholmod.h PATH_SUFFIXES suitesparse)
mark_as_advanced(CHOLMOD_LIBRARY CHOLMOD_INCLUDE)
if(NOT BLAS_FOUND)
  rondo_without("OpenBLAS and LAPACKE" "libopenblas-dev liblapacke-dev" "no cholesky example")
endif()
if(NOT (CHOLMOD_LIBRARY AND CHOLMOD_INCLUDE))
  rondo_without("CHOLMOD" "libsuitesparse-dev"
    "no trisolve example; cholesky and cg read no Matrix Market files")
endif()
file(GLOB common_sources CONFIGURE_DEPENDS examples/common/*.c)
add_library(example_common STATIC ${common_sources})
target_include_directories(example_common PUBLIC examples)
target_link_libraries(example_common PRIVATE rondo_build)
if(CHOLMOD_LIBRARY AND CHOLMOD_INCLUDE) # for sparse.c; who calls it links it, too
  target_include_directories(example_common SYSTEM PRIVATE ${CHOLMOD_INCLUDE})
  target_compile_definitions(example_common PRIVATE RONDO_HAVE_CHOLMOD)
endif()

file(GLOB example_folders CONFIGURE_DEPENDS LIST_DIRECTORIES true examples/*)
foreach(folder IN LISTS example_folders)
  cmake_path(GET folder FILENAME name)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
  if(NOT sources OR name STREQUAL "common")
    continue()
  endif()
  if((name STREQUAL "cholesky" AND NOT BLAS_FOUND) OR
     (name STREQUAL "trisolve" AND NOT (CHOLMOD_LIBRARY AND CHOLMOD_INCLUDE)))
    continue()
  endif()
  add_executable(example_${name} ${sources})
  set_target_properties(example_${name} PROPERTIES OUTPUT_NAME ${name}
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/examples)
  target_compile_definitions(example_${name} PRIVATE EXAMPLE_DIR="${folder}") # what it ships
  target_link_libraries(example_${name} PRIVATE rondo_build rondo example_common Threads::Threads m)
  if(name STREQUAL "cholesky")
    target_link_libraries(example_${name} PRIVATE PkgConfig::BLAS)
  endif()
  if(name MATCHES "^(cholesky|cg|trisolve)$" AND CHOLMOD_LIBRARY AND CHOLMOD_INCLUDE)
    target_link_libraries(example_${name} PRIVATE ${CHOLMOD_LIBRARY})
    target_include_directories(example_${name} SYSTEM PRIVATE ${CHOLMOD_INCLUDE})
    target_compile_definitions(example_${name} PRIVATE RONDO_HAVE_CHOLMOD)
  endif()
  if(OpenMP_C_FOUND)
    target_link_libraries(example_${name} PRIVATE OpenMP::OpenMP_C)
  endif()
  if(PNG_FOUND)
    target_link_libraries(example_${name} PRIVATE PkgConfig::PNG)
    target_compile_definitions(example_${name} PRIVATE RONDO_HAVE_PNG)
  endif()
endforeach()
if(NOT PNG_FOUND)
  rondo_without("libpng" "libpng-dev" "the heat example writes no pictures")
endif()

# ---- demo
set(demo_commands)
if(TARGET example_heat)
  list(APPEND demo_commands COMMAND example_heat)
endif()
file(GLOB demo_graphs CONFIGURE_DEPENDS examples/graphs/*.stg)
if(TARGET rondo_tool AND demo_graphs)
  list(GET demo_graphs 0 demo_graph)
  list(APPEND demo_commands COMMAND rondo_tool run ${demo_graph})
endif()
if(demo_commands)
  add_custom_target(demo ${demo_commands}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} USES_TERMINAL VERBATIM)
endif()
