/* SPDX-License-Identifier: BSD-3-Clause */
/* Where OpenCL's functions come from, and what its errors are called. */
#include "src/device/opencl_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

rd_atomic(const struct rd_opencl_watch *) rd_opencl_watching;

void rd_opencl_watch(const struct rd_opencl_watch *watch)
{
    rd_store_release(&rd_opencl_watching, watch); /* pairs with rd_opencl_fails, rd_opencl_made */
}

static struct rd_opencl_calls calls;
static char missing[256]; /* empty: all is there */

/* Never closed: drivers leave threads and handlers behind. */
static void load(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol;
    if (!library) {
        const char *why = dlerror();
        snprintf(missing, sizeof missing,
                 "libOpenCL.so.1 is missing: Debian package ocl-icd-libopencl1 (%.120s)",
                 why ? why : "dlopen failed");
        return;
    }
#define FIND(name)                                                                      \
    symbol = dlsym(library, #name);                                                     \
    memcpy(&calls.name, &symbol, sizeof symbol); /* ISO C converts no object pointer */ \
    if (!symbol && !*missing)                                                           \
        snprintf(missing, sizeof missing, "libOpenCL.so.1 has no " #name ": OpenCL 2.0 is needed");
    RD_OPENCL_CALLS(FIND)
#undef FIND
}

const struct rd_opencl_calls *rd_opencl_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    if (!*missing)
        return &calls;
    rd_error(RONDO_ERR_INVALID, "opencl: %s", missing);
    return NULL;
}

const char *rd_opencl_error_name(int error)
{
    static const struct {
        int error;
        const char *name;
    } names[] = {
#define NAME(error) { error, #error }
        NAME(CL_DEVICE_NOT_FOUND),
        NAME(CL_DEVICE_NOT_AVAILABLE),
        NAME(CL_COMPILER_NOT_AVAILABLE),
        NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
        NAME(CL_OUT_OF_RESOURCES),
        NAME(CL_OUT_OF_HOST_MEMORY),
        NAME(CL_PROFILING_INFO_NOT_AVAILABLE),
        NAME(CL_MEM_COPY_OVERLAP),
        NAME(CL_BUILD_PROGRAM_FAILURE),
        NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
        NAME(CL_DEVICE_PARTITION_FAILED),
        NAME(CL_INVALID_VALUE),
        NAME(CL_INVALID_PLATFORM),
        NAME(CL_INVALID_DEVICE),
        NAME(CL_INVALID_CONTEXT),
        NAME(CL_INVALID_QUEUE_PROPERTIES),
        NAME(CL_INVALID_COMMAND_QUEUE),
        NAME(CL_INVALID_MEM_OBJECT),
        NAME(CL_INVALID_BUILD_OPTIONS),
        NAME(CL_INVALID_PROGRAM),
        NAME(CL_INVALID_PROGRAM_EXECUTABLE),
        NAME(CL_INVALID_KERNEL_NAME),
        NAME(CL_INVALID_KERNEL_DEFINITION),
        NAME(CL_INVALID_KERNEL),
        NAME(CL_INVALID_ARG_INDEX),
        NAME(CL_INVALID_ARG_VALUE),
        NAME(CL_INVALID_ARG_SIZE),
        NAME(CL_INVALID_KERNEL_ARGS),
        NAME(CL_INVALID_WORK_DIMENSION),
        NAME(CL_INVALID_WORK_GROUP_SIZE),
        NAME(CL_INVALID_WORK_ITEM_SIZE),
        NAME(CL_INVALID_GLOBAL_OFFSET),
        NAME(CL_INVALID_EVENT_WAIT_LIST),
        NAME(CL_INVALID_EVENT),
        NAME(CL_INVALID_OPERATION),
        NAME(CL_INVALID_BUFFER_SIZE),
        NAME(CL_INVALID_GLOBAL_WORK_SIZE),
        NAME(CL_INVALID_PROPERTY),
        NAME(CL_INVALID_COMPILER_OPTIONS),
        NAME(CL_INVALID_DEVICE_PARTITION_COUNT),
        NAME(CL_PLATFORM_NOT_FOUND_KHR),
        NAME(CL_INVALID_COMMAND_BUFFER_KHR),
        NAME(CL_INVALID_SYNC_POINT_WAIT_LIST_KHR),
        NAME(CL_INCOMPATIBLE_COMMAND_QUEUE_KHR),
#undef NAME
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].error == error)
            return names[i].name;
    return "an unknown error";
}
