/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs of kernels replayed by hand, as a program does that knows its graph and OpenCL: what never
 * changes (arguments, wait lists, command buffers) is set once, kernels with the same arguments are
 * one object, a replay enqueues, flushes and waits. The driver is found by dlopen, so that the
 * program starts where there is none.
 *
 * Arrays are shared virtual memory: an argument that is a plain address costs a driver less than a
 * memory object, which it has to retain and to migrate at each enqueue. */
#define CL_TARGET_OPENCL_VERSION 300
#include "bench/device.h"
#include "bench/support.h"
#include "bench/timing.h"

#include <CL/cl.h>
#include <CL/cl_ext.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ---- the driver */

#define CALLS(X)                          \
    X(clGetPlatformIDs)                   \
    X(clGetDeviceIDs)                     \
    X(clGetDeviceInfo)                    \
    X(clCreateContext)                    \
    X(clReleaseContext)                   \
    X(clCreateCommandQueueWithProperties) \
    X(clReleaseCommandQueue)              \
    X(clCreateProgramWithSource)          \
    X(clBuildProgram)                     \
    X(clReleaseProgram)                   \
    X(clCreateKernel)                     \
    X(clReleaseKernel)                    \
    X(clSetKernelArg)                     \
    X(clSetKernelArgSVMPointer)           \
    X(clSVMAlloc)                         \
    X(clSVMFree)                          \
    X(clEnqueueSVMMemcpy)                 \
    X(clEnqueueSVMMemFill)                \
    X(clEnqueueNDRangeKernel)             \
    X(clEnqueueBarrierWithWaitList)       \
    X(clEnqueueMarkerWithWaitList)        \
    X(clReleaseEvent)                     \
    X(clWaitForEvents)                    \
    X(clGetEventInfo)                     \
    X(clFlush)                            \
    X(clFinish)                           \
    X(clGetExtensionFunctionAddressForPlatform)
#define BUFFER_CALLS(X)           \
    X(clCreateCommandBufferKHR)   \
    X(clCommandNDRangeKernelKHR)  \
    X(clFinalizeCommandBufferKHR) \
    X(clEnqueueCommandBufferKHR)  \
    X(clReleaseCommandBufferKHR)

static struct {
#define POINTER(name) __typeof__(&name) name;
    CALLS(POINTER)
    BUFFER_CALLS(POINTER)
#undef POINTER
    void *library;
    uint64_t calls;
    cl_platform_id platform;
    cl_device_id device;
    cl_context context;
    cl_program program;
    int buffers;           /* whether there are command buffers */
    int buffers_unordered; /* in queues out of order */
    int buffers_overlap;   /* may be enqueued again before they have ended */
    char name[96];
} driver;

/* A counted call. */
#define CL(call, ...) (driver.calls++, driver.call(__VA_ARGS__))

static void must(cl_int error, const char *what)
{
    if (error != CL_SUCCESS)
        bench_die(BENCH_EXIT_FAILED, "OpenCL: %s: error %d", what, (int)error);
}

/* ISO C has no conversion from what dlsym returns. */
static int look_up(void *to, size_t bytes, void *address)
{
    memcpy(to, &address, bytes);
    return address != NULL;
}

static const char *load(void)
{
    driver.library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver.library)
        return "libOpenCL.so.1 cannot be loaded (Debian packages ocl-icd-libopencl1 and, for a "
               "device made of CPUs, pocl-opencl-icd)";
#define LOOK_UP(call) look_up(&driver.call, sizeof driver.call, dlsym(driver.library, #call)) &&
    if (!(CALLS(LOOK_UP) 1))
        return "libOpenCL.so.1 is older than OpenCL 2.1";
#undef LOOK_UP
    return NULL;
}

static void load_buffers(void)
{
    char extensions[8192] = "";
    cl_device_command_buffer_capabilities_khr can = 0;
    driver.clGetDeviceInfo(driver.device, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions,
                           NULL);
    if (!strstr(extensions, CL_KHR_COMMAND_BUFFER_EXTENSION_NAME))
        return;
#define LOOK_UP(call)                         \
    look_up(&driver.call, sizeof driver.call, \
            driver.clGetExtensionFunctionAddressForPlatform(driver.platform, #call)) &&
    driver.buffers = BUFFER_CALLS(LOOK_UP) 1;
#undef LOOK_UP
    driver.clGetDeviceInfo(driver.device, CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR, sizeof can,
                           &can, NULL);
    driver.buffers_unordered = (can & CL_COMMAND_BUFFER_CAPABILITY_OUT_OF_ORDER_KHR) != 0;
    driver.buffers_overlap = (can & CL_COMMAND_BUFFER_CAPABILITY_SIMULTANEOUS_USE_KHR) != 0;
}

static void make_program(void)
{
    cl_int error;
    const char *source = device_source;
    driver.context = driver.clCreateContext(NULL, 1, &driver.device, NULL, NULL, &error);
    must(error, "clCreateContext");
    driver.program = driver.clCreateProgramWithSource(driver.context, 1, &source, NULL, &error);
    must(error, "clCreateProgramWithSource");
    must(driver.clBuildProgram(driver.program, 1, &driver.device, NULL, NULL, NULL),
         "clBuildProgram");
}

const char *device_opencl_open(const char **why)
{
    cl_device_svm_capabilities svm = 0;
    cl_uint count = 0;
    if (driver.context)
        return driver.name;
    *why = load();
    if (*why)
        return NULL;
    if (driver.clGetPlatformIDs(1, &driver.platform, &count) != CL_SUCCESS || !count) {
        *why = "OpenCL has no platform: no driver is installed (one made of CPUs is Debian's "
               "pocl-opencl-icd)";
        return NULL;
    }
    if (driver.clGetDeviceIDs(driver.platform, CL_DEVICE_TYPE_ALL, 1, &driver.device, &count) !=
            CL_SUCCESS ||
        !count) {
        *why = "OpenCL's first platform has no device";
        return NULL;
    }
    driver.clGetDeviceInfo(driver.device, CL_DEVICE_SVM_CAPABILITIES, sizeof svm, &svm, NULL);
    if (!svm) {
        *why = "OpenCL's first device has no shared virtual memory";
        return NULL;
    }
    driver.clGetDeviceInfo(driver.device, CL_DEVICE_NAME, sizeof driver.name - 1, driver.name,
                           NULL);
    load_buffers();
    make_program();
    return driver.name;
}

void device_opencl_close(void)
{
    if (!driver.context)
        return;
    driver.clReleaseProgram(driver.program);
    driver.clReleaseContext(driver.context);
    driver.context = NULL;
}

/* ---- what every form has */

enum form { IN_ORDER, POLLED, OUT_OF_ORDER, BUFFER, BUFFER_OUT_OF_ORDER };

struct by_hand {
    const struct device_graph *g;
    enum form form;
    cl_command_queue queue;
    cl_kernel kernel[DEVICE_ARRAYS]; /* one per column and parity of steps: arguments differ */
    uint32_t *array[DEVICE_ARRAYS];
    /* Out of order: events of this replay, and of which kernels each waits. */
    cl_event *event;
    uint32_t *pred_first, *pred;
    cl_command_buffer_khr buffer;
    cl_event flight[DEVICE_FLIGHT]; /* overlap: the last event of each replay under way */
};

static const size_t items = DEVICE_ITEMS;

static cl_kernel kernel_of(const struct by_hand *b, uint32_t k)
{
    const struct device_graph *g = b->g;
    return b->kernel[k / g->width % 2 * DEVICE_WIDTH_MAX + k % g->width];
}

static void make_kernels(struct by_hand *b)
{
    cl_int error;
    for (uint32_t k = 0; k < b->g->kernels && k < 2 * b->g->width; k++) {
        uint32_t array[3];
        cl_kernel kernel = driver.clCreateKernel(driver.program, "advance", &error);
        must(error, "clCreateKernel");
        device_arrays(b->g, k, array);
        for (cl_uint i = 0; i < 3; i++)
            must(driver.clSetKernelArgSVMPointer(kernel, i, b->array[array[i]]),
                 "clSetKernelArgSVMPointer");
        must(driver.clSetKernelArg(kernel, 3, sizeof b->g->rounds, &b->g->rounds),
             "clSetKernelArg");
        b->kernel[k / b->g->width % 2 * DEVICE_WIDTH_MAX + k % b->g->width] = kernel;
    }
}

static void make_arrays(struct by_hand *b)
{
    static const uint32_t zero = 0;
    for (uint32_t i = 0; i < DEVICE_ARRAYS; i++) {
        b->array[i] = driver.clSVMAlloc(driver.context, CL_MEM_READ_WRITE,
                                        DEVICE_ITEMS * sizeof(uint32_t), 0);
        if (!b->array[i])
            bench_die(BENCH_EXIT_FAILED, "OpenCL: clSVMAlloc: no memory");
        must(driver.clEnqueueSVMMemFill(b->queue, b->array[i], &zero, sizeof zero,
                                        DEVICE_ITEMS * sizeof zero, 0, NULL, NULL),
             "clEnqueueSVMMemFill");
        must(driver.clFinish(b->queue), "clFinish");
    }
}

static void make_preds(struct by_hand *b)
{
    uint32_t n = 0;
    b->pred_first = bench_alloc(b->g->kernels + 1, sizeof *b->pred_first);
    b->pred = bench_alloc((size_t)b->g->kernels * 4, sizeof *b->pred);
    for (uint32_t k = 0; k < b->g->kernels; k++) {
        b->pred_first[k] = n;
        n += device_preds(b->g, k, b->pred + n);
    }
    b->pred_first[b->g->kernels] = n;
    b->event = bench_alloc(b->g->kernels, sizeof *b->event);
}

/* In a queue in order commands of a buffer follow each other without sync points. */
static void make_buffer(struct by_hand *b)
{
    const cl_command_buffer_properties_khr overlap[] = { CL_COMMAND_BUFFER_FLAGS_KHR,
                                                         CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR,
                                                         0 };
    cl_int error;
    cl_sync_point_khr *point = bench_alloc(b->g->kernels, sizeof *point), wait[4];
    b->buffer = driver.clCreateCommandBufferKHR(1, &b->queue,
                                                driver.buffers_overlap ? overlap : NULL, &error);
    must(error, "clCreateCommandBufferKHR");
    for (uint32_t k = 0; k < b->g->kernels; k++) {
        cl_uint waits = 0;
        for (uint32_t i = b->pred_first[k]; i < b->pred_first[k + 1]; i++)
            wait[waits++] = point[b->pred[i]];
        if (b->form == BUFFER)
            waits = 0;
        must(driver.clCommandNDRangeKernelKHR(b->buffer, NULL, NULL, kernel_of(b, k), 1, NULL,
                                              &items, &items, waits, waits ? wait : NULL, &point[k],
                                              NULL),
             "clCommandNDRangeKernelKHR");
    }
    must(driver.clFinalizeCommandBufferKHR(b->buffer), "clFinalizeCommandBufferKHR");
    free(point);
}

static void *build(const struct device_way *way, const struct device_graph *g)
{
    enum form form = (enum form)(way - device_ways_opencl);
    int unordered = form == OUT_OF_ORDER || form == BUFFER_OUT_OF_ORDER;
    const cl_queue_properties properties[] = { CL_QUEUE_PROPERTIES,
                                               CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, 0 };
    cl_int error;
    if ((unordered && g->width == 1) || (form >= BUFFER && !driver.buffers) ||
        (form == BUFFER_OUT_OF_ORDER && (!driver.buffers_unordered || g->overlap)) ||
        (form >= BUFFER && g->overlap && !driver.buffers_overlap) || (form == POLLED && g->overlap))
        return NULL;
    struct by_hand *b = bench_alloc(1, sizeof *b);
    b->g = g;
    b->form = form;
    b->queue = driver.clCreateCommandQueueWithProperties(driver.context, driver.device,
                                                         unordered ? properties : NULL, &error);
    must(error, "clCreateCommandQueueWithProperties");
    make_arrays(b);
    make_kernels(b);
    make_preds(b);
    if (form >= BUFFER)
        make_buffer(b);
    return b;
}

static void release(void *built)
{
    struct by_hand *b = built;
    must(driver.clFinish(b->queue), "clFinish");
    if (b->buffer)
        driver.clReleaseCommandBufferKHR(b->buffer);
    for (uint32_t i = 0; i < DEVICE_ARRAYS; i++) {
        if (b->kernel[i])
            driver.clReleaseKernel(b->kernel[i]);
        driver.clSVMFree(driver.context, b->array[i]);
    }
    driver.clReleaseCommandQueue(b->queue);
    free(b->event);
    free(b->pred_first);
    free(b->pred);
    free(b);
}

/* ---- replays */

static void enqueue_in_order(struct by_hand *b, cl_event *last)
{
    for (uint32_t k = 0; k < b->g->kernels; k++)
        must(CL(clEnqueueNDRangeKernel, b->queue, kernel_of(b, k), 1, NULL, &items, &items, 0, NULL,
                k + 1 == b->g->kernels ? last : NULL),
             "clEnqueueNDRangeKernel");
}

/* Replays that overlap have a barrier between them. */
static void enqueue_out_of_order(struct by_hand *b, cl_event *last)
{
    if (last)
        must(CL(clEnqueueBarrierWithWaitList, b->queue, 0, NULL, NULL),
             "clEnqueueBarrierWithWaitList");
    for (uint32_t k = 0; k < b->g->kernels; k++) {
        cl_event wait[4];
        cl_uint waits = 0;
        for (uint32_t i = b->pred_first[k]; i < b->pred_first[k + 1]; i++)
            wait[waits++] = b->event[b->pred[i]];
        must(CL(clEnqueueNDRangeKernel, b->queue, kernel_of(b, k), 1, NULL, &items, &items, waits,
                waits ? wait : NULL, &b->event[k]),
             "clEnqueueNDRangeKernel");
    }
    if (last)
        must(CL(clEnqueueMarkerWithWaitList, b->queue, 0, NULL, last),
             "clEnqueueMarkerWithWaitList");
}

static void enqueue(struct by_hand *b, cl_event *last)
{
    if (b->form >= BUFFER)
        must(CL(clEnqueueCommandBufferKHR, 0, NULL, b->buffer, 0, NULL, last),
             "clEnqueueCommandBufferKHR");
    else if (b->form == OUT_OF_ORDER)
        enqueue_out_of_order(b, last);
    else
        enqueue_in_order(b, last);
    must(CL(clFlush, b->queue), "clFlush");
    for (uint32_t k = 0; b->form == OUT_OF_ORDER && k < b->g->kernels; k++)
        must(CL(clReleaseEvent, b->event[k]), "clReleaseEvent");
}

/* Looks at the last kernel's event instead of sleeping until the driver wakes it: soon there, and
 * in the driver's way where there is much to do. Looks count as one call. */
static void poll_until(cl_event last)
{
    cl_int status;
    driver.calls++;
    do {
        bench_pause();
        must(driver.clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status,
                                   NULL),
             "clGetEventInfo");
        must(status < 0 ? status : CL_SUCCESS, "a kernel");
    } while (status != CL_COMPLETE);
    must(CL(clReleaseEvent, last), "clReleaseEvent");
}

static void replay(struct by_hand *b)
{
    cl_event last;
    enqueue(b, b->form == POLLED ? &last : NULL);
    if (b->form == POLLED)
        poll_until(last);
    else
        must(CL(clFinish, b->queue), "clFinish");
}

static void replay_overlapping(struct by_hand *b, uint64_t i)
{
    cl_event *e = &b->flight[i % DEVICE_FLIGHT];
    if (i >= DEVICE_FLIGHT) {
        must(CL(clWaitForEvents, 1, e), "clWaitForEvents");
        must(CL(clReleaseEvent, *e), "clReleaseEvent");
    }
    enqueue(b, e);
}

static double run(void *built, uint64_t count)
{
    struct by_hand *b = built;
    double start = timing_ns();
    for (uint64_t i = 0; i < count; i++)
        if (b->g->overlap)
            replay_overlapping(b, i);
        else
            replay(b);
    if (b->g->overlap)
        must(CL(clFinish, b->queue), "clFinish");
    double ns = timing_ns() - start;
    for (uint64_t i = 0; b->g->overlap && i < count && i < DEVICE_FLIGHT; i++)
        must(CL(clReleaseEvent, b->flight[i]), "clReleaseEvent");
    return ns;
}

static uint64_t calls(void *built)
{
    (void)built;
    return driver.calls;
}

static void read_arrays(void *built, uint32_t cell[DEVICE_ARRAYS][DEVICE_ITEMS])
{
    struct by_hand *b = built;
    for (uint32_t i = 0; i < DEVICE_ARRAYS; i++)
        must(driver.clEnqueueSVMMemcpy(b->queue, CL_TRUE, cell[i], b->array[i], sizeof cell[i], 0,
                                       NULL, NULL),
             "clEnqueueSVMMemcpy");
}

#define WAY \
    .by_hand = 1, .build = build, .run = run, .calls = calls, .read = read_arrays, .free = release
const struct device_way device_ways_opencl[] = {
    [IN_ORDER] = { .name = "enqueues in order", WAY },
    [POLLED] = { .name = "enqueues in order and polled", .polls = 1, WAY },
    [OUT_OF_ORDER] = { .name = "enqueues out of order", WAY },
    [BUFFER] = { .name = "command buffer in order", WAY },
    [BUFFER_OUT_OF_ORDER] = { .name = "command buffer out of order", WAY },
    { .name = NULL },
};

/* ---- bodies that take time */

uint32_t device_opencl_rounds(double ns)
{
    enum { FEW = 1000, MANY = 101000, KERNELS = 20, TRIES = 9 };
    double best[2] = { 0, 0 };
    for (int tries = 0; tries < TRIES; tries++)
        for (int many = 0; many < 2; many++) {
            struct device_graph g = { KERNELS, 1, many ? MANY : FEW, 0 };
            void *built = build(&device_ways_opencl[IN_ORDER], &g);
            run(built, 1);
            double took = run(built, 1);
            best[many] = !tries || took < best[many] ? took : best[many];
            release(built);
        }
    double per_round = (best[1] - best[0]) / KERNELS / (MANY - FEW);
    return per_round > 0 ? (uint32_t)(ns / per_round) : 0;
}
