/* SPDX-License-Identifier: BSD-3-Clause */
/* OpenCL's functions, found by dlopen, and the one way to call them. */
#ifndef RD_DEVICE_OPENCL_CALLS_H
#define RD_DEVICE_OPENCL_CALLS_H

#include "src/base/atomic.h"
#include "src/base/error.h"
#include "src/device/opencl.h"

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>

#define RD_OPENCL_CALLS(X)                \
    X(clBuildProgram)                     \
    X(clCreateCommandQueueWithProperties) \
    X(clCreateContext)                    \
    X(clCreateKernel)                     \
    X(clCreateProgramWithSource)          \
    X(clCreateSubDevices)                 \
    X(clEnqueueBarrierWithWaitList)       \
    X(clEnqueueMarkerWithWaitList)        \
    X(clEnqueueNDRangeKernel)             \
    X(clEnqueueNativeKernel)              \
    X(clEnqueueSVMMemFill)                \
    X(clEnqueueSVMMemcpy)                 \
    X(clFinish)                           \
    X(clFlush)                            \
    X(clGetDeviceIDs)                     \
    X(clGetDeviceInfo)                    \
    X(clGetEventInfo)                     \
    X(clGetEventProfilingInfo)            \
    X(clGetKernelArgInfo)                 \
    X(clGetKernelInfo)                    \
    X(clGetKernelWorkGroupInfo)           \
    X(clGetPlatformIDs)                   \
    X(clGetProgramBuildInfo)              \
    X(clReleaseCommandQueue)              \
    X(clReleaseContext)                   \
    X(clReleaseDevice)                    \
    X(clReleaseEvent)                     \
    X(clReleaseKernel)                    \
    X(clReleaseProgram)                   \
    X(clSVMAlloc)                         \
    X(clSVMFree)                          \
    X(clSetEventCallback)                 \
    X(clSetKernelArg)                     \
    X(clSetKernelArgSVMPointer)           \
    X(clWaitForEvents)                    \
    X(clGetExtensionFunctionAddressForPlatform)

struct rd_opencl_calls {
#define RD_OPENCL_FIELD(name) __typeof__(name) *name;
    RD_OPENCL_CALLS(RD_OPENCL_FIELD)
#undef RD_OPENCL_FIELD
};

/* The library's functions, loaded once per process and kept; NULL with the message set. */
const struct rd_opencl_calls *rd_opencl_load(void);

extern rd_atomic(const struct rd_opencl_watch *) rd_opencl_watching;
/* The error that a call is to fail with, 0 if it is to be made. */
static inline int rd_opencl_fails(rd_atomic64 *calls, const char *call)
{
    /* Acquire: what the test wrote into it. */
    const struct rd_opencl_watch *w = rd_load_acquire(&rd_opencl_watching);
    rd_add_relaxed(calls, 1); /* a statistic */
    return RD_UNLIKELY(w && w->fail) ? w->fail(w->context, call) : 0;
}
static inline int rd_opencl_made(const char *call, int error)
{
    const struct rd_opencl_watch *w = rd_load_acquire(&rd_opencl_watching);
    if (RD_UNLIKELY(w && w->made))
        w->made(w->context, call, error);
    return error;
}

/* `b` is a struct rd_backend, `error` a cl_int that is set. RD_CL: the error; RD_CL_NEW: what the
 * call makes, its last parameter, the error's address, left out; RD_CL_RELEASE: nothing. ..._AT: of
 * a function that is not in the table. */
#define RD_CL_AT(b, error, function, name, ...)    \
    ((error) = rd_opencl_fails(&(b)->calls, name), \
     (error) ? (void)0 : (void)((error) = (function)(__VA_ARGS__)), rd_opencl_made(name, (error)))
#define RD_CL_NEW_AT(b, error, object, function, name, ...) \
    ((error) = rd_opencl_fails(&(b)->calls, name),          \
     (object) = (error) ? NULL : (function)(__VA_ARGS__, &(error)), rd_opencl_made(name, (error)))
#define RD_CL_RELEASE_AT(b, function, name, object) \
    (rd_add_relaxed(&(b)->calls, 1), (void)(function)(object), (void)rd_opencl_made(name, 0))
#define RD_CL(b, error, call, ...) RD_CL_AT(b, error, (b)->cl->call, #call, __VA_ARGS__)
#define RD_CL_NEW(b, error, object, call, ...) \
    RD_CL_NEW_AT(b, error, object, (b)->cl->call, #call, __VA_ARGS__)
#define RD_CL_RELEASE(b, call, object) RD_CL_RELEASE_AT(b, (b)->cl->call, #call, object)

#endif
