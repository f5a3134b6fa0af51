# SPDX-License-Identifier: BSD-3-Clause
# What has to be installed. What is missing is named by its Debian package.

find_package(PkgConfig)
if(NOT PkgConfig_FOUND)
  message(FATAL_ERROR "pkg-config is missing: install the Debian package pkg-config (or run ./setup.sh)")
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

function(rondo_require prefix module debian)
  pkg_check_modules(${prefix} IMPORTED_TARGET GLOBAL ${module})
  if(NOT ${prefix}_FOUND)
    message(FATAL_ERROR "${module} is missing: install the Debian package ${debian} (or run ./setup.sh)")
  endif()
endfunction()

rondo_require(URCU liburcu-memb liburcu-dev)
rondo_require(HWLOC hwloc libhwloc-dev)
rondo_require(JANSSON jansson libjansson-dev)
if(RONDO_TESTS)
  rondo_require(CRITERION criterion libcriterion-dev)
endif()

# Headers alone: the driver's library is loaded by the program that opens a device.
find_path(OPENCL_INCLUDE CL/cl_ext.h)
mark_as_advanced(OPENCL_INCLUDE)
if(RONDO_OPENCL AND NOT OPENCL_INCLUDE)
  message(STATUS "Without OpenCL's headers (Debian package opencl-c-headers): no OpenCL devices")
endif()
